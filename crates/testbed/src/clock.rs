//! A clock that moves only when someone waits, or is told to.

use epitome_engine::{BoxFuture, Clock};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Time in a test.
#[derive(Debug, Default)]
pub struct TestClock {
    millis: AtomicU64,
}

impl TestClock {
    /// Lets time pass.
    pub fn pass(&self, time: Duration) {
        self.millis.fetch_add(time.as_millis() as u64, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Duration {
        Duration::from_millis(self.millis.load(Ordering::Relaxed))
    }

    /// Over at once: whoever waits sees the time gone by. What is ready comes before a deadline.
    fn sleep(&self, time: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move { self.pass(time) })
    }
}
