//! Write-behind for what will be said again: a batch that need only outlive this process is kept in memory until the next commit of
//! its session, or until whoever put it there has it stored while nobody waits. Batches keep their order, and what waits is one
//! batch by then: a request that appends three times costs one commit.

use super::Engine;
use super::tree::SessionTree;
use crate::error::EngineError;
use crate::store::{
    ChainHash, CommitBatch, Durability, MessageLocation, SessionId, Store, StoreError, TenantId,
};
use std::sync::{Arc, PoisonError};

/// A batch that waits, and how many entries its session had before it.
pub(super) struct DeferredBatch {
    expected: usize,
    batch: CommitBatch,
}

/// So many entries wait at most. A long history that arrives as a whole is stored as it comes: to hold two of it would cost more
/// than waiting does.
const ENTRIES_MAX: usize = 1_024;

impl Engine {
    /// The same for a caller who promises to [`Engine::flush`]: what need only outlive this process is not waited for.
    #[must_use]
    pub fn with_deferral(self) -> Self {
        Self { defers: true, ..self }
    }

    /// Has stored what was put off. What the store does not take is let go, and the session is opened anew by its next act.
    pub async fn flush(&self, session: SessionId) -> Result<(), EngineError> {
        let Some(tree) = self.live_tree(session) else { return Ok(()) };
        let in_order = tree.commits.lock().await;
        let flushed = tree.flush(&*self.store).await;
        if flushed.is_ok() {
            tree.let_stored_go();
        }
        drop(in_order);
        self.forget_fresh(session);
        self.forget_unless_stored(&tree, flushed).await
    }

    /// Whether something of a session was put off and is not stored yet.
    pub fn has_deferred(&self, session: SessionId) -> bool {
        self.live_tree(session).is_some_and(|tree| tree.state().deferred.is_some())
    }

    pub(super) fn live_tree(&self, session: SessionId) -> Option<Arc<SessionTree>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).get(&session).cloned()
    }

    /// Remembers whose a session is of which the store knows nothing but its name.
    pub(super) fn note_fresh(&self, session: SessionId, tenant: TenantId) {
        if self.defers {
            self.fresh.lock().unwrap_or_else(PoisonError::into_inner).insert(session, tenant);
        }
    }

    pub(super) fn forget_fresh(&self, session: SessionId) {
        self.fresh.lock().unwrap_or_else(PoisonError::into_inner).remove(&session);
    }

    /// The sessions of a tenant of which the store knows nothing but their names.
    pub(super) fn fresh_sessions(&self, tenant: TenantId) -> Vec<SessionId> {
        let fresh = self.fresh.lock().unwrap_or_else(PoisonError::into_inner);
        fresh.iter().filter(|(_, of)| **of == tenant).map(|(session, _)| *session).collect()
    }

    /// The deepest known message of a request, what is not stored yet included: in the session that the store has found, else in `fresh` ones.
    pub(super) fn deepen(
        &self,
        chain: &[ChainHash],
        stored: Option<MessageLocation>,
        fresh: Vec<SessionId>,
    ) -> Option<MessageLocation> {
        let sessions = stored.map_or(fresh, |place| vec![place.session]);
        let depth = stored.map_or(0, |place| place.depth);
        let deeper = sessions.into_iter().filter_map(|session| {
            let (at, entry) = self.live_tree(session)?.deepest_hash(&chain[depth..])?;
            Some(MessageLocation { session, entry, depth: depth + at + 1 })
        });
        deeper.max_by_key(|place| place.depth).or(stored)
    }
}

impl SessionTree {
    /// Commits a batch to a log of `expected` entries behind what was put off before it; or puts it off too, where that may be.
    /// Whoever calls holds `commits`.
    pub(super) async fn put(
        &self,
        store: &dyn Store,
        expected: usize,
        batch: CommitBatch,
    ) -> Result<(), EngineError> {
        let (expected, batch) = {
            let mut state = self.state();
            if state.is_closed {
                return Err(StoreError::Fenced(self.id).into());
            }
            let (expected, batch) = match state.deferred.take() {
                Some(before) => (before.expected, merge(before.batch, batch)),
                None => (expected, batch),
            };
            if self.defers && batch.durability == Durability::System && batch.entries.len() <= ENTRIES_MAX {
                state.deferred = Some(DeferredBatch { expected, batch });
                return Ok(());
            }
            (expected, batch)
        };
        store.commit(self.lease, expected, batch).await?;
        Ok(())
    }

    /// Stores what was put off. Whoever calls holds `commits`.
    pub(super) async fn flush(&self, store: &dyn Store) -> Result<(), EngineError> {
        let deferred = self.state().deferred.take();
        if let Some(DeferredBatch { expected, batch }) = deferred {
            store.commit(self.lease, expected, batch).await?;
        }
        Ok(())
    }
}

/// Two batches as one, in their order.
fn merge(mut first: CommitBatch, second: CommitBatch) -> CommitBatch {
    let CommitBatch {
        entries,
        messages,
        times,
        hashes,
        leaf,
        events,
        about,
        file,
        delivered,
        durability,
        time_ms,
    } = second;
    first.entries.extend(entries);
    first.messages.extend(messages);
    first.times.extend(times);
    first.hashes.extend(hashes);
    first.events.extend(events);
    first.delivered.extend(delivered);
    first.leaf = leaf.or(first.leaf);
    first.about = about.or(first.about);
    first.file = file.or(first.file);
    first.time_ms = time_ms.or(first.time_ms);
    if durability == Durability::Disk {
        first.durability = durability;
    }
    first
}

#[cfg(test)]
mod tests {
    use super::super::tree::SessionTree;
    use crate::error::EngineError;
    use crate::store::{
        CommitBatch, Durability, MemoryStore, Store as _, StoreError, StoredSession, TenantId,
    };
    use epitome_core::KeptBodies;

    #[tokio::test]
    async fn a_session_that_was_let_go_puts_nothing_off() {
        let store = MemoryStore::default();
        let lease = store.begin(TenantId::LOCAL).await.expect("a store in memory takes it");
        let tree = SessionTree::new(lease, StoredSession::empty(), true, KeptBodies::All);
        let batch = || CommitBatch { durability: Durability::System, ..CommitBatch::default() };
        tree.put(&store, 0, batch()).await.expect("it is put off");
        tree.state().is_closed = true;
        let refused = tree.put(&store, 0, batch()).await;
        assert!(matches!(refused, Err(EngineError::Store(StoreError::Fenced(of))) if of == lease.session));
    }
}
