//! Compactions that wait for an operator: what each is about, and the way its decision takes back.

use epitome_core::{CheckpointView, Decision};
use epitome_engine::store::SessionId;
use epitome_engine::{BoxFuture, Operator};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// All that wait, one for each session.
#[derive(Default)]
pub(crate) struct Checkpoints {
    waiting: Mutex<BTreeMap<SessionId, Waiting>>,
}

struct Waiting {
    pending: CheckpointView,
    answer: oneshot::Sender<Decision>,
}

/// A compaction that waits, as it is listed.
#[derive(Serialize)]
pub(crate) struct ListedCheckpoint {
    session: SessionId,
    #[serde(flatten)]
    pending: CheckpointView,
}

impl Checkpoints {
    /// All that wait.
    pub(crate) fn all(&self) -> Vec<ListedCheckpoint> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let listed = waiting
            .iter()
            .map(|(session, one)| ListedCheckpoint { session: *session, pending: one.pending.clone() });
        listed.collect()
    }

    /// Hands a decision to whoever waits for it; false where nobody does.
    pub(crate) fn decide(&self, session: SessionId, decision: Decision) -> bool {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&session);
        waiting.is_some_and(|waiting| waiting.answer.send(decision).is_ok())
    }
}

/// The operator of one session.
pub(crate) struct SessionOperator {
    pub(crate) session: SessionId,
    pub(crate) desk: Arc<Checkpoints>,
}

impl Operator for SessionOperator {
    fn decide(&self, pending: CheckpointView) -> BoxFuture<'_, Decision> {
        let (answer, decided) = oneshot::channel();
        let waiting = Waiting { pending, answer };
        self.desk.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(self.session, waiting);
        Box::pin(async move { decided.await.unwrap_or(Decision::TimedOut) })
    }
}
