//! What the speed benches give a session to work with.

use epitome_core::{Archive, Budget, Expressible, Policy, Settings, Tokens};
use epitome_engine::{Clock, Gauge, Setup};
use std::time::{Duration, Instant};

/// The window of the sessions measured: the one pi is given.
const WINDOW: Tokens = Tokens(200_000);
/// What an answer may take: as much as pi keeps free for one.
const OUTPUT_MAX: Tokens = Tokens(16_384);

/// Time since the bench began.
pub struct Watch(Instant);

impl Default for Watch {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for Watch {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// The policy measured: what a user gets who sets nothing.
pub fn policy() -> Policy {
    let settings: Settings = toml::from_str(include_str!("../../../presets/default.toml"))
        .expect("the default preset is in order");
    Policy::try_from(settings).expect("the default preset is in order")
}

/// Everything a session needs, over `archive`.
pub fn setup<'a>(
    archive: &'a dyn Archive,
    gauge: &'a Gauge,
    policy: &'a Policy,
    clock: &'a Watch,
) -> Setup<'a> {
    Setup {
        archive,
        measure: gauge,
        count_method: "",
        budget: Budget::new(WINDOW, Tokens::ZERO, OUTPUT_MAX),
        policy,
        can: Expressible::ALL,
        focus: None,
        pins: &[],
        clock,
    }
}
