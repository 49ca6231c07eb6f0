//! The engine: stored sessions, many at once, each a tree of paths. It checks a path out, lets a driver act on it,
//! and commits what was appended; compactions of one covered prefix are made once, however many paths wait for them.
//!
//! What is asked of whom, and what is in view, is decided below; who may open which session is decided above.

mod backgrounds;
mod commit;
mod deferral;
mod hand_over;
mod keeping;
mod originals;
mod prefix_jobs;
mod queue;
mod replies;
mod shared_waiter;
mod tree;

pub use self::queue::InputPlace;

use self::backgrounds::{BackgroundLoan, Crowding};
use crate::assembly::{Assembly, RefusalFigures};
use crate::branch::{BranchExit, NavigationOutcome};
use crate::check::LookPoint;
use crate::driver::{CompactOptions, Driver, PlanSketch, Recovery, TurnEnd};
use crate::error::EngineError;
use crate::event::Event;
use crate::ports::{BoxFuture, Clock, EventListener, RequestWaiter, Spawn};
use crate::session::{AppendedEntry, Session, SessionOptions, Step};
use crate::speculation::CROWDED_OUT;
use crate::store::{
    ChainHash, CommitBatch, Durability, EventPosition, MessageLocation, SearchHit, SearchQuery, SessionAbout,
    SessionId, Store, StoredEvent, TenantId,
};
use epitome_core::{
    Entry, EntryId, Judgement, KeptBodies, Log, Mark, Message, Record, Tokens, Trigger, rebuilds,
};
use epitome_tokens::Usage;
use futures_util::lock::Mutex as AsyncMutex;
use prefix_jobs::PrefixClaim;
use shared_waiter::SharedWaiter;
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
    /// What is known of the session, where that has changed.
    pub about: Option<SessionAbout>,
    /// Whether whoever said it says it again with all that follows, as a proxy's client does.
    pub is_repeated: bool,
    /// When, in milliseconds since 1970; none where nobody looked at a calendar.
    pub time_ms: Option<u64>,
}

/// As often a path waits for others that are at work on a prefix of it. What one of them makes is enough for all, unless it
/// fails: this is more than the paths that wait for one prefix, sub-agents of a large fleet included.
const CLAIM_WAITS_MAX: usize = 64;

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

    /// The deepest known message of a request.
    pub async fn find(
        &self,
        tenant: TenantId,
        chain: &[ChainHash],
    ) -> Result<Option<MessageLocation>, EngineError> {
        let stored = self.store.find(tenant, chain).await?;
        Ok(if self.defers { self.deepen(tenant, chain, stored) } else { stored })
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
        self.forget_unless_stored(session, appended).await
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

    /// A path to be looked at, with nothing done to it.
    pub async fn look(&self, checkout: &Checkout) -> Result<Session, EngineError> {
        self.look_at(checkout, Reach::Live).await
    }

    async fn look_at(&self, checkout: &Checkout, reach: Reach) -> Result<Session, EngineError> {
        let tree = self.tree(checkout.session).await?;
        let session = self.check_out(&tree, checkout, reach).await?;
        // Checked out it was taken from its place, and with it what it remembers beside its log.
        tree.put_back(&session);
        Ok(session)
    }

    /// Everything that is to be done before a call: pre-passes, the warning, a compaction where it is due. One that
    /// another path makes of the same prefix is waited for and used.
    pub async fn prepare(&self, checkout: &Checkout) -> Result<PreparedSession, EngineError> {
        self.prepare_at(checkout, LookPoint::Call).await
    }

    /// The same at another point.
    pub async fn prepare_at(
        &self,
        checkout: &Checkout,
        point: LookPoint,
    ) -> Result<PreparedSession, EngineError> {
        let tree = self.tree(checkout.session).await?;
        let (mut session, claim) = self.claim(&tree, checkout, Some(point)).await?;
        let driver = self.driver(&tree, checkout);
        let acted = match &self.spawn {
            Some(spawn) => {
                let mut background = tree.backgrounds().lend(&session);
                let acted = background.prepare_at(&driver, &mut session, point, &**spawn).await;
                return_background(background, &mut session, acted)
            }
            None => driver.prepare_at(&mut session, point).await,
        };
        self.end_claimed(&tree, checkout, session, acted, claim).await
    }

    /// A turn has ended: what the policy wants done then is done, once for all who say so of the same turn.
    pub async fn end_turn(&self, checkout: &Checkout, end: TurnEnd) -> Result<PreparedSession, EngineError> {
        let tree = self.tree(checkout.session).await?;
        let (mut session, claim) = self.claim(&tree, checkout, Some(LookPoint::TurnEnd)).await?;
        let driver = self.driver(&tree, checkout);
        let acted = match &self.spawn {
            Some(spawn) => {
                let mut background = tree.backgrounds().lend(&session);
                let acted = background.end_turn(&driver, &mut session, end, &**spawn).await;
                return_background(background, &mut session, acted)
            }
            None => driver.end_turn(&mut session, end).await,
        };
        self.end_claimed(&tree, checkout, session, acted, claim).await
    }

    /// A path, and the right to compact it where that is due at this point, or anyway where none is said. Where somebody is at work on
    /// a prefix of it, what comes of that is waited for; where that has not helped too often, the path is compacted beside them.
    async fn claim(
        &self,
        tree: &Arc<SessionTree>,
        checkout: &Checkout,
        point: Option<LookPoint>,
    ) -> Result<(Session, Option<PrefixClaim>), EngineError> {
        let is_due = |session: &Session| point.map_or(Ok(true), |point| session.needs_compaction(point));
        let covers = |session: &Session| if is_due(session)? { session.covers() } else { Ok(None) };
        let reads = |session: &Session| point.is_none_or(|point| session.reads_originals_at(point));
        for _ in 0..CLAIM_WAITS_MAX {
            // A summary in the background is begun before it is due.
            let speculates = self.spawn.is_some() && checkout.assembly.policy().speculate.enabled;
            let reach = if speculates { Reach::Whole } else { Reach::Live };
            let mut session = self.check_out(tree, checkout, reach).await?;
            if reads(&session) {
                if !session.log().is_whole() {
                    session = self.check_out(tree, checkout, Reach::Whole).await?;
                }
                tree.read_all(&*self.store, &session, &[]).await.inspect_err(|_| tree.put_back(&session))?;
            }
            let covered = covers(&session).inspect_err(|_| tree.put_back(&session))?;
            match covered.map(|anchor| tree.claim(anchor, session.history())) {
                Some(Err(others)) => {
                    tree.put_back(&session);
                    let _counted = tree.crowd().enter();
                    drop(checkout.driver.while_awaited(others.lock()).await?);
                }
                Some(Ok(claim)) => return Ok((session, Some(claim))),
                None => return Ok((session, None)),
            }
        }
        let session = self.check_out(tree, checkout, Reach::Whole).await?;
        tree.read_all(&*self.store, &session, &[]).await?;
        Ok((session, None))
    }

    /// What is known of a session beside its entries.
    pub async fn about(&self, session: SessionId) -> Result<SessionAbout, EngineError> {
        Ok(self.tree(session).await?.state().about.clone())
    }

    /// Says otherwise what is known of it.
    pub async fn describe(&self, session: SessionId, about: SessionAbout) -> Result<(), EngineError> {
        let tree = self.tree(session).await?;
        let described = tree.describe(&*self.store, about).await;
        self.forget_unless_stored(session, described).await
    }

    /// Takes up what the provider said of the call whose reply the path ends in.
    pub async fn reply(&self, checkout: &Checkout, usage: Usage) -> Result<PreparedSession, EngineError> {
        let tree = self.tree(checkout.session).await?;
        let mut session = self.check_out(&tree, checkout, Reach::Live).await?;
        let acted = session.record_usage(usage).map(|()| session.step(None));
        self.finish(&tree, checkout, session, acted).await
    }

    /// The same of a call whose provider said nothing: our own count of it, which measures nothing.
    pub async fn reply_estimated(
        &self,
        checkout: &Checkout,
        usage: Usage,
    ) -> Result<PreparedSession, EngineError> {
        let tree = self.tree(checkout.session).await?;
        let mut session = self.check_out(&tree, checkout, Reach::Live).await?;
        let acted = session.record_estimate(usage).map(|()| session.step(None));
        self.finish(&tree, checkout, session, acted).await
    }

    /// What [`Self::prepare`] would do before a call, with nothing done and nobody asked who takes time or money: where a compaction is
    /// due, the record of it, which is kept as observed.
    pub async fn observe(&self, checkout: &Checkout) -> Result<PreparedSession, EngineError> {
        let tree = self.tree(checkout.session).await?;
        let mut session = self.check_out(&tree, checkout, Reach::Live).await?;
        if session.check_observed().is_due() {
            session = self.check_out(&tree, checkout, Reach::Whole).await?;
            tree.read_all(&*self.store, &session, &[]).await.inspect_err(|_| tree.put_back(&session))?;
        }
        let acted = checkout.driver.observe(&mut session).await;
        self.finish(&tree, checkout, session, acted).await
    }

    /// Makes room after a provider refused the path's request as too long, having learned from its figures; the
    /// reason where nothing could be done.
    pub async fn overflow(
        &self,
        checkout: &Checkout,
        figures: RefusalFigures,
        over: Option<Tokens>,
    ) -> Result<(PreparedSession, Result<(), String>), EngineError> {
        let tree = self.tree(checkout.session).await?;
        let (mut session, claim) = self.claim(&tree, checkout, None).await?;
        session.learn(figures);
        let driver = self.driver(&tree, checkout);
        let mut background = tree.backgrounds().lend(&session);
        let mut verdict = Ok(());
        let recovered = background.recover(&driver, &mut session, over).await;
        let acted = recovered.map(|recovery| settle_recovery(recovery, &mut verdict));
        let acted = return_background(background, &mut session, acted);
        let prepared = self.end_claimed(&tree, checkout, session, acted, claim).await?;
        Ok((prepared, verdict))
    }

    /// Has pictures give way to labels after a provider refused the path's request for its bytes or pictures; the reason
    /// where nothing could be done, and then the path is held.
    pub async fn shed_pictures(
        &self,
        checkout: &Checkout,
        bytes_max: Option<u64>,
    ) -> Result<(PreparedSession, Result<(), String>), EngineError> {
        let mut verdict = Ok(());
        let acted = self.act(checkout, async |driver, session| {
            Ok(settle_recovery(driver.shed_pictures(session, bytes_max)?, &mut verdict))
        });
        let prepared = acted.await?;
        Ok((prepared, verdict))
    }

    /// Compacts by hand, or for another reason than a check. Of two who ask at once the second finds it done.
    pub async fn compact(
        &self,
        checkout: &Checkout,
        trigger: Trigger,
        options: CompactOptions,
    ) -> Result<PreparedSession, EngineError> {
        let tree = self.tree(checkout.session).await?;
        let (mut session, claim) = self.claim(&tree, checkout, None).await?;
        let driver = self.driver(&tree, checkout);
        let mut background = tree.backgrounds().lend(&session);
        let acted = background.compact_with(&driver, &mut session, trigger, options).await;
        let acted = return_background(background, &mut session, acted);
        self.end_claimed(&tree, checkout, session, acted, claim).await
    }

    /// What a compaction would come to, with nothing appended.
    pub async fn preview(
        &self,
        checkout: &Checkout,
        trigger: Trigger,
        options: CompactOptions,
    ) -> Result<Arc<Record>, EngineError> {
        let session = self.look_at(checkout, Reach::Whole).await?;
        self.tree(checkout.session).await?.read_all(&*self.store, &session, &[]).await?;
        checkout.driver.preview(&session, trigger, options).await
    }

    /// What a compaction would set out to do, with nobody asked.
    pub async fn sketch(
        &self,
        checkout: &Checkout,
        trigger: Trigger,
        options: CompactOptions,
    ) -> Result<Option<PlanSketch>, EngineError> {
        let session = self.look_at(checkout, Reach::Whole).await?;
        self.tree(checkout.session).await?.read_all(&*self.store, &session, &[]).await?;
        checkout.driver.sketch(&session, trigger, options)
    }

    /// Takes a compaction or edit back on this path.
    pub async fn undo(&self, checkout: &Checkout, of: EntryId) -> Result<PreparedSession, EngineError> {
        self.change(checkout, |session| session.undo(of)).await
    }

    /// Uses one again that was taken back.
    pub async fn redo(&self, checkout: &Checkout, of: EntryId) -> Result<PreparedSession, EngineError> {
        self.change(checkout, |session| session.redo(of)).await
    }

    /// Never supersedes a message of the path; one that is out of view comes back into it.
    pub async fn pin(&self, checkout: &Checkout, of: EntryId) -> Result<PreparedSession, EngineError> {
        self.change(checkout, |session| session.pin(of)).await
    }

    /// Lets a pinned message go again.
    pub async fn unpin(&self, checkout: &Checkout, of: EntryId) -> Result<PreparedSession, EngineError> {
        self.change(checkout, |session| session.unpin(of)).await
    }

    /// Gives the end of the path a name.
    pub async fn label(&self, checkout: &Checkout, text: &str) -> Result<PreparedSession, EngineError> {
        self.change(checkout, |session| session.label(text)).await
    }

    /// Asks for a compaction at the end of the turn that runs on this path.
    pub async fn request_compaction(&self, checkout: &Checkout) -> Result<PreparedSession, EngineError> {
        self.change(checkout, Session::request_compaction).await
    }

    /// Keeps what a person thinks of a compaction.
    pub async fn judge(
        &self,
        checkout: &Checkout,
        of: EntryId,
        judgement: Judgement,
    ) -> Result<PreparedSession, EngineError> {
        self.change(checkout, |session| session.judge(of, judgement)).await
    }

    /// Closes the breaker of a path.
    pub async fn reset_breaker(&self, checkout: &Checkout) -> Result<PreparedSession, EngineError> {
        self.change(checkout, Session::reset_breaker).await
    }

    /// Moves a session to another path, with or without a word on the one it leaves.
    pub async fn navigate(
        &self,
        checkout: &Checkout,
        target: EntryId,
        exit: BranchExit,
    ) -> Result<NavigationOutcome, EngineError> {
        let tree = self.tree(checkout.session).await?;
        let _writer = tree.writer().await;
        let mut session = self.check_out(&tree, checkout, Reach::Whole).await?;
        let mut moved = self.go_to(&tree, checkout, &mut session, target, exit).await;
        let mut step = session.step(None);
        let time_ms = checkout.driver.ports().clock.unix_ms();
        let committed = tree.commit(&*self.store, &mut session, &mut step, time_ms).await;
        let renumbering = self.forget_unless_stored(checkout.session, committed).await?;
        if let Ok(NavigationOutcome::There { summary }) = &mut moved {
            *summary = summary.map(|id| renumbering.id(id));
        }
        if let (Ok(NavigationOutcome::There { .. }), Some(leaf)) = (&moved, session.leaf()) {
            let done = tree.move_leaf(&*self.store, leaf, time_ms).await;
            self.forget_unless_stored(checkout.session, done).await?;
        }
        tree.put_back(&session);
        moved
    }

    /// Moves a path that is checked out, with the originals at hand that this reads.
    async fn go_to(
        &self,
        tree: &SessionTree,
        checkout: &Checkout,
        session: &mut Session,
        target: EntryId,
        exit: BranchExit,
    ) -> Result<NavigationOutcome, EngineError> {
        if session.log().item(target).is_none() {
            return Err(EngineError::NoEntry(target));
        }
        let leaving = session.leaving(target)?.messages;
        let read = [session.log().path(target), leaving].concat();
        tree.read_all(&*self.store, session, &read).await?;
        checkout.driver.navigate(session, target, exit).await
    }

    /// Moves a session back, or to any other place, and does nothing else.
    pub async fn rollback(&self, session: SessionId, leaf: EntryId) -> Result<(), EngineError> {
        self.rollback_at(session, leaf, None).await
    }

    /// The same at a time, in milliseconds since 1970: that is when the session was changed last.
    pub async fn rollback_at(
        &self,
        session: SessionId,
        leaf: EntryId,
        time_ms: Option<u64>,
    ) -> Result<(), EngineError> {
        let tree = self.tree(session).await?;
        let _writer = tree.writer().await;
        if !tree.has_path(Some(leaf)) {
            tree.open_whole(&*self.store).await?;
        }
        let done = tree.move_leaf(&*self.store, leaf, time_ms).await;
        self.forget_unless_stored(session, done).await
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

    async fn act(
        &self,
        checkout: &Checkout,
        act: impl AsyncFnOnce(&Driver, &mut Session) -> Result<Step, EngineError>,
    ) -> Result<PreparedSession, EngineError> {
        let tree = self.tree(checkout.session).await?;
        let mut session = self.check_out(&tree, checkout, Reach::Whole).await?;
        tree.read_all(&*self.store, &session, &[]).await?;
        let acted = act(&self.driver(&tree, checkout), &mut session).await;
        self.finish(&tree, checkout, session, acted).await
    }

    /// The driver of a checkout; what it tells before it waits for a person is stored at once, and what others wait for goes on
    /// when its own caller has gone.
    fn driver(&self, tree: &Arc<SessionTree>, checkout: &Checkout) -> Driver {
        let (store, clock) = (self.store.clone(), checkout.driver.ports().clock.clone());
        let mut driver =
            checkout.driver.heard_by(Arc::new(StoreListener { store, tree: tree.clone(), clock }));
        if let Some(RequestWaiter { waiter, .. }) = &mut driver.ports_mut().waiter {
            *waiter = Arc::new(SharedWaiter { own: waiter.clone(), tree: tree.clone() });
        }
        driver
    }

    async fn change(
        &self,
        checkout: &Checkout,
        change: impl FnOnce(&mut Session) -> Result<(), EngineError>,
    ) -> Result<PreparedSession, EngineError> {
        self.act(checkout, async |_, session| {
            change(session)?;
            Ok(session.step(None))
        })
        .await
    }

    /// Finishes an act that may have compacted. Where it did, what was said meanwhile is delivered once nobody can take the
    /// session for being compacted any more.
    async fn end_claimed(
        &self,
        tree: &Arc<SessionTree>,
        checkout: &Checkout,
        session: Session,
        acted: Result<Step, EngineError>,
        claim: Option<PrefixClaim>,
    ) -> Result<PreparedSession, EngineError> {
        let prepared = self.finish(tree, checkout, session, acted).await;
        if let Some(claim) = claim {
            drop(claim);
            self.deliver_to(tree, checkout.driver.ports().clock.unix_ms()).await?;
        }
        prepared
    }

    /// Commits what an act appended, whatever came of it, and keeps the path ready with what it remembers beside its log.
    async fn finish(
        &self,
        tree: &Arc<SessionTree>,
        checkout: &Checkout,
        mut session: Session,
        acted: Result<Step, EngineError>,
    ) -> Result<PreparedSession, EngineError> {
        let time_ms = checkout.driver.ports().clock.unix_ms();
        let (mut step, failed) = match acted {
            Ok(step) => (step, None),
            Err(error) => (session.step(None), Some(error)),
        };
        let committed = tree.commit(&*self.store, &mut session, &mut step, time_ms).await;
        self.forget_unless_stored(checkout.session, committed).await?;
        tree.put_back(&session);
        // What was only observed has a record too, and rebuilds nothing.
        let is_rebuilt = step.appended.iter().any(|one| rebuilds(&one.entry))
            && step.record.as_ref().is_some_and(|record| record.outcome.is_rebuilt());
        if tree.was_supplied() || is_rebuilt {
            tree.let_superseded_go(&session);
        }
        if is_rebuilt {
            self.keep_live(tree, &session).await;
        }
        failed.map_or(Ok(PreparedSession { step, session }), Err)
    }

    /// Has the store keep what is live of a session. Where it does not, the next to open it reads more.
    async fn keep_live(&self, tree: &SessionTree, session: &Session) {
        if let Some(live) = session.live_part() {
            drop(self.store.keep_live(tree.lease(), live).await);
        }
    }

    /// Lets a session go from memory where the store did not take what was appended: what is in memory is more than what
    /// is stored, and the next act begins with what is.
    async fn forget_unless_stored<T>(
        &self,
        session: SessionId,
        committed: Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        if committed.is_err() {
            self.close(session).await;
        }
        committed
    }

    /// A path with the originals that acts on it read, and as much of the log as they look at.
    async fn check_out(
        &self,
        tree: &Arc<SessionTree>,
        checkout: &Checkout,
        reach: Reach,
    ) -> Result<Session, EngineError> {
        let leaf = checkout.leaf.or(tree.leaf());
        if reach == Reach::Whole || !tree.has_path(leaf) {
            tree.open_whole(&*self.store).await?;
        }
        let lent = tree.lend(&*self.store, leaf, checkout).await?;
        let mut session = tree.check_out(leaf, checkout, lent)?;
        // Where there is room for what was superseded, it is in view again.
        if !session.log().is_whole() && session.timeline().ignores_any() {
            tree.open_whole(&*self.store).await?;
            let lent = tree.lend(&*self.store, leaf, checkout).await?;
            session = tree.check_out(leaf, checkout, lent)?;
        }
        tree.read_view(&*self.store, &session).await?;
        Ok(session)
    }

    async fn tree(&self, session: SessionId) -> Result<Arc<SessionTree>, EngineError> {
        if let Some(tree) = self.held(session).await? {
            return Ok(tree);
        }
        let _one_at_a_time = self.openings.lock().await;
        if let Some(tree) = self.held(session).await? {
            return Ok(tree);
        }
        // Leased before it is read: whoever held it before may have appended until then.
        let lease = self.take_lease(session).await?;
        let opened = match self.store.open(session).await {
            Ok(opened) => opened,
            Err(error) => {
                self.store.release(lease).await;
                return Err(error.into());
            }
        };
        let tree = Arc::new(SessionTree::new(lease, opened, self.defers, self.kept));
        self.live.lock().unwrap_or_else(PoisonError::into_inner).insert(session, tree.clone());
        Ok(tree)
    }

    /// A session that is in memory and still ours. Where others have had it since, what is in memory is of yesterday.
    async fn held(&self, session: SessionId) -> Result<Option<Arc<SessionTree>>, EngineError> {
        let Some(tree) = self.live.lock().unwrap_or_else(PoisonError::into_inner).get(&session).cloned()
        else {
            return Ok(None);
        };
        if tree.was_held_lately() {
            return Ok(Some(tree));
        }
        if self.store.hold(tree.lease()).await? {
            tree.note_held();
            return Ok(Some(tree));
        }
        tree.backgrounds().clear();
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if live.get(&session).is_some_and(|known| Arc::ptr_eq(known, &tree)) {
            live.remove(&session);
        }
        Ok(None)
    }
}

/// How far back an act looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// At what is in view.
    Live,
    /// At every entry.
    Whole,
}

/// What a recovery did, and why it was in vain where it was.
fn settle_recovery(recovery: Recovery, verdict: &mut Result<(), String>) -> Step {
    match recovery {
        Recovery::Retry(step) => *step,
        Recovery::Surface { why, step } => {
            *verdict = Err(why);
            *step
        }
    }
}

/// Gives a background back for the path's next request, and tells where another was lost by that.
fn return_background(
    background: BackgroundLoan,
    session: &mut Session,
    acted: Result<Step, EngineError>,
) -> Result<Step, EngineError> {
    if background.put_back() == Crowding::Lost {
        session.waste(CROWDED_OUT);
    }
    let mut step = acted?;
    step.events.extend(session.take_events());
    Ok(step)
}

/// Puts originals into memory.
async fn load_into(
    store: &dyn Store,
    archive: &epitome_core::MemoryArchive,
    session: SessionId,
    ids: &[EntryId],
) -> Result<(), EngineError> {
    if ids.is_empty() {
        return Ok(());
    }
    let messages = store.originals(session, ids).await?;
    for (&id, message) in ids.iter().zip(messages) {
        archive.put_shared(id, message);
    }
    Ok(())
}

/// Stores what a session tells while an act on it goes on.
struct StoreListener {
    store: Arc<dyn Store>,
    tree: Arc<SessionTree>,
    clock: Arc<dyn Clock>,
}

impl EventListener for StoreListener {
    fn hear(&self, events: Vec<Event>) -> BoxFuture<'_, Result<(), EngineError>> {
        Box::pin(self.tree.tell(&*self.store, events, self.clock.unix_ms()))
    }
}

/// The batch that commits a step; the originals of its messages are put in by the tree.
fn batch_of(step: &Step, time_ms: Option<u64>) -> CommitBatch {
    CommitBatch {
        entries: step.appended.clone(),
        events: step.events.clone(),
        durability: durability_of(step),
        time_ms,
        ..CommitBatch::default()
    }
}

/// What a provider said of a call is told again with the next one; everything else is not.
fn durability_of(step: &Step) -> Durability {
    let is_usage = |one: &AppendedEntry| matches!(one.entry, Entry::Mark(Mark::Usage(_)));
    if step.events.is_empty() && step.appended.iter().all(is_usage) {
        Durability::System
    } else {
        Durability::Disk
    }
}
