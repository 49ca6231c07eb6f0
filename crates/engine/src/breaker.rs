//! The circuit breaker of automatic compaction: failures in a row, refills in a row, a floor that cannot fit.
//! All of it is derived from marks, so a restart changes nothing. An open breaker ends calls of models and
//! hooks; that a request must fit is the session's to see to.

use epitome_core::policy::GuardRule;
use epitome_core::{Entry, Mark, Role, Tokens};

/// The state of automatic compaction, as the log tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Breaker {
    /// Failures since the last success.
    failures: u32,
    /// Compactions in a row, each of which was full again soon.
    refills: u32,
    /// Model replies since the last compaction; none before the first.
    calls: Option<u32>,
    /// What could not be made to fit last.
    floor: Option<Tokens>,
    is_open: bool,
    /// Whether the work waits for a person.
    is_held: bool,
}

impl Breaker {
    /// Takes up one more entry of the path, or a mark that holds on it.
    pub(crate) fn take(&mut self, entry: &Entry, guard: &GuardRule) {
        match entry {
            Entry::Message(item) if item.opens_turn() => self.is_held = false,
            Entry::Message(item) if item.role == Role::Assistant => {
                self.calls = self.calls.map(|calls| calls + 1);
            }
            Entry::Recorded(_) => self.compacted(guard),
            Entry::Mark(mark) => self.take_mark(mark, guard),
            Entry::Message(_) | Entry::Note { .. } => {}
        }
    }

    fn take_mark(&mut self, mark: &Mark, guard: &GuardRule) {
        match mark {
            // Nobody was asked for it, so that it proves nothing: only a person's success closes a breaker.
            Mark::Compaction { record, .. } if self.is_open && !record.trigger.is_manual() => {
                self.made_room()
            }
            Mark::Apply { .. } if self.is_open => self.made_room(),
            Mark::Compaction { .. } | Mark::Apply { .. } => self.compacted(guard),
            Mark::Undo { .. } | Mark::Redo { .. } | Mark::Reset => {
                *self = Self { calls: self.calls, ..Self::default() };
            }
            Mark::Failure => {
                self.failures += 1;
                self.is_open |= guard.failures_max.is_some_and(|most| self.failures >= most);
            }
            Mark::Refill => {
                self.refills += 1;
                self.is_open = true;
            }
            Mark::Hold { .. } => self.is_held = true,
            Mark::Floor { tokens } => self.floor = Some(*tokens),
            Mark::Edit { .. }
            | Mark::Pin { .. }
            | Mark::Unpin { .. }
            | Mark::Label { .. }
            | Mark::Judgement { .. }
            | Mark::Usage(_)
            | Mark::Request { .. }
            | Mark::Observation { .. } => {}
        }
    }

    fn compacted(&mut self, guard: &GuardRule) {
        self.refills = if self.is_refilled(guard) { self.refills + 1 } else { 0 };
        (self.failures, self.calls, self.floor) = (0, Some(0), None);
        self.is_open = guard.refills_max.is_some_and(|most| self.refills >= most);
    }

    fn made_room(&mut self) {
        (self.calls, self.floor) = (Some(0), None);
    }

    /// Whether a context that is full now was compacted only just.
    fn is_refilled(&self, guard: &GuardRule) -> bool {
        self.calls.is_some_and(|calls| calls <= guard.refill_calls)
    }

    /// Whether a context that is full now was, once too often.
    pub(crate) fn is_refilled_too_often(&self, guard: &GuardRule) -> bool {
        self.is_refilled(guard) && guard.refills_max.is_some_and(|most| self.refills + 1 >= most)
    }

    /// Whether automatic compaction has stopped.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether the work waits for a person and must not go on by itself.
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// Failures since the last success.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Whether it was said that something cannot be made to fit.
    pub fn has_floor(&self) -> bool {
        self.floor.is_some()
    }

    /// Whether what could not be made to fit is still the same.
    pub(crate) fn is_floor(&self, floor: Tokens) -> bool {
        self.floor == Some(floor)
    }

    /// Why automatic compaction has stopped, and what to do.
    pub fn why(&self, guard: &GuardRule) -> Option<String> {
        if !self.is_open {
            return None;
        }
        Some(if guard.refills_max.is_some_and(|most| self.refills >= most) {
            format!(
                "the context was full again right after {} compactions in a row; begin a new session, give it a larger window, or keep large results out of it",
                self.refills
            )
        } else {
            let failed = match self.failures {
                1 => "a compaction failed".to_owned(),
                more => format!("{more} compactions failed in a row"),
            };
            format!("{failed}; compact by hand, with another summariser, or begin a new session")
        })
    }
}
