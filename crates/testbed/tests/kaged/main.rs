//! kaged by the cases of its document: when it compacts, what it drops, summarises and prunes, who has a
//! say, and what is kept of it all. A test's name begins with the number of its case.
//!
//! What a case says of settings alone (K3, K11, K29, K30, K34, the overrides of K35) is tested with the
//! settings; what it says of tables and endpoints is tested here at the session they serve.
//!
//! # What is not held
//! - k9: waits for plugin processes: a mark in a message's own metadata; a plugin marks by its verdict, a person by a pin
//! - k15: waits for the later history API: `include_superseded=true`; a superseded message is shown by its id
//!   (`recall`, `GET …/messages/ID`)
//! - k19: waits for plugin processes: roles in a manifest; `[hook.NAME]` has one role, and the library takes both
//! - k20: a checkpoint has no `reason` field; all that is listed as one is a compaction that waits (`compaction.pending`)
//! - k27: the reason is worded by what stood in the way, not as "strategy superseded zero messages"
//! - k29: a guessed window is reported with `window_source: guess`, not as null
//! - k32: a notice ends with the id that brings its result back, and a pass leaves an entry and an event of its own, since
//!   nothing is silent; it is no compaction and no hook hears of it

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
