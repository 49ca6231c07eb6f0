//! What a timeline has derived along its path, and how one more entry changes it. The context and the tally have rules of their own and
//! are kept up to date by the timeline.

use super::Lens;
use crate::breaker::Breaker;
use crate::far_ledger::FarLedger;
use crate::usage_anchor::UsageAnchor;
use crate::view_tally::ViewTally;
use epitome_core::{
    Context, Entry, EntryId, Log, Mark, SizeTable, Tokens, UsageMark, is_other_context, rebuilds,
};
use std::collections::HashSet;
use std::sync::Arc;

/// What is derived along a path.
#[derive(Clone, Default)]
pub(super) struct PathState {
    pub(super) leaf: Option<EntryId>,
    pub(super) context: Context,
    pub(super) history: Vec<EntryId>,
    pub(super) compactions: Vec<EntryId>,
    pub(super) far: FarLedger,
    pub(super) breaker: Breaker,
    pub(super) tally: ViewTally,
    pub(super) usage: Option<UsageAnchor>,
    /// The newest mark that changed what is in view, edits apart: usage that was told before it is of another context.
    pub(super) rebuilt_at: Option<EntryId>,
    /// The newest edit: of usage that was told before it, what it freed is no longer taken.
    pub(super) edited_at: Option<EntryId>,
    /// The newest pass in use; see [`super::Timeline::newest_pass`].
    pub(super) newest_pass: Option<EntryId>,
    /// See [`super::Timeline::newest_rebuild`].
    pub(super) newest_rebuild: Option<EntryId>,
    /// See [`super::Timeline::held_passes`].
    pub(super) held_passes: Vec<EntryId>,
    /// Compactions and edits that this path does without; see [`super::Timeline::set_ignored`].
    pub(super) ignored: Arc<HashSet<EntryId>>,
    /// What all of `history` would take whole.
    pub(super) whole: Tokens,
    /// The mark that asks for a compaction at the end of the turn.
    pub(super) request: Option<EntryId>,
    /// What requests would have less by compactions that were only observed, as the provider counts.
    pub(super) observed: Tokens,
    /// See [`super::Timeline::times_rebuilt`].
    pub(super) times_rebuilt: u64,
}

impl PathState {
    /// Brings everything but the context and the tally up to date with an entry that holds on the path.
    pub(super) fn note(&mut self, id: EntryId, log: &Log, sizes: &SizeTable, lens: Lens<'_>) {
        let Some(entry) = log.get(id) else { return };
        self.held_passes.extend(held_pass(log, id));
        self.breaker.take(entry, lens.guard);
        if rebuilds(entry) {
            self.newest_pass = self.newest_pass.max(Some(applied_pass(entry).unwrap_or(id)));
            self.newest_rebuild = self.newest_rebuild.max(log.mark_of(id).map(|_| id));
            self.note_usage_of_another(id, is_other_context(entry), log);
        }
        match entry {
            Entry::Message(_) => {
                self.history.push(id);
                self.whole += sizes.total(id);
            }
            Entry::Recorded(_) => self.add_compaction(id),
            Entry::Mark(Mark::Compaction { .. }) => self.add_compaction(id),
            Entry::Mark(Mark::Apply { of } | Mark::Redo { of }) if log.compaction(*of).is_some() => {
                self.add_compaction(*of);
            }
            Entry::Mark(Mark::Undo { of }) => self.compactions.retain(|known| known != of),
            Entry::Mark(Mark::Usage(mark)) if mark.is_estimated => {}
            Entry::Mark(Mark::Usage(mark)) => {
                let slots = self.slots_up_to(log.parent(id));
                let is_known = *mark != UsageMark::default();
                let is_ours = is_known && (mark.model.is_empty() || *mark.model == *lens.model);
                let is_of_this_context = Some(id) > self.rebuilt_at;
                let anchor = || UsageAnchor { id, mark: mark.clone(), slots };
                self.usage = (is_ours && is_of_this_context).then(anchor);
            }
            Entry::Mark(Mark::Request { is_open }) => self.request = is_open.then_some(id),
            Entry::Mark(Mark::Observation { saved, .. }) => self.observed = *saved,
            Entry::Mark(
                Mark::Edit { .. }
                | Mark::Apply { .. }
                | Mark::Redo { .. }
                | Mark::Pin { .. }
                | Mark::Unpin { .. }
                | Mark::Label { .. }
                | Mark::Judgement { .. }
                | Mark::Failure
                | Mark::Floor { .. }
                | Mark::Refill
                | Mark::Hold { .. }
                | Mark::Reset,
            )
            | Entry::Note { .. } => {}
        }
    }

    /// What was told of the context before a pass is told of another one now. An edit shows the same messages, and what it
    /// freed can be taken off; were the figure given up, a policy that prunes each turn would never go by it.
    fn note_usage_of_another(&mut self, pass: EntryId, is_other: bool, log: &Log) {
        if is_other {
            self.rebuilt_at = self.rebuilt_at.max(Some(pass));
            self.usage = None;
        } else {
            self.edited_at = self.edited_at.max(Some(pass));
            if let Some(mut usage) = self.usage.take() {
                usage.slots = self.slots_up_to(log.parent(usage.id));
                self.usage = Some(usage);
            }
        }
    }

    fn add_compaction(&mut self, id: EntryId) {
        if self.ignored.contains(&id) {
            return;
        }
        self.compactions.retain(|known| *known != id);
        self.compactions.push(id);
    }

    /// How many slots stand up to, and with, this message.
    fn slots_up_to(&self, message: Option<EntryId>) -> usize {
        let slots = self.context.slots();
        let Some(message) = message else { return 0 };
        // Usage is of the newest reply: it is looked for from the end.
        slots.iter().rposition(|slot| slot.id() == message).map_or(slots.len(), |at| at + 1)
    }
}

/// The compaction or edit that an entry is, applies or uses again.
fn held_pass(log: &Log, id: EntryId) -> Option<EntryId> {
    let pass = log.pass_of(id);
    log.mark_of(pass).filter(|mark| mark.record().is_some()).map(|_| pass)
}

/// The pass that an entry puts to use, where it was made on another path.
fn applied_pass(entry: &Entry) -> Option<EntryId> {
    match entry {
        Entry::Mark(Mark::Apply { of }) => Some(*of),
        Entry::Mark(_) | Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. } => None,
    }
}
