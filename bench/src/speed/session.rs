//! What the speed benches give a session to work with.

use epitome_core::{Archive, Budget, Expressible, Policy, Settings, Tokens};
use epitome_engine::{Asks, Gauge, Setup, Stopped};
use std::sync::Arc;

/// The window of the sessions measured: the one pi is given.
const WINDOW: Tokens = Tokens(200_000);
/// What an answer may take: as much as pi keeps free for one.
const OUTPUT_MAX: Tokens = Tokens(16_384);

/// The policy measured: what a user gets who sets nothing.
fn policy() -> Policy {
    let settings: Settings = toml::from_str(include_str!("../../../presets/default.toml"))
        .expect("the default preset is in order");
    Policy::try_from(settings).expect("the default preset is in order")
}

/// Everything a session needs, over `archive`.
pub fn setup(archive: impl Archive + 'static, gauge: &Gauge) -> Setup {
    Setup {
        archive: Arc::new(archive),
        measure: Arc::new(gauge.clone()),
        count_method: "".into(),
        budget: Budget::new(WINDOW, Tokens::ZERO, OUTPUT_MAX),
        policy: Arc::new(policy()),
        can: Expressible::ALL,
        focus: None,
        pins: Vec::new(),
        clock: Arc::new(Stopped),
        asks: Asks::default(),
    }
}
