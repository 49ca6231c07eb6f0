//! Reading what came of a compaction, for assertions.

use epitome_core::{Change, Outcome, Record};
use std::sync::Arc;

/// The word for what came of it, as records are written.
pub fn word(record: &Record) -> &'static str {
    match record.outcome {
        Outcome::Compacted(_) => "compacted",
        Outcome::Pruned(_) => "pruned",
        Outcome::Applied { .. } => "applied",
        Outcome::Noop { .. } => "noop",
        Outcome::Recorded => "recorded",
        Outcome::Vetoed { .. } => "vetoed",
        Outcome::Abandoned { .. } => "abandoned",
        Outcome::Impossible(_) => "impossible",
    }
}

/// What was changed, where something was to be.
pub fn change(record: Option<Arc<Record>>) -> Change {
    let record = record.expect("something was to be done");
    record.change().cloned().unwrap_or_else(|| panic!("nothing was changed: {:?}", record.outcome))
}
