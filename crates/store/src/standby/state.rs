//! What memory holds beside a store: batches that wait, sessions begun meanwhile, and where hashes lead.

use super::pending::PendingQueue;
use epitome_engine::store::{
    ChainHash, CommitBatch, Lease, MemoryStore, MessageLocation, SessionId, TenantId,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// So many hashes are remembered; beyond it they are forgotten, and a conversation may be begun anew while the store fails.
const HASHES_MAX: usize = 1 << 18;

/// What a store lacks while it fails, and what is known of sessions beside it.
#[derive(Default)]
pub(super) struct State {
    /// While the store fails: when it is tried again.
    pub(super) retry_at: Option<Instant>,
    /// Sessions begun meanwhile.
    pub(super) spare: Arc<MemoryStore>,
    /// How many those are.
    pub(super) begun: usize,
    /// What waits to be stored.
    pub(super) pending: PendingQueue,
    /// Leases of sessions that were let go before what waits for them was stored.
    pub(super) kept_back: Vec<Lease>,
    /// Sessions that this process holds, with their tenants.
    pub(super) held: HashMap<SessionId, Option<TenantId>>,
    /// Where hashes of those sessions lead.
    pub(super) hashes: HashMap<(TenantId, ChainHash), MessageLocation>,
}

impl State {
    /// Notes where the hashes of a batch lead.
    pub(super) fn remember(&mut self, session: SessionId, batch: &CommitBatch) {
        let Some(Some(tenant)) = self.held.get(&session).copied() else { return };
        if self.hashes.len() + batch.hashes.len() > HASHES_MAX {
            self.hashes.clear();
        }
        for (hash, entry) in &batch.hashes {
            let place = MessageLocation { session, entry: *entry, depth: 0 };
            self.hashes.insert((tenant, *hash), place);
        }
    }

    /// Takes down that the store is well again, and nothing waits; the leases that were kept for what did. What was begun in memory is
    /// taken up in the store by its next request.
    pub(super) fn recover(&mut self) -> Vec<Lease> {
        self.retry_at = None;
        (self.spare, self.begun) = (Arc::default(), 0);
        std::mem::take(&mut self.kept_back)
    }

    /// Keeps a lease for as long as something waits to be stored under it; whether something does.
    pub(super) fn keep_back(&mut self, lease: Lease) -> bool {
        let waits = self.pending.waits(lease.session);
        self.kept_back.extend(waits.then_some(lease));
        waits
    }

    /// Whether a session was let go before what waits for it was stored.
    pub(super) fn is_kept_back(&self, session: SessionId) -> bool {
        self.kept_back.iter().any(|lease| lease.session == session)
    }

    /// The deepest message of a request that is in a session this process holds.
    pub(super) fn find(&self, tenant: TenantId, chain: &[ChainHash]) -> Option<MessageLocation> {
        chain.iter().enumerate().rev().find_map(|(at, hash)| {
            let place = self.hashes.get(&(tenant, *hash))?;
            self.held.get(&place.session)?;
            Some(MessageLocation { depth: at + 1, ..*place })
        })
    }
}
