//! What was taken back on a path, by what its marks say in order.

use crate::{EntryId, Log, Mark};
use std::collections::HashSet;

/// Compactions and edits that do not count on a path, by what its marks say in order.
#[derive(Clone, Debug, Default)]
pub struct UndoneMarks(HashSet<EntryId>);

impl UndoneMarks {
    /// What `marks`, in the order they were appended, have taken back.
    pub fn by(log: &Log, marks: &[EntryId]) -> Self {
        let mut undone = Self::default();
        for mark in marks.iter().filter_map(|&id| log.mark_of(id)) {
            undone.take(mark);
        }
        undone
    }

    fn take(&mut self, mark: &Mark) {
        match mark {
            Mark::Undo { of } => drop(self.0.insert(*of)),
            // Applied anew where it had been taken back: the newest word counts.
            Mark::Redo { of } | Mark::Apply { of } => drop(self.0.remove(of)),
            Mark::Compaction { .. }
            | Mark::Edit { .. }
            | Mark::Pin { .. }
            | Mark::Unpin { .. }
            | Mark::Label { .. }
            | Mark::Judgement { .. }
            | Mark::Usage(_)
            | Mark::Failure
            | Mark::Floor { .. }
            | Mark::Refill
            | Mark::Hold { .. }
            | Mark::Reset
            | Mark::Request { .. }
            | Mark::Observation { .. } => {}
        }
    }

    /// Whether this one was taken back.
    pub fn contains(&self, id: EntryId) -> bool {
        self.0.contains(&id)
    }
}
