//! What a person or a script is told of a compaction.

use epitome_core::{Budget, Record, Tokens, Trigger};
use serde::Serialize;

/// A compaction, as it is printed, stored and sent.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What came of it.
    pub outcome: Happened,
    /// Why it ran.
    pub trigger: Trigger,
    /// Why nothing was done, where nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'static str>,
    /// The window and what is taken of it before the history.
    #[serde(flatten)]
    pub budget: Budget,
    /// The whole request before, without the answer's reserve.
    pub tokens_before: Tokens,
    /// The same after.
    pub tokens_after: Tokens,
    /// How tokens were counted.
    pub count_method: String,
    /// The rest of the record; none where nothing was done.
    #[serde(flatten)]
    pub record: Option<Made>,
    /// What it cost to make, in dollars. The embedded summariser is free.
    pub cost: f64,
    /// How long it took.
    pub duration_ms: u64,
}

/// What came of asking for a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Happened {
    /// The context was rebuilt.
    Compacted,
    /// Messages are shown in other forms.
    Pruned,
    /// Nothing had to be done.
    Noop,
    /// The transcript's own tool compacted here.
    Recorded,
}

/// The parts of a record that exist only when something was done.
#[derive(Clone, Debug, Serialize)]
pub struct Made {
    /// What did it.
    pub strategy: epitome_core::Strategy,
    /// What was tried before, and why it was given up.
    pub fallbacks: Vec<epitome_core::Fallback>,
    /// What the history was to come down to.
    pub target: Tokens,
    /// Messages covered by the summary.
    pub superseded: Vec<epitome_core::EntryId>,
    /// Messages that left without one.
    pub dropped: Vec<epitome_core::EntryId>,
    /// Messages in view with a pointer for their bulk.
    pub pruned: Vec<epitome_core::EntryId>,
    /// Messages in view cut to head and tail.
    pub reduced: Vec<epitome_core::EntryId>,
    /// Messages in view.
    pub kept: Vec<epitome_core::EntryId>,
    /// The summary as the model sees it.
    pub summary: Option<String>,
    /// Files, commands and todos of what was superseded.
    pub ledger: epitome_core::ledger::Ledger,
    /// What survived.
    pub loss: epitome_core::verify::LossReport,
    /// What a person should know.
    pub notes: Vec<String>,
}

impl From<Record> for Made {
    fn from(record: Record) -> Self {
        let Record {
            strategy,
            fallbacks,
            target,
            superseded,
            dropped,
            pruned,
            reduced,
            kept,
            summary,
            ledger,
            loss,
            notes,
            ..
        } = record;
        Self {
            strategy,
            fallbacks,
            target,
            superseded,
            dropped,
            pruned,
            reduced,
            kept,
            summary,
            ledger,
            loss,
            notes,
        }
    }
}
