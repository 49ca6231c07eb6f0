//! What is derived from a log along one path: the context, the history, the compactions that count, the ledger of
//! what lies far back, the breaker, what is in view beside tokens, the provider's newest usage. No policy decides
//! here, and nothing is asked.

use crate::breaker::Breaker;
use crate::error::TimelineError;
use crate::far_ledger::FarLedger;
use crate::usage_anchor::UsageAnchor;
use crate::view_tally::ViewTally;
use epitome_core::policy::{GuardRule, TriggerRule};
use epitome_core::{
    Archive, ArchiveError, Context, Entry, EntryId, FarHistory, Log, LogReader, Mark, Measure, Message,
    SizeTable, Tokens, UsageMark, is_other_context, rebuilds,
};
use std::collections::HashSet;
use std::sync::Arc;

/// The state of one path.
#[derive(Clone)]
pub struct Timeline {
    log: Arc<Log>,
    sizes: Arc<SizeTable>,
    leaf: Option<EntryId>,
    context: Context,
    history: Vec<EntryId>,
    compactions: Vec<EntryId>,
    far: FarLedger,
    breaker: Breaker,
    tally: ViewTally,
    usage: Option<UsageAnchor>,
    /// The newest mark that changed what is in view, edits apart: usage that was told before it is of another context.
    rebuilt_at: Option<EntryId>,
    /// The newest edit: of usage that was told before it, what it freed is no longer taken.
    edited_at: Option<EntryId>,
    /// The newest pass in use; see [`Timeline::newest_pass`].
    newest_pass: Option<EntryId>,
    /// Compactions and edits that this path does without; see [`Timeline::set_ignored`].
    ignored: Arc<HashSet<EntryId>>,
    /// What all of `history` would take whole.
    whole: Tokens,
    /// The mark that asks for a compaction at the end of the turn.
    request: Option<EntryId>,
    /// What requests would have less by compactions that were only observed, as the provider counts.
    observed: Tokens,
    /// See [`Timeline::times_rebuilt`].
    times_rebuilt: u64,
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
        let whole = sizes.hidden();
        Self {
            log,
            sizes,
            leaf: None,
            context: Context::default(),
            history: Vec::new(),
            compactions: Vec::new(),
            far: FarLedger::default(),
            breaker: Breaker::default(),
            tally: ViewTally::default(),
            usage: None,
            rebuilt_at: None,
            edited_at: None,
            newest_pass: None,
            ignored: Arc::default(),
            whole,
            request: None,
            observed: Tokens::ZERO,
            times_rebuilt: 0,
        }
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
        let (ignored, times_rebuilt) = (self.ignored.clone(), self.times_rebuilt + 1);
        let context = Context::of_ignoring(leaf, reader, ignored.clone())?;
        *self = Self { leaf, context, ignored, times_rebuilt, ..Self::new(log.clone(), sizes.clone()) };
        held_on(&log, &path).for_each(|id| self.note(id, lens));
        self.breaker = breaker_of(&log, &path, lens.guard);
        self.tally.recount(&self.context, lens)
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
        let reader =
            LogReader { log: &log, sizes: &self.sizes, measure: lens.measure, archive: lens.archive };
        self.context.take(id, reader)?;
        if log.mark_of(id).is_none() {
            self.leaf = Some(id);
        }
        self.note(id, lens);
        if is_rebuilt {
            self.times_rebuilt += 1;
            self.tally.recount(&self.context, lens)
        } else {
            self.tally.take(id, &self.context, lens)
        }
    }

    /// Brings everything but the context and the tally up to date with an entry that holds on the path.
    fn note(&mut self, id: EntryId, lens: Lens<'_>) {
        let log = self.log.clone();
        let Some(entry) = log.get(id) else { return };
        self.breaker.take(entry, lens.guard);
        if rebuilds(entry) {
            self.newest_pass = self.newest_pass.max(Some(pass_of(entry).unwrap_or(id)));
            self.note_usage_of_another(id, is_other_context(entry));
        }
        match entry {
            Entry::Message(_) => {
                self.history.push(id);
                self.whole += self.sizes.total(id);
            }
            Entry::Recorded(_) => self.add_compaction(id),
            Entry::Mark(Mark::Compaction { .. }) => self.add_compaction(id),
            Entry::Mark(Mark::Apply { of } | Mark::Redo { of }) if log.compaction(*of).is_some() => {
                self.add_compaction(*of);
            }
            Entry::Mark(Mark::Undo { of }) => self.compactions.retain(|known| known != of),
            Entry::Mark(Mark::Usage(mark)) if mark.is_estimated => {}
            Entry::Mark(Mark::Usage(mark)) => {
                let slots = self.slots_up_to(log.parent(id));
                let is_known = *mark != UsageMark::default();
                let is_ours = is_known && (mark.model.is_empty() || *mark.model == *lens.model);
                let is_of_this_context = Some(id) > self.rebuilt_at;
                let anchor = || UsageAnchor { id, mark: mark.clone(), slots };
                self.usage = (is_ours && is_of_this_context).then(anchor);
            }
            Entry::Mark(Mark::Request { is_open }) => self.request = is_open.then_some(id),
            Entry::Mark(Mark::Observation { saved, .. }) => self.observed = *saved,
            Entry::Mark(
                Mark::Edit { .. }
                | Mark::Apply { .. }
                | Mark::Redo { .. }
                | Mark::Pin { .. }
                | Mark::Unpin { .. }
                | Mark::Label { .. }
                | Mark::Judgement { .. }
                | Mark::Failure
                | Mark::Floor { .. }
                | Mark::Refill
                | Mark::Hold { .. }
                | Mark::Reset,
            )
            | Entry::Note { .. } => {}
        }
    }

    /// What was told of the context before a pass is told of another one now. An edit shows the same messages, and what it
    /// freed can be taken off; were the figure given up, a policy that prunes each turn would never go by it.
    fn note_usage_of_another(&mut self, pass: EntryId, is_other: bool) {
        if is_other {
            self.rebuilt_at = self.rebuilt_at.max(Some(pass));
            self.usage = None;
        } else {
            self.edited_at = self.edited_at.max(Some(pass));
            if let Some(mut usage) = self.usage.take() {
                usage.slots = self.slots_up_to(self.log.parent(usage.id));
                self.usage = Some(usage);
            }
        }
    }

    /// Does without some compactions and edits from here on, and derives the path anew where that makes a
    /// difference.
    pub(crate) fn set_ignored(
        &mut self,
        ignored: HashSet<EntryId>,
        lens: Lens<'_>,
    ) -> Result<(), ArchiveError> {
        if *self.ignored == ignored {
            return Ok(());
        }
        self.ignored = Arc::new(ignored);
        self.move_to(self.leaf, lens)
    }

    /// Whether it does without any.
    pub(crate) fn ignores_any(&self) -> bool {
        !self.ignored.is_empty()
    }

    /// What requests of the path would have less, had what was observed been done, as the provider counts.
    pub fn observed(&self) -> Tokens {
        self.observed
    }

    /// The mark that asks for a compaction at the end of the turn, where one is asked for.
    pub(crate) fn request(&self) -> Option<EntryId> {
        self.request
    }

    /// What all messages of the path would take, each of them whole.
    pub fn whole(&self) -> Tokens {
        self.whole
    }

    fn add_compaction(&mut self, id: EntryId) {
        if self.ignored.contains(&id) {
            return;
        }
        self.compactions.retain(|known| *known != id);
        self.compactions.push(id);
    }

    /// How many slots stand up to, and with, this message.
    fn slots_up_to(&self, message: Option<EntryId>) -> usize {
        let slots = self.context.slots();
        let Some(message) = message else { return 0 };
        // Usage is of the newest reply: it is looked for from the end.
        slots.iter().rposition(|slot| slot.id() == message).map_or(slots.len(), |at| at + 1)
    }

    /// Appends a message below the leaf and takes it up; its original must be in the archive under the id first
    /// handed out by [`Timeline::next_id`].
    pub fn append_message(&mut self, message: &Message, lens: Lens<'_>) -> Result<EntryId, TimelineError> {
        let weighed = lens.measure.weigh(message);
        let id = Arc::make_mut(&mut self.log).append(self.leaf, Entry::Message(weighed.item))?;
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
        self.move_to(self.leaf, lens)
    }

    /// Looks at the path with another policy's eyes: bytes and pictures in view are counted anew, and what stops a
    /// loop is held against its limits.
    pub(crate) fn review(&mut self, lens: Lens<'_>) -> Result<(), ArchiveError> {
        let path = self.log.path_of(self.leaf);
        self.breaker = breaker_of(&self.log, &path, lens.guard);
        self.tally.recount(&self.context, lens)
    }

    /// Takes the ledger of what has come to lie too far back.
    pub(crate) fn extend_far_ledger(&mut self, archive: &dyn Archive) -> Result<(), ArchiveError> {
        self.far.extend(&self.history, &self.sizes, archive)
    }

    /// The messages whose originals a compaction may read: those that are not too far back, what is in view, what
    /// people said, and what the ledger has not taken yet. Of a log that is not whole, what is in view: whoever would compact it
    /// opens it whole first.
    pub fn readable(&self) -> Vec<EntryId> {
        if !self.log.is_whole() {
            return self.context.message_slots().map(|(id, ..)| id).collect();
        }
        let near = self.far.near_from(&self.history, &self.sizes);
        let answers = self.earlier().answers;
        let is_said = |id: &&EntryId| {
            let is_person =
                self.log.item(**id).is_some_and(|item| item.author == epitome_core::Author::Person);
            is_person || answers.contains(**id)
        };
        let far = self.history[..near].iter().filter(is_said);
        let in_view = self.context.message_slots().map(|(id, ..)| id);
        let mut ids: Vec<EntryId> = far.chain(&self.history[near..]).copied().chain(in_view).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// What is known of the part that is too far back.
    pub(crate) fn earlier(&self) -> FarHistory<'_> {
        self.far.history()
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
        self.leaf
    }

    /// What the model sees.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// How often what is in view came to be another than it was with messages at its end: while this stays the same, so
    /// does everything that was in view.
    pub(crate) fn times_rebuilt(&self) -> u64 {
        self.times_rebuilt
    }

    /// The messages of the path, oldest first.
    pub fn history(&self) -> &[EntryId] {
        &self.history
    }

    /// The compactions that count on the path, oldest first.
    pub fn compactions(&self) -> &[EntryId] {
        &self.compactions
    }

    /// What stops a loop, and whether it has.
    pub fn breaker(&self) -> &Breaker {
        &self.breaker
    }

    pub(crate) fn tally(&self) -> &ViewTally {
        &self.tally
    }

    pub(crate) fn usage(&self) -> Option<&UsageAnchor> {
        self.usage.as_ref()
    }

    /// What edits have freed, by our count, of a context that the provider told the usage of; `fixed` stands before it.
    pub(crate) fn freed_since(&self, usage: &UsageAnchor, fixed: Tokens) -> Tokens {
        usage.freed(&self.context, self.edited_at, fixed)
    }

    /// Whether another timeline has the same in view, and would decide the same about it.
    pub(crate) fn shows_the_same(&self, other: &Self) -> bool {
        self.context.is_same_view(&other.context)
            && (self.leaf, self.request, self.whole) == (other.leaf, other.request, other.whole)
            && (self.rebuilt_at, self.newest_pass) == (other.rebuilt_at, other.newest_pass)
            && self.usage == other.usage
            && self.breaker == other.breaker
    }

    /// The newest entry that changed what is in view, the same whoever derives it; one that was made on another path
    /// and put to use here is itself, not the mark that says so.
    pub fn newest_pass(&self) -> Option<EntryId> {
        self.newest_pass
    }
}

/// The pass that an entry puts to use, where it was made on another path.
fn pass_of(entry: &Entry) -> Option<EntryId> {
    match entry {
        Entry::Mark(Mark::Apply { of }) => Some(*of),
        Entry::Mark(_) | Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. } => None,
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
