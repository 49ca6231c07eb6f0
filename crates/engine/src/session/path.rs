//! Going along paths of a log: to another leaf, on to new entries, and over to a log that others have appended to
//! meanwhile. What is derived on the way is the timeline's; a session only decides what it does without, because it was
//! made for a smaller window.

use super::Session;
use crate::assembly::Assembly;
use crate::engine::Checkout;
use crate::error::EngineError;
use epitome_core::{EntryId, Log, Mark, MemoryArchive, Role, SizeTable};
use std::collections::HashSet;
use std::sync::Arc;

impl Session {
    /// Goes to the path that ends in `leaf`; what was made in the background for another is let go, and that is said.
    pub fn move_to(&mut self, leaf: Option<EntryId>) -> Result<(), EngineError> {
        let Self { timeline, assembly, archive, .. } = self;
        timeline.move_to(leaf, assembly.lens(&**archive))?;
        self.outgrow()?;
        self.state.is_stop_told = self.breaker().is_open();
        self.drop_outdated();
        Ok(())
    }

    /// Learns anew from the usage that the path records how the provider counts: for a session that is read from where it
    /// was saved. Where many sessions share what is known of an endpoint, that outlives each of them.
    pub fn recall_calibration(&mut self) -> Result<(), EngineError> {
        if let Some(calibration) = self.assembly.calibration() {
            self.growths_on_path().into_iter().for_each(|growth| calibration.learn(growth));
        }
        self.outgrow()
    }

    /// Takes up one more entry of the log: the next of the path, or a mark at its end.
    pub fn absorb(&mut self, id: EntryId) -> Result<(), EngineError> {
        let Self { timeline, assembly, archive, state, .. } = self;
        timeline.absorb(id, assembly.lens(&**archive))?;
        if timeline.log().item(id).is_some_and(|item| item.role == Role::Assistant) {
            (state.recoveries, state.is_downshift) = (0, false);
        }
        self.outgrow_no_more()
    }

    /// Whether others have appended marks that hold on the path, or a checkout governs it otherwise: then it is derived anew.
    pub(crate) fn is_outdated_by(&self, log: &Log, checkout: &Checkout) -> bool {
        let is_other = |now: &Assembly, next: &Assembly| {
            now.policy().guard != next.policy().guard || now.model().id != next.model().id
        };
        is_other(&self.assembly, &checkout.assembly)
            || log.anchors_from(self.entries_seen).any(|anchor| self.passes_through(log, anchor))
    }

    /// Whether the path passes an entry at which marks may be anchored.
    fn passes_through(&self, log: &Log, anchor: Option<EntryId>) -> bool {
        let Some(anchor) = anchor else { return true };
        if log.item(anchor).is_some() {
            return self.history().binary_search(&anchor).is_ok();
        }
        // What a transcript's own tool recorded is no message, and rarely an anchor.
        log.path_behind(self.leaf(), |id| id <= anchor).0 == Some(anchor)
    }

    /// The same with originals from elsewhere.
    pub(crate) fn with_archive(self, archive: Arc<MemoryArchive>) -> Self {
        Self { archive, ..self }
    }

    /// Goes on with the log as others have left it, as a checkout says.
    pub(crate) fn adopt_log(&mut self, log: Arc<Log>, sizes: Arc<SizeTable>, checkout: &Checkout) {
        self.is_outdated = self.is_outdated_by(&log, checkout);
        self.is_tally_outdated = is_other_tally(&self.assembly, &checkout.assembly);
        self.handed_out = log.len();
        self.timeline.replace_log(log, sizes);
        self.assembly = checkout.assembly.clone();
        self.options = checkout.options.clone();
        self.state.idle_minutes = checkout.idle.map(|idle| idle.as_secs() / 60);
    }

    /// Goes on to the end of a path: `since` are its entries behind the one taken up, oldest first.
    pub(crate) fn go_on(&mut self, since: &[EntryId]) -> Result<(), EngineError> {
        if self.is_outdated {
            self.move_to(since.last().copied().or(self.leaf()))?;
        } else {
            for &id in since {
                self.absorb(id)?;
                let marks = self.log().marks_at(Some(id)).to_vec();
                marks.into_iter().try_for_each(|mark| self.absorb(mark))?;
            }
            if self.is_tally_outdated {
                self.timeline.review(self.assembly.lens(&*self.archive))?;
            }
        }
        (self.is_outdated, self.is_tally_outdated) = (false, false);
        Ok(())
    }

    /// Does without compactions and edits that were made by themselves for a smaller window, as long as this one has
    /// room for what they cover: a larger model keeps its whole history.
    pub(crate) fn outgrow(&mut self) -> Result<(), EngineError> {
        let passes = self.timeline.held_passes();
        let ignored: HashSet<EntryId> = if !passes.is_empty() && self.has_room_for_all() {
            passes.iter().copied().filter(|&id| self.is_for_smaller(id)).collect()
        } else {
            HashSet::new()
        };
        let Self { timeline, assembly, archive, .. } = self;
        Ok(timeline.set_ignored(ignored, assembly.lens(&**archive))?)
    }

    /// Whether a compaction or edit is one that this path does without, or would as soon as it were put to use.
    pub(super) fn is_outgrown(&self, pass: EntryId) -> bool {
        self.is_for_smaller(pass) && self.has_room_for_all()
    }

    /// Whether it was made by itself for a smaller window.
    fn is_for_smaller(&self, pass: EntryId) -> bool {
        let record = self.log().mark_of(pass).and_then(Mark::record);
        record
            .is_some_and(|record| !record.trigger.is_manual() && record.budget.window < self.budget().window)
    }

    fn has_room_for_all(&self) -> bool {
        !self.budget().is_due(self.timeline.whole(), self.policy())
    }

    /// The same after something was said: what is done without is needed as soon as there is no room for all it covers.
    pub(super) fn outgrow_no_more(&mut self) -> Result<(), EngineError> {
        if self.timeline.ignores_any() && !self.has_room_for_all() { self.outgrow() } else { Ok(()) }
    }

    /// The same without its log and sizes, to be kept until it goes on with those of then: who else appends must not
    /// have to copy them for its sake. Without the digests of its messages too: a process that serves many sessions would
    /// hold the texts of all of them, each for a compaction that comes every fifty calls or so.
    pub(crate) fn without_log(&self) -> Self {
        let mut kept = self.clone();
        kept.entries_seen = self.log().len();
        kept.timeline.replace_log(Arc::default(), Arc::default());
        kept.digests = Arc::default();
        kept
    }

    /// Goes on with a log in which what this session appended stands behind what others did.
    pub(crate) fn rebase(
        &mut self,
        log: Arc<Log>,
        sizes: Arc<SizeTable>,
        leaf: Option<EntryId>,
    ) -> Result<(), EngineError> {
        self.handed_out = log.len();
        self.timeline.replace_log(log, sizes);
        self.move_to(leaf)
    }
}

/// Whether bytes and pictures in view count for one of two assemblies and not for the other.
fn is_other_tally(one: &Assembly, other: &Assembly) -> bool {
    let counts = |assembly: &Assembly| {
        let trigger = &assembly.policy().trigger;
        trigger.bytes.is_some() || trigger.media.is_some()
    };
    counts(one) != counts(other)
}
