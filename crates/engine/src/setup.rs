//! What a session is given to work with.

use crate::port::{Clock, Hook, Model, Restorer};
use epitome_core::{Archive, Budget, EntryId, Expressible, Measure, Policy, Prompts};
use std::sync::Arc;

/// What a session is given to work with.
#[derive(Clone)]
pub struct Setup {
    /// Where the originals are.
    pub archive: Arc<dyn Archive>,
    /// How to count.
    pub measure: Arc<dyn Measure>,
    /// The name of that way of counting.
    pub count_method: Arc<str>,
    /// How much room there is.
    pub budget: Budget,
    /// How to compact.
    pub policy: Arc<Policy>,
    /// What the place the result goes to can say.
    pub can: Expressible,
    /// What a summary is to dwell on.
    pub focus: Option<Arc<str>>,
    /// Messages never to be superseded.
    pub pins: Vec<EntryId>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Who can be asked.
    pub asks: Asks,
}

/// Who a session can ask. By default nobody: summaries are the embedded summariser's.
#[derive(Clone, Default)]
pub struct Asks {
    /// The model that writes summaries.
    pub model: Option<Arc<dyn Model>>,
    /// Whether that model is the session's own and still has the session's prompt in its cache.
    pub is_warm: bool,
    /// Whether the provider's own compaction may be used.
    pub native: bool,
    /// Who is told, and may have a say.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// What is brought back after a compaction.
    pub restorer: Option<Arc<dyn Restorer>>,
    /// What a summariser is told.
    pub prompts: Arc<Prompts>,
}

/// A second compactor.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{second}` cannot be a compactor of this session: `{first}` is one already; remove one of them")]
pub struct TwoCompactors {
    /// The one there is.
    pub first: String,
    /// The one refused.
    pub second: String,
}

impl Asks {
    /// Adds a hook; a second compactor is refused.
    pub fn add_hook(&mut self, hook: Arc<dyn Hook>) -> Result<(), TwoCompactors> {
        let known = self.hooks.iter().find(|known| known.is_compactor());
        if let Some(first) = known.filter(|_| hook.is_compactor()) {
            return Err(TwoCompactors { first: first.name().to_owned(), second: hook.name().to_owned() });
        }
        self.hooks.push(hook);
        Ok(())
    }
}
