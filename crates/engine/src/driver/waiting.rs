//! Waiting for models on behalf of a request: no longer than its policy lets it wait, and only as long as somebody does. What
//! is done in the background, or by hand, has no such limits.

use super::Driver;
use crate::error::EngineError;
use crate::ports::{RequestWaiter, SummaryModel};
use crate::session::Session;
use epitome_core::{CallCost, CallResult, Dollars, Failure, ModelQuestion};
use futures_util::future::{Either, join_all, select};
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

/// How much longer a request may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Patience {
    left: Duration,
    /// All of it.
    seconds: u64,
}

impl Driver {
    /// Makes the calls of a question: at once where there are several. One that is not back in time is cancelled and not kept for
    /// later: by then the context is rebuilt without it, and to rebuild it once more would cost the provider's cache again.
    pub(super) async fn call(
        &self,
        session: &Session,
        question: &ModelQuestion<'_>,
    ) -> Result<Vec<CallResult>, EngineError> {
        let Some(SummaryModel { model, .. }) = &self.ports.model else { return Ok(Vec::new()) };
        let patience = self.patience(session);
        let late = patience.filter(|patience| patience.left.is_zero());
        if let Some(Patience { seconds, .. }) = late {
            return Ok(question.requests().iter().map(|_| Failure::Late { seconds }.into()).collect());
        }
        // Each is begun here, and not when it is first polled, so that all of them are under way at once.
        let calls: Vec<_> =
            question.requests().iter().map(|request| model.summarize(request.clone())).collect();
        let calls = calls.into_iter().map(|call| async move {
            match patience {
                Some(patience) => self.call_within(patience, call).await,
                None => call.await,
            }
        });
        self.while_awaited(join_all(calls)).await
    }

    async fn call_within(&self, patience: Patience, call: impl Future<Output = CallResult>) -> CallResult {
        let late = Failure::Late { seconds: patience.seconds };
        match select(pin!(call), self.ports.clock.sleep(patience.left)).await {
            Either::Left((called, _)) => called,
            // It was begun, and nobody says what it took.
            Either::Right(_) => {
                let spent = CallCost { calls: 1, dollars: Dollars::UNKNOWN, ..CallCost::default() };
                CallResult { result: Err(late), spent }
            }
        }
    }

    /// Does some work until the request may wait no longer; whether it was done.
    pub(crate) async fn in_time(&self, session: &Session, work: impl Future<Output = ()>) -> bool {
        let Some(Patience { left, .. }) = self.patience(session) else {
            work.await;
            return true;
        };
        match select(pin!(work), self.ports.clock.sleep(left)).await {
            Either::Left(_) => true,
            Either::Right(_) => false,
        }
    }

    /// Does some work for as long as somebody waits for it.
    pub(crate) async fn while_awaited<T>(&self, work: impl Future<Output = T>) -> Result<T, EngineError> {
        let Some(RequestWaiter { waiter, .. }) = &self.ports.waiter else { return Ok(work.await) };
        match select(pin!(work), waiter.gone()).await {
            Either::Left((done, _)) => Ok(done),
            Either::Right(_) => Err(EngineError::NobodyWaits),
        }
    }

    /// How much longer the request may wait; none where nobody waits, or for as long as it takes.
    fn patience(&self, session: &Session) -> Option<Patience> {
        let RequestWaiter { since, .. } = self.ports.waiter.as_ref()?;
        let seconds = session.policy().guard.wait_seconds_max?;
        let until = *since + Duration::from_secs(seconds);
        Some(Patience { left: until.saturating_sub(self.ports.clock.now()), seconds })
    }
}
