//! What the speed benches give a session to work with.

use epitome_core::{Archive, Budget, Expressible, Policy, Tokens};
use epitome_engine::{Asks, Gauge, Setup, Stopped};
use std::sync::Arc;

/// The window of the sessions measured: the one pi is given.
const WINDOW: Tokens = Tokens(200_000);
/// What an answer may take: as much as pi keeps free for one.
const OUTPUT_MAX: Tokens = Tokens(16_384);

/// Everything a session needs, over `archive`.
pub fn setup(archive: impl Archive + 'static, gauge: &Gauge) -> Setup {
    Setup {
        archive: Arc::new(archive),
        measure: Arc::new(gauge.clone()),
        count_method: "".into(),
        budget: Budget::new(WINDOW, Tokens::ZERO, OUTPUT_MAX),
        // What a user gets who sets nothing.
        policy: Arc::new(Policy::default()),
        can: Expressible::ALL,
        focus: None,
        pins: Vec::new(),
        clock: Arc::new(Stopped),
        asks: Asks::default(),
    }
}
