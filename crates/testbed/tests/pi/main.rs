//! pi, case by case: the tests' names begin with the number of the case they hold.
//!
//! # What is not held
//! - p10: under `pi@0.58` alone: where nothing can be cut off, that version asks for a summary of nothing;
//!   we say that there is nothing to compact, as later versions do, for it would make no room
//! - p27: waits for navigation in pi's files: a branch summary's files stand in its text, ours and pi's, and have no field
//!   `details` beside it

mod branch;
mod cut;
mod file;
mod hook;
mod summary;
mod trigger;

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

/// Four messages of 5,000 tokens: exactly what every version keeps of them.
fn tail(bed: &mut Bed) -> Vec<EntryId> {
    bed.talk(4, 5_000)
}

/// Calls with results of 4,000 tokens each: the ids of each call and its result.
fn exchanges(bed: &mut Bed, count: usize) -> Vec<(EntryId, EntryId)> {
    let one = |number| {
        let text = bed.filler(4_000);
        bed.exchange("bash", &format!(r#"{{"command":"make {number}"}}"#), &text)
    };
    (0..count).map(one).collect()
}

/// A finished turn of 2,000 tokens, then a person's message of 21,000, which is all that a compaction keeps.
fn compacted_before_a_long_turn(bed: &mut Bed) -> EntryId {
    bed.talk(2, 1_000);
    let text = bed.filler(21_000);
    let asked = bed.user(&text);
    compact(bed);
    asked
}
