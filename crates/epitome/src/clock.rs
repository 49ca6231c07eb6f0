//! The clock on the wall, for the one crate that may look at it.

use epitome_engine::{BoxFuture, Clock};
use std::time::{Duration, Instant};

/// Time since the program began to care.
pub struct WallClock(Instant);

impl WallClock {
    /// Begins now.
    pub fn start() -> Self {
        Self(Instant::now())
    }
}

impl Clock for WallClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn unix_ms(&self) -> Option<u64> {
        u64::try_from(jiff::Timestamp::now().as_millisecond()).ok()
    }
}

/// The time of day, as transcripts write it.
pub fn timestamp() -> String {
    let now = jiff::Timestamp::now();
    format!("{now:.3}")
}

/// The time since the epoch.
pub fn unix_time() -> std::time::Duration {
    let now = u64::try_from(jiff::Timestamp::now().as_millisecond());
    std::time::Duration::from_millis(now.unwrap_or_default())
}
