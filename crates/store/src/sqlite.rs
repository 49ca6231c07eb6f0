//! Sessions in one SQLite file, in WAL mode: one connection is written on, others read beside it. What a commit acknowledges is on
//! disk.
//!
//! Several processes may share a file; each session is worked on by one of them at a time ([`holder`]).

mod admin;
mod commit;
mod file;
mod holder;
mod read;
mod read_connections;
mod schema;
mod search;
mod tenants;
mod unwritten_sessions;
mod writer;

use self::holder::{Holder, RENEWAL_TIME, now_ms, strike_gone, take_lease};
use self::read_connections::{FileAccess, ReadConnections};
use self::tenants::TenantNumbers;
use self::unwritten_sessions::UnwrittenSessions;
use self::writer::WriteQueue;
use crate::batch::BatchRows;
use crate::hash::Secret;
use crate::live::LiveRow;
use crate::packed::pack;
use crate::row;
use epitome_core::{EntryId, Message};
use epitome_engine::store::{
    ChainHash, CommitBatch, Durability, EventPosition, Lease, Memo, MessageLocation, QueuedInput, SearchHit,
    SearchQuery, SessionId, Store, StoreError, StoredEvent, StoredRecord, StoredSession, TenantId,
};
use epitome_engine::{BoxFuture, LivePart};
use rusqlite::{Connection, OpenFlags};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Sessions in a file.
pub struct SqliteStore {
    secret: Secret,
    writer: WriteQueue,
    holder: Arc<Holder>,
    readers: ReadConnections,
    /// Numbers of tenants, and of sessions theirs, as far as they were needed.
    tenants: TenantNumbers,
    unwritten: Arc<UnwrittenSessions>,
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.readers.path).finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Opens a file, or makes it.
    ///
    /// # Errors
    /// Where it cannot be opened, is no such file, or was written by a later version.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        file::make_private(path);
        let mut connection = file::connect(path, OpenFlags::default())?;
        let secret = schema::migrate(&mut connection)?;
        let holder = Arc::new(Holder::enter(&connection)?);
        let rest = {
            let holder = holder.clone();
            // What fails now is said to whoever writes next.
            move |connection: &mut Connection| {
                drop(holder.renew(connection));
                drop(search::index_some(connection));
            }
        };
        let writer = WriteQueue::new(connection, RENEWAL_TIME, Box::new(rest))?;
        let readers = ReadConnections::new(path.to_owned(), FileAccess::ReadAndWrite);
        Ok(Self {
            secret,
            writer,
            holder,
            readers,
            tenants: TenantNumbers::default(),
            unwritten: Arc::default(),
        })
    }

    /// Opens a file that may not be written, to look at what is in it: whatever would write fails, and says so.
    ///
    /// # Errors
    /// Where it cannot be read either, or an earlier version wrote it, whose tables would have to be brought forward.
    pub fn look(path: &Path) -> Result<Self, StoreError> {
        let connection = file::connect_to_look(path)?;
        let secret = schema::secret_of_current(&connection)?;
        let writer = WriteQueue::new(connection, RENEWAL_TIME, Box::new(|_| ()))?;
        let (holder, readers) =
            (Arc::new(Holder::looking()), ReadConnections::new(path.to_owned(), FileAccess::ReadOnly));
        Ok(Self {
            secret,
            writer,
            holder,
            readers,
            tenants: TenantNumbers::default(),
            unwritten: Arc::default(),
        })
    }

    /// The number of the tenant of a session.
    fn tenant_of(&self, connection: &Connection, session: SessionId) -> Result<i64, StoreError> {
        match self.remembered_tenant(session) {
            Some(number) => Ok(number),
            None => self.tenants.find_of_session(connection, session),
        }
    }

    /// Has something written to a session of a tenant.
    fn write_to<T: Send + 'static>(
        &self,
        session: SessionId,
        durability: Durability,
        act: impl FnOnce(&Connection, i64) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let tenant = match self.known_tenant(session) {
            Ok(tenant) => tenant,
            Err(error) => return ready(Err(error)),
        };
        let unwritten = self.unwritten.tenant(session).map(|_| self.unwritten.clone());
        let making = unwritten.clone();
        let act = move |connection: &Connection| {
            making.map_or(Ok(()), |sessions| sessions.write(connection, session))?;
            act(connection, tenant)
        };
        let written = match durability {
            // Whoever wants it on the disk is on a thread that may wait for that.
            Durability::Disk => self.writer.write_here(durability, act),
            Durability::System => self.writer.write(durability, act),
        };
        let Some(unwritten) = unwritten else { return written };
        Box::pin(async move { written.await.inspect(|_| unwritten.forget(session)) })
    }

    /// Reads something of a session of a tenant.
    fn read_of<T>(
        &self,
        session: SessionId,
        act: impl FnOnce(&Connection, i64) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.readers.read(|connection| act(connection, self.tenant_of(connection, session)?))
    }

    /// Gives all leases back.
    fn leave(&self) -> BoxFuture<'static, Result<(), StoreError>> {
        if self.readers.access == FileAccess::ReadOnly {
            return ready(Ok(()));
        }
        let (holder, unwritten) = (self.holder.clone(), self.unwritten.clone());
        self.writer.write(Durability::System, move |connection| {
            unwritten.give_numbers_back(connection)?;
            holder.leave(connection)
        })
    }

    /// The number of the tenant of a session, wherever it is known.
    fn known_tenant(&self, session: SessionId) -> Result<i64, StoreError> {
        if let Some(number) = self.remembered_tenant(session) {
            return Ok(number);
        }
        self.readers.read(|connection| self.tenant_of(connection, session))
    }

    fn remembered_tenant(&self, session: SessionId) -> Option<i64> {
        let remembered = self.tenants.of_session(session);
        remembered.or_else(|| self.unwritten.tenant(session))
    }

    /// A session as it is read; one that was begun, and that the file does not have yet, is empty.
    fn open_by(
        &self,
        session: SessionId,
        read: impl FnOnce(&Connection, i64) -> Result<StoredSession, StoreError>,
    ) -> Result<StoredSession, StoreError> {
        // Asked first: meanwhile it may come into the file, and then it is read there.
        let is_unwritten = self.unwritten.tenant(session).is_some();
        match self.read_of(session, read) {
            Err(StoreError::NoSession(_)) if is_unwritten => Ok(StoredSession::empty()),
            read => read,
        }
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        // Done by the thread before it ends; where it cannot be, others find out by time.
        drop(self.leave());
    }
}

/// A session's number, as tables have it.
fn number(session: SessionId) -> i64 {
    i64::try_from(session.0).unwrap_or(i64::MAX)
}

/// A value that is there already. Reading takes a few pages of a file that is in memory mostly: whoever must not wait for that
/// has it done on a thread of their own.
fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

impl Store for SqliteStore {
    fn create(&self, tenant: TenantId) -> BoxFuture<'_, Result<SessionId, StoreError>> {
        // The first commit that must be on disk takes it there.
        let made = self
            .writer
            .write(Durability::System, move |connection| commit::create(connection, tenant, now_ms()));
        Box::pin(async move {
            let (session, number) = made.await?;
            self.tenants.remember_session(session, number);
            Ok(session)
        })
    }

    fn begin(&self, tenant: TenantId) -> BoxFuture<'_, Result<Lease, StoreError>> {
        match self.begin_at_once(tenant) {
            Some(lease) => ready(Ok(lease)),
            None => Box::pin(self.begin_session(tenant)),
        }
    }

    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<StoredSession, StoreError>> {
        ready(self.open_by(session, |connection, tenant| read::session(connection, tenant, session)))
    }

    fn open_whole(&self, session: SessionId) -> BoxFuture<'_, Result<StoredSession, StoreError>> {
        ready(self.open_by(session, |connection, tenant| read::whole_session(connection, tenant, session)))
    }

    fn records(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<StoredRecord>, StoreError>> {
        ready(self.read_of(session, |connection, tenant| read::records(connection, tenant, session)))
    }

    fn keep_live(&self, lease: Lease, live: LivePart) -> BoxFuture<'_, Result<(), StoreError>> {
        let row = LiveRow::new(&live);
        self.write_to(lease.session, Durability::System, move |connection, tenant| {
            commit::keep_live(connection, tenant, lease, &row)
        })
    }

    fn originals<'a>(
        &'a self,
        session: SessionId,
        ids: &'a [EntryId],
    ) -> BoxFuture<'a, Result<Vec<Arc<Message>>, StoreError>> {
        ready(self.read_of(session, |connection, tenant| read::originals(connection, tenant, session, ids)))
    }

    fn find<'a>(
        &'a self,
        tenant: TenantId,
        chain: &'a [ChainHash],
    ) -> BoxFuture<'a, Result<Option<MessageLocation>, StoreError>> {
        // What another process adds meanwhile is found by its next request, as if it had come a moment later.
        let found = self.readers.glance(|connection| {
            let Some(number) = self.tenants.find(connection, tenant)? else { return Ok(None) };
            let found = read::find(connection, number, chain)?;
            if let Some(place) = found {
                self.tenants.remember_session(place.session, number);
            }
            Ok(found)
        });
        ready(found)
    }

    fn commit(
        &self,
        lease: Lease,
        expected: usize,
        batch: CommitBatch,
    ) -> BoxFuture<'_, Result<EventPosition, StoreError>> {
        let durability = batch.durability;
        let rows = BatchRows::new(&self.secret, batch);
        self.write_to(lease.session, durability, move |connection, tenant| {
            commit::commit(connection, tenant, lease, expected, &rows)
        })
    }

    fn lease(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        let holder = self.holder.clone();
        // Where the machine fails, nobody holds anything any more.
        self.write_to(session, Durability::System, move |connection, tenant| {
            if !holder.is_sure() {
                holder.renew(connection)?;
            }
            strike_gone(connection)?;
            let fence = take_lease(connection, tenant, session, &holder)?;
            Ok(fence.map(|fence| Lease { session, fence }))
        })
    }

    fn hold(&self, lease: Lease) -> BoxFuture<'_, Result<bool, StoreError>> {
        // While this process is sure to be taken for alive, nobody else can have it.
        if self.holder.is_sure() {
            // Asked first: meanwhile it may come into the file, and then it is read there.
            let is_unwritten = self.unwritten.tenant(lease.session).is_some() && self.holder.has(lease);
            return ready(self.readers.read(|connection| {
                let tenant = self.tenant_of(connection, lease.session)?;
                let fence = read::fence(connection, tenant, lease.session)?;
                Ok(fence.map_or(is_unwritten, |fence| fence == lease.fence))
            }));
        }
        let holder = self.holder.clone();
        // Where the machine fails, nobody holds anything any more.
        self.write_to(lease.session, Durability::System, move |connection, tenant| {
            holder.renew(connection)?;
            Ok(read::fence(connection, tenant, lease.session)? == Some(lease.fence))
        })
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, ()> {
        self.holder.lose(lease);
        self.unwritten.let_go(lease.session);
        let Ok(tenant) = self.known_tenant(lease.session) else { return ready(()) };
        let give_back = move |connection: &Connection| holder::give_back(connection, tenant, lease);
        let released = self.writer.write(Durability::System, give_back);
        // What cannot be given back is taken when its time is over.
        Box::pin(async move { drop(released.await) })
    }

    fn is_shared(&self) -> BoxFuture<'_, Result<bool, StoreError>> {
        ready(self.readers.read(|connection| self.holder.has_others(connection)))
    }

    fn events(&self, since: EventPosition) -> BoxFuture<'_, Result<Vec<StoredEvent>, StoreError>> {
        ready(self.readers.read(|connection| read::events(connection, since)))
    }

    fn remove(&self, session: SessionId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.tenants.forget_session(session);
        let unwritten = self.unwritten.clone();
        self.write_to(session, Durability::Disk, move |connection, tenant| {
            // Here, and not when whoever asked hears of it: a commit behind it must not make the session anew.
            unwritten.forget(session);
            commit::remove(connection, tenant, session)
        })
    }

    fn enqueue(&self, session: SessionId, input: Arc<Message>) -> BoxFuture<'_, Result<u64, StoreError>> {
        let body = pack(&row::json(&*input));
        self.write_to(session, Durability::Disk, move |connection, tenant| {
            commit::enqueue(connection, tenant, session, &body)
        })
    }

    fn queued(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<QueuedInput>, StoreError>> {
        ready(self.read_of(session, |connection, tenant| read::queued(connection, tenant, session)))
    }

    fn search<'a>(&'a self, query: &'a SearchQuery) -> BoxFuture<'a, Result<Vec<SearchHit>, StoreError>> {
        Box::pin(async move {
            while self.readers.read(search::has_unindexed)?
                && self.writer.write(Durability::System, search::index_some).await?
            {}
            self.readers.read(|connection| {
                let tenant = match query.tenant {
                    None => None,
                    Some(tenant) => match self.tenants.find(connection, tenant)? {
                        Some(number) => Some(number),
                        None => return Ok(Vec::new()),
                    },
                };
                search::search(connection, tenant, query)
            })
        })
    }

    fn memos<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<Memo>, StoreError>> {
        ready(self.readers.read(|connection| read::memos(connection, prefix)))
    }

    fn keep_memo(&self, name: String, value: Option<Vec<u8>>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.writer
            .write(Durability::Disk, move |connection| commit::keep_memo(connection, &name, value.as_deref()))
    }
}
