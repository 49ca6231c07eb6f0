//! Where sessions are kept: the port that stores implement, and the store in memory. A batch is committed whole or not
//! at all, and only where the log is as its writer saw it.

use crate::event::Event;
use crate::ports::BoxFuture;
use crate::session::AppendedEntry;
use epitome_core::{Archive, Entry, EntryId, Log, LogError, Message, SizeTable};
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The name of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(pub u64);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{:04}", self.0)
    }
}

impl serde::Serialize for SessionId {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// Whose sessions these are: an authenticated principal, or the keyed hash of a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TenantId(pub [u8; 32]);

impl TenantId {
    /// Whoever works on files of this machine.
    pub const LOCAL: Self = Self([0; 32]);
}

/// Everything said on a path up to one message, as one keyed hash: how a request finds the session it goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChainHash(pub [u8; 32]);

/// A place in a stored session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageLocation {
    /// The session.
    pub session: SessionId,
    /// The message.
    pub entry: EntryId,
    /// How many of the hashes asked for it stands for.
    pub depth: usize,
}

/// How far a store's events have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct EventPosition(pub u64);

/// A session as a store opens it.
#[derive(Clone)]
pub struct StoredSession {
    /// Its entries: messages light, marks whole.
    pub log: Arc<Log>,
    /// Where it has got to.
    pub leaf: Option<EntryId>,
    /// What its messages take, by each way of counting that the store has kept; what is missing is counted.
    pub sizes: Vec<(Arc<str>, Arc<SizeTable>)>,
    /// What was said, where that can be read message by message without waiting: it is then read when it is looked at,
    /// and not taken into memory beforehand.
    pub originals: Option<Arc<dyn Archive>>,
}

/// What is committed at once.
#[derive(Clone, Debug, Default)]
pub struct CommitBatch {
    /// Entries in the order of their ids.
    pub entries: Vec<AppendedEntry>,
    /// Originals of those that are messages.
    pub messages: Vec<(EntryId, Arc<Message>)>,
    /// The hashes under which messages can be found again.
    pub hashes: Vec<(ChainHash, EntryId)>,
    /// Where the session has got to, where that has changed.
    pub leaf: Option<EntryId>,
    /// What happened.
    pub events: Vec<Event>,
    /// When, in milliseconds since 1970; none where nobody looked at a calendar.
    pub time_ms: Option<u64>,
}

/// The right to work on a session, fenced: a store refuses a commit under one that has been given to another since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The session it is for.
    pub session: SessionId,
    /// Larger for each later holder.
    pub fence: u64,
}

/// A store that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No such session.
    #[error("there is no session {0}")]
    NoSession(SessionId),
    /// No such message.
    #[error("{session} holds no message {id}")]
    NoMessage {
        /// The session.
        session: SessionId,
        /// The message.
        id: EntryId,
    },
    /// Others have appended since the writer looked.
    #[error("{session} has {found} entries, not the {expected} its writer saw; read it again")]
    Conflict {
        /// The session.
        session: SessionId,
        /// What the writer saw.
        expected: usize,
        /// What is there.
        found: usize,
    },
    /// The lease was given to another.
    #[error("the lease on {0} was given to another; ask for it again")]
    Fenced(SessionId),
    /// Something that this kind of store does not do.
    #[error("this store cannot {0}")]
    Unsupported(&'static str),
    /// An entry that is not sound.
    #[error(transparent)]
    Log(#[from] LogError),
    /// An original that cannot be read.
    #[error(transparent)]
    Archive(#[from] epitome_core::ArchiveError),
}

/// An event, with the session it happened in and where it stands among all events of the store.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StoredEvent {
    /// Where it stands.
    pub position: EventPosition,
    /// The session.
    pub session: SessionId,
    /// When it was stored, in milliseconds since 1970; none where nobody looked at a calendar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u64>,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// Where sessions are kept.
pub trait Store: Send + Sync {
    /// Makes a session in which nothing was said.
    fn create(&self, tenant: TenantId) -> BoxFuture<'_, Result<SessionId, StoreError>>;
    /// Opens a session: its entries, without what was said.
    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<StoredSession, StoreError>>;
    /// What was said, in bulk; once for each compaction.
    fn originals<'a>(
        &'a self,
        session: SessionId,
        ids: &'a [EntryId],
    ) -> BoxFuture<'a, Result<Vec<Arc<Message>>, StoreError>>;
    /// The deepest known message of a request.
    fn find<'a>(
        &'a self,
        tenant: TenantId,
        chain: &'a [ChainHash],
    ) -> BoxFuture<'a, Result<Option<MessageLocation>, StoreError>>;
    /// Commits a batch to a log of `expected` entries, whole or not at all.
    fn commit(
        &self,
        lease: Lease,
        expected: usize,
        batch: CommitBatch,
    ) -> BoxFuture<'_, Result<EventPosition, StoreError>>;
    /// Takes the lease of a session; none while another holds it.
    fn lease(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Lease>, StoreError>>;
    /// Gives a lease back.
    fn release(&self, lease: Lease) -> BoxFuture<'_, ()>;
    /// Events since a position, oldest first.
    fn events(&self, since: EventPosition) -> BoxFuture<'_, Result<Vec<StoredEvent>, StoreError>>;
    /// Forgets a session.
    fn remove(&self, session: SessionId) -> BoxFuture<'_, Result<(), StoreError>>;
}

/// Sessions in memory: for tests, for the proxy, for whoever keeps nothing.
#[derive(Debug, Default)]
pub struct MemoryStore {
    tables: Mutex<Tables>,
}

#[derive(Debug, Default)]
struct Tables {
    sessions: HashMap<SessionId, SessionTable>,
    nodes: HashMap<(TenantId, ChainHash), (SessionId, EntryId)>,
    leases: HashMap<SessionId, u64>,
    events: Vec<StoredEvent>,
    created: u64,
    fences: u64,
    position: u64,
}

#[derive(Debug)]
struct SessionTable {
    tenant: TenantId,
    log: Arc<Log>,
    messages: HashMap<EntryId, Arc<Message>>,
    leaf: Option<EntryId>,
}

/// As many events are kept, the newest: who listens is not further behind than this.
const EVENTS_MAX: usize = 4_096;

impl MemoryStore {
    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A value that is there already.
fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

impl Store for MemoryStore {
    fn create(&self, tenant: TenantId) -> BoxFuture<'_, Result<SessionId, StoreError>> {
        let mut tables = self.tables();
        tables.created += 1;
        let id = SessionId(tables.created);
        let kept = SessionTable { tenant, log: Arc::default(), messages: HashMap::new(), leaf: None };
        tables.sessions.insert(id, kept);
        ready(Ok(id))
    }

    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<StoredSession, StoreError>> {
        let tables = self.tables();
        let kept = tables.sessions.get(&session).ok_or(StoreError::NoSession(session));
        ready(kept.map(|kept| StoredSession {
            log: kept.log.clone(),
            leaf: kept.leaf,
            sizes: Vec::new(),
            originals: None,
        }))
    }

    fn originals<'a>(
        &'a self,
        session: SessionId,
        ids: &'a [EntryId],
    ) -> BoxFuture<'a, Result<Vec<Arc<Message>>, StoreError>> {
        ready(self.tables().originals(session, ids))
    }

    fn find<'a>(
        &'a self,
        tenant: TenantId,
        chain: &'a [ChainHash],
    ) -> BoxFuture<'a, Result<Option<MessageLocation>, StoreError>> {
        let tables = self.tables();
        let found = chain.iter().enumerate().rev().find_map(|(at, hash)| {
            let &(session, entry) = tables.nodes.get(&(tenant, *hash))?;
            Some(MessageLocation { session, entry, depth: at + 1 })
        });
        ready(Ok(found))
    }

    fn commit(
        &self,
        lease: Lease,
        expected: usize,
        batch: CommitBatch,
    ) -> BoxFuture<'_, Result<EventPosition, StoreError>> {
        ready(self.tables().commit(lease, expected, batch))
    }

    fn lease(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        let mut tables = self.tables();
        if tables.leases.contains_key(&session) {
            return ready(Ok(None));
        }
        tables.fences += 1;
        let fence = tables.fences;
        tables.leases.insert(session, fence);
        ready(Ok(Some(Lease { session, fence })))
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, ()> {
        let mut tables = self.tables();
        if tables.leases.get(&lease.session) == Some(&lease.fence) {
            tables.leases.remove(&lease.session);
        }
        ready(())
    }

    fn events(&self, since: EventPosition) -> BoxFuture<'_, Result<Vec<StoredEvent>, StoreError>> {
        let tables = self.tables();
        let from = tables.events.partition_point(|one| one.position <= since);
        ready(Ok(tables.events[from..].to_vec()))
    }

    fn remove(&self, session: SessionId) -> BoxFuture<'_, Result<(), StoreError>> {
        let mut tables = self.tables();
        let gone = tables.sessions.remove(&session);
        tables.nodes.retain(|_, (owner, _)| *owner != session);
        ready(gone.map(drop).ok_or(StoreError::NoSession(session)))
    }
}

impl Tables {
    fn originals(&self, session: SessionId, ids: &[EntryId]) -> Result<Vec<Arc<Message>>, StoreError> {
        let kept = self.sessions.get(&session).ok_or(StoreError::NoSession(session))?;
        let one =
            |&id: &EntryId| kept.messages.get(&id).cloned().ok_or(StoreError::NoMessage { session, id });
        ids.iter().map(one).collect()
    }

    fn commit(
        &mut self,
        lease: Lease,
        expected: usize,
        batch: CommitBatch,
    ) -> Result<EventPosition, StoreError> {
        let session = lease.session;
        if self.leases.get(&lease.session) != Some(&lease.fence) {
            return Err(StoreError::Fenced(lease.session));
        }
        let kept = self.sessions.get_mut(&session).ok_or(StoreError::NoSession(session))?;
        let found = kept.log.len();
        if found != expected {
            return Err(StoreError::Conflict { session, expected, found });
        }
        append_all(&mut kept.log, batch.entries)?;
        kept.messages.extend(batch.messages);
        kept.leaf = batch.leaf.or(kept.leaf);
        let tenant = kept.tenant;
        self.nodes.extend(batch.hashes.into_iter().map(|(hash, entry)| ((tenant, hash), (session, entry))));
        for event in batch.events {
            self.position += 1;
            let position = EventPosition(self.position);
            self.events.push(StoredEvent { position, session, time_ms: batch.time_ms, event });
        }
        let excess = self.events.len().saturating_sub(EVENTS_MAX);
        self.events.drain(..excess);
        Ok(EventPosition(self.position))
    }
}

/// Appends entries, all of them or none.
fn append_all(log: &mut Arc<Log>, entries: Vec<AppendedEntry>) -> Result<(), LogError> {
    let is_message = |one: &AppendedEntry| matches!(one.entry, Entry::Message(_));
    // One entry is there or not, and messages can be looked at beforehand; only what else is said needs a copy of the
    // log to fall back on.
    if entries.len() > 1 && !entries.iter().all(is_message) {
        let mut grown = Log::clone(log);
        entries.into_iter().try_for_each(|one| append_one(&mut grown, one))?;
        *log = Arc::new(grown);
        return Ok(());
    }
    check_parents(log, &entries)?;
    entries.into_iter().try_for_each(|one| append_one(Arc::make_mut(log), one))
}

/// Whether each of these, appended in order, finds the entry it stands below: all that messages can fail by.
fn check_parents(log: &Log, entries: &[AppendedEntry]) -> Result<(), LogError> {
    for (at, one) in entries.iter().enumerate() {
        let id = EntryId((log.len() + at) as u32);
        let is_new = |parent: EntryId| (log.len()..log.len() + at).contains(&(parent.0 as usize));
        let is_known = |parent: EntryId| log.get(parent).is_some() && log.mark_of(parent).is_none();
        match one.parent {
            Some(parent) if !is_new(parent) && !is_known(parent) => {
                return Err(LogError::UnknownParent { id, parent });
            }
            Some(_) | None => {}
        }
    }
    Ok(())
}

fn append_one(log: &mut Log, AppendedEntry { parent, entry, .. }: AppendedEntry) -> Result<(), LogError> {
    match entry {
        Entry::Mark(mark) => log.mark(parent, mark).map(drop),
        entry @ (Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. }) => {
            log.append(parent, entry).map(drop)
        }
    }
}
