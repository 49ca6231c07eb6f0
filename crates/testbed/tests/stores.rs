//! The suite of stores over the store in memory; the program runs it over a transcript.

use epitome_engine::store::MemoryStore;
use epitome_testbed::now;
use epitome_testbed::stores::hold_sessions;

#[test]
fn the_store_in_memory_holds_what_every_store_must() {
    now(hold_sessions(&MemoryStore::default()));
}
