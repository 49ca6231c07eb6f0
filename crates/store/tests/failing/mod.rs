//! A store in memory that fails when it is told to.

use epitome_core::{EntryId, Message};
use epitome_engine::BoxFuture;
use epitome_engine::store::{
    ChainHash, CommitBatch, EventPosition, FaultKind, Lease, MemoryStore, MessageLocation, SearchHit,
    SearchQuery, SessionId, Store, StoreError, StoreFault, StoredEvent, StoredSession, TenantId,
};
use std::sync::{Arc, Mutex};

pub(crate) struct FailingStore {
    inner: MemoryStore,
    fails: Mutex<Option<FaultKind>>,
    lease: Mutex<Option<Lease>>,
}

impl FailingStore {
    pub(crate) fn new() -> Self {
        Self { inner: MemoryStore::default(), fails: Mutex::default(), lease: Mutex::default() }
    }

    pub(crate) fn fail_with(&self, kind: Option<FaultKind>) {
        *self.fails.lock().expect("nobody failed") = kind;
    }

    /// Gives the session to another.
    pub(crate) async fn take_away(&self, session: SessionId) {
        let held = self.lease.lock().expect("nobody failed").expect("it was leased");
        self.inner.release(held).await;
        self.inner.lease(session).await.expect("it answers").expect("it is free");
    }

    /// Does it, or fails.
    fn or_fail<'a, T: Send + 'a>(
        &'a self,
        work: impl FnOnce() -> BoxFuture<'a, Result<T, StoreError>>,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        // A future of the store in memory has done its work when it is made.
        let fails = *self.fails.lock().expect("nobody failed");
        match fails {
            None => work(),
            Some(kind) => {
                let fault = StoreFault { kind, what: "the test wants it so".into() };
                Box::pin(std::future::ready(Err(fault.into())))
            }
        }
    }
}

impl Store for FailingStore {
    fn create(&self, tenant: TenantId) -> BoxFuture<'_, Result<SessionId, StoreError>> {
        self.or_fail(|| self.inner.create(tenant))
    }

    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<StoredSession, StoreError>> {
        // The test looks at what is stored whenever it wants to.
        self.inner.open(session)
    }

    fn originals<'a>(
        &'a self,
        session: SessionId,
        ids: &'a [EntryId],
    ) -> BoxFuture<'a, Result<Vec<Arc<Message>>, StoreError>> {
        self.or_fail(|| self.inner.originals(session, ids))
    }

    fn find<'a>(
        &'a self,
        tenant: TenantId,
        chain: &'a [ChainHash],
    ) -> BoxFuture<'a, Result<Option<MessageLocation>, StoreError>> {
        self.or_fail(|| self.inner.find(tenant, chain))
    }

    fn commit(
        &self,
        lease: Lease,
        expected: usize,
        batch: CommitBatch,
    ) -> BoxFuture<'_, Result<EventPosition, StoreError>> {
        self.or_fail(|| self.inner.commit(lease, expected, batch))
    }

    fn lease(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        Box::pin(async move {
            let lease = self.or_fail(|| self.inner.lease(session)).await?;
            *self.lease.lock().expect("nobody failed") = lease;
            Ok(lease)
        })
    }

    fn hold(&self, lease: Lease) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.or_fail(|| self.inner.hold(lease))
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, ()> {
        self.inner.release(lease)
    }

    fn events(&self, since: EventPosition) -> BoxFuture<'_, Result<Vec<StoredEvent>, StoreError>> {
        self.or_fail(|| self.inner.events(since))
    }

    fn remove(&self, session: SessionId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.or_fail(|| self.inner.remove(session))
    }

    fn search<'a>(&'a self, query: &'a SearchQuery) -> BoxFuture<'a, Result<Vec<SearchHit>, StoreError>> {
        self.or_fail(|| self.inner.search(query))
    }
}
