//! The engine: stored sessions, many at once, each a tree of paths. It checks a path out, lets a driver act on it,
//! and commits what was appended; compactions of one covered prefix are made once, however many paths wait for them.
//!
//! What is asked of whom, and what is in view, is decided below; who may open which session is decided above.

mod act;
mod backgrounds;
mod bare_commit;
mod by_hand;
mod changes;
mod commit;
mod deferral;
mod hand_over;
mod kept_bodies;
mod navigation;
mod originals;
mod prefix_jobs;
mod preparation;
mod queue;
mod recovery;
mod replies;
mod shared_waiter;
mod tree;

pub use self::queue::InputPlace;

use crate::assembly::Assembly;
use crate::driver::Driver;
use crate::error::EngineError;
use crate::ports::Spawn;
use crate::session::{Session, SessionOptions, Step};
use crate::store::{
    ChainHash, EventPosition, MessageLocation, SearchHit, SearchQuery, SessionAbout, SessionId, Store,
    StoredEvent, StoredSession, TenantId,
};
use epitome_core::{EntryId, KeptBodies, Log, Message};
use futures_util::lock::Mutex as AsyncMutex;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tree::SessionTree;

/// Stored sessions, and the acts on them.
pub struct Engine {
    store: Arc<dyn Store>,
    /// Runs summaries in the background; without it none is made before it is needed.
    spawn: Option<Arc<dyn Spawn>>,
    live: Mutex<HashMap<SessionId, Arc<SessionTree>>>,
    /// Held by whoever takes a session into memory, or lets it go.
    openings: AsyncMutex<()>,
    /// Whether what need only outlive this process is stored when somebody flushes it.
    defers: bool,
    /// Sessions of which nothing is stored yet, and whose they are.
    fresh: Mutex<HashMap<SessionId, TenantId>>,
    /// Sessions that others were asked for.
    asked_for: Mutex<HashSet<SessionId>>,
    kept: KeptBodies,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

/// A path of a stored session, and how it is worked on this time.
#[derive(Clone, Debug)]
pub struct Checkout {
    /// The session.
    pub session: SessionId,
    /// Where the path ends; where the session has got to, if it is not said.
    pub leaf: Option<EntryId>,
    /// How much room there is, and how it is counted.
    pub assembly: Assembly,
    /// What else holds.
    pub options: SessionOptions,
    /// Who can be asked.
    pub driver: Driver,
    /// How long nobody has spoken, where somebody looked at a clock: providers' caches grow cold meanwhile.
    pub idle: Option<Duration>,
}

/// What came of an act, and the path as it is now.
#[derive(Debug)]
#[non_exhaustive]
pub struct PreparedSession {
    /// What was appended and told.
    pub step: Step,
    /// The path, to be looked at.
    pub session: Session,
}

/// Messages with the hashes under which they are found again.
#[derive(Debug, Default)]
pub struct HashedMessages {
    /// What was said, each with the hash of everything up to it where a request ends there.
    pub messages: Vec<(Message, Option<ChainHash>)>,
    /// The entry that the first of them is, where it was taken up before whoever says it has said it, and no store has its text.
    pub same_as: Option<EntryId>,
    /// What is known of the session, where that has changed.
    pub about: Option<SessionAbout>,
    /// Whether whoever said it says it again with all that follows, as a proxy's client does.
    pub is_repeated: bool,
    /// When, in milliseconds since 1970; none where nobody looked at a calendar.
    pub time_ms: Option<u64>,
}

impl Engine {
    /// An engine over a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            spawn: None,
            live: Mutex::default(),
            openings: AsyncMutex::default(),
            defers: false,
            fresh: Mutex::default(),
            asked_for: Mutex::default(),
            kept: KeptBodies::All,
        }
    }

    /// The same, with summaries made in the background where a policy wants that.
    #[must_use]
    pub fn with_spawn(self, spawn: Arc<dyn Spawn>) -> Self {
        Self { spawn: Some(spawn), ..self }
    }

    /// Where sessions are kept.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Makes a session in which nothing was said.
    pub async fn create(&self, tenant: TenantId) -> Result<SessionId, EngineError> {
        let session = self.store.create(tenant).await?;
        self.note_fresh(session, tenant);
        Ok(session)
    }

    /// Makes a session in which nothing was said, for whoever speaks in it next: it is held, and in memory, and nothing of it is read.
    pub async fn begin(&self, tenant: TenantId) -> Result<SessionId, EngineError> {
        let lease = self.store.begin(tenant).await?;
        self.note_fresh(lease.session, tenant);
        let tree = SessionTree::new(lease, StoredSession::empty(), self.defers, self.kept);
        self.live.lock().unwrap_or_else(PoisonError::into_inner).insert(lease.session, Arc::new(tree));
        Ok(lease.session)
    }

    /// The deepest known message of a request.
    pub async fn find(
        &self,
        tenant: TenantId,
        chain: &[ChainHash],
    ) -> Result<Option<MessageLocation>, EngineError> {
        // Asked for first: what is stored while the store looks is found in the one place or in the other.
        let fresh = self.fresh_sessions(tenant);
        let stored = self.store.find(tenant, chain).await?;
        Ok(if self.defers { self.deepen(chain, stored, fresh) } else { stored })
    }

    /// Appends messages below `parent`, or as a root; their ids. What is known under its hash already is not
    /// appended again.
    pub async fn append(
        &self,
        session: SessionId,
        parent: Option<EntryId>,
        arrival: HashedMessages,
    ) -> Result<Vec<EntryId>, EngineError> {
        let tree = self.tree(session).await?;
        let _writer = tree.writer().await;
        if !tree.has_path(parent) {
            tree.open_whole(&*self.store).await?;
        }
        let appended = tree.append(&*self.store, parent, arrival, Vec::new()).await;
        self.forget_unless_stored(&tree, appended).await
    }

    /// Where each hash of a request leads.
    pub async fn trace(
        &self,
        tenant: TenantId,
        chain: &[ChainHash],
    ) -> Result<Vec<Option<MessageLocation>>, EngineError> {
        Ok(self.store.trace(tenant, chain).await?)
    }

    /// The entries that the path to `leaf` is derived from; all of them where they are in memory.
    pub async fn log(&self, session: SessionId, leaf: EntryId) -> Result<Arc<Log>, EngineError> {
        let tree = self.tree(session).await?;
        if !tree.has_path(Some(leaf)) {
            tree.open_whole(&*self.store).await?;
        }
        Ok(tree.state().log.clone())
    }

    /// What is known of a session beside its entries.
    pub async fn about(&self, session: SessionId) -> Result<SessionAbout, EngineError> {
        Ok(self.tree(session).await?.state().about.clone())
    }

    /// Says otherwise what is known of it.
    pub async fn describe(&self, session: SessionId, about: SessionAbout) -> Result<(), EngineError> {
        let tree = self.tree(session).await?;
        let described = tree.describe(&*self.store, about).await;
        self.forget_unless_stored(&tree, described).await
    }

    /// What was said in a message, in view or not.
    pub async fn recall(&self, session: SessionId, id: EntryId) -> Result<Arc<Message>, EngineError> {
        if let Some(held) = self.live_tree(session).and_then(|tree| tree.archive.held(id)) {
            return Ok(held);
        }
        self.flush(session).await?;
        let found = self.store.originals(session, &[id]).await?;
        found.into_iter().next().ok_or(EngineError::NoEntry(id))
    }

    /// What was said anywhere, in view or not, the best match first.
    pub async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>, EngineError> {
        Ok(self.store.search(query).await?)
    }

    /// Events since a position, oldest first.
    pub async fn events(&self, since: EventPosition) -> Result<Vec<StoredEvent>, EngineError> {
        Ok(self.store.events(since).await?)
    }

    /// Lets a session go from memory; the store keeps what it keeps.
    pub async fn close(&self, session: SessionId) {
        let _one_at_a_time = self.openings.lock().await;
        let tree = self.live.lock().unwrap_or_else(PoisonError::into_inner).remove(&session);
        if let Some(tree) = tree {
            self.let_go(&tree).await;
        }
    }
}
