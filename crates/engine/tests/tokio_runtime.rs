//! What a tokio runtime does for sessions: work off the executor, given up when nobody waits, and deadlines that strike.
#![cfg(feature = "tokio")]

use epitome_engine::{Clock, LostWork, NoRuntime, Spawn, TokioRuntime};
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;

fn here() -> TokioRuntime {
    TokioRuntime::current().expect("the test runs in one")
}

#[test]
fn without_a_runtime_there_is_an_error_and_no_panic() {
    assert_eq!(TokioRuntime::current().map(drop), Err(NoRuntime));
}

#[tokio::test]
async fn work_is_done_on_another_thread_and_may_fail_there() {
    let (caller, worker) =
        (thread::current().id(), here().off_executor(async { thread::current().id() }).await);
    assert!(worker.is_ok_and(|worker| worker != caller));
    let failed = here().off_executor(async { assert_eq!(1, 2, "as a test wants it") });
    assert_eq!(failed.await, Err(LostWork));
}

#[tokio::test]
async fn work_nobody_waits_for_is_given_up() {
    let (begun, has_begun) = oneshot::channel();
    let (working, is_over) = oneshot::channel::<()>();
    let waiting = here().spawn(Box::pin(async move {
        let _working = working;
        begun.send(()).expect("somebody waits");
        std::future::pending::<()>().await;
    }));
    has_begun.await.expect("it begins by itself");
    drop(waiting);
    assert!(is_over.await.is_err(), "it was dropped");
}

#[tokio::test(start_paused = true)]
async fn a_deadline_strikes() {
    let began = tokio::time::Instant::now();
    here().sleep(Duration::from_secs(10)).await;
    assert_eq!(began.elapsed(), Duration::from_secs(10));
}

#[test]
fn its_timers_are_found_from_outside() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it starts");
    let clock = TokioRuntime::of(runtime.handle().clone());
    let sleep = clock.sleep(Duration::ZERO);
    runtime.block_on(sleep);
    assert!(clock.unix_ms().is_some_and(|time| time > 1_700_000_000_000));
}
