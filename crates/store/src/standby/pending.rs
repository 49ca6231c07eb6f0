//! Batches that wait for a store to answer, in the order they were committed, within a limit.

use epitome_core::{EntryId, Message};
use epitome_engine::store::{CommitBatch, FaultKind, Lease, SessionId, StoreError, StoreFault, readable};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// What the messages of all that waits may take, about an hour of a busy team's agents.
const BYTES_MAX: usize = 256 << 20;

/// A batch that waits.
#[derive(Clone, Debug)]
pub(super) struct PendingBatch {
    pub(super) lease: Lease,
    pub(super) expected: usize,
    pub(super) batch: CommitBatch,
}

impl PendingBatch {
    fn bytes(&self) -> usize {
        self.batch.messages.iter().map(|(_, message)| readable(message).len()).sum()
    }
}

/// What waits, oldest first.
#[derive(Debug, Default)]
pub(super) struct PendingQueue {
    batches: VecDeque<PendingBatch>,
    bytes: usize,
}

impl PendingQueue {
    /// Adds a batch, or refuses it where too much waits already.
    pub(super) fn push(&mut self, batch: PendingBatch) -> Result<(), StoreError> {
        let bytes = self.bytes + batch.bytes();
        if bytes > BYTES_MAX {
            let what =
                format!("the store has failed for so long that {} MB wait in memory", self.bytes >> 20);
            return Err(StoreFault { kind: FaultKind::Full, what }.into());
        }
        self.bytes = bytes;
        self.batches.push_back(batch);
        Ok(())
    }

    /// The oldest.
    pub(super) fn first(&self) -> Option<PendingBatch> {
        self.batches.front().cloned()
    }

    pub(super) fn remove_first(&mut self) {
        if let Some(batch) = self.batches.pop_front() {
            self.bytes -= batch.bytes();
        }
    }

    /// Whether something waits for a session.
    pub(super) fn waits(&self, session: SessionId) -> bool {
        self.batches.iter().any(|one| one.lease.session == session)
    }

    /// How many sessions something waits for.
    pub(super) fn sessions(&self) -> usize {
        self.batches.iter().map(|one| one.lease.session).collect::<HashSet<_>>().len()
    }

    /// Gives up what waits for a session; how much that was.
    pub(super) fn forget(&mut self, session: SessionId) -> usize {
        let before = self.batches.len();
        self.batches.retain(|one| one.lease.session != session);
        self.bytes = self.batches.iter().map(PendingBatch::bytes).sum();
        before - self.batches.len()
    }

    /// Those of these originals of a session that wait.
    pub(super) fn messages(&self, session: SessionId, ids: &[EntryId]) -> HashMap<EntryId, Arc<Message>> {
        let asked: HashSet<EntryId> = ids.iter().copied().collect();
        let ours = self.batches.iter().filter(|one| one.lease.session == session);
        let waiting = ours.flat_map(|one| &one.batch.messages);
        waiting.filter(|(id, _)| asked.contains(id)).cloned().collect()
    }

    /// Whether anything waits.
    pub(super) fn is_waiting(&self) -> bool {
        !self.batches.is_empty()
    }
}
