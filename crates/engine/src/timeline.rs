//! What is derived from a log along one path: the context, the history, the compactions that count, the ledger of
//! what lies far back, the breaker, what is in view beside tokens, the provider's newest usage. No policy decides
//! here, and nothing is asked.

mod path_state;

use self::path_state::PathState;
use crate::breaker::Breaker;
use crate::error::TimelineError;
use crate::usage_anchor::UsageAnchor;
use crate::view_tally::ViewTally;
use epitome_core::policy::{GuardRule, TriggerRule};
use epitome_core::{
    Archive, ArchiveError, Context, Entry, EntryId, FarHistory, Log, LogReader, Mark, Measure, Message,
    SizeTable, Tokens, rebuilds,
};
use std::collections::HashSet;
use std::sync::Arc;

/// The state of one path. Copies share what is derived until one of them goes on.
#[derive(Clone)]
pub struct Timeline {
    log: Arc<Log>,
    sizes: Arc<SizeTable>,
    path: Arc<PathState>,
}

/// What a timeline reads a log with.
#[derive(Clone, Copy)]
pub struct Lens<'a> {
    /// How to count.
    pub measure: &'a dyn Measure,
    /// Where the originals are.
    pub archive: &'a dyn Archive,
    /// What stops a loop.
    pub guard: &'a GuardRule,
    /// What is counted beside tokens.
    pub trigger: &'a TriggerRule,
    /// The model the session is held with: usage of another says nothing.
    pub model: &'a str,
}

impl Timeline {
    /// A timeline over a log that has taken up none of it yet.
    pub fn new(log: Arc<Log>, sizes: Arc<SizeTable>) -> Self {
        let path = Arc::new(PathState { whole: sizes.hidden(), ..PathState::default() });
        Self { log, sizes, path }
    }

    /// What is derived, to be changed in this copy alone.
    fn path_mut(&mut self) -> &mut PathState {
        Arc::make_mut(&mut self.path)
    }

    /// A timeline of the path that ends in `leaf`.
    pub fn open(
        log: Arc<Log>,
        sizes: Arc<SizeTable>,
        leaf: Option<EntryId>,
        lens: Lens<'_>,
    ) -> Result<Self, ArchiveError> {
        let mut timeline = Self::new(log, sizes);
        timeline.move_to(leaf, lens)?;
        Ok(timeline)
    }

    /// Derives everything anew for the path that ends in `leaf`.
    pub fn move_to(&mut self, leaf: Option<EntryId>, lens: Lens<'_>) -> Result<(), ArchiveError> {
        let path = self.log.path_of(leaf);
        self.count_new(&path, lens);
        let (log, sizes) = (self.log.clone(), self.sizes.clone());
        let reader = LogReader { log: &log, sizes: &sizes, measure: lens.measure, archive: lens.archive };
        let (ignored, times_rebuilt) = (self.path.ignored.clone(), self.path.times_rebuilt + 1);
        let context = Context::of_ignoring(leaf, reader, ignored.clone())?;
        let whole = sizes.hidden();
        let state = PathState { leaf, context, ignored, times_rebuilt, whole, ..PathState::default() };
        self.path = Arc::new(state);
        held_on(&log, &path).for_each(|id| self.note(id, lens));
        let state = self.path_mut();
        state.breaker = breaker_of(&log, &path, lens.guard);
        state.tally.recount(&state.context, lens)
    }

    /// Counts messages of a path that were never counted in the way that is in use now. What is out of view need not be
    /// at hand, and is not missed.
    fn count_new(&mut self, path: &[EntryId], lens: Lens<'_>) {
        for &id in path {
            let is_new = self.log.item(id).is_some() && !self.sizes.has(id);
            if let Some(message) = is_new.then(|| lens.archive.message(id).ok()).flatten() {
                Arc::make_mut(&mut self.sizes).set(id, lens.measure.sizes(&message));
            }
        }
    }

    /// Takes up one more entry: the next of the path, or a mark anchored at its end. Costs the same however
    /// long the session is, unless the context is rebuilt by it.
    pub fn absorb(&mut self, id: EntryId, lens: Lens<'_>) -> Result<(), ArchiveError> {
        let log = self.log.clone();
        let is_rebuilt = log.get(id).is_some_and(rebuilds);
        let sizes = self.sizes.clone();
        let reader = LogReader { log: &log, sizes: &sizes, measure: lens.measure, archive: lens.archive };
        let path = self.path_mut();
        path.context.take(id, reader)?;
        if log.mark_of(id).is_none() {
            path.leaf = Some(id);
        }
        self.note(id, lens);
        let path = self.path_mut();
        if is_rebuilt {
            path.times_rebuilt += 1;
            path.tally.recount(&path.context, lens)
        } else {
            path.tally.take(id, &path.context, lens)
        }
    }

    /// Brings everything but the context and the tally up to date with an entry that holds on the path.
    fn note(&mut self, id: EntryId, lens: Lens<'_>) {
        Arc::make_mut(&mut self.path).note(id, &self.log, &self.sizes, lens);
    }

    /// Does without some compactions and edits from here on, and derives the path anew where that makes a
    /// difference.
    pub(crate) fn set_ignored(
        &mut self,
        ignored: HashSet<EntryId>,
        lens: Lens<'_>,
    ) -> Result<(), ArchiveError> {
        if *self.path.ignored == ignored {
            return Ok(());
        }
        self.path_mut().ignored = Arc::new(ignored);
        self.move_to(self.leaf(), lens)
    }

    /// Whether it does without any.
    pub(crate) fn ignores_any(&self) -> bool {
        !self.path.ignored.is_empty()
    }

    /// What requests of the path would have less, had what was observed been done, as the provider counts.
    pub fn observed(&self) -> Tokens {
        self.path.observed
    }

    /// The mark that asks for a compaction at the end of the turn, where one is asked for.
    pub(crate) fn request(&self) -> Option<EntryId> {
        self.path.request
    }

    /// What all messages of the path would take, each of them whole.
    pub fn whole(&self) -> Tokens {
        self.path.whole
    }

    /// Appends a message below the leaf and takes it up; its original must be in the archive under the id first
    /// handed out by [`Timeline::next_id`].
    pub fn append_message(&mut self, message: &Message, lens: Lens<'_>) -> Result<EntryId, TimelineError> {
        let weighed = lens.measure.weigh(message);
        let id = Arc::make_mut(&mut self.log).append(self.path.leaf, Entry::Message(weighed.item))?;
        Arc::make_mut(&mut self.sizes).set(id, weighed.sizes);
        self.absorb(id, lens)?;
        Ok(id)
    }

    /// Appends a mark at a message of the path and takes it up.
    pub fn append_mark(
        &mut self,
        anchor: Option<EntryId>,
        mark: Mark,
        lens: Lens<'_>,
    ) -> Result<EntryId, TimelineError> {
        let id = Arc::make_mut(&mut self.log).mark(anchor, mark)?;
        self.absorb(id, lens)?;
        Ok(id)
    }

    /// The id that the next entry will have.
    pub fn next_id(&self) -> EntryId {
        EntryId(self.log.len() as u32)
    }

    /// Goes on with a log that others have appended to, and the sizes that go with it.
    pub fn replace_log(&mut self, log: Arc<Log>, sizes: Arc<SizeTable>) {
        (self.log, self.sizes) = (log, sizes);
    }

    /// Counts every message of the path anew, by another way of counting; those of other paths when they are come to.
    pub fn recount(&mut self, lens: Lens<'_>) -> Result<(), ArchiveError> {
        self.sizes = Arc::default();
        self.move_to(self.leaf(), lens)
    }

    /// Looks at the path with another policy's eyes: bytes and pictures in view are counted anew, and what stops a
    /// loop is held against its limits.
    pub(crate) fn review(&mut self, lens: Lens<'_>) -> Result<(), ArchiveError> {
        let breaker = breaker_of(&self.log, &self.log.path_of(self.leaf()), lens.guard);
        let path = self.path_mut();
        path.breaker = breaker;
        path.tally.recount(&path.context, lens)
    }

    /// Takes the ledger of what has come to lie too far back.
    pub(crate) fn extend_far_ledger(&mut self, archive: &dyn Archive) -> Result<(), ArchiveError> {
        let path = Arc::make_mut(&mut self.path);
        path.far.extend(&path.history, &self.sizes, archive)
    }

    /// The messages whose originals a compaction may read: those that are not too far back, what is in view, what
    /// people said, and what the ledger has not taken yet. Of a log that is not whole, what is in view: whoever would compact it
    /// opens it whole first.
    pub fn readable(&self) -> Vec<EntryId> {
        if !self.log.is_whole() {
            return self.path.context.message_slots().map(|(id, ..)| id).collect();
        }
        let near = self.path.far.near_from(&self.path.history, &self.sizes);
        let answers = self.earlier().answers;
        let is_said = |id: &&EntryId| {
            let is_person =
                self.log.item(**id).is_some_and(|item| item.author == epitome_core::Author::Person);
            is_person || answers.contains(**id)
        };
        let far = self.path.history[..near].iter().filter(is_said);
        let in_view = self.path.context.message_slots().map(|(id, ..)| id);
        let mut ids: Vec<EntryId> = far.chain(&self.path.history[near..]).copied().chain(in_view).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// What is known of the part that is too far back.
    pub(crate) fn earlier(&self) -> FarHistory<'_> {
        self.path.far.history()
    }

    /// What the context is derived with.
    pub fn reader<'t>(&'t self, lens: Lens<'t>) -> LogReader<'t> {
        LogReader { log: &self.log, sizes: &self.sizes, measure: lens.measure, archive: lens.archive }
    }

    /// The entries.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// What messages take.
    pub fn sizes(&self) -> &Arc<SizeTable> {
        &self.sizes
    }

    /// Where the path has got to.
    pub fn leaf(&self) -> Option<EntryId> {
        self.path.leaf
    }

    /// What the model sees.
    pub fn context(&self) -> &Context {
        &self.path.context
    }

    /// How often what is in view came to be another than it was with messages at its end: while this stays the same, so
    /// does everything that was in view.
    pub(crate) fn times_rebuilt(&self) -> u64 {
        self.path.times_rebuilt
    }

    /// The messages of the path, oldest first.
    pub fn history(&self) -> &[EntryId] {
        &self.path.history
    }

    /// The compactions that count on the path, oldest first.
    pub fn compactions(&self) -> &[EntryId] {
        &self.path.compactions
    }

    /// What stops a loop, and whether it has.
    pub fn breaker(&self) -> &Breaker {
        &self.path.breaker
    }

    pub(crate) fn tally(&self) -> &ViewTally {
        &self.path.tally
    }

    pub(crate) fn usage(&self) -> Option<&UsageAnchor> {
        self.path.usage.as_ref()
    }

    /// What edits have freed, by our count, of a context that the provider told the usage of; `fixed` stands before it.
    pub(crate) fn freed_since(&self, usage: &UsageAnchor, fixed: Tokens) -> Tokens {
        usage.freed(&self.path.context, self.path.edited_at, fixed)
    }

    /// Whether another timeline has the same in view, and would decide the same about it.
    pub(crate) fn shows_the_same(&self, other: &Self) -> bool {
        self.path.context.is_same_view(&other.path.context)
            && (self.path.leaf, self.path.request, self.path.whole)
                == (other.path.leaf, other.path.request, other.path.whole)
            && (self.path.rebuilt_at, self.path.newest_pass)
                == (other.path.rebuilt_at, other.path.newest_pass)
            && self.path.usage == other.path.usage
            && self.path.breaker == other.path.breaker
    }

    /// The newest entry that changed what is in view, the same whoever derives it; one that was made on another path
    /// and put to use here is itself, not the mark that says so.
    pub fn newest_pass(&self) -> Option<EntryId> {
        self.path.newest_pass
    }

    /// The newest mark on the path that changed what is in view.
    pub fn newest_rebuild(&self) -> Option<EntryId> {
        self.path.newest_rebuild
    }

    /// The compactions and edits that marks on the path are, apply or use again, in use or not, in the order of those marks.
    pub(crate) fn held_passes(&self) -> &[EntryId] {
        &self.path.held_passes
    }
}

/// The entries of a path and the marks that hold on it, in the order they take effect.
fn held_on<'l>(log: &'l Log, path: &'l [EntryId]) -> impl Iterator<Item = EntryId> + 'l {
    let anchors = std::iter::once(None).chain(path.iter().copied().map(Some));
    anchors.flat_map(|anchor| anchor.into_iter().chain(log.marks_at(anchor).iter().copied()))
}

/// What stops a loop, by all that holds on a path in the order it was appended: a failure is anchored before the input
/// that it came after.
fn breaker_of(log: &Log, path: &[EntryId], guard: &GuardRule) -> Breaker {
    let mut held: Vec<EntryId> = held_on(log, path).collect();
    held.sort_unstable();
    let mut breaker = Breaker::default();
    held.into_iter().filter_map(|id| log.get(id)).for_each(|entry| breaker.take(entry, guard));
    breaker
}
