//! Calibration from what a transcript records of its calls: its path is walked as it was held, and what each prompt grew
//! by is held against our count of the same, as a live session does with what it is told.

use crate::assembly::Assembly;
use crate::error::EngineError;
use crate::growth_tracker::GrowthTracker;
use crate::timeline::Timeline;
use epitome_core::{Archive, EntryId, Log, SizeTable, Tokens};
use std::collections::HashMap;
use std::sync::Arc;

/// The path of a transcript, with what its provider reported.
#[derive(Clone, Copy)]
pub struct RecordedCalls<'a> {
    /// Its entries.
    pub log: &'a Arc<Log>,
    /// What they take.
    pub sizes: &'a Arc<SizeTable>,
    /// Where their originals are.
    pub archive: &'a dyn Archive,
    /// Those of the path, first to last.
    pub path: &'a [EntryId],
    /// The prompt of each call as its provider counted it, by the reply.
    pub prompts: &'a HashMap<EntryId, u64>,
}

impl std::fmt::Debug for RecordedCalls<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (path, prompts) = (self.path.len(), self.prompts.len());
        f.debug_struct("RecordedCalls")
            .field("path", &path)
            .field("prompts", &prompts)
            .finish_non_exhaustive()
    }
}

impl RecordedCalls<'_> {
    /// Teaches `assembly` how the provider counts. A policy that counts by another system's rule is taught nothing.
    pub fn teach(&self, assembly: &Assembly) -> Result<(), EngineError> {
        let Some(calibration) = assembly.calibration().filter(|_| !self.prompts.is_empty()) else {
            return Ok(());
        };
        let lens = assembly.lens(self.archive);
        let mut timeline = Timeline::new(self.log.clone(), self.sizes.clone());
        let mut tracker = GrowthTracker::default();
        for &id in self.path {
            if let Some(&prompt) = self.prompts.get(&id) {
                let grown = tracker.take(Tokens(prompt), timeline.context().tokens());
                grown.into_iter().for_each(|growth| calibration.learn(growth));
            }
            for &id in std::iter::once(&id).chain(self.log.marks_at(Some(id))) {
                timeline.absorb(id, lens)?;
                tracker.pass(self.log, id);
            }
        }
        Ok(())
    }
}
