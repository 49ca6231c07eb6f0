//! What must hold of a context as the core decided it, looked at without any encoder.

use epitome_core::policy::Always;
use epitome_core::{CallId, EntryId, Form, Item, Role, Slot};
use epitome_engine::Session;
use std::collections::{HashMap, HashSet};

/// Whether system prompt, tools and reserve alone leave no room.
pub(crate) fn cannot_fit(session: &Session) -> bool {
    let budget = session.budget();
    budget.room() < budget.window.share(1, 10)
}

/// Each message once, each exchange whole, at most one summary, what stands in front of it and behind it in order.
pub(crate) fn check_context(session: &Session, at: &str) {
    let slots = session.context().slots();
    let summaries = slots.iter().filter(|slot| matches!(slot, Slot::Summary { .. })).count();
    assert!(summaries <= 1, "{at}: {summaries} summaries");
    let view: HashSet<EntryId> = messages(session).into_iter().collect();
    assert_eq!(view.len(), messages(session).len(), "{at}: a message is shown twice");
    let summary = slots.iter().position(|slot| matches!(slot, Slot::Summary { .. })).unwrap_or(0);
    for part in [&slots[..summary], &slots[summary..]] {
        let ids: Vec<EntryId> = part.iter().filter_map(message).collect();
        assert!(ids.is_sorted(), "{at}: messages are out of order");
    }
    for (call, answer) in pairs(session) {
        assert_eq!(view.contains(&call), view.contains(&answer), "{at}: {call} and {answer} are parted");
    }
}

/// What people said first and last, and the newest exchange, word for word where each takes under half of the window.
pub(crate) fn check_current_work(session: &Session, at: &str) {
    let always = &session.policy().keep.always;
    let said: Vec<EntryId> = session.history().iter().copied().filter(|&id| is_said(session, id)).collect();
    let mut wanted: Vec<EntryId> = Vec::new();
    wanted.extend(said.first().filter(|_| always.contains(&Always::First)));
    wanted.extend(said.last().filter(|_| always.contains(&Always::Newest)));
    if always.contains(&Always::Exchange) {
        wanted.extend(newest_exchange(session));
    }
    let half = session.budget().window.share(1, 2);
    for id in wanted.into_iter().filter(|&id| session.timeline().sizes().total(id) < half) {
        let shown = session.context().message_slots().find(|(shown, ..)| *shown == id);
        let Some((_, form, _)) = shown else { panic!("{at}: {id} is not in view") };
        let without_thinking = Form { thinking: false, ..form };
        assert_eq!(without_thinking, Form::WHOLE, "{at}: {id} is not word for word");
    }
}

fn is_said(session: &Session, id: EntryId) -> bool {
    session.log().item(id).is_some_and(Item::opens_turn)
}

/// The newest reply, and what answers its calls.
fn newest_exchange(session: &Session) -> Vec<EntryId> {
    let log = session.log();
    let is_reply = |id: &&EntryId| log.item(**id).is_some_and(|item| item.role == Role::Assistant);
    let Some(&reply) = session.history().iter().rev().find(is_reply) else { return Vec::new() };
    let answers = pairs(session).into_iter().filter(|(call, _)| *call == reply).map(|(_, answer)| answer);
    std::iter::once(reply).chain(answers).collect()
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

/// Every call with what answers it; the nearest call of an id counts.
fn pairs(session: &Session) -> Vec<(EntryId, EntryId)> {
    let mut made: HashMap<&CallId, EntryId> = HashMap::new();
    let mut pairs = Vec::new();
    for &id in session.history() {
        let Some(item) = session.log().item(id) else { continue };
        pairs.extend(item.answers.iter().filter_map(|call| Some((*made.get(call)?, id))));
        made.extend(item.calls.iter().map(|call| (call, id)));
    }
    pairs
}
