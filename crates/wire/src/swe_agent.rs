//! SWE-agent trajectories: `{history, trajectory, info, …}`, of which only `history` is the conversation.
//!
//! Every step of `trajectory` repeats the messages so far, so it is not read. Demonstrations (`is_demo`) show the model
//! another run: they are the harness's on every side, and no reply of theirs is one of this run.

use crate::detect::{DetectSample, has_role};
use crate::document::{ConversationDraft, ConversationView, Dialect, Side, View};
use crate::held::HeldMessages;
use crate::openhands::Openhands;
use crate::protocol::read::openai_chat::{self, chat_message, is_reply, lift_system};
use crate::{Format, Protocol};
use epitome_core::{Author, Message, Role};
use std::sync::Arc;

/// SWE-agent trajectories.
pub(crate) struct SweAgent;

impl Dialect for SweAgent {
    const FORMAT: Format = Format::SweAgent;
    const HOLDS: Option<HeldMessages> = Some(HeldMessages {
        protocol: Protocol::OpenaiChat,
        pieces: |runs, _| openai_chat::pieces(runs, &ASIDES),
    });

    fn is_document(sample: &DetectSample<'_>) -> bool {
        let is_step = |step: View<'_>| step.at(&["observation"]).is_some() && step.at(&["action"]).is_some();
        let is_run = sample.first_of("history").is_some_and(has_role)
            || sample.first_of("trajectory").is_some_and(is_step);
        is_run && !Openhands::is_document(sample)
    }

    fn bodies<'a>(roots: &[View<'a>]) -> Result<Vec<ConversationView<'a>>, String> {
        roots.iter().map(|root| body_of(*root)).collect()
    }

    fn tell(body: &ConversationView<'_>, draft: &mut ConversationDraft<'_, Self>) {
        let first = lift_system(&body.elements, &mut draft.fixed);
        draft.fixed.model = model(body);
        let mut task_is_set = false;
        for (index, &element) in body.elements.iter().enumerate().skip(first) {
            draft.turn_to(index);
            let is_task = !task_is_set && is_task(element);
            task_is_set |= is_task;
            let side = if is_task { Side::Said } else { Side::Added };
            let Some(id) = draft.say(&[element], side) else { continue };
            if is_reply(element) && !is_demo(element) {
                draft.reply(id, None, None);
            }
        }
    }

    /// Of the user's messages one is the task; the others are observations and demonstrations.
    fn message(runs: &[View<'_>], side: Side) -> Result<Message, String> {
        let run = *runs.first().ok_or("it stands nowhere")?;
        let message = chat_message(&run.object().ok_or("it is no object")?)?;
        if is_demo(run) {
            return Ok(Message { author: Author::Harness, ..message });
        }
        Ok(written_by(message, side))
    }
}

/// What SWE-agent notes of a message for itself, and does not send.
const ASIDES: [&str; 6] = ["agent", "message_type", "thought", "action", "is_demo", "tags"];

/// The message with its author set by whether it is the task or something the harness added.
pub(crate) fn written_by(mut message: Message, side: Side) -> Message {
    if message.role == Role::User {
        message.author = match side {
            Side::Said => Author::Person,
            Side::Added | Side::Answered => Author::Harness,
        };
    }
    message
}

fn is_task(element: View<'_>) -> bool {
    element.at(&["role"]).and_then(View::text).as_deref() == Some("user") && !is_demo(element)
}

fn is_demo(element: View<'_>) -> bool {
    element.at(&["is_demo"]).is_some_and(View::is_true)
}

fn body_of(root: View<'_>) -> Result<ConversationView<'_>, String> {
    let around = root.object().unwrap_or_default();
    let elements = around.get("history").and_then(View::list);
    let elements = elements.filter(|all| all.first().is_none_or(|&first| has_role(first)));
    let elements = elements.ok_or("there is no `history` of messages with a `role`")?;
    Ok(ConversationView { around, elements })
}

/// The model's name is in the settings the run was started with: JSON inside a string.
fn model(body: &ConversationView<'_>) -> Option<Arc<str>> {
    let settings = body.around.text("replay_config")?;
    View::parse(&settings).ok()?.at(&["agent", "model", "name"])?.text().map(Into::into)
}
