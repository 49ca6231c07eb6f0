//! What the speed benches give a session to work with.

use epitome_core::{Budget, Log, MemoryArchive, Policy, SizeTable, Tokens};
use epitome_engine::{Assembly, ModelMeasure, Session};
use std::sync::Arc;

/// The window of the sessions measured: the one pi is given.
const WINDOW: Tokens = Tokens(200_000);
/// What an answer may take: as much as pi keeps free for one.
const OUTPUT_MAX: Tokens = Tokens(16_384);

/// A session over a log of which it has taken up nothing yet, under the policy of a user who sets nothing.
pub fn session(
    log: Arc<Log>,
    sizes: Arc<SizeTable>,
    archive: Arc<MemoryArchive>,
    measure: &ModelMeasure,
) -> Session {
    let budget = Budget::new(WINDOW, Tokens::ZERO, OUTPUT_MAX);
    let policy = Arc::new(Policy::default());
    let assembly = Assembly::of_parts(policy, Arc::new(measure.clone()), "the model's own", budget);
    Session::new(log, sizes, archive, assembly)
}
