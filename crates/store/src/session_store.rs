//! What people do with a store beside working on its sessions: list them, read them with their times, give a file back, look
//! whether all is well.

use epitome_core::{Entry, EntryId};
use epitome_engine::BoxFuture;
use epitome_engine::store::{SessionAbout, SessionId, Store, StoreError, TenantId};
use serde::Serialize;

/// A store that outlives the process.
pub trait SessionStore: Store {
    /// Where it is, as an operator names it; passwords left out.
    fn place(&self) -> String;
    /// The key of hashes that lead to what is stored here; the same for as long as the store lives.
    fn chain_key(&self) -> [u8; 32];
    /// Sessions, the one changed last first.
    fn list<'a>(&'a self, filter: &'a SessionFilter)
    -> BoxFuture<'a, Result<Vec<ListedSession>, StoreError>>;
    /// All entries of a session, in order, with the times they were stored at.
    fn entries(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<StoredEntry>, StoreError>>;
    /// The file a session was read from; none where it was read from none.
    fn file(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>>;
    /// How many messages, of one session or of all, keep no text here: they cannot be looked for.
    fn unkept(&self, session: Option<SessionId>) -> BoxFuture<'_, Result<u64, StoreError>>;
    /// How much there is.
    fn figures(&self) -> BoxFuture<'_, Result<StoreFigures, StoreError>>;
    /// What a session takes as it is stored: what it shares with others counts for each of them.
    fn session_bytes(&self, session: SessionId) -> BoxFuture<'_, Result<u64, StoreError>>;
    /// What is wrong with it; nothing where all is well.
    fn check(&self) -> BoxFuture<'_, Result<Vec<StoreProblem>, StoreError>>;
    /// Gives all leases back, so that nobody waits for their end, and closes what can be closed. Nothing else is asked of the
    /// store then.
    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>>;
}

/// Which sessions are listed. What is not said is not asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// This one.
    pub session: Option<SessionId>,
    /// Those of this tenant.
    pub tenant: Option<TenantId>,
    /// At most so many.
    pub limit: Option<usize>,
}

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ListedSession {
    /// Its name.
    pub session: SessionId,
    /// How many entries it has.
    pub entries: usize,
    /// Where it has got to.
    pub leaf: Option<EntryId>,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// When something was last committed to it.
    pub changed_ms: u64,
    /// Compactions and edits in it, those that came with its file and those that were taken back included.
    pub passes: usize,
    /// Whether somebody works on it.
    pub is_held: bool,
    /// What is known of it.
    #[serde(flatten)]
    pub about: SessionAbout,
}

/// An entry with its place and time.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoredEntry {
    /// Its id.
    pub id: EntryId,
    /// The parent of a message, the anchor of a mark.
    pub parent: Option<EntryId>,
    /// When it was stored, in milliseconds since 1970; none where nobody looked at a calendar.
    pub time_ms: Option<u64>,
    /// The entry.
    pub entry: Entry,
}

/// How much a store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StoreFigures {
    /// The version of its tables.
    pub version: u64,
    /// Sessions.
    pub sessions: u64,
    /// Entries of all of them.
    pub entries: u64,
    /// Different things that were said.
    pub bodies: u64,
    /// What these take as they are stored.
    pub body_bytes: u64,
    /// Messages whose text is not kept here.
    pub unkept: u64,
    /// What the whole store takes.
    pub bytes: u64,
}

/// Something wrong with a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StoreProblem {
    /// The session it is in, where it is in one.
    pub session: Option<SessionId>,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
}

impl StoreProblem {
    /// A problem, with its remedy.
    pub fn new(session: Option<SessionId>, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { session, what: what.into(), remedy: remedy.into() }
    }

    /// What is kept as the live part of a session is not what its entries come to.
    pub(crate) fn of_live_part(session: SessionId) -> Self {
        let what = "what was kept as its live part is not what its entries say";
        Self::new(Some(session), what, "compact or export it: the next compaction keeps another")
    }
}
