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

use epitome_engine::{Made, Report, now};
use epitome_testbed::{Bed, Maker};

/// The window of the cases.
const WINDOW: u64 = 200_000;

fn omp(version: &str) -> Maker {
    Maker::new(&format!("omp@{version}"), WINDOW)
}

/// A turn ends well.
fn end_turn(bed: &mut Bed) -> Option<Report> {
    now(bed.session.end_turn(true)).expect("all is in memory")
}

/// The record of a compaction that was made.
fn made(report: Option<Report>) -> Made {
    report.and_then(|report| report.record).expect("a compaction was due and made")
}
