//! What the speed benches give a session to work with.

use epitome_core::{Budget, EntryId, Log, MemoryArchive, Message, Policy, SizeTable, Tokens};
use epitome_engine::{Assembly, ModelMeasure, Session};
use std::sync::Arc;

/// The window of the sessions measured: the one pi is given.
const WINDOW: Tokens = Tokens(200_000);
/// What an answer may take: as much as pi keeps free for one.
const OUTPUT_MAX: Tokens = Tokens(16_384);

/// A session over a log of which it has taken up nothing yet, under the policy of a user who sets nothing.
pub fn session(log: Arc<Log>, sizes: Arc<SizeTable>, measure: &ModelMeasure) -> Session {
    let budget = Budget::new(WINDOW, Tokens::ZERO, OUTPUT_MAX);
    let policy = Arc::new(Policy::default());
    let assembly = Assembly::of_parts(policy, Arc::new(measure.clone()), "the model's own", budget);
    Session::new(log, sizes, Arc::new(MemoryArchive::default()), assembly)
}

/// Puts the originals at hand that a compaction of the session reads, as the engine does before one.
pub fn load(session: &Session, read: impl Fn(EntryId) -> Option<Arc<Message>>) {
    for id in session.timeline().readable() {
        read(id).into_iter().for_each(|message| session.archive().put_shared(id, message));
    }
}
