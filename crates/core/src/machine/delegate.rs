//! The question for a compactor, a hook that returns the whole new list. The list is checked by our
//! own rules: in view, in order, exchanges whole, nothing left out that is always kept.

use super::{EmbeddedQuestion, Next};
use crate::keep::{KeepSelection, KeepSet};
use crate::plan::Plan;
use crate::verdict::{CompactorPiece, CompactorReply};
use crate::{ArchiveError, EntryId, Slot, Strategy, Tokens, fence};
use std::collections::HashSet;

/// A question for a compactor.
pub struct Delegation<'a> {
    plan: Plan<'a>,
}

impl<'a> Delegation<'a> {
    pub(super) fn new(plan: Plan<'a>) -> Self {
        Self { plan }
    }

    /// The messages in view, oldest first.
    pub fn messages(&self) -> Vec<EntryId> {
        self.plan.job.context.message_slots().map(|(id, ..)| id).collect()
    }

    /// The plan it is asked about.
    pub fn plan(&self) -> &Plan<'a> {
        &self.plan
    }

    /// Takes the list, or goes on where there is none or it breaks a rule.
    pub fn answer(self, list: Result<CompactorReply, String>) -> Result<Next<'a>, ArchiveError> {
        let mut plan = self.plan;
        let laid = list.and_then(|list| lay_out(&plan, list));
        match laid {
            Ok((kept, text)) => {
                let most = plan.job.budget.room();
                if kept.tokens > most {
                    plan.give_up(Strategy::Delegate, "the compactor's list does not fit");
                    return plan.try_next();
                }
                plan.take(kept);
                EmbeddedQuestion::of(plan, Strategy::Delegate)?.take_supplied("the compactor", &text)
            }
            Err(why) => {
                plan.give_up(Strategy::Delegate, format!("the compactor failed: {why}"));
                plan.try_next()
            }
        }
    }
}

/// The list as a compaction says it: messages, one text, messages. Several texts become one, where the first stands.
fn lay_out(plan: &Plan<'_>, reply: CompactorReply) -> Result<(KeepSelection, String), String> {
    let chooser = plan.chooser();
    let set = KeepSet::of(&chooser, &plan.changes.pins).map_err(|error| error.to_string())?;
    let CompactorReply { list, superseded } = reply;
    let (mut kept, mut texts) = take_apart(plan, list, &set)?;
    check_superseded(plan, &kept, &superseded)?;
    check_exchanges(plan, &kept)?;
    check_always(plan, &kept, &set)?;
    if texts.is_empty() || !plan.job.can.front {
        // What it keeps stands behind its text, or behind the line that says there is none.
        let before = std::mem::take(&mut kept.front);
        kept.tail.splice(0..0, before);
    }
    if texts.is_empty() {
        texts.push(
            "The messages in between were taken out of view; each can be recalled by its pointer.".into(),
        );
    }
    kept.bring_back(&chooser, &set).map_err(|error| error.to_string())?;
    Ok((kept, texts.join("\n\n")))
}

/// What the list keeps, before its first text and after it, and its texts.
fn take_apart(
    plan: &Plan<'_>,
    list: Vec<CompactorPiece>,
    set: &KeepSet,
) -> Result<(KeepSelection, Vec<String>), String> {
    let (mut kept, mut texts) = (KeepSelection::beside(&plan.job, set), Vec::new());
    let in_view: HashSet<EntryId> = plan.job.context.message_slots().map(|(id, ..)| id).collect();
    let mut last = None;
    for piece in list {
        match piece {
            CompactorPiece::Write(text) => texts.push(fence::escape(&text)),
            CompactorPiece::Keep(id) if !in_view.contains(&id) => return Err(format!("{id} is not in view")),
            CompactorPiece::Keep(id) if last.is_some_and(|last| last >= id) => {
                return Err(format!("{id} is out of order, or named twice"));
            }
            CompactorPiece::Keep(id) => {
                let (_, tokens) = plan.job.context.form_of(id, plan.job.sizes);
                kept.tokens += tokens;
                kept.beside += if set.contains(id) { Tokens::ZERO } else { tokens };
                let side = if texts.is_empty() { &mut kept.front } else { &mut kept.tail };
                side.push(id);
                last = Some(id);
            }
        }
    }
    Ok((kept, texts))
}

/// Where a compactor says what it supersedes, that is all it does not keep: a slip on either side would lose a message.
fn check_superseded(plan: &Plan<'_>, kept: &KeepSelection, superseded: &[EntryId]) -> Result<(), String> {
    if superseded.is_empty() {
        return Ok(());
    }
    let in_view: HashSet<EntryId> = plan.job.context.message_slots().map(|(id, ..)| id).collect();
    let stays: HashSet<EntryId> = kept.front.iter().chain(&kept.tail).copied().collect();
    let goes: HashSet<EntryId> = superseded.iter().copied().collect();
    if let Some(id) = superseded.iter().find(|id| !in_view.contains(id) || stays.contains(id)) {
        let why = if stays.contains(id) { "keeps it too" } else { "it is not in view" };
        return Err(format!("it supersedes {id}, and {why}"));
    }
    let forgotten = in_view.iter().filter(|id| !stays.contains(id) && !goes.contains(id)).min();
    forgotten.map_or(Ok(()), |id| Err(format!("it neither keeps nor supersedes {id}")))
}

/// What is kept in any case is in the list.
fn check_always(plan: &Plan<'_>, kept: &KeepSelection, set: &KeepSet) -> Result<(), String> {
    let in_view: HashSet<EntryId> = plan.job.context.message_slots().map(|(id, ..)| id).collect();
    let is_kept = |id: &EntryId| kept.front.contains(id) || kept.tail.contains(id) || !in_view.contains(id);
    match set.iter().map(|(id, _)| id).find(|id| !is_kept(id)) {
        Some(id) => Err(format!("it leaves out {id}, which is always kept")),
        None => Ok(()),
    }
}

/// Each exchange is kept whole or not at all, and an open one is kept.
fn check_exchanges(plan: &Plan<'_>, kept: &KeepSelection) -> Result<(), String> {
    let context = plan.job.context;
    let stays: HashSet<EntryId> = kept.front.iter().chain(&kept.tail).copied().collect();
    let ends = context.units().iter().skip(1).map(|&unit| unit as usize).chain([context.slots().len()]);
    for (start, end) in context.units().iter().map(|&unit| unit as usize).zip(ends) {
        let ids: Vec<EntryId> = context.slots()[start..end]
            .iter()
            .filter_map(|slot| match slot {
                Slot::Message { id, .. } => Some(*id),
                Slot::Summary { .. } => None,
            })
            .collect();
        let staying = ids.iter().filter(|id| stays.contains(id)).count();
        if staying != 0 && staying != ids.len() {
            return Err(format!("it splits the exchange at {}", ids[0]));
        }
        if context.open_from().is_some_and(|open| start >= open) && staying != ids.len() {
            return Err(format!("it leaves out {}, which still waits for its result", ids[0]));
        }
    }
    Ok(())
}
