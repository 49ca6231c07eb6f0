//! What debugging output shows of types that hold ports or a whole log: their name, and the few figures that tell one from
//! another.

use crate::ports::{Ports, RequestWaiter, SummaryModel};
use crate::replay::ReplayInput;
use crate::speculation::Background;
use crate::store::StoredSession;
use crate::timeline::{Lens, Timeline};
use std::fmt::{Debug, Formatter, Result};

impl Debug for Ports {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let hooks: Vec<&str> = self.hooks().iter().map(|hook| hook.name()).collect();
        f.debug_struct("Ports")
            .field("model", &self.model)
            .field("hooks", &hooks)
            .field("has_operator", &self.operator.is_some())
            .field("has_restorer", &self.restorer.is_some())
            .finish_non_exhaustive()
    }
}

impl Debug for SummaryModel {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { model, is_warm, is_native } = self;
        f.debug_struct("SummaryModel")
            .field("model", &model.name())
            .field("is_warm", is_warm)
            .field("is_native", is_native)
            .finish()
    }
}

impl Debug for RequestWaiter {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("RequestWaiter").field("since", &self.since).finish_non_exhaustive()
    }
}

impl Debug for Background {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("Background").field("is_running", &self.is_running()).finish_non_exhaustive()
    }
}

impl Debug for Timeline {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("Timeline")
            .field("leaf", &self.leaf())
            .field("messages", &self.history().len())
            .field("compactions", &self.compactions())
            .field("tokens", &self.context().tokens())
            .finish_non_exhaustive()
    }
}

impl Debug for Lens<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("Lens").field("model", &self.model).finish_non_exhaustive()
    }
}

impl Debug for StoredSession {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("StoredSession")
            .field("entries", &self.log.len())
            .field("leaf", &self.leaf)
            .finish_non_exhaustive()
    }
}

impl Debug for ReplayInput<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("ReplayInput").field("path", &self.path.len()).finish_non_exhaustive()
    }
}
