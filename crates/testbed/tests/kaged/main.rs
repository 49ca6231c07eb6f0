//! kaged by the cases of its document: when it compacts, what it drops, summarises and prunes, who has a
//! say, and what is kept of it all. A test's name begins with the number of its case.
//!
//! What a case says of settings alone (K3, K11, K29, K30, K34, the overrides of K35) is tested with the
//! settings; what it says of tables and endpoints is tested here at the session they serve.
//!
//! # Cases that cannot hold
//!
//! None. Two hold in our own words: a pruning notice is followed by the id that brings its result back
//! (K32), and a pass that prunes leaves an entry and an event of its own, since nothing is silent; it is
//! no compaction and no hook hears of it.

mod checkpoint;
mod drop;
mod hooks;
mod prune;
mod record;
mod roles;
mod summary;
mod trigger;

use epitome_core::{Change, EntryId, Record};
use epitome_testbed::{Bed, Maker};
use std::sync::Arc;

/// The window of the cases.
const WINDOW: u64 = 100_000;

/// A session under kaged's preset.
fn kaged() -> Maker {
    Maker::new("kaged", WINDOW)
}

/// A session in which a person asked and the model answered forty-five times: 90,000 tokens.
fn full(maker: Maker) -> (Bed, Vec<EntryId>) {
    let mut bed = maker.bed();
    let ids = bed.talk(90, 1_000);
    (bed, ids)
}

/// What a compaction that was due has changed.
fn made(record: Option<Arc<Record>>) -> Change {
    let change = record.and_then(|record| record.change().cloned());
    change.expect("a compaction was due and made")
}
