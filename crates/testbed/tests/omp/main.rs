//! oh-my-pi by its cases: when it compacts and when its work goes on, what it prunes, how it asks for a
//! summary, and how it makes one before it is needed. A test's name begins with the number of its case.
//!
//! M2 and M3 are about settings alone and are tested with them. M14 speaks of methods that are ours by
//! other names: the provider's own compaction is `native`, its `shake` is `prune`, its `handoff` is
//! `summarize`; the chain with its fallbacks is the same.
//!
//! # What is not held
//! - m14: neither pictures of old text (`snapcompact`) nor a new session with a letter to it (`handoff`) is a method here; those
//!   that are pass on to the next in the same way
//! - m18: shaking is no method of its own but `--strategy prune` with its limits; a notice is followed by the id that brings
//!   the original back, which is the stored artifact itself

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
