//! Compactions that wait for an operator: what each is about, and the way its decision takes back. Each has an id of
//! its own, and is listed for as long as somebody waits for it: decided, out of time or hung up on, it is gone.

use crate::notice::{NoticeKind, OperatorNotice};
use epitome_core::{CheckpointView, Decision};
use epitome_engine::store::SessionId;
use epitome_engine::{BoxFuture, Operator};
use futures_util::future::{Either, select};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::pin::pin;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, oneshot, watch};

/// The name of a compaction that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CheckpointId(u64);

impl fmt::Display for CheckpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{:04}", self.0)
    }
}

impl FromStr for CheckpointId {
    type Err = ();
    fn from_str(name: &str) -> Result<Self, ()> {
        name.strip_prefix('c').and_then(|digits| digits.parse().ok()).map(Self).ok_or(())
    }
}

impl Serialize for CheckpointId {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// All that wait.
#[derive(Default)]
pub(crate) struct Checkpoints {
    table: Mutex<CheckpointTable>,
}

#[derive(Default)]
struct CheckpointTable {
    waiting: BTreeMap<CheckpointId, PendingCheckpoint>,
    begun: u64,
}

struct PendingCheckpoint {
    session: SessionId,
    pending: CheckpointView,
    answer: oneshot::Sender<Decision>,
}

/// A compaction that waits, as it is listed.
#[derive(Serialize)]
pub(crate) struct ListedCheckpoint {
    checkpoint: CheckpointId,
    session: SessionId,
    #[serde(flatten)]
    pending: CheckpointView,
}

impl Checkpoints {
    fn table(&self) -> MutexGuard<'_, CheckpointTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All that wait, oldest first.
    pub(crate) fn all(&self) -> Vec<ListedCheckpoint> {
        let listed = |(id, one): (&CheckpointId, &PendingCheckpoint)| ListedCheckpoint {
            checkpoint: *id,
            session: one.session,
            pending: one.pending.clone(),
        };
        self.table().waiting.iter().map(listed).collect()
    }

    /// Hands a decision to whoever waits for it; the session it was for, none where nobody waits.
    pub(crate) fn decide(&self, id: CheckpointId, decision: Decision) -> Option<SessionId> {
        let PendingCheckpoint { session, answer, .. } = self.table().waiting.remove(&id)?;
        answer.send(decision).is_ok().then_some(session)
    }

    /// Begins to wait for a decision.
    fn begin(
        self: &Arc<Self>,
        session: SessionId,
        pending: CheckpointView,
    ) -> (Wait, oneshot::Receiver<Decision>) {
        let (answer, decided) = oneshot::channel();
        let mut table = self.table();
        table.begun += 1;
        let id = CheckpointId(table.begun);
        table.waiting.insert(id, PendingCheckpoint { session, pending, answer });
        (Wait { desk: self.clone(), id }, decided)
    }
}

/// Somebody who waits. Whoever lets it go no longer does.
struct Wait {
    desk: Arc<Checkpoints>,
    id: CheckpointId,
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.desk.table().waiting.remove(&self.id);
    }
}

/// The client of a request that is being worked on, as far as a wait for an operator must know of it.
#[derive(Clone)]
pub(crate) struct ClientLine {
    /// Closed when nobody waits for the answer any more.
    line: watch::Receiver<()>,
    /// Told when a wait ended because of that.
    left: Arc<Notify>,
}

impl ClientLine {
    /// The line of a client who waits for as long as the sender is held.
    pub(crate) fn new() -> (watch::Sender<()>, Self) {
        let (held, line) = watch::channel(());
        (held, Self { line, left: Arc::default() })
    }

    /// Ends when a wait for an operator was given up because the client hung up. A summary that is being written is
    /// not given up: the client's next try finds it.
    pub(crate) async fn left(&self) {
        self.left.notified().await;
    }

    /// Ends when the client has hung up, or has its answer.
    pub(crate) async fn hung_up(&self) {
        let mut line = self.line.clone();
        while line.changed().await.is_ok() {}
    }
}

/// The operator of one session.
pub(crate) struct SessionOperator {
    pub(crate) session: SessionId,
    pub(crate) desk: Arc<Checkpoints>,
    /// Who hears that there is something to decide.
    pub(crate) tell: Arc<dyn Fn(&OperatorNotice) + Send + Sync>,
    /// The client for whose request it is asked; none where the API asks, whose own call is let go.
    pub(crate) client: Option<ClientLine>,
}

impl SessionOperator {
    fn remark(&self, what: String) {
        (self.tell)(&NoticeKind::Remark { session: self.session, what }.into());
    }
}

impl Operator for SessionOperator {
    fn decide(&self, pending: CheckpointView) -> BoxFuture<'_, Decision> {
        let (wait, decided) = self.desk.begin(self.session, pending);
        self.remark(format!("a compaction waits for your word at /api/v1/checkpoints/{}", wait.id));
        Box::pin(async move {
            let wait = wait;
            let Some(client) = &self.client else { return decided.await.unwrap_or(Decision::TimedOut) };
            match select(decided, pin!(client.hung_up())).await {
                Either::Left((decision, _)) => decision.unwrap_or(Decision::TimedOut),
                Either::Right(_) => {
                    self.remark(format!("{} waits no more: the client hung up", wait.id));
                    drop(wait);
                    client.left.notify_one();
                    // The walk this is part of is let go now; nothing was decided.
                    std::future::pending().await
                }
            }
        })
    }
}
