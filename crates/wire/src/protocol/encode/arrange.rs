//! The order all protocols accept: the user's side speaks, a reply, the user's side, and so on to the
//! end, where the user's side speaks last. Calls meet their results here.

use crate::protocol::held::{ShownPiece, ShownPieces};
use epitome_core::{Block, Call, CallId, EntryId, Image, Message, MessageView, Opaque, Role, ToolResult};
use std::collections::HashMap;

/// A conversation as what opens it, and each reply with what followed.
#[derive(Default)]
pub(super) struct Arrangement<'a> {
    pub(super) opening: Vec<UserPiece<'a>>,
    pub(super) steps: Vec<ReplyTurn<'a>>,
}

/// One reply, and everything the user's side said before the next.
pub(super) struct ReplyTurn<'a> {
    pub(super) id: Option<EntryId>,
    pub(super) reply: Vec<ReplyPiece<'a>>,
    /// What can be written as it stands in the transcript, by where it begins in the reply.
    pub(super) held: HashMap<usize, &'a ShownPiece>,
    pub(super) after: Vec<UserPiece<'a>>,
}

/// A piece of a reply.
pub(super) enum ReplyPiece<'a> {
    Text(&'a str),
    Thinking { text: &'a str, signature: Option<&'a str>, redacted: bool },
    Call(Pair<'a>),
    Opaque(&'a Opaque),
}

impl<'a> ReplyPiece<'a> {
    /// The call, where it is one.
    pub(super) fn as_call(&self) -> Option<&Pair<'a>> {
        match self {
            Self::Call(pair) => Some(pair),
            Self::Text(_) | Self::Thinking { .. } | Self::Opaque(_) => None,
        }
    }
}

/// A call with its result, where one came before the next reply.
pub(super) struct Pair<'a> {
    pub(super) call: &'a Call,
    pub(super) result: Option<MessageResult<'a>>,
}

/// A result, with the message it came in.
#[derive(Clone, Copy)]
pub(super) struct MessageResult<'a> {
    pub(super) id: Option<EntryId>,
    pub(super) result: &'a ToolResult,
    /// The same as it stands in the transcript, where that can be written.
    pub(super) held: Option<&'a ShownPiece>,
}

/// A block that is carried, with the message it came in.
#[derive(Clone, Copy)]
pub(super) struct CarriedBlock<'a> {
    pub(super) id: Option<EntryId>,
    pub(super) opaque: &'a Opaque,
}

/// The wire id of a call, and its result.
pub(super) type NamedResult<'a> = (String, Option<MessageResult<'a>>);

/// A piece of what the user's side said; results that met their call are not among them.
pub(super) enum UserPiece<'a> {
    Text(&'a str),
    /// Instructions in the middle of a history.
    Note(&'a str),
    Image {
        id: Option<EntryId>,
        image: &'a Image,
    },
    Opaque(CarriedBlock<'a>),
    /// A result whose call is not in the reply before it.
    Orphan(MessageResult<'a>),
    /// A call that someone other than the model is said to have made.
    Foreign(&'a Call),
    /// Something that can be written as it stands in the transcript.
    Held {
        id: Option<EntryId>,
        piece: &'a ShownPiece,
    },
}

pub(super) fn arrange<'a>(shown: &'a [MessageView], held: &'a ShownPieces) -> Arrangement<'a> {
    let mut arranged = Arrangement::default();
    for (at, MessageView { id, message }) in shown.iter().enumerate() {
        let taken = held.of(at).iter().filter(|piece| piece.value().is_some());
        let held: HashMap<usize, &ShownPiece> = taken.map(|piece| (piece.blocks.start, piece)).collect();
        match message.role {
            Role::Assistant => arranged.steps.push(reply_of(*id, message, held)),
            Role::System | Role::User | Role::Tool => arranged.newest().extend(said_in(*id, message, &held)),
        }
    }
    arranged.steps.iter_mut().for_each(ReplyTurn::meet);
    arranged
}

impl<'a> Arrangement<'a> {
    /// What the user's side has been saying last.
    fn newest(&mut self) -> &mut Vec<UserPiece<'a>> {
        self.steps.last_mut().map_or(&mut self.opening, |step| &mut step.after)
    }
}

/// A reply. Results and pictures in it belong to the side that answers, so they go there, and no piece of such a reply
/// is where it was.
fn reply_of<'a>(
    id: Option<EntryId>,
    message: &'a Message,
    held: HashMap<usize, &'a ShownPiece>,
) -> ReplyTurn<'a> {
    let mut step = ReplyTurn { id, reply: Vec::new(), held, after: Vec::new() };
    for block in &message.blocks {
        match block {
            Block::Text { text } => step.reply.push(ReplyPiece::Text(text)),
            Block::Thinking { text, signature, redacted } => {
                step.reply.push(ReplyPiece::Thinking {
                    text,
                    signature: signature.as_deref(),
                    redacted: *redacted,
                });
            }
            Block::Call(call) => step.reply.push(ReplyPiece::Call(Pair { call, result: None })),
            Block::Opaque(opaque) => step.reply.push(ReplyPiece::Opaque(opaque)),
            Block::Result(result) => {
                step.after.push(UserPiece::Orphan(MessageResult { id, result, held: None }));
            }
            Block::Image(image) => step.after.push(UserPiece::Image { id, image }),
        }
    }
    if !step.after.is_empty() {
        step.held.clear();
    }
    step
}

fn said_in<'a>(
    id: Option<EntryId>,
    message: &'a Message,
    held: &HashMap<usize, &'a ShownPiece>,
) -> Vec<UserPiece<'a>> {
    let mut said = Vec::with_capacity(message.blocks.len());
    let mut at = 0;
    while let Some(block) = message.blocks.get(at) {
        let piece = held.get(&at).copied();
        at += 1;
        match (block, piece) {
            (Block::Result(result), held) => said.push(UserPiece::Orphan(MessageResult { id, result, held })),
            (_, Some(piece)) if message.role != Role::Tool => {
                said.push(UserPiece::Held { id, piece });
                at = piece.blocks.end;
            }
            (block, _) => said.extend(said_by(id, block, message.role)),
        }
    }
    said
}

/// A block of the user's side.
pub(super) fn said_by(id: Option<EntryId>, block: &Block, role: Role) -> Option<UserPiece<'_>> {
    match block {
        Block::Text { text } if role == Role::System => Some(UserPiece::Note(text)),
        Block::Text { text } => Some(UserPiece::Text(text)),
        Block::Image(image) => Some(UserPiece::Image { id, image }),
        Block::Opaque(opaque) => Some(UserPiece::Opaque(CarriedBlock { id, opaque })),
        Block::Result(result) => Some(UserPiece::Orphan(MessageResult { id, result, held: None })),
        Block::Call(call) => Some(UserPiece::Foreign(call)),
        Block::Thinking { .. } => None,
    }
}

impl<'a> ReplyTurn<'a> {
    /// Gives each call the first result that names it. A result that comes after the next reply is too
    /// late: the request before that reply went out without it.
    fn meet(&mut self) {
        for spoken in &mut self.reply {
            if let ReplyPiece::Call(pair) = spoken {
                pair.result = take_result(&mut self.after, &pair.call.id);
            }
        }
    }
}

fn take_result<'a>(said: &mut Vec<UserPiece<'a>>, call: &CallId) -> Option<MessageResult<'a>> {
    let at = said
        .iter()
        .position(|said| matches!(said, UserPiece::Orphan(answer) if answer.result.call == *call))?;
    match said.remove(at) {
        UserPiece::Orphan(answer) => Some(answer),
        UserPiece::Text(_)
        | UserPiece::Note(_)
        | UserPiece::Image { .. }
        | UserPiece::Opaque(_)
        | UserPiece::Foreign(_)
        | UserPiece::Held { .. } => None,
    }
}
