//! The order all protocols accept: the user's side speaks, a reply, the user's side, and so on to the
//! end, where the user's side speaks last. Calls meet their results here.

use super::{EMPTY_REPLY, opaque_marker};
use epitome_core::{Block, Call, CallId, Image, Message, MessageView, Opaque, Role, ToolResult};

/// A conversation as what opens it, and each reply with what followed.
#[derive(Default)]
pub(super) struct Arranged<'a> {
    pub(super) opening: Vec<Said<'a>>,
    pub(super) steps: Vec<Step<'a>>,
}

/// One reply, and everything the user's side said before the next.
pub(super) struct Step<'a> {
    pub(super) reply: Vec<Spoken<'a>>,
    pub(super) after: Vec<Said<'a>>,
}

/// A piece of a reply.
pub(super) enum Spoken<'a> {
    Text(&'a str),
    Thinking { text: &'a str, signature: Option<&'a str>, redacted: bool },
    Call(Pair<'a>),
    Opaque(&'a Opaque),
}

/// A call with its result, where one came before the next reply.
pub(super) struct Pair<'a> {
    pub(super) call: &'a Call,
    pub(super) result: Option<&'a ToolResult>,
}

/// The wire id of a call, and its result.
pub(super) type Answer<'a> = (String, Option<&'a ToolResult>);

/// A piece of what the user's side said; results that met their call are not among them.
pub(super) enum Said<'a> {
    Text(&'a str),
    /// Instructions in the middle of a history.
    Note(&'a str),
    Image(&'a Image),
    Opaque(&'a Opaque),
    /// A result whose call is not in the reply before it.
    Orphan(&'a ToolResult),
    /// A call that someone other than the model is said to have made.
    Foreign(&'a Call),
}

pub(super) fn arrange(shown: &[MessageView]) -> Arranged<'_> {
    let mut arranged = Arranged::default();
    for MessageView { message, .. } in shown {
        match message.role {
            Role::Assistant => arranged.steps.push(reply_of(message)),
            Role::System | Role::User | Role::Tool => arranged.newest().extend(said_in(message)),
        }
    }
    arranged.steps.iter_mut().for_each(Step::meet);
    arranged
}

impl<'a> Arranged<'a> {
    /// What the user's side has been saying last.
    fn newest(&mut self) -> &mut Vec<Said<'a>> {
        self.steps.last_mut().map_or(&mut self.opening, |step| &mut step.after)
    }
}

/// A reply. Results and pictures in it belong to the side that answers, so they go there.
fn reply_of(message: &Message) -> Step<'_> {
    let mut step = Step { reply: Vec::new(), after: Vec::new() };
    for block in &message.blocks {
        match block {
            Block::Text { text } => step.reply.push(Spoken::Text(text)),
            Block::Thinking { text, signature, redacted } => {
                step.reply.push(Spoken::Thinking {
                    text,
                    signature: signature.as_deref(),
                    redacted: *redacted,
                });
            }
            Block::Call(call) => step.reply.push(Spoken::Call(Pair { call, result: None })),
            Block::Opaque(opaque) => step.reply.push(Spoken::Opaque(opaque)),
            Block::Result(result) => step.after.push(Said::Orphan(result)),
            Block::Image(image) => step.after.push(Said::Image(image)),
        }
    }
    step
}

fn said_in(message: &Message) -> impl Iterator<Item = Said<'_>> {
    message.blocks.iter().filter_map(|block| match block {
        Block::Text { text } if message.role == Role::System => Some(Said::Note(text)),
        Block::Text { text } => Some(Said::Text(text)),
        Block::Image(image) => Some(Said::Image(image)),
        Block::Opaque(opaque) => Some(Said::Opaque(opaque)),
        Block::Result(result) => Some(Said::Orphan(result)),
        Block::Call(call) => Some(Said::Foreign(call)),
        Block::Thinking { .. } => None,
    })
}

impl<'a> Step<'a> {
    /// Gives each call the first result that names it. A result that comes after the next reply is too
    /// late: the request before that reply went out without it.
    fn meet(&mut self) {
        for spoken in &mut self.reply {
            if let Spoken::Call(pair) = spoken {
                pair.result = take_result(&mut self.after, &pair.call.id);
            }
        }
    }
}

fn take_result<'a>(said: &mut Vec<Said<'a>>, call: &CallId) -> Option<&'a ToolResult> {
    let at = said.iter().position(|said| matches!(said, Said::Orphan(result) if result.call == *call))?;
    match said.remove(at) {
        Said::Orphan(result) => Some(result),
        Said::Text(_) | Said::Note(_) | Said::Image(_) | Said::Opaque(_) | Said::Foreign(_) => None,
    }
}

/// What stands for a reply of which nothing, or only its thinking, can be written.
pub(super) fn remnant(reply: &[Spoken<'_>]) -> String {
    let marker = reply.iter().find_map(|spoken| match spoken {
        Spoken::Opaque(opaque) => Some(opaque_marker(&opaque.kind)),
        Spoken::Text(_) | Spoken::Thinking { .. } | Spoken::Call(_) => None,
    });
    marker.unwrap_or_else(|| EMPTY_REPLY.into())
}
