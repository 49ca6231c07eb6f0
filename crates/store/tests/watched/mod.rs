//! A store in front of another, which says of each call that it begins and ends, and may refuse it at its beginning: whatever
//! comes of the call is the other's.

use epitome_core::{Entry, EntryId, Mark, Message};
use epitome_engine::store::{
    ChainHash, CommitBatch, EventPosition, Lease, Memo, MessageLocation, QueuedInput, SearchHit, SearchQuery,
    SessionId, Store, StoreError, StoredEvent, StoredRecord, StoredSession, TenantId,
};
use epitome_engine::{BoxFuture, Event, LivePart};
use epitome_store::SessionStore;
use std::sync::Arc;

/// What a call is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StoreCall {
    /// Something is read, or a lease is held.
    Other,
    /// Messages, events or marks are committed.
    Append,
    /// A compaction is committed.
    Compaction,
    /// One that was made beforehand is committed.
    Swap,
    /// The live part is kept.
    Live,
}

impl StoreCall {
    fn of(batch: &CommitBatch) -> Self {
        let is_swap = |event: &Event| matches!(event, Event::Speculated { fate } if fate == "swapped in");
        let is_compaction =
            |entry: &Entry| matches!(entry, Entry::Mark(Mark::Compaction { .. } | Mark::Edit { .. }));
        if batch.events.iter().any(is_swap) {
            Self::Swap
        } else if batch.entries.iter().any(|one| is_compaction(&one.entry)) {
            Self::Compaction
        } else {
            Self::Append
        }
    }
}

/// Hears of each call.
pub(crate) trait Watch: Send + Sync {
    /// Before it is made; an error refuses it.
    fn begins(&self, call: StoreCall) -> Result<(), StoreError>;
    /// When it is answered.
    fn ends(&self) {}
}

/// A store, watched.
pub(crate) struct WatchedStore {
    inner: Arc<dyn SessionStore>,
    watch: Arc<dyn Watch>,
}

impl WatchedStore {
    pub(crate) fn new(inner: Arc<dyn SessionStore>, watch: Arc<dyn Watch>) -> Self {
        Self { inner, watch }
    }

    fn watched<'a, T: Send + 'a>(
        &'a self,
        call: StoreCall,
        work: impl FnOnce() -> BoxFuture<'a, Result<T, StoreError>>,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        // Some stores have begun their work when its future is made.
        let begun = self.watch.begins(call).map(|()| work());
        Box::pin(async move {
            let done = begun?.await;
            self.watch.ends();
            done
        })
    }
}

impl Store for WatchedStore {
    fn create(&self, tenant: TenantId) -> BoxFuture<'_, Result<SessionId, StoreError>> {
        self.watched(StoreCall::Other, || self.inner.create(tenant))
    }

    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<StoredSession, StoreError>> {
        self.watched(StoreCall::Other, || self.inner.open(session))
    }

    fn open_whole(&self, session: SessionId) -> BoxFuture<'_, Result<StoredSession, StoreError>> {
        self.watched(StoreCall::Other, || self.inner.open_whole(session))
    }

    fn keep_live(&self, lease: Lease, live: LivePart) -> BoxFuture<'_, Result<(), StoreError>> {
        self.watched(StoreCall::Live, || self.inner.keep_live(lease, live))
    }

    fn records(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<StoredRecord>, StoreError>> {
        self.watched(StoreCall::Other, || self.inner.records(session))
    }

    fn originals<'a>(
        &'a self,
        session: SessionId,
        ids: &'a [EntryId],
    ) -> BoxFuture<'a, Result<Vec<Arc<Message>>, StoreError>> {
        self.watched(StoreCall::Other, || self.inner.originals(session, ids))
    }

    fn find<'a>(
        &'a self,
        tenant: TenantId,
        chain: &'a [ChainHash],
    ) -> BoxFuture<'a, Result<Option<MessageLocation>, StoreError>> {
        self.watched(StoreCall::Other, || self.inner.find(tenant, chain))
    }

    fn trace<'a>(
        &'a self,
        tenant: TenantId,
        chain: &'a [ChainHash],
    ) -> BoxFuture<'a, Result<Vec<Option<MessageLocation>>, StoreError>> {
        self.watched(StoreCall::Other, || self.inner.trace(tenant, chain))
    }

    fn commit(
        &self,
        lease: Lease,
        expected: usize,
        batch: CommitBatch,
    ) -> BoxFuture<'_, Result<EventPosition, StoreError>> {
        self.watched(StoreCall::of(&batch), || self.inner.commit(lease, expected, batch))
    }

    fn lease(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        self.watched(StoreCall::Other, || self.inner.lease(session))
    }

    fn hold(&self, lease: Lease) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.watched(StoreCall::Other, || self.inner.hold(lease))
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, ()> {
        self.inner.release(lease)
    }

    fn events(&self, since: EventPosition) -> BoxFuture<'_, Result<Vec<StoredEvent>, StoreError>> {
        self.watched(StoreCall::Other, || self.inner.events(since))
    }

    fn remove(&self, session: SessionId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.watched(StoreCall::Other, || self.inner.remove(session))
    }

    fn enqueue(&self, session: SessionId, input: Arc<Message>) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.watched(StoreCall::Other, || self.inner.enqueue(session, input))
    }

    fn queued(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<QueuedInput>, StoreError>> {
        self.watched(StoreCall::Other, || self.inner.queued(session))
    }

    fn search<'a>(&'a self, query: &'a SearchQuery) -> BoxFuture<'a, Result<Vec<SearchHit>, StoreError>> {
        self.watched(StoreCall::Other, || self.inner.search(query))
    }

    fn memos<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<Memo>, StoreError>> {
        self.watched(StoreCall::Other, || self.inner.memos(prefix))
    }

    fn keep_memo(&self, name: String, value: Option<Vec<u8>>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.watched(StoreCall::Other, || self.inner.keep_memo(name, value))
    }
}
