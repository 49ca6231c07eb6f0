//! What debugging output shows of types that borrow a whole session: their name, and the few figures that tell one from
//! another. All of a log is nobody's idea of a line in a log file.

use crate::{
    Checkpoint, Consultation, Delegation, EmbeddedQuestion, FarHistory, Job, LogReader, Material,
    ModelQuestion, Plan,
};
use std::fmt::{Debug, Formatter, Result};

impl Debug for LogReader<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("LogReader").field("entries", &self.log.len()).finish_non_exhaustive()
    }
}

impl Debug for Job<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("Job")
            .field("trigger", &self.trigger)
            .field("messages", &self.history.len())
            .field("tokens", &self.context.tokens())
            .field("budget", &self.budget)
            .field("range", &self.range)
            .finish_non_exhaustive()
    }
}

impl Debug for FarHistory<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("FarHistory").field("count", &self.count).finish_non_exhaustive()
    }
}

impl Debug for Material<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("Material")
            .field("superseded", &self.superseded.len())
            .field("visible", &self.visible.len())
            .field("focus", &self.focus)
            .finish_non_exhaustive()
    }
}

impl Debug for Plan<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("Plan")
            .field("job", &self.job)
            .field("target", &self.target)
            .field("visible", &self.visible.len())
            .field("superseded", &self.superseded.len())
            .field("strategies", &self.strategies)
            .finish_non_exhaustive()
    }
}

impl Debug for Checkpoint<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_tuple("Checkpoint").field(&self.pending()).finish()
    }
}

impl Debug for Consultation<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_tuple("Consultation").field(&self.event()).finish()
    }
}

impl Debug for Delegation<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_tuple("Delegation").field(self.plan()).finish()
    }
}

impl Debug for EmbeddedQuestion<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("EmbeddedQuestion").field("budget", &self.budget()).finish_non_exhaustive()
    }
}

impl Debug for ModelQuestion<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("ModelQuestion").field("requests", &self.requests().len()).finish_non_exhaustive()
    }
}
