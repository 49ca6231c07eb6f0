//! Lessons of others, row 111: what a long session takes in memory, measured at the process. A test of its own, so that
//! nothing else runs in it.

#![cfg(target_os = "linux")]

use epitome_core::Trigger;
use epitome_testbed::{Maker, word};
use std::fs;

const MESSAGES: usize = 100_000;
const COMPACTIONS: usize = 10;
/// The originals of a hundred thousand short messages take some 30 MB by themselves; all that is derived from them,
/// records of compactions included, has to do with as much again and some slack.
const CAP_BYTES: u64 = 120 << 20;

/// What the process has in memory now.
fn resident_bytes() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").expect("Linux says so");
    let resident = pages.split(' ').nth(1).and_then(|count| count.parse::<u64>().ok());
    resident.expect("a number of pages") * 4_096
}

#[test]
fn l111_a_hundred_thousand_messages_and_ten_compactions_stay_below_a_cap() {
    let mut bed = Maker::new("default", 2_000_000).no_model().bed();
    let (before, mut views) = (resident_bytes(), Vec::new());
    for _ in 0..COMPACTIONS {
        bed.talk(MESSAGES / COMPACTIONS, 8);
        assert_eq!(word(&bed.compact(Trigger::Manual)), "compacted");
        bed.take_events();
        views.push(bed.session.context().tokens().0);
    }
    let grown = resident_bytes().saturating_sub(before);
    assert_eq!(bed.session.history().len(), MESSAGES);
    assert!(grown < CAP_BYTES, "{} MB", grown >> 20);
    let (early, late) = (views[..3].iter().max(), views[7..].iter().max());
    assert!(
        late.zip(early).is_some_and(|(late, early)| late < &(early * 2)),
        "what is in view does not grow: {views:?}"
    );
}
