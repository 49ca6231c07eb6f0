//! Reading what came of a compaction, for assertions.

use epitome_core::{Change, Record};
use std::sync::Arc;

/// The name of what came of it.
pub fn word(record: &Record) -> &'static str {
    record.outcome.name()
}

/// What was changed, where something was to be.
pub fn change(record: Option<Arc<Record>>) -> Change {
    let record = record.expect("something was to be done");
    record.change().cloned().unwrap_or_else(|| panic!("nothing was changed: {:?}", record.outcome))
}
