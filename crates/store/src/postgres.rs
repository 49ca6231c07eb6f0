//! Sessions in a PostgreSQL that several replicas share. What a commit acknowledges is as durable as the database makes it.
//!
//! Every act runs on the runtime the store was opened on, to its end, whether or not anybody waits for it still: no transaction is
//! left half done on a connection. Each session is worked on by one replica at a time ([`holder`]).

mod address;
mod admin;
mod commit;
mod database;
mod failure;
mod grow;
mod holder;
mod read;
mod replica;
mod schema;
mod search;
mod sql;

pub use self::address::PostgresAddress;

use self::database::{Connection, Database};
use self::failure::PostgresFailure;
use self::holder::Holder;
use self::replica::{Replica, enqueue, keep_live, keep_memo};
use crate::live::LiveRow;
use crate::packed::pack;
use crate::row;

use epitome_core::{EntryId, Message};
use epitome_engine::store::{
    ChainHash, CommitBatch, EventPosition, FaultKind, Lease, Memo, MessageLocation, QueuedInput, SearchHit,
    SearchQuery, SessionId, Store, StoreError, StoreFault, StoredEvent, StoredRecord, StoredSession,
    TenantId,
};
use epitome_engine::{BoxFuture, LivePart};
use futures_channel::oneshot;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// Sessions in a database.
pub struct PostgresStore {
    replica: Arc<Replica>,
    runtime: Handle,
    renewal: JoinHandle<()>,
    is_closed: AtomicBool,
}

/// How a replica works on a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PostgresOptions {
    /// A replica that has not said for so long that it lives holds no session any more.
    pub lease_time: Duration,
    /// At most so many connections.
    pub connections_max: usize,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        // A database serves a hundred connections by its own default: ten replicas.
        Self { lease_time: Duration::from_secs(10), connections_max: 10 }
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("place", &self.replica.database.place()).finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// Opens a database, or makes its tables.
    ///
    /// # Errors
    /// Where it does not answer, or was written by a later version.
    pub async fn open(address: &PostgresAddress) -> Result<Self, StoreError> {
        Self::open_with(address, PostgresOptions::default()).await
    }

    /// The same with options.
    ///
    /// # Errors
    /// Where it does not answer, or was written by a later version.
    pub async fn open_with(address: &PostgresAddress, options: PostgresOptions) -> Result<Self, StoreError> {
        let runtime = Handle::try_current().map_err(|_| StoreFault {
            kind: FaultKind::Other,
            what: "a PostgreSQL store is opened on a tokio runtime".into(),
        })?;
        let database = Arc::new(Database::new(address, options.connections_max)?);
        let entered = database
            .patiently(|client| async move {
                let installation = schema::migrate(&client).await?;
                Ok((installation, Holder::enter(&client, options.lease_time).await?))
            })
            .await;
        let (installation, holder) = entered.map_err(|failure| failure.told(database.place()))?;
        let holder = Arc::new(holder);
        // On a connection of its own: leases must not end because all others are at work.
        let pulse = Database::new(address, 1)?;
        let renewal = runtime.spawn(holder::renew_always(pulse, Arc::downgrade(&holder)));
        let replica = Arc::new(Replica::new(database, installation, holder));
        Ok(Self { replica, runtime, renewal, is_closed: AtomicBool::new(false) })
    }

    /// Gives all leases back and closes the connections; once.
    fn leave(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.renewal.abort();
        if self.is_closed.swap(true, Ordering::AcqRel) {
            return Box::pin(std::future::ready(Ok(())));
        }
        let replica = self.replica.clone();
        self.run(async move {
            replica.leave().await?;
            replica.database.close();
            Ok(())
        })
    }

    /// The runtime was shut down, or what ran on it panicked.
    fn ended(&self) -> StoreError {
        let what = format!("work on {} was broken off", self.replica.database.place());
        StoreError::Fault(StoreFault { kind: FaultKind::Other, what })
    }

    /// Does something on the store's own runtime, to its end.
    fn run<'a, T: Send + 'static>(
        &'a self,
        work: impl Future<Output = Result<T, PostgresFailure>> + Send + 'static,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        let done = self.runtime.spawn(work);
        Box::pin(async move {
            let done = done.await.map_err(|_| self.ended())?;
            done.map_err(|failure| failure.told(self.replica.database.place()))
        })
    }

    /// Does something to a session that may be done twice.
    fn repeat<T, F>(
        &self,
        session: SessionId,
        act: impl Fn(Connection, i64) -> F + Send + Sync + 'static,
    ) -> BoxFuture<'_, Result<T, StoreError>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, PostgresFailure>> + Send,
    {
        let replica = self.replica.clone();
        self.run(async move {
            let tenant = replica.tenant_of(session).await?;
            replica.database.repeat(|client| act(client, tenant)).await
        })
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        // Done where the runtime lives on; where it does not, others find out by time.
        drop(self.leave());
    }
}

/// A session's number, as tables have it.
fn number(session: SessionId) -> i64 {
    i64::try_from(session.0).unwrap_or(i64::MAX)
}

impl Store for PostgresStore {
    fn create(&self, tenant: TenantId) -> BoxFuture<'_, Result<SessionId, StoreError>> {
        let replica = self.replica.clone();
        self.run(async move { replica.create(tenant).await })
    }

    fn begin(&self, tenant: TenantId) -> BoxFuture<'_, Result<Lease, StoreError>> {
        let replica = self.replica.clone();
        self.run(async move { replica.begin(tenant).await })
    }

    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<StoredSession, StoreError>> {
        self.repeat(
            session,
            move |client, tenant| async move { read::session(&client, tenant, session).await },
        )
    }

    fn open_whole(&self, session: SessionId) -> BoxFuture<'_, Result<StoredSession, StoreError>> {
        self.repeat(session, move |client, tenant| async move {
            read::whole_session(&client, tenant, session).await
        })
    }

    fn keep_live(&self, lease: Lease, live: LivePart) -> BoxFuture<'_, Result<(), StoreError>> {
        let row = Arc::new(LiveRow::new(&live));
        self.repeat(lease.session, move |client, tenant| {
            let row = row.clone();
            async move { keep_live(&client, tenant, lease, &row).await }
        })
    }

    fn records(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<StoredRecord>, StoreError>> {
        self.repeat(
            session,
            move |client, tenant| async move { read::records(&client, tenant, session).await },
        )
    }

    fn originals<'a>(
        &'a self,
        session: SessionId,
        ids: &'a [EntryId],
    ) -> BoxFuture<'a, Result<Vec<Arc<Message>>, StoreError>> {
        let ids: Arc<[EntryId]> = ids.into();
        self.repeat(session, move |client, tenant| {
            let ids = ids.clone();
            async move { read::originals(&client, tenant, session, &ids).await }
        })
    }

    fn find<'a>(
        &'a self,
        tenant: TenantId,
        chain: &'a [ChainHash],
    ) -> BoxFuture<'a, Result<Option<MessageLocation>, StoreError>> {
        let (replica, chain) = (self.replica.clone(), chain.to_vec());
        self.run(async move { replica.find(tenant, &chain).await })
    }

    fn trace<'a>(
        &'a self,
        tenant: TenantId,
        chain: &'a [ChainHash],
    ) -> BoxFuture<'a, Result<Vec<Option<MessageLocation>>, StoreError>> {
        let (replica, chain) = (self.replica.clone(), chain.to_vec());
        self.run(async move { replica.trace(tenant, &chain).await })
    }

    fn commit(
        &self,
        lease: Lease,
        expected: usize,
        batch: CommitBatch,
    ) -> BoxFuture<'_, Result<EventPosition, StoreError>> {
        let replica = self.replica.clone();
        self.run(async move { replica.commit(lease, expected, batch).await })
    }

    fn lease(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        let (tell, told) = oneshot::channel();
        let replica = self.replica.clone();
        self.runtime.spawn(async move {
            // Nobody waits for it any more: it would be held by nobody, for as long as this replica lives.
            if let Err(Ok(Some(lease))) = tell.send(replica.lease(session).await) {
                drop(replica.release(lease).await);
            }
        });
        Box::pin(async move {
            let taken = told.await.map_err(|_| self.ended())?;
            taken.map_err(|failure| failure.told(self.replica.database.place()))
        })
    }

    fn hold(&self, lease: Lease) -> BoxFuture<'_, Result<bool, StoreError>> {
        if self.replica.holder.is_sure_of(lease) {
            return Box::pin(std::future::ready(Ok(true)));
        }
        let replica = self.replica.clone();
        self.run(async move { replica.hold(lease).await })
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, ()> {
        let replica = self.replica.clone();
        let released = self.run(async move { replica.release(lease).await });
        // What cannot be given back is taken when its time is over.
        Box::pin(async move { drop(released.await) })
    }

    fn events(&self, since: EventPosition) -> BoxFuture<'_, Result<Vec<StoredEvent>, StoreError>> {
        let replica = self.replica.clone();
        self.run(async move { replica.events(since).await })
    }

    fn remove(&self, session: SessionId) -> BoxFuture<'_, Result<(), StoreError>> {
        let replica = self.replica.clone();
        self.run(async move { replica.remove(session).await })
    }

    fn enqueue(&self, session: SessionId, input: Arc<Message>) -> BoxFuture<'_, Result<u64, StoreError>> {
        let (replica, body) = (self.replica.clone(), pack(&row::json(&*input)));
        // Once: nobody can tell whether one that was not answered for waits already.
        self.run(async move {
            let tenant = replica.tenant_of(session).await?;
            let enqueued =
                replica.database.once(|client| async move { enqueue(&client, tenant, session, &body).await });
            enqueued.await
        })
    }

    fn queued(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<QueuedInput>, StoreError>> {
        self.repeat(
            session,
            move |client, tenant| async move { read::queued(&client, tenant, session).await },
        )
    }

    fn search<'a>(&'a self, query: &'a SearchQuery) -> BoxFuture<'a, Result<Vec<SearchHit>, StoreError>> {
        let (replica, query) = (self.replica.clone(), query.clone());
        self.run(async move { replica.search(&query).await })
    }

    fn memos<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<Memo>, StoreError>> {
        let (replica, prefix) = (self.replica.clone(), prefix.to_owned());
        self.run(async move {
            let prefix = prefix.as_str();
            replica.database.repeat(|client| async move { read::memos(&client, prefix).await }).await
        })
    }

    fn keep_memo(&self, name: String, value: Option<Vec<u8>>) -> BoxFuture<'_, Result<(), StoreError>> {
        let replica = self.replica.clone();
        self.run(async move {
            let (name, value) = (&name, value.as_deref());
            replica.database.repeat(|client| async move { keep_memo(&client, name, value).await }).await
        })
    }
}
