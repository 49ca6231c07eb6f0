//! oh-my-pi by its cases: when it compacts and when its work goes on, what it prunes, how it asks for a
//! summary, and how it makes one before it is needed. A test's name begins with the number of its case.
//!
//! M2 and M3 are about settings alone and are tested with them. M14 speaks of methods that are ours by
//! other names: the provider's own compaction is `native`, its `shake` is `prune`, its `handoff` is
//! `summarize`; the chain with its fallbacks is the same.
//!
//! # Cases that cannot hold
//!
//! None. A pruning notice is followed by the id that brings its result back, so M18's stored artifact is
//! the original itself.

mod prune;
mod speculate;
mod summary;
mod trigger;

use epitome_core::{Change, Record};
use epitome_engine::TurnEnd;
use epitome_testbed::{Bed, Maker};
use std::sync::Arc;

/// The window of the cases.
const WINDOW: u64 = 200_000;

fn omp(version: &str) -> Maker {
    Maker::new(&format!("omp@{version}"), WINDOW)
}

/// A turn ends well.
fn end_turn(bed: &mut Bed) -> Option<Arc<Record>> {
    bed.end_turn(TurnEnd::Good)
}

/// What a compaction that was due has changed.
fn made(record: Option<Arc<Record>>) -> Change {
    let change = record.and_then(|record| record.change().cloned());
    change.expect("a compaction was due and made")
}
