//! Work that several wait for: whoever began it may go, and it goes on until the last of the others has gone too. Those others
//! wait at the gate of the work (`tree`), and are counted here, for each session.

use super::tree::SessionTree;
use crate::ports::{BoxFuture, Waiter};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// How many wait for what others are at work on.
#[derive(Default)]
pub(super) struct Crowd {
    state: Mutex<CrowdState>,
}

#[derive(Default)]
struct CrowdState {
    count: usize,
    /// Who wants to know when nobody is left.
    wakers: Vec<Waker>,
}

/// One of them, until it is dropped.
pub(super) struct CrowdMember<'c>(&'c Crowd);

impl Crowd {
    fn state(&self) -> MutexGuard<'_, CrowdState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one more, who waits from now on.
    pub(super) fn enter(&self) -> CrowdMember<'_> {
        self.state().count += 1;
        CrowdMember(self)
    }

    /// Whether nobody is left; whoever asks is told when that is so.
    fn poll_empty(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if state.count == 0 {
            return Poll::Ready(());
        }
        if !state.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            state.wakers.push(context.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for CrowdMember<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.count -= 1;
        let wakers = if state.count == 0 { std::mem::take(&mut state.wakers) } else { Vec::new() };
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// The caller of a piece of work, and all who wait for it beside them.
pub(super) struct SharedWaiter {
    pub(super) own: Arc<dyn Waiter>,
    pub(super) tree: Arc<SessionTree>,
}

impl Waiter for SharedWaiter {
    fn gone(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.own.gone().await;
            poll_fn(|context| self.tree.crowd().poll_empty(context)).await;
        })
    }
}
