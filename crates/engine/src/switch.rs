//! Another model in mid-session: what the next one has no room for is compacted while the one that
//! still holds it can write the summary.

use crate::report::Report;
use crate::session::{EngineError, Session};
use crate::setup::Asks;
use epitome_core::{Budget, Trigger};

impl Session {
    /// Goes on with another model: its `budget` counts from now on, `asks` after the compaction that its
    /// smaller window may make due. That one asks whoever was asked so far; what they cannot take, the
    /// plan's next strategies do without them.
    pub async fn switch(&mut self, budget: Budget, asks: Asks) -> Result<Option<Report>, EngineError> {
        let is_smaller = budget.window < self.setup().budget.window;
        self.set_budget(budget);
        let made = if is_smaller && self.check().is_due {
            self.compact(Trigger::Downshift).await.map(Some)
        } else {
            Ok(None)
        };
        self.set_asks(asks);
        // What one model's provider counted says nothing of the next one's requests.
        self.set_measured(None);
        made
    }
}
