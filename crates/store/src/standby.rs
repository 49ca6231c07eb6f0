//! A store that goes on in memory while the one behind it fails, and hands over what it kept when that works again: a client's
//! call never fails because our own disk is full.
//!
//! While the store fails it is tried again from time to time and otherwise left alone. Sessions this process works on go on, and
//! what is committed to them waits, in order and within a limit. Conversations that nobody here knows are begun in memory; once
//! the store answers, their next request is taken up there. What waits is not on disk, and whoever runs the program is told so.

mod notice;
mod pending;
mod state;

pub use notice::StandbyNotice;

use self::pending::PendingBatch;
use self::state::State;
use epitome_core::{EntryId, Message};
use epitome_engine::store::{
    ChainHash, CommitBatch, EventPosition, FaultKind, Lease, Memo, MemoryStore, MessageLocation, QueuedInput,
    SearchHit, SearchQuery, SessionId, Store, StoreError, StoredEvent, StoredRecord, StoredSession, TenantId,
};
use epitome_engine::{BoxFuture, LivePart};
use futures_util::lock::Mutex as AsyncMutex;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A store, and memory beside it.
pub struct StandbyStore {
    inner: Arc<dyn Store>,
    state: Mutex<State>,
    /// Held by whoever stores what waits: each batch once, in order.
    hand_over: AsyncMutex<()>,
    tell: Arc<dyn Fn(&StandbyNotice) + Send + Sync>,
}

/// So long a store that failed is left alone.
const RETRY_TIME: Duration = Duration::from_secs(2);
/// Sessions begun in memory have numbers from here on: no store gives them.
const SPARE_FROM: u64 = 1 << 62;

impl fmt::Debug for StandbyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StandbyStore").finish_non_exhaustive()
    }
}

impl StandbyStore {
    /// Memory beside `inner`; `tell` hears when that fails and when it answers again.
    pub fn new(inner: Arc<dyn Store>, tell: Arc<dyn Fn(&StandbyNotice) + Send + Sync>) -> Self {
        Self { inner, state: Mutex::default(), hand_over: AsyncMutex::default(), tell }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the store is left alone just now.
    fn is_down(&self) -> bool {
        self.state().retry_at.is_some_and(|at| Instant::now() < at)
    }

    /// Notes that the store failed; the error, where it is not one that passes.
    fn note_failure(&self, error: StoreError) -> Result<(), StoreError> {
        let StoreError::Fault(fault) = error else { return Err(error) };
        if !is_passing(fault.kind) {
            return Err(fault.into());
        }
        let is_new = self.state().retry_at.replace(Instant::now() + RETRY_TIME).is_none();
        if is_new {
            (self.tell)(&StandbyNotice::Fails(fault));
        }
        Ok(())
    }

    /// Tries the store; none while it fails.
    async fn attempt<T>(
        &self,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<Option<T>, StoreError> {
        if self.is_down() {
            return Ok(None);
        }
        match work.await {
            Ok(done) => {
                self.catch_up().await;
                Ok(Some(done))
            }
            Err(error) => self.note_failure(error).map(|()| None),
        }
    }

    /// Stores what waits, now that the store has answered.
    async fn catch_up(&self) {
        if self.state().retry_at.is_none() {
            return;
        }
        let _alone = self.hand_over.lock().await;
        if self.state().retry_at.is_none() {
            return;
        }
        let mut stored = 0;
        loop {
            let Some(PendingBatch { lease, expected, batch }) = self.state().pending.first() else { break };
            match self.inner.commit(lease, expected, batch).await {
                Ok(_) => {
                    self.state().pending.remove_first();
                    stored += 1;
                }
                Err(error @ StoreError::Fault(_)) => {
                    if self.note_failure(error).is_ok() {
                        return;
                    }
                    self.lose(lease.session);
                }
                // Others have had the session meanwhile.
                Err(_) => self.lose(lease.session),
            }
        }
        let mut state = self.state();
        state.retry_at = None;
        // What was begun in memory is taken up in the store by its next request.
        (state.spare, state.begun) = (Arc::default(), 0);
        drop(state);
        (self.tell)(&StandbyNotice::Answers { stored });
    }

    /// Stores what waits, where that can be done now, and tells how many sessions end unstored: nobody will bring them again.
    pub async fn close(&self) {
        if self.state().pending.sessions() > 0 {
            self.catch_up().await;
        }
        let state = self.state();
        let (cut, begun) = (state.pending.sessions(), state.begun);
        drop(state);
        if cut + begun > 0 {
            (self.tell)(&StandbyNotice::Unstored { cut, begun });
        }
    }

    fn lose(&self, session: SessionId) {
        let batches = self.state().pending.forget(session);
        (self.tell)(&StandbyNotice::Lost { session, batches });
    }

    /// Keeps a batch until it can be stored.
    fn keep(&self, lease: Lease, expected: usize, batch: CommitBatch) -> Result<EventPosition, StoreError> {
        let mut state = self.state();
        state.remember(lease.session, &batch);
        state.pending.push(PendingBatch { lease, expected, batch })?;
        Ok(EventPosition::default())
    }

    /// Makes a session in memory.
    async fn begin_spare(&self, tenant: TenantId) -> Result<SessionId, StoreError> {
        let spare = self.state().spare.clone();
        let session = spare_id(spare.create(tenant).await?);
        let mut state = self.state();
        state.begun += 1;
        state.held.insert(session, Some(tenant));
        Ok(session)
    }

    /// Where a session begun in memory is, where it is one.
    fn spare(&self, session: SessionId) -> Option<(Arc<MemoryStore>, SessionId)> {
        let number = session.0.checked_sub(SPARE_FROM)?;
        Some((self.state().spare.clone(), SessionId(number)))
    }
}

/// Whether a failure is one that passes: what is damaged, or of a later version, stays so.
fn is_passing(kind: FaultKind) -> bool {
    match kind {
        FaultKind::Full | FaultKind::ReadOnly | FaultKind::Gone | FaultKind::Busy => true,
        FaultKind::Newer | FaultKind::Damaged | FaultKind::Other => false,
    }
}

fn spare_id(id: SessionId) -> SessionId {
    SessionId(id.0 + SPARE_FROM)
}

impl Store for StandbyStore {
    fn create(&self, tenant: TenantId) -> BoxFuture<'_, Result<SessionId, StoreError>> {
        Box::pin(async move {
            let Some(session) = self.attempt(self.inner.create(tenant)).await? else {
                return self.begin_spare(tenant).await;
            };
            self.state().held.insert(session, Some(tenant));
            Ok(session)
        })
    }

    fn begin(&self, tenant: TenantId) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(async move {
            if let Some(lease) = self.attempt(self.inner.begin(tenant)).await? {
                self.state().held.insert(lease.session, Some(tenant));
                return Ok(lease);
            }
            let session = self.begin_spare(tenant).await?;
            self.lease(session).await?.ok_or(StoreError::Leased(session))
        })
    }

    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<StoredSession, StoreError>> {
        match self.spare(session) {
            Some((spare, id)) => Box::pin(async move { spare.open(id).await }),
            None => self.inner.open(session),
        }
    }

    fn open_whole(&self, session: SessionId) -> BoxFuture<'_, Result<StoredSession, StoreError>> {
        match self.spare(session) {
            Some((spare, id)) => Box::pin(async move { spare.open_whole(id).await }),
            None => self.inner.open_whole(session),
        }
    }

    fn records(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<StoredRecord>, StoreError>> {
        match self.spare(session) {
            Some((spare, id)) => Box::pin(async move { spare.records(id).await }),
            None => self.inner.records(session),
        }
    }

    fn keep_live(&self, lease: Lease, live: LivePart) -> BoxFuture<'_, Result<(), StoreError>> {
        // What waits would stand behind it.
        if self.spare(lease.session).is_some() || self.state().pending.waits(lease.session) || self.is_down()
        {
            return Box::pin(std::future::ready(Ok(())));
        }
        self.inner.keep_live(lease, live)
    }

    fn originals<'a>(
        &'a self,
        session: SessionId,
        ids: &'a [EntryId],
    ) -> BoxFuture<'a, Result<Vec<Arc<Message>>, StoreError>> {
        if let Some((spare, id)) = self.spare(session) {
            return Box::pin(async move { spare.originals(id, ids).await });
        }
        let waiting = self.state().pending.messages(session, ids);
        match waiting {
            Some(all) => Box::pin(std::future::ready(Ok(all))),
            None => self.inner.originals(session, ids),
        }
    }

    fn find<'a>(
        &'a self,
        tenant: TenantId,
        chain: &'a [ChainHash],
    ) -> BoxFuture<'a, Result<Option<MessageLocation>, StoreError>> {
        Box::pin(async move {
            if let Some(found) = self.attempt(self.inner.find(tenant, chain)).await? {
                if let Some(place) = found {
                    self.state().held.insert(place.session, Some(tenant));
                }
                return Ok(found);
            }
            let (known, spare) = {
                let state = self.state();
                (state.find(tenant, chain), state.spare.clone())
            };
            let begun = spare.find(tenant, chain).await?;
            let begun = begun.map(|place| MessageLocation { session: spare_id(place.session), ..place });
            Ok([known, begun].into_iter().flatten().max_by_key(|place| place.depth))
        })
    }

    fn trace<'a>(
        &'a self,
        tenant: TenantId,
        chain: &'a [ChainHash],
    ) -> BoxFuture<'a, Result<Vec<Option<MessageLocation>>, StoreError>> {
        Box::pin(async move {
            if let Some(traced) = self.attempt(self.inner.trace(tenant, chain)).await? {
                return Ok(traced);
            }
            let mut traced = Vec::with_capacity(chain.len());
            for hash in chain {
                traced.push(self.find(tenant, std::slice::from_ref(hash)).await?);
            }
            Ok(traced)
        })
    }

    fn commit(
        &self,
        lease: Lease,
        expected: usize,
        batch: CommitBatch,
    ) -> BoxFuture<'_, Result<EventPosition, StoreError>> {
        Box::pin(async move {
            if let Some((spare, session)) = self.spare(lease.session) {
                return spare.commit(Lease { session, ..lease }, expected, batch).await;
            }
            // What waits goes first.
            if self.state().pending.waits(lease.session) {
                self.keep(lease, expected, batch)?;
                if !self.is_down() {
                    self.catch_up().await;
                }
                return Ok(EventPosition::default());
            }
            match self.attempt(self.inner.commit(lease, expected, batch.clone())).await? {
                Some(position) => {
                    self.state().remember(lease.session, &batch);
                    Ok(position)
                }
                None => self.keep(lease, expected, batch),
            }
        })
    }

    fn lease(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        Box::pin(async move {
            match self.spare(session) {
                Some((spare, id)) => Ok(spare.lease(id).await?.map(|lease| Lease { session, ..lease })),
                None => self.inner.lease(session).await,
            }
        })
    }

    fn hold(&self, lease: Lease) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move {
            if let Some((spare, session)) = self.spare(lease.session) {
                return spare.hold(Lease { session, ..lease }).await;
            }
            // Nobody can have taken it through a store that answers nobody; where others can reach it, what waits is refused.
            Ok(self.attempt(self.inner.hold(lease)).await?.unwrap_or(true))
        })
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.state().held.remove(&lease.session);
            match self.spare(lease.session) {
                Some((spare, session)) => spare.release(Lease { session, ..lease }).await,
                None => self.inner.release(lease).await,
            }
        })
    }

    fn is_shared(&self) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.inner.is_shared()
    }

    fn events(&self, since: EventPosition) -> BoxFuture<'_, Result<Vec<StoredEvent>, StoreError>> {
        self.inner.events(since)
    }

    fn remove(&self, session: SessionId) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            match self.spare(session) {
                Some((spare, id)) => spare.remove(id).await,
                None => self.inner.remove(session).await,
            }
        })
    }

    fn enqueue(&self, session: SessionId, input: Arc<Message>) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.inner.enqueue(session, input)
    }

    fn queued(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<QueuedInput>, StoreError>> {
        self.inner.queued(session)
    }

    fn search<'a>(&'a self, query: &'a SearchQuery) -> BoxFuture<'a, Result<Vec<SearchHit>, StoreError>> {
        self.inner.search(query)
    }

    fn memos<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<Memo>, StoreError>> {
        self.inner.memos(prefix)
    }

    fn keep_memo(&self, name: String, value: Option<Vec<u8>>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move { self.attempt(self.inner.keep_memo(name, value)).await.map(drop) })
    }
}
