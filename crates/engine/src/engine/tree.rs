//! One stored session while anybody works on it: its log, what messages take by each way of counting, the paths that
//! were worked on last, and the compactions under way. Whoever checks a path out works on a copy; what it appended is
//! brought home by `commit`.

use super::backgrounds::Backgrounds;
use super::deferral::DeferredBatch;
use super::prefix_jobs::PrefixJob;
use super::shared_waiter::Crowd;
use super::{Checkout, HashedMessages};
use crate::error::EngineError;
use crate::session::{AppendedEntry, Session, Step};
use crate::store::{
    ChainHash, CommitBatch, Durability, Lease, SessionAbout, SessionId, Store, StoredSession,
};
use epitome_core::{Entry, EntryId, Item, KeptBodies, Log, MemoryArchive, Role, SizeTable};
use futures_util::lock::{Mutex as AsyncMutex, MutexGuard as AsyncGuard};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A stored session in memory.
pub(super) struct SessionTree {
    pub(super) id: SessionId,
    pub(super) lease: Lease,
    /// Whether what need only outlive this process is put off.
    pub(super) defers: bool,
    /// Which texts that are said again are stored.
    pub(super) kept: KeptBodies,
    /// Whether somebody gave texts that the store does not keep, since the last act ended.
    is_supplied: AtomicBool,
    /// Originals of what is in view on some path.
    pub(super) archive: Arc<MemoryArchive>,
    state: Mutex<TreeState>,
    /// When the store last said that the lease is ours.
    held_at: Mutex<Instant>,
    /// Held by whoever appends messages.
    writer: AsyncMutex<()>,
    /// Held from the moment the log has grown until the store has taken that: commits reach it in that order.
    pub(super) commits: AsyncMutex<()>,
    /// Compactions under way.
    pub(super) jobs: Mutex<Vec<PrefixJob>>,
    /// Those who wait for one of them.
    pub(super) crowd: Crowd,
    backgrounds: Arc<Backgrounds>,
}

pub(super) struct TreeState {
    pub(super) log: Arc<Log>,
    pub(super) leaf: Option<EntryId>,
    /// Where the path ends that the live entries are of, while they alone are at hand.
    live_leaf: Option<EntryId>,
    pub(super) sizes: HashMap<Arc<str>, Arc<SizeTable>>,
    /// What is known of it beside its entries.
    pub(super) about: SessionAbout,
    /// Messages by the hash of everything up to them; of this process alone.
    hashes: HashMap<ChainHash, EntryId>,
    /// What was appended and is not stored yet.
    pub(super) deferred: Option<DeferredBatch>,
    /// Paths that were worked on last, the newest last.
    pub(super) paths: Vec<Session>,
    /// How often originals were let go.
    pub(super) times_let_go: u64,
    /// Whether it was let go from memory: whoever still works on it is refused, since nobody would store what they append.
    pub(super) is_closed: bool,
}

/// The acts of one request ask once whether the session is still ours. Whoever takes it from a process that lives waits for far longer,
/// and what is committed under an old lease is refused.
const HOLD_TIME: Duration = Duration::from_millis(50);
/// As many paths are kept ready for their next request: a person's agent, its sub-agents, and a retry or two, each with its last
/// reply and without.
const PATHS_MAX: usize = 16;

impl SessionTree {
    pub(super) fn new(lease: Lease, opened: StoredSession, defers: bool, kept: KeptBodies) -> Self {
        let StoredSession { log, leaf, live_leaf, sizes, about, originals } = opened;
        let sizes = sizes.into_iter().collect();
        let (hashes, paths) = (HashMap::new(), Vec::new());
        let (deferred, times_let_go, is_closed) = (None, 0, false);
        let state = TreeState {
            log,
            leaf,
            live_leaf,
            sizes,
            about,
            hashes,
            deferred,
            paths,
            times_let_go,
            is_closed,
        };
        Self {
            id: lease.session,
            lease,
            defers,
            kept,
            is_supplied: AtomicBool::new(false),
            archive: originals.map(MemoryArchive::in_front_of).map(Arc::new).unwrap_or_default(),
            state: Mutex::new(state),
            held_at: Mutex::new(Instant::now()),
            writer: AsyncMutex::default(),
            commits: AsyncMutex::default(),
            jobs: Mutex::default(),
            crowd: Crowd::default(),
            backgrounds: Arc::default(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, TreeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lease(&self) -> Lease {
        self.lease
    }

    /// Whether the store has said so lately that the lease is ours that it is not asked again.
    pub(super) fn was_held_lately(&self) -> bool {
        self.defers && self.held_at.lock().unwrap_or_else(PoisonError::into_inner).elapsed() < HOLD_TIME
    }

    pub(super) fn note_held(&self) {
        *self.held_at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(super) fn note_supplied(&self) {
        self.is_supplied.store(true, Ordering::Relaxed);
    }

    /// Whether texts were given since this was last asked: what is not in view of them is let go.
    pub(super) fn was_supplied(&self) -> bool {
        self.is_supplied.swap(false, Ordering::Relaxed)
    }

    pub(super) fn leaf(&self) -> Option<EntryId> {
        self.state().leaf
    }

    /// Whether what the path to `leaf` is derived from is at hand.
    pub(super) fn has_path(&self, leaf: Option<EntryId>) -> bool {
        let state = self.state();
        // Along a path ids only grow.
        let is_behind = || state.log.path_behind(leaf, |id| Some(id) <= state.live_leaf).0 == state.live_leaf;
        state.log.is_whole() || (state.live_leaf.is_some() && is_behind())
    }

    /// Takes every entry into memory, where only those that are live are there.
    pub(super) async fn open_whole(&self, store: &dyn Store) -> Result<(), EngineError> {
        let _in_order = self.commits.lock().await;
        if self.state().log.is_whole() {
            return Ok(());
        }
        self.flush(store).await?;
        let whole = store.open_whole(self.id).await?;
        let mut state = self.state();
        let mut sizes: HashMap<Arc<str>, Arc<SizeTable>> = whole.sizes.into_iter().collect();
        for (method, known) in &state.sizes {
            let table = Arc::make_mut(sizes.entry(method.clone()).or_default());
            known.iter().for_each(|(id, size)| table.set(id, size));
        }
        (state.log, state.live_leaf, state.sizes) = (whole.log, None, sizes);
        // What they remember is of the part that was at hand.
        state.paths.clear();
        drop(state);
        self.backgrounds.clear();
        Ok(())
    }

    pub(super) async fn writer(&self) -> AsyncGuard<'_, ()> {
        self.writer.lock().await
    }

    /// Appends messages below `parent`; what is known under its hash already is gone past. They deliver these queued inputs.
    pub(super) async fn append(
        &self,
        store: &dyn Store,
        parent: Option<EntryId>,
        arrival: HashedMessages,
        delivered: Vec<u64>,
    ) -> Result<Vec<EntryId>, EngineError> {
        let same = match arrival.messages.first() {
            Some((message, Some(hash))) if !self.state().hashes.contains_key(hash) => {
                match arrival.same_as.filter(|&id| self.is_reply_to(parent, id)) {
                    Some(told) => Some(told),
                    None => self.same_reply(store, parent, message).await?,
                }
            }
            Some(_) | None => None,
        };
        let _in_order = self.commits.lock().await;
        let HashedMessages { messages, about, is_repeated, time_ms, same_as: _ } = arrival;
        let durability = if is_repeated { Durability::System } else { Durability::Disk };
        let is_kept = !is_repeated || self.kept == KeptBodies::All;
        let mut batch = CommitBatch { about, durability, delivered, time_ms, ..CommitBatch::default() };
        let (mut ids, mut at) = (Vec::new(), parent);
        let expected = {
            let mut state = self.state();
            let expected = state.log.len();
            batch.about.iter().for_each(|about| state.about.clone_from(about));
            // What was taken up before its client sent it back is found by its hash from now on.
            if let (Some(id), Some((_, Some(hash)))) = (same, messages.first()) {
                state.hashes.insert(*hash, id);
                batch.hashes.push((*hash, id));
            }
            for (message, hash) in messages {
                if let Some(&known) = hash.as_ref().and_then(|hash| state.hashes.get(hash)) {
                    (at, batch.leaf) = (Some(known), Some(known));
                    ids.push(known);
                    continue;
                }
                let entry = Entry::Message(Item::of(&message));
                let id = Arc::make_mut(&mut state.log).append(at, entry.clone())?;
                let message = Arc::new(message);
                self.archive.put_shared(id, message.clone());
                batch.entries.push(AppendedEntry { id, parent: at, entry });
                batch.messages.extend(is_kept.then_some((id, message)));
                if let Some(hash) = hash {
                    state.hashes.insert(hash, id);
                    batch.hashes.push((hash, id));
                }
                (at, batch.leaf) = (Some(id), Some(id));
                ids.push(id);
            }
            state.leaf = at;
            expected
        };
        self.put(store, expected, batch).await?;
        Ok(ids)
    }

    /// The last of these hashes that this process has appended under: its place among them, and the message.
    pub(super) fn deepest_hash(&self, chain: &[ChainHash]) -> Option<(usize, EntryId)> {
        let state = self.state();
        chain.iter().enumerate().rev().find_map(|(at, hash)| Some((at, *state.hashes.get(hash)?)))
    }

    /// A copy of the path that ends in `leaf`, to be worked on as `checkout` says, with the originals that were lent for that.
    pub(super) fn check_out(
        &self,
        leaf: Option<EntryId>,
        checkout: &Checkout,
        lent: Arc<MemoryArchive>,
    ) -> Result<Session, EngineError> {
        let mut state = self.state();
        let PathGrowth { known, since } = state.growth_of(leaf, checkout);
        state.count(&since, checkout, &lent)?;
        let sizes = state.sizes[checkout.assembly.sizes_key()].clone();
        let is_downshift = state.is_downshift(leaf, checkout);
        let mut session = match known.map(|at| state.paths.remove(at)) {
            Some(known) => known.with_archive(lent),
            None => Session::new(state.log.clone(), sizes.clone(), lent, checkout.assembly.clone()),
        };
        session.adopt_log(state.log.clone(), sizes, checkout);
        session.go_on(&since)?;
        session.outgrow()?;
        session.state.is_downshift = is_downshift;
        Ok(session)
    }

    /// Keeps a path ready for its next request.
    pub(super) fn put_back(&self, session: &Session) {
        let mut state = self.state();
        // What is derived from the live part alone is of no use to whoever has the whole.
        if session.log().is_whole() != state.log.is_whole() {
            return;
        }
        let paths = &mut state.paths;
        paths.retain(|known| known.leaf() != session.leaf());
        if paths.len() == PATHS_MAX {
            paths.remove(0);
        }
        paths.push(session.without_log().with_archive(self.archive.clone()));
    }

    pub(super) fn backgrounds(&self) -> &Arc<Backgrounds> {
        &self.backgrounds
    }
}

impl TreeState {
    /// The path to `leaf` as it goes on from one that was worked on.
    pub(super) fn growth_of(&self, leaf: Option<EntryId>, checkout: &Checkout) -> PathGrowth {
        let place = |id: EntryId| {
            let is_here = |known: &Session| {
                known.leaf() == Some(id) && known.assembly().sizes_key() == checkout.assembly.sizes_key()
            };
            self.paths.iter().position(is_here)
        };
        let (newest, since) = self.log.path_behind(leaf, |id| place(id).is_some());
        PathGrowth { known: newest.and_then(place), since }
    }

    /// Messages among entries that a way of counting has not counted.
    pub(super) fn uncounted(&self, entries: &[EntryId], method: &Arc<str>) -> Vec<EntryId> {
        let table = self.sizes.get(method);
        let is_counted = |id: EntryId| table.is_some_and(|table| table.has(id));
        let messages = entries.iter().copied().filter(|&id| self.log.item(id).is_some());
        messages.filter(|&id| !is_counted(id)).collect()
    }

    pub(super) fn messages_of(&self, leaf: Option<EntryId>) -> Vec<EntryId> {
        self.log.path_of(leaf).into_iter().filter(|&id| self.log.item(id).is_some()).collect()
    }

    /// Takes over what messages take that a copy has appended. What others have counted meanwhile stays.
    pub(super) fn take_sizes(&mut self, session: &Session, step: &Step) {
        let table = self.sizes.entry(session.assembly().sizes_key().clone()).or_default();
        for one in step.appended.iter().filter(|one| is_message(&one.entry)) {
            Arc::make_mut(table).set(one.id, session.timeline().sizes().of(one.id));
        }
    }

    /// Counts what a way of counting has not counted of a path's new entries.
    fn count(
        &mut self,
        since: &[EntryId],
        checkout: &Checkout,
        archive: &MemoryArchive,
    ) -> Result<(), EngineError> {
        let method = checkout.assembly.sizes_key();
        let uncounted = self.uncounted(since, method);
        let table = self.sizes.entry(method.clone()).or_default();
        if uncounted.is_empty() {
            return Ok(());
        }
        let table = Arc::make_mut(table);
        for id in uncounted {
            let message = epitome_core::Archive::message(archive, id)?;
            table.set(id, checkout.assembly.measure().sizes(&message));
        }
        Ok(())
    }

    /// Whether the path to `leaf` goes on with another model of a smaller window than the one that replied last. Between two calls
    /// it is worked on more than once, and is with the new model before that one has said anything.
    fn is_downshift(&self, leaf: Option<EntryId>, checkout: &Checkout) -> bool {
        let worked_on = |id: EntryId| self.paths.iter().find(|known| known.leaf() == Some(id));
        let (newest, since) = self.log.path_behind(leaf, |id| worked_on(id).is_some());
        newest.and_then(worked_on).is_some_and(|known| {
            let is_same = known.assembly().model().id == checkout.assembly.model().id;
            let is_reply = |id: &EntryId| self.log.item(*id).is_some_and(|item| item.role == Role::Assistant);
            let goes_on = is_same && known.state.is_downshift && !since.iter().any(is_reply);
            goes_on || checkout.assembly.is_smaller_model_than(known.assembly())
        })
    }
}

/// A path as it goes on from one that was worked on and is counted alike.
pub(super) struct PathGrowth {
    /// Its place among those that were; none where there is none.
    pub(super) known: Option<usize>,
    /// The entries behind that one, oldest first; all of the path where there is none.
    pub(super) since: Vec<EntryId>,
}

pub(super) fn is_message(entry: &Entry) -> bool {
    match entry {
        Entry::Message(_) => true,
        Entry::Recorded(_) | Entry::Note { .. } | Entry::Mark(_) => false,
    }
}
