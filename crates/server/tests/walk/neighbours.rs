//! A server that was alone on its store and could not look for others since: one of them may be asked next, so that a reply is passed
//! on when what it answers is stored.

use crate::LARGE;
use crate::stage::{Stage, answer, body, history, serve_stored};
use epitome_core::{EntryId, KeptBodies, Message};
use epitome_engine::BoxFuture;
use epitome_engine::store::{
    ChainHash, CommitBatch, EventPosition, Lease, MemoryStore, MessageLocation, SessionId, Store, StoreError,
    StoredEvent, StoredSession, TenantId,
};
use epitome_server::ServerStore;
use epitome_upstream::Script;
use reqwest::{Client, StatusCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;

/// A store that says once that there are no others and answers that question no more, as for a process that is stopped; what is
/// committed waits to be let in.
struct StalledStore {
    inner: MemoryStore,
    has_looked: AtomicBool,
    arrived: Semaphore,
    let_in: Semaphore,
}

impl StalledStore {
    fn new() -> Arc<Self> {
        let none = || Semaphore::new(0);
        Arc::new(Self {
            inner: MemoryStore::default(),
            has_looked: AtomicBool::new(false),
            arrived: none(),
            let_in: none(),
        })
    }
}

impl Store for StalledStore {
    fn is_shared(&self) -> BoxFuture<'_, Result<bool, StoreError>> {
        if self.has_looked.swap(true, Ordering::AcqRel) {
            return Box::pin(std::future::pending());
        }
        Box::pin(std::future::ready(Ok(false)))
    }

    fn commit(
        &self,
        lease: Lease,
        expected: usize,
        batch: CommitBatch,
    ) -> BoxFuture<'_, Result<EventPosition, StoreError>> {
        Box::pin(async move {
            self.arrived.add_permits(1);
            let _in = self.let_in.acquire().await.expect("it is never closed");
            self.inner.commit(lease, expected, batch).await
        })
    }

    fn create(&self, tenant: TenantId) -> BoxFuture<'_, Result<SessionId, StoreError>> {
        self.inner.create(tenant)
    }

    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<StoredSession, StoreError>> {
        self.inner.open(session)
    }

    fn originals<'a>(
        &'a self,
        session: SessionId,
        ids: &'a [EntryId],
    ) -> BoxFuture<'a, Result<Vec<Arc<Message>>, StoreError>> {
        self.inner.originals(session, ids)
    }

    fn find<'a>(
        &'a self,
        tenant: TenantId,
        chain: &'a [ChainHash],
    ) -> BoxFuture<'a, Result<Option<MessageLocation>, StoreError>> {
        self.inner.find(tenant, chain)
    }

    fn lease(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        self.inner.lease(session)
    }

    fn hold(&self, lease: Lease) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.inner.hold(lease)
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, ()> {
        self.inner.release(lease)
    }

    fn events(&self, since: EventPosition) -> BoxFuture<'_, Result<Vec<StoredEvent>, StoreError>> {
        self.inner.events(since)
    }

    fn remove(&self, session: SessionId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.remove(session)
    }
}

#[tokio::test]
async fn a_server_that_stalled_while_another_may_have_come_passes_a_reply_on_when_its_request_is_stored() {
    let stage = Stage::new(Script { tool_rounds: 0, ..Script::default() }, LARGE).await;
    let stalled = StalledStore::new();
    let store = ServerStore { store: stalled.clone(), key: [7; 32], keep: KeptBodies::All };
    let (url, running) = serve_stored(&stage.upstream.base_url, LARGE, store).await;
    // Longer than it may take itself to be alone, and as long as one who arrives waits before it serves.
    tokio::time::sleep(Duration::from_millis(400)).await;
    let request = Client::new().post(format!("{url}/v1/messages")).header("x-api-key", "a key");
    let request = request.body(body(&history(3, "the parser"), false));
    let mut reply = tokio::spawn(async move { answer(request).await.0 });
    stalled.arrived.acquire().await.expect("it is never closed").forget();
    let answered = async {
        while stage.upstream.report().requests == 0 {
            tokio::task::yield_now().await;
        }
        tokio::time::timeout(Duration::from_millis(300), &mut reply).await
    };
    let is_early = answered.await.is_ok();
    stalled.let_in.add_permits(100);
    assert!(!is_early, "nobody could go on from a reply to what is not stored");
    assert_eq!(reply.await.expect("it ends well"), StatusCode::OK);
    running.stop().await;
}
