//! Work on sessions, on threads of its own: counting, planning and embedded summaries take the processor for a while,
//! and others are served meanwhile.

use futures_util::future::{Either, FutureExt as _, select};
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::task::Poll;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Does some work to its end, whoever waits for it; none where it panicked.
pub(crate) async fn run<T: Send + 'static>(work: impl AsyncFnOnce() -> T + Send + 'static) -> Option<T> {
    let runtime = Handle::current();
    tokio::task::spawn_blocking(move || runtime.block_on(work())).await.ok()
}

/// Does some work to its end, whoever waits for it, that is done sooner than another thread is woken; none where it panicked. What
/// it can do without waiting is done in the task of whoever asks: a task of its own would wake a thread to be looked for.
pub(crate) async fn run_light<T: Send + 'static>(
    work: impl Future<Output = T> + Send + Unpin + 'static,
) -> Option<T> {
    let mut work = AssertUnwindSafe(work).catch_unwind();
    match poll_fn(|context| Poll::Ready(work.poll_unpin(context))).await {
        Poll::Ready(worked) => worked.ok(),
        Poll::Pending => tokio::spawn(work).await.ok()?.ok(),
    }
}

/// Does some work for as long as somebody waits for it; none where it panicked.
pub(crate) async fn run_while_awaited<T: Send + 'static>(
    work: impl AsyncFnOnce() -> T + Send + 'static,
) -> Option<T> {
    // Held by this future, and dropped with it.
    let (_held, let_go) = oneshot::channel::<()>();
    let worked = run(async move || match select(pin!(work()), let_go).await {
        Either::Left((worked, _)) => Some(worked),
        Either::Right(_) => None,
    });
    worked.await.flatten()
}

#[cfg(test)]
mod tests {
    use super::{run, run_light, run_while_awaited};
    use futures_util::future::FutureExt as _;
    use std::thread;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn work_is_done_on_another_thread_and_may_fail_there() {
        let (here, there) = (thread::current().id(), run(async || thread::current().id()).await);
        assert!(there.is_some_and(|there| there != here));
        let failed = run(async || assert_eq!(1, 2, "as a test wants it"));
        assert_eq!(failed.await, None);
    }

    #[tokio::test]
    async fn light_work_is_done_where_it_is_and_goes_on_when_nobody_waits() {
        let (here, there) =
            (thread::current().id(), run_light(async { thread::current().id() }.boxed()).await);
        assert_eq!(there, Some(here));
        assert_eq!(run_light(async { assert_eq!(1, 2, "as a test wants it") }.boxed()).await, None);
        assert_eq!(
            run_light(async { tokio::task::try_id() }.boxed()).await,
            Some(None),
            "in no task of its own"
        );
        let (done, is_done) = oneshot::channel();
        let (go_on, may_go_on) = oneshot::channel::<()>();
        let work = async move {
            may_go_on.await.expect("it is told to");
            done.send(()).expect("somebody listens");
        };
        let waiting = tokio::spawn(run_light(work.boxed()));
        tokio::task::yield_now().await;
        waiting.abort();
        go_on.send(()).expect("it waits");
        is_done.await.expect("it went on");
    }

    #[tokio::test]
    async fn work_nobody_waits_for_is_let_go() {
        let (begun, has_begun) = oneshot::channel();
        let (working, is_over) = oneshot::channel::<()>();
        let waiting = tokio::spawn(run_while_awaited(async move || {
            let _working = working;
            begun.send(()).expect("somebody waits");
            std::future::pending::<()>().await;
        }));
        has_begun.await.expect("it begins");
        waiting.abort();
        assert!(is_over.await.is_err(), "it was dropped");
    }
}
