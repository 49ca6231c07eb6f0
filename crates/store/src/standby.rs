//! A store that goes on in memory while the one behind it fails, and hands over what it kept when that works again: a client's
//! call never fails because our own disk is full.
//!
//! While the store fails it is tried again from time to time and otherwise left alone. Sessions this process works on go on, and
//! what is committed to them waits, in order and within a limit. Conversations that nobody here knows are begun in memory; once
//! the store answers, their next request is taken up there. What waits is not on disk, and whoever runs the program is told so.

mod catch_up;
mod failure;
mod notice;
mod pending;
mod state;

pub use notice::StandbyNotice;

use self::failure::{out_of_reach, unstored};
use self::pending::PendingBatch;
use self::state::State;
use epitome_core::{EntryId, Message};
use epitome_engine::store::{
    ChainHash, CommitBatch, EventPosition, Lease, Memo, MemoryStore, MessageLocation, QueuedInput, SearchHit,
    SearchQuery, SessionId, Store, StoreError, StoredEvent, StoredRecord, StoredSession, TenantId,
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

    /// Whether the store has failed, and has not taken anything since.
    fn is_failing(&self) -> bool {
        self.state().retry_at.is_some()
    }

    /// Notes that the store failed; the error, where it is not one that passes.
    fn note_failure(&self, error: StoreError) -> Result<(), StoreError> {
        let StoreError::Fault(fault) = error else { return Err(error) };
        if !fault.kind.is_passing() {
            return Err(fault.into());
        }
        let is_new = self.state().retry_at.replace(Instant::now() + RETRY_TIME).is_none();
        if is_new {
            (self.tell)(&StandbyNotice::Fails(fault));
        }
        Ok(())
    }

    /// Tries to write to the store; none while it fails.
    async fn attempt<T>(
        &self,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<Option<T>, StoreError> {
        let done = self.look(work).await?;
        if done.is_some() {
            self.catch_up().await;
        }
        Ok(done)
    }

    /// Tries to ask the store; none while it fails. One that answers may be full all the same: that it takes something only what
    /// waits can show.
    async fn look<T>(
        &self,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<Option<T>, StoreError> {
        if self.is_down() {
            return Ok(None);
        }
        match work.await {
            Ok(done) => Ok(Some(done)),
            Err(error) => self.note_failure(error).map(|()| None),
        }
    }

    /// Asks the store for what nobody else has, also while it takes nothing. That it failed is noted for whoever goes on without.
    async fn read<T>(&self, work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        let read = work.await;
        if let Err(StoreError::Fault(fault)) = &read
            && !self.is_down()
        {
            // What does not pass is told by whoever asked.
            drop(self.note_failure(fault.clone().into()));
        }
        read
    }

    /// Keeps a batch until it can be stored.
    fn keep(&self, lease: Lease, expected: usize, batch: CommitBatch) -> Result<EventPosition, StoreError> {
        let mut state = self.state();
        state.remember(lease.session, &batch);
        state.pending.push(PendingBatch { lease, expected, batch })?;
        // Another's commit may have found the store well and nothing waiting in between.
        state.retry_at.get_or_insert_with(Instant::now);
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
            if let Some(lease) = self.look(self.inner.begin(tenant)).await? {
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
            None => Box::pin(self.read(self.inner.open(session))),
        }
    }

    fn open_whole(&self, session: SessionId) -> BoxFuture<'_, Result<StoredSession, StoreError>> {
        match self.spare(session) {
            Some((spare, id)) => Box::pin(async move { spare.open_whole(id).await }),
            None => Box::pin(self.read(self.inner.open_whole(session))),
        }
    }

    fn records(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<StoredRecord>, StoreError>> {
        match self.spare(session) {
            Some((spare, id)) => Box::pin(async move { spare.records(id).await }),
            None => Box::pin(self.read(self.inner.records(session))),
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
        Box::pin(async move {
            let waiting = self.state().pending.messages(session, ids);
            let stored: Vec<EntryId> = ids.iter().copied().filter(|id| !waiting.contains_key(id)).collect();
            let read = match stored.is_empty() {
                true => Vec::new(),
                false => {
                    let read = self.read(self.inner.originals(session, &stored)).await;
                    read.map_err(|error| out_of_reach(error, session, &stored))?
                }
            };
            let mut read = read.into_iter();
            let one = |id: &EntryId| waiting.get(id).cloned().or_else(|| read.next());
            Ok(ids.iter().filter_map(one).collect())
        })
    }

    fn find<'a>(
        &'a self,
        tenant: TenantId,
        chain: &'a [ChainHash],
    ) -> BoxFuture<'a, Result<Option<MessageLocation>, StoreError>> {
        Box::pin(async move {
            self.catch_up_where_due().await;
            let found = self.look(self.inner.find(tenant, chain)).await?;
            if let Some(Some(place)) = found {
                self.state().held.insert(place.session, Some(tenant));
            }
            if !self.is_failing() {
                return Ok(found.flatten());
            }
            let (known, spare) = {
                let state = self.state();
                (state.find(tenant, chain), state.spare.clone())
            };
            let begun = spare.find(tenant, chain).await?;
            let begun = begun.map(|place| MessageLocation { session: spare_id(place.session), ..place });
            Ok([found.flatten(), known, begun].into_iter().flatten().max_by_key(|place| place.depth))
        })
    }

    fn trace<'a>(
        &'a self,
        tenant: TenantId,
        chain: &'a [ChainHash],
    ) -> BoxFuture<'a, Result<Vec<Option<MessageLocation>>, StoreError>> {
        Box::pin(async move {
            if let Some(traced) = self.look(self.inner.trace(tenant, chain)).await?
                && !self.is_failing()
            {
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
                self.catch_up_where_due().await;
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
            if let Some((spare, id)) = self.spare(session) {
                return Ok(spare.lease(id).await?.map(|lease| Lease { session, ..lease }));
            }
            self.catch_up_where_due().await;
            if self.state().is_kept_back(session) {
                // What waits for it is not in what would be opened.
                return Err(unstored(session));
            }
            self.read(self.inner.lease(session)).await
        })
    }

    fn hold(&self, lease: Lease) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move {
            if let Some((spare, session)) = self.spare(lease.session) {
                return spare.hold(Lease { session, ..lease }).await;
            }
            self.catch_up_where_due().await;
            // Nobody can have taken it through a store that answers nobody; where others can reach it, what waits is refused.
            Ok(self.look(self.inner.hold(lease)).await?.unwrap_or(true))
        })
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.state().held.remove(&lease.session);
            if let Some((spare, session)) = self.spare(lease.session) {
                return spare.release(Lease { session, ..lease }).await;
            }
            // Once it is given back, what waits could not be stored any more.
            if !self.state().keep_back(lease) {
                self.inner.release(lease).await;
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
        match self.spare(session) {
            Some((spare, id)) => Box::pin(async move { spare.enqueue(id, input).await }),
            None => self.inner.enqueue(session, input),
        }
    }

    fn queued(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<QueuedInput>, StoreError>> {
        Box::pin(async move {
            match self.spare(session) {
                Some((spare, id)) => spare.queued(id).await,
                // What waits there is delivered by whoever speaks when it answers.
                None => Ok(self.look(self.inner.queued(session)).await?.unwrap_or_default()),
            }
        })
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
