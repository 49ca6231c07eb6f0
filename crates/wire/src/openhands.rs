//! OpenHands histories: events, each an action (`action`, `args`) or an observation (`observation`,
//! `content`), in one document per run; a file may hold one such document per line.
//!
//! Both halves of a call name it in `tool_call_metadata`, which also repeats the model's whole reply:
//! actions of one reply are one message. How events become messages is in `openhands/event.rs`.

mod event;

use crate::Format;
use crate::detect::DetectSample;
use crate::document::{ConversationDraft, ConversationView, Dialect, ObjectView, Side, View};
use crate::protocol::read::chat_usage;
use crate::timestamp::unix_ms;
use epitome_core::{Compaction, EntryId, Message, Tail};
use event::{RunEvent, RunEventKind};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// OpenHands runs.
pub(crate) struct Openhands;

impl Dialect for Openhands {
    const FORMAT: Format = Format::Openhands;

    fn is_document(sample: &DetectSample<'_>) -> bool {
        let first = sample.list.as_ref().and_then(|list| list.first().copied());
        first.or_else(|| sample.first_of("history")).is_some_and(is_event)
    }

    fn bodies<'a>(roots: &[View<'a>]) -> Result<Vec<ConversationView<'a>>, String> {
        roots.iter().map(|root| body_of(*root)).collect()
    }

    fn tell(body: &ConversationView<'_>, draft: &mut ConversationDraft<'_, Self>) {
        let events: Vec<RunEvent<'_>> = body.elements.iter().map(|view| RunEvent::of(*view)).collect();
        let config = body.around.get("metadata").and_then(|metadata| metadata.at(&["llm_config"]));
        draft.fixed.max_tokens = config.and_then(|config| config.at(&["max_output_tokens"])?.number());
        let mut telling = Telling { replies: replies_of(&events), ..Telling::default() };
        for (index, event) in events.iter().enumerate() {
            draft.turn_to(index);
            telling.tell(event, draft);
        }
    }

    fn message(runs: &[View<'_>], side: Side) -> Result<Message, String> {
        let events: Vec<RunEvent<'_>> = runs.iter().map(|run| RunEvent::of(*run)).collect();
        let first = events.first().ok_or("it has no events")?;
        Ok(match (side, first.is_users()) {
            (Side::Answered, _) => first.answer(),
            (Side::Added, _) => first.added(),
            (Side::Said, true) => first.asked(),
            (Side::Said, false) => event::reply(&events),
        })
    }
}

/// Whether a value is an event that can be told from an arbitrary object.
fn is_event(view: View<'_>) -> bool {
    let Some(event) = view.object() else { return false };
    event.has("source") && (event.has("action") || event.has("observation"))
}

fn body_of(root: View<'_>) -> Result<ConversationView<'_>, String> {
    let around = root.object().unwrap_or_default();
    let elements = root.list().or_else(|| around.get("history")?.list());
    let is_event = |first: &View<'_>| first.at(&["action"]).or(first.at(&["observation"])).is_some();
    let elements = elements.filter(|all| all.first().is_none_or(is_event));
    let elements = elements.ok_or("there is no `history` of events with `action` or `observation`")?;
    Ok(ConversationView { around, elements })
}

/// The actions of each reply that made more than one, by the reply's id.
fn replies_of<'a>(events: &[RunEvent<'a>]) -> HashMap<Arc<str>, Vec<View<'a>>> {
    let mut replies: HashMap<Arc<str>, Vec<View<'a>>> = HashMap::new();
    for event in events.iter().filter(|event| event.kind() == RunEventKind::Acted) {
        if let Some(reply) = event.reply_id() {
            replies.entry(reply).or_default().push(event.view);
        }
    }
    replies
}

/// What has been told of a run so far.
#[derive(Default)]
struct Telling<'a> {
    /// Actions by the reply they belong to; taken out when the reply is told.
    replies: HashMap<Arc<str>, Vec<View<'a>>>,
    /// Ids of actions that are calls though nothing names them.
    unnamed: HashSet<u64>,
    /// Messages with the id of the event they began at.
    told: Vec<(u64, EntryId)>,
    forgotten: HashSet<u64>,
}

impl<'a> Telling<'a> {
    fn tell(&mut self, event: &RunEvent<'a>, draft: &mut ConversationDraft<'_, Openhands>) {
        match event.kind() {
            RunEventKind::System => fix(event, draft),
            RunEventKind::Asked => self.say(event, &[event.view], Side::Said, draft),
            RunEventKind::Acted => self.act(event, draft),
            RunEventKind::Observed if self.is_answer(event) => {
                self.say(event, &[event.view], Side::Answered, draft)
            }
            RunEventKind::Observed if event.added().blocks.is_empty() => draft.note(&event.label()),
            RunEventKind::Observed => self.say(event, &[event.view], Side::Added, draft),
            RunEventKind::Condensed => self.condense(event, draft),
            RunEventKind::Aside => draft.note(&event.label()),
            RunEventKind::Unknown => draft.leave_out("it is neither action nor observation"),
        }
    }

    fn say(
        &mut self,
        event: &RunEvent<'a>,
        runs: &[View<'a>],
        side: Side,
        draft: &mut ConversationDraft<'_, Openhands>,
    ) {
        let Some(id) = draft.say(runs, side) else { return };
        self.told.push((event.id(), id));
        draft.name(id, &event.id().to_string());
        if event.kind() == RunEventKind::Acted {
            let response = event.response();
            let model = response.and_then(|it| it.at(&["model"])?.text()).map(Into::into);
            draft.reply(id, model, response.and_then(|it| chat_usage(it.at(&["usage"])?)));
            draft.reply_came_at(
                event.view.at(&["timestamp"]).and_then(View::text).as_deref().and_then(unix_ms),
            );
        }
    }

    fn act(&mut self, event: &RunEvent<'a>, draft: &mut ConversationDraft<'_, Openhands>) {
        match event.reply_id().map(|reply| self.replies.remove(&reply)) {
            Some(Some(actions)) => self.say(event, &actions, Side::Said, draft),
            // Another action of a reply that was told when its first one came.
            Some(None) => {}
            None => {
                self.unnamed.extend((!event.is_said()).then(|| event.id()));
                self.say(event, &[event.view], Side::Said, draft);
            }
        }
    }

    fn is_answer(&self, event: &RunEvent<'_>) -> bool {
        event.is_named() || event.cause().is_some_and(|cause| self.unnamed.contains(&cause))
    }

    /// A condenser took events out of view and left a summary where the first of them stood.
    fn condense(&mut self, event: &RunEvent<'_>, draft: &mut ConversationDraft<'_, Openhands>) {
        let gone = event.forgotten(self.told.iter().map(|(event, _)| *event));
        self.forgotten.extend(&gone);
        let first = gone.iter().min().copied().unwrap_or(u64::MAX);
        let live = self.told.iter().filter(|(event, _)| !self.forgotten.contains(event));
        let (before, after): (Vec<_>, Vec<_>) = live.partition(|(event, _)| *event < first);
        let entries = |told: Vec<&(u64, EntryId)>| told.into_iter().map(|(_, entry)| *entry).collect();
        let (front, tail) = (entries(before), Tail::These(entries(after)));
        draft.compact(event.summary().as_deref(), Compaction { front, tail, ..Compaction::default() });
    }
}

fn fix(event: &RunEvent<'_>, draft: &mut ConversationDraft<'_, Openhands>) {
    let args: ObjectView<'_> = event.args();
    draft.fixed.system = args.text("content").map(Into::into).into_iter().collect();
    draft.fixed.tools = args.list("tools").into_iter().map(|tool| tool.json().into()).collect();
}
