//! Operator-Use, case by case: the tests' names begin with the number of the case they hold.
//!
//! # Cases that cannot hold
//! None. Tools have no kind in a log, so o23 goes by what names and arguments say of it.

mod hook;
mod plan;
mod run;
mod summary;

use epitome_core::{EntryId, Settings};
use epitome_testbed::{Bed, Maker, compact, summary};

const WINDOW: u64 = 200_000;

/// A session under a preset.
fn bed(preset: &str) -> Bed {
    Bed::new(preset, WINDOW)
}

/// The same with a setting changed.
fn bed_with(preset: &str, change: impl FnOnce(&mut Settings)) -> Bed {
    Maker::new(preset, WINDOW).set(change).bed()
}

/// Four messages of 5,000 tokens: what is kept of them.
fn tail(bed: &mut Bed) -> Vec<EntryId> {
    bed.talk(4, 5_000)
}

/// Calls with results of 4,000 tokens each.
fn exchanges(bed: &mut Bed, count: usize) {
    for number in 0..count {
        let text = bed.filler(4_000);
        bed.exchange("bash", &format!(r#"{{"command":"make {number}"}}"#), &text);
    }
}
