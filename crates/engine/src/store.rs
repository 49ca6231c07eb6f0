//! Where sessions are kept: the port that stores implement, and the store in memory. A batch is committed whole or not
//! at all, and only where the log is as its writer saw it.
//!
//! What a store can do without is given here, and says so.

mod about;
mod fault;
mod memory;
mod name;
mod search;

pub use about::{ForkOrigin, SessionAbout, SessionOrigin};
pub use fault::{FaultKind, StoreFault};
pub use memory::MemoryStore;
pub use name::{ChainHash, EventPosition, MessageLocation, SessionId, TenantId};
pub use search::{SearchHit, SearchQuery, readable, snippet};

use crate::event::Event;
use crate::live_part::LivePart;
use crate::ports::BoxFuture;
use crate::session::AppendedEntry;
use epitome_core::{Archive, Entry, EntryId, Log, LogError, Message, Record, SizeTable};
use serde::Serialize;
use std::sync::Arc;

/// A session as a store opens it.
#[derive(Clone)]
pub struct StoredSession {
    /// Its entries: messages light, marks whole; those that are live alone, where the store knows which they are.
    pub log: Arc<Log>,
    /// Where it has got to.
    pub leaf: Option<EntryId>,
    /// Where the path ends that the live entries are of, where they alone are at hand.
    pub live_leaf: Option<EntryId>,
    /// What its messages take, by each way of counting that the store has kept; what is missing is counted.
    pub sizes: Vec<(Arc<str>, Arc<SizeTable>)>,
    /// What is known of it beside its entries.
    pub about: SessionAbout,
    /// What was said, where that can be read message by message without waiting: it is then read when it is looked at,
    /// and not taken into memory beforehand.
    pub originals: Option<Arc<dyn Archive>>,
}

impl StoredSession {
    /// One in which nothing was said.
    pub fn empty() -> Self {
        Self {
            log: Arc::default(),
            leaf: None,
            live_leaf: None,
            sizes: Vec::new(),
            about: SessionAbout::default(),
            originals: None,
        }
    }
}

/// The record of a compaction or edit, and the mark that keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRecord {
    /// The mark.
    pub entry: EntryId,
    /// How it came about.
    pub record: Arc<Record>,
}

impl StoredRecord {
    /// The record that an entry keeps, where it keeps one.
    pub fn of(id: EntryId, entry: &Entry) -> Option<Self> {
        match entry {
            Entry::Mark(mark) => mark.record().map(|record| Self { entry: id, record: record.clone() }),
            Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. } => None,
        }
    }
}

/// What is committed at once.
#[derive(Clone, Debug, Default)]
pub struct CommitBatch {
    /// Entries in the order of their ids.
    pub entries: Vec<AppendedEntry>,
    /// Originals of those that are messages, and of earlier ones that were stored without: where one is kept already it stays.
    pub messages: Vec<(EntryId, Arc<Message>)>,
    /// When entries were said that were said at another time than `time_ms`.
    pub times: Vec<(EntryId, u64)>,
    /// The hashes under which messages can be found again.
    pub hashes: Vec<(ChainHash, EntryId)>,
    /// Where the session has got to, where that has changed.
    pub leaf: Option<EntryId>,
    /// What happened.
    pub events: Vec<Event>,
    /// What is known of the session beside its entries, where that has changed.
    pub about: Option<SessionAbout>,
    /// The file that the session was read from, whole: it is given back byte for byte.
    pub file: Option<Arc<[u8]>>,
    /// Queued inputs that these entries deliver: they are in no queue any more.
    pub delivered: Vec<u64>,
    /// What must be so before it counts as committed.
    pub durability: Durability,
    /// When, in milliseconds since 1970; none where nobody looked at a calendar.
    pub time_ms: Option<u64>,
}

/// When a batch counts as committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When it is on disk: it outlives the machine's failure.
    #[default]
    Disk,
    /// When the system has it: it outlives this process. For what will be said again where it is lost.
    System,
}

/// Something said to a session while others were at work on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedInput {
    /// Larger for each later one of the session.
    pub number: u64,
    /// What was said.
    pub message: Arc<Message>,
}

/// A value kept under a name, beside all sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memo {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Vec<u8>,
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
    /// Messages whose text was left to whoever said it, in the order they were asked for.
    #[error(
        "{session} keeps no text of {}: `store.keep` leaves it to the client, whose next request says it again",
        counted(ids)
    )]
    NotKept {
        /// The session.
        session: SessionId,
        /// The messages.
        ids: Vec<EntryId>,
    },
    /// Messages that cannot be read while the store fails, in the order they were asked for.
    #[error("the store of {session} fails, and {} cannot be read until it answers", counted(ids))]
    OutOfReach {
        /// The session.
        session: SessionId,
        /// The messages.
        ids: Vec<EntryId>,
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
    /// Somebody else works on it.
    #[error("another process works on {0}; try again when it is done")]
    Leased(SessionId),
    /// Something that this kind of store does not do.
    #[error("this store cannot {0}")]
    Unsupported(&'static str),
    /// An entry that is not sound.
    #[error(transparent)]
    Log(#[from] LogError),
    /// An original that cannot be read.
    #[error(transparent)]
    Archive(#[from] epitome_core::ArchiveError),
    /// What the store stands on did not do its part; nothing was changed.
    #[error(transparent)]
    Fault(#[from] StoreFault),
}

/// Some entries in words: the first, and how many more.
fn counted(ids: &[EntryId]) -> String {
    let first = ids.first().map(EntryId::to_string).unwrap_or_default();
    match ids.len().saturating_sub(1) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
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

/// What names of memos begin with that say who is wanted.
const WANTED: &str = "wanted ";

/// Where sessions are kept.
pub trait Store: Send + Sync {
    /// Makes a session in which nothing was said.
    fn create(&self, tenant: TenantId) -> BoxFuture<'_, Result<SessionId, StoreError>>;
    /// Makes a session in which nothing was said, and takes its lease, in one act where the store can: whoever begins a conversation
    /// goes on with it at once. Others may find it only once something is committed to it.
    fn begin(&self, tenant: TenantId) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(async move {
            let session = self.create(tenant).await?;
            self.lease(session).await?.ok_or(StoreError::Leased(session))
        })
    }
    /// Opens a session: its entries, without what was said.
    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<StoredSession, StoreError>>;
    /// Opens a session with every entry at hand, also where the store knows what is live of it.
    fn open_whole(&self, session: SessionId) -> BoxFuture<'_, Result<StoredSession, StoreError>> {
        self.open(session)
    }
    /// Keeps what is live of a session, for whoever opens it next. Nothing is lost where it is not kept.
    fn keep_live(&self, lease: Lease, live: LivePart) -> BoxFuture<'_, Result<(), StoreError>> {
        let _not_kept = (lease, live);
        Box::pin(std::future::ready(Ok(())))
    }
    /// The compactions and edits of a session, on whichever path, with their records, oldest first.
    fn records(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<StoredRecord>, StoreError>> {
        Box::pin(async move {
            let whole = self.open_whole(session).await?;
            let record = |(id, entry): (EntryId, &Entry)| StoredRecord::of(id, entry);
            Ok(whole.log.iter().filter_map(record).collect())
        })
    }
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
    /// Where each of these hashes leads, none where it leads nowhere.
    fn trace<'a>(
        &'a self,
        tenant: TenantId,
        chain: &'a [ChainHash],
    ) -> BoxFuture<'a, Result<Vec<Option<MessageLocation>>, StoreError>> {
        Box::pin(async move {
            let mut found = Vec::with_capacity(chain.len());
            for hash in chain {
                found.push(self.find(tenant, std::slice::from_ref(hash)).await?);
            }
            Ok(found)
        })
    }
    /// Commits a batch to a log of `expected` entries, whole or not at all. A store may wait for its disk on the thread that asks:
    /// whose others are waited for has it done on one of their own.
    fn commit(
        &self,
        lease: Lease,
        expected: usize,
        batch: CommitBatch,
    ) -> BoxFuture<'_, Result<EventPosition, StoreError>>;
    /// Takes the lease of a session; none while another holds it.
    fn lease(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Lease>, StoreError>>;
    /// Whether a lease is still held. Where leases end by themselves it is made to last on; one that has ended, and was
    /// given to nobody since, is held again.
    fn hold(&self, lease: Lease) -> BoxFuture<'_, Result<bool, StoreError>>;
    /// Gives a lease back.
    fn release(&self, lease: Lease) -> BoxFuture<'_, ()>;
    /// Whether other processes may be at work on it as well.
    fn is_shared(&self) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(std::future::ready(Ok(true)))
    }
    /// Says that a session is wanted here: whoever holds it and is not at work gives it up.
    fn want(&self, session: SessionId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.keep_memo(format!("{WANTED}{session}"), Some(Vec::new()))
    }
    /// Says so no more.
    fn want_no_more(&self, session: SessionId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.keep_memo(format!("{WANTED}{session}"), None)
    }
    /// Sessions that somebody wants, whoever holds them.
    fn wanted(&self) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        Box::pin(async move {
            let wanted = self.memos(WANTED).await?;
            Ok(wanted.iter().filter_map(|memo| memo.name.strip_prefix(WANTED)?.parse().ok()).collect())
        })
    }
    /// Events since a position, oldest first.
    fn events(&self, since: EventPosition) -> BoxFuture<'_, Result<Vec<StoredEvent>, StoreError>>;
    /// Forgets a session, with the memos that go by its name.
    fn remove(&self, session: SessionId) -> BoxFuture<'_, Result<(), StoreError>>;
    /// Keeps what is said to a session that others work on, until somebody delivers it; its number.
    fn enqueue(&self, session: SessionId, input: Arc<Message>) -> BoxFuture<'_, Result<u64, StoreError>> {
        let _not_kept = (session, input);
        Box::pin(std::future::ready(Err(StoreError::Unsupported("queue what is said"))))
    }
    /// What waits to be delivered, oldest first. A commit that names it takes it out of the queue.
    fn queued(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<QueuedInput>, StoreError>> {
        let _none = session;
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
    /// What was said anywhere, in view or not, the best match first.
    fn search<'a>(&'a self, query: &'a SearchQuery) -> BoxFuture<'a, Result<Vec<SearchHit>, StoreError>> {
        let _not_looked = query;
        Box::pin(std::future::ready(Err(StoreError::Unsupported("be searched"))))
    }
    /// Values kept under names that begin so, in the order of their names: what was learned of providers' endpoints.
    fn memos<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<Memo>, StoreError>> {
        let _none = prefix;
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
    /// Keeps a value under a name; none forgets it.
    fn keep_memo(&self, name: String, value: Option<Vec<u8>>) -> BoxFuture<'_, Result<(), StoreError>> {
        let _not_kept = (name, value);
        Box::pin(std::future::ready(Ok(())))
    }
}
