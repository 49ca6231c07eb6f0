//! Where the engine meets the world: models, hooks and time.

use epitome_core::{Called, Request, Tokens};
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// Work that someone else is doing. Dropping it cancels it.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A model that writes summaries.
pub trait Model: Send + Sync {
    /// Its name, as records show it.
    fn name(&self) -> &str;
    /// All a request to it may take, answer included.
    fn window(&self) -> Tokens;
    /// The longest answer it gives.
    fn output_max(&self) -> Tokens;
    /// Whether several calls may run at once. Where that is not known, they run one after another.
    fn takes_parallel(&self) -> bool {
        false
    }
    /// Asks for a summary. Retries of a provider's hiccups are its own affair and bounded.
    fn summarize(&self, request: Request) -> Pending<'_, Called>;
}

/// Where time comes from.
pub trait Clock: Send + Sync {
    /// Time since some fixed moment.
    fn now(&self) -> Duration;
    /// Ends after `time`. Needed only where hooks or operators have a deadline.
    fn sleep(&self, time: Duration) -> Pending<'_, ()>;
}

/// A clock that stands still: nothing takes time, and no deadline strikes. For replays and tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) -> Pending<'_, ()> {
        Box::pin(std::future::pending())
    }
}
