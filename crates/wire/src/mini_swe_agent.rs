//! mini-swe-agent trajectories: `{info, messages, trajectory_format}`, messages in chat form.
//!
//! `extra` repeats each reply as the provider sent it; only its usage is taken. The last message, of
//! the made-up role `exit`, was never sent to a model.

use crate::detect::DetectSample;
use crate::document::{ConversationDraft, ConversationView, Dialect, ObjectView, Side, View};
use crate::held::HeldMessages;
use crate::protocol::read::chat_usage;
use crate::protocol::read::openai_chat::{self, chat_message, is_reply, lift_system};
use crate::swe_agent::written_by;
use crate::{Format, Protocol};
use epitome_core::Message;
use std::sync::Arc;

/// mini-swe-agent trajectories.
pub(crate) struct MiniSweAgent;

impl Dialect for MiniSweAgent {
    const FORMAT: Format = Format::MiniSweAgent;
    const HOLDS: Option<HeldMessages> = Some(HeldMessages {
        protocol: Protocol::OpenaiChat,
        pieces: |runs, _| openai_chat::pieces(runs, &["extra"]),
    });

    fn is_document(sample: &DetectSample<'_>) -> bool {
        is_trajectory(&sample.object)
    }

    fn bodies<'a>(roots: &[View<'a>]) -> Result<Vec<ConversationView<'a>>, String> {
        roots.iter().map(|root| body_of(*root)).collect()
    }

    fn tell(body: &ConversationView<'_>, draft: &mut ConversationDraft<'_, Self>) {
        let first = lift_system(&body.elements, &mut draft.fixed);
        let info = body.around.get("info");
        draft.fixed.model = info.and_then(|info| text_at(info, &["config", "model", "model_name"]));
        let mut task_is_set = false;
        for (index, &element) in body.elements.iter().enumerate().skip(first) {
            draft.turn_to(index);
            let role = text_at(element, &["role"]);
            if role.as_deref() == Some("exit") {
                draft.note("exit");
                continue;
            }
            let is_task = !task_is_set && role.as_deref() == Some("user");
            task_is_set |= is_task;
            tell_message(element, if is_task { Side::Said } else { Side::Added }, draft);
        }
    }

    /// Of the user's messages one is the task; the others are observations and complaints.
    fn message(runs: &[View<'_>], side: Side) -> Result<Message, String> {
        let message = chat_message(&runs.first().and_then(|run| run.object()).ok_or("it is no object")?)?;
        Ok(written_by(message, side))
    }
}

fn tell_message(element: View<'_>, side: Side, draft: &mut ConversationDraft<'_, MiniSweAgent>) {
    let Some(id) = draft.say(&[element], side) else { return };
    if !is_reply(element) {
        return;
    }
    let response = element.at(&["extra", "response"]);
    let usage = response.and_then(|response| chat_usage(response.at(&["usage"])?));
    draft.reply(id, response.and_then(|response| text_at(response, &["model"])), usage);
}

fn body_of(root: View<'_>) -> Result<ConversationView<'_>, String> {
    let around = root.object().unwrap_or_default();
    let elements = around.get("messages").and_then(View::list).filter(|_| is_trajectory(&around));
    let elements =
        elements.ok_or("neither `trajectory_format` nor `info.mini_version` names mini-swe-agent")?;
    Ok(ConversationView { around, elements })
}

fn is_trajectory(around: &ObjectView<'_>) -> bool {
    let is_named = around.text("trajectory_format").is_some_and(|name| name.starts_with("mini-swe-agent"));
    is_named || around.get("info").is_some_and(|info| info.at(&["mini_version"]).is_some())
}

fn text_at(view: View<'_>, path: &[&str]) -> Option<Arc<str>> {
    view.at(path)?.text().map(Into::into)
}
