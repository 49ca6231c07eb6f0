//! What must hold of a context as the core decided it, looked at without any encoder.

use epitome_core::policy::AlwaysKeep;
use epitome_core::{CallId, Entry, EntryId, Form, Item, Log, Role, Slot, Tokens};
use epitome_engine::Session;
use std::collections::{HashMap, HashSet};

/// What a summary is left in any case.
const SUMMARY_MIN: Tokens = Tokens(400);

/// What is wrong with a context: each message stands in it once, each exchange whole, at most one summary, and what
/// stands in front of it and behind it in order.
pub(crate) fn problems_of_context(session: &Session, exchanges: &Exchanges) -> Vec<String> {
    let slots = session.context().slots();
    let is_summary = |slot: &Slot| matches!(slot, Slot::Summary { .. });
    let mut found = Vec::new();
    if slots.iter().filter(|slot| is_summary(slot)).count() > 1 {
        found.push("several summaries".to_owned());
    }
    let view: HashSet<EntryId> = messages(session).into_iter().collect();
    if view.len() != messages(session).len() {
        found.push("a message is shown twice".to_owned());
    }
    let summary = slots.iter().position(is_summary).unwrap_or(0);
    for part in [&slots[..summary], &slots[summary..]] {
        let ids: Vec<EntryId> = part.iter().filter_map(message).collect();
        if !ids.is_sorted() {
            found.push("messages are out of order".to_owned());
        }
    }
    let newest = session.history().last();
    let has_come = |other: &&EntryId| newest.is_some_and(|newest| *other <= newest);
    for id in &view {
        let others = exchanges.of(*id).iter().filter(has_come);
        found.extend(
            others.filter(|other| !view.contains(other)).map(|other| format!("{id} stands without {other}")),
        );
    }
    found
}

/// What is wrong with what is being worked on: what people said first and last, and the newest exchange, must be word for
/// word where each takes under half of the window, the policy keeps it, and there is room for them beside system prompt,
/// instructions and answer. What the transcript's own tool took out of view is nobody's to keep.
pub(crate) fn problems_of_current_work(session: &Session, exchanges: &Exchanges) -> Vec<String> {
    let always = &session.policy().keep.always;
    let said: Vec<EntryId> = session.history().iter().copied().filter(|&id| is_said(session, id)).collect();
    let mut wanted: Vec<Vec<EntryId>> = Vec::new();
    wanted.extend(said.first().filter(|_| always.contains(&AlwaysKeep::First)).map(|id| vec![*id]));
    wanted.extend(said.last().filter(|_| always.contains(&AlwaysKeep::Newest)).map(|id| vec![*id]));
    if always.contains(&AlwaysKeep::Exchange) {
        wanted.push(newest_exchange(session, exchanges));
    }
    let half = session.budget().scale.ours(session.budget().window).share(1, 2);
    let size = |id: EntryId| session.timeline().sizes().total(id);
    let is_small = |part: &Vec<EntryId>| part.iter().map(|&id| size(id)).sum::<Tokens>() < half;
    let instructions = messages(session).into_iter().filter(|&id| is_instruction(session, id));
    let kept: HashSet<EntryId> = wanted.iter().flatten().copied().chain(instructions).collect();
    if kept.into_iter().map(size).sum::<Tokens>() + SUMMARY_MIN > session.budget().room() {
        return Vec::new();
    }
    let small = wanted.into_iter().filter(is_small).flatten();
    let ours = small.filter(|&id| !is_hidden_by_transcript(session, id));
    ours.filter_map(|id| shown_otherwise(session, id)).collect()
}

fn shown_otherwise(session: &Session, id: EntryId) -> Option<String> {
    let Some((_, form, _)) = session.context().message_slots().find(|(shown, ..)| *shown == id) else {
        return Some(format!("{id} is not in view"));
    };
    let is_whole = Form { thinking: false, ..form } == Form::WHOLE;
    (!is_whole).then(|| format!("{id} is not word for word: {form:?}"))
}

fn is_said(session: &Session, id: EntryId) -> bool {
    session.log().item(id).is_some_and(Item::opens_turn)
}

fn is_instruction(session: &Session, id: EntryId) -> bool {
    session.log().item(id).is_some_and(|item| item.role == Role::System)
}

fn is_hidden_by_transcript(session: &Session, id: EntryId) -> bool {
    let newest = session.history().last().map_or(id.0, |newest| newest.0);
    let mut later = (id.0..newest).filter_map(|at| session.log().get(EntryId(at)));
    later.any(|entry| matches!(entry, Entry::Recorded(compaction) if compaction.hides(id)))
}

/// The newest reply, and what answers its calls.
fn newest_exchange(session: &Session, exchanges: &Exchanges) -> Vec<EntryId> {
    let log = session.log();
    let is_reply = |id: &&EntryId| log.item(**id).is_some_and(|item| item.role == Role::Assistant);
    let Some(&reply) = session.history().iter().rev().find(is_reply) else { return Vec::new() };
    let newest = *session.history().last().expect("it holds the reply");
    let has_come = |other: &&EntryId| **other <= newest;
    let answers = exchanges.of(reply).iter().filter(|other| **other > reply).filter(has_come);
    std::iter::once(reply).chain(answers.copied()).collect()
}

fn message(slot: &Slot) -> Option<EntryId> {
    match slot {
        Slot::Message { id, .. } => Some(*id),
        Slot::Summary { .. } => None,
    }
}

fn messages(session: &Session) -> Vec<EntryId> {
    session.context().slots().iter().filter_map(message).collect()
}

/// Which messages of a path belong together: each that makes a call, and those that answer it. The nearest call of an id
/// counts.
#[derive(Default)]
pub(crate) struct Exchanges(HashMap<EntryId, Vec<EntryId>>);

impl Exchanges {
    pub(crate) fn on(path: &[EntryId], log: &Log) -> Self {
        let mut made: HashMap<&CallId, EntryId> = HashMap::new();
        let mut found = Self::default();
        for &id in path {
            let Some(item) = log.item(id) else { continue };
            for &call in item.answers.iter().filter_map(|call| made.get(call)) {
                found.0.entry(call).or_default().push(id);
                found.0.entry(id).or_default().push(call);
            }
            made.extend(item.calls.iter().map(|call| (call, id)));
        }
        found
    }

    /// The others of the exchange that a message is part of.
    fn of(&self, id: EntryId) -> &[EntryId] {
        self.0.get(&id).map_or(&[], Vec::as_slice)
    }
}
