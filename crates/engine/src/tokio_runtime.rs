//! The ports that a tokio runtime fills: time, work in the background, and work that takes the processor, on the
//! runtime's blocking threads. What is run there is the caller's.

use crate::ports::{BoxFuture, Clock, Spawn};
use futures_util::future::{Either, select};
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A tokio runtime as a [`Clock`] and a [`Spawn`]. Its timers must be enabled, as they are by `#[tokio::main]` and
/// `Builder::enable_all`.
#[derive(Clone, Debug)]
pub struct TokioRuntime {
    handle: Handle,
    began: Instant,
}

/// A runtime was asked for where none runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no tokio runtime runs here; call this inside one, or hand in one's handle or a clock of your own")]
pub struct NoRuntime;

/// Work on a blocking thread had no end: it panicked, or its runtime was shut down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("work on a thread of the runtime was lost: it panicked, or the runtime was shut down")]
pub struct LostWork;

impl TokioRuntime {
    /// The runtime this is called in.
    ///
    /// # Errors
    /// Where there is none.
    pub fn current() -> Result<Self, NoRuntime> {
        Handle::try_current().map(Self::of).map_err(|_| NoRuntime)
    }

    /// The runtime behind a handle.
    pub fn of(handle: Handle) -> Self {
        Self { handle, began: Instant::now() }
    }

    /// Has work done on a blocking thread, so that counting, planning and embedded summaries hold up nobody else. Where
    /// the future is dropped, the work is given up the next time it waits.
    ///
    /// # Errors
    /// Where the work panicked, or the runtime ended first.
    pub fn off_executor<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = Result<T, LostWork>> + Send + 'static {
        let (awaited, let_go) = oneshot::channel::<()>();
        let runtime = self.handle.clone();
        let thread = self.handle.spawn_blocking(move || {
            runtime.block_on(async {
                // Work that was given up while it waited for a thread is not begun.
                match select(let_go, pin!(work)).await {
                    Either::Left(_) => None,
                    Either::Right((done, _)) => Some(done),
                }
            })
        });
        BlockingWork { thread, _awaited: awaited }
    }
}

/// Work on a blocking thread, for as long as this is held.
struct BlockingWork<T> {
    thread: JoinHandle<Option<T>>,
    /// Dropped with this, which the work notices.
    _awaited: oneshot::Sender<()>,
}

impl<T> Future for BlockingWork<T> {
    type Output = Result<T, LostWork>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let ended = Pin::new(&mut self.thread).poll(context);
        ended.map(|done| done.ok().flatten().ok_or(LostWork))
    }
}

impl Clock for TokioRuntime {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'_, ()> {
        let _timers = self.handle.enter();
        Box::pin(tokio::time::sleep(time))
    }

    fn unix_ms(&self) -> Option<u64> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        u64::try_from(since.as_millis()).ok()
    }
}

impl Spawn for TokioRuntime {
    fn spawn(&self, work: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        let done = self.off_executor(work);
        Box::pin(async move {
            // Whoever waits looks for what the work has left; work that was lost has left nothing.
            let _lost = done.await;
        })
    }
}
