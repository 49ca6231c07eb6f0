//! A session: a timeline with its policy and budget. It takes up what is said, drafts plans, and hands out what it
//! appended, to be stored. Whoever must be asked is asked by [`crate::Driver`].

mod conclusion;
mod marks;
mod path;
mod reuse;

use crate::assembly::{Assembly, RefusalFigures};
use crate::breaker::Breaker;
use crate::error::EngineError;
use crate::event::Event;
use crate::speculation::PreparedCompaction;
use crate::timeline::{Lens, Timeline};
use epitome_core::{
    Available, Budget, Circumstances, Conclusion, Context, DigestCache, EditPass, EntryId, Expressible, Item,
    Job, Log, Mark, MemoryArchive, Message, MessageView, Plan, Policy, Prompts, Range, Record, Role,
    SizeTable, Tokens, Trigger, UsageMark,
};
use epitome_tokens::Usage;
use std::sync::Arc;

/// A path of a log, with how it is compacted.
#[derive(Clone)]
pub struct Session {
    timeline: Timeline,
    assembly: Assembly,
    archive: Arc<MemoryArchive>,
    digests: Arc<DigestCache>,
    options: SessionOptions,
    /// Where the entries begin that were not handed out yet.
    handed_out: usize,
    /// Of a session that is kept without its log: how many entries that had. Every mark among them that holds on the path is taken up.
    entries_seen: usize,
    /// Whether others have appended marks that hold on the path.
    is_outdated: bool,
    /// Whether bytes and pictures in view were not counted so far and are from here on, or the other way round.
    is_tally_outdated: bool,
    /// How much of what is in view has its originals in the archive of the stored session.
    pub(crate) read_view: ReadView,
    pub(crate) state: SessionState,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("assembly", &self.assembly)
            .field("leaf", &self.leaf())
            .field("messages", &self.history().len())
            .finish_non_exhaustive()
    }
}

/// What holds for all compactions of a session, beside its policy.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// What the form the session is written in can express: [`Expressible::ALL`] for requests and for our own form, less
    /// for files of other tools.
    pub can: Expressible,
    /// What a summary is to dwell on.
    pub focus: Option<Arc<str>>,
    /// How whoever reads a summary has an original shown: a command or an address, in which `m0123` stands for its id.
    pub recall: Option<Arc<str>>,
    /// Messages never to be superseded, beside those pinned in the log.
    pub pins: Vec<EntryId>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self { can: Expressible::ALL, focus: None, recall: None, pins: Vec::new() }
    }
}

/// What a session remembers beside its log. All of it can be lost and is found out again, but for a person's no to a plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionState {
    /// What is going on.
    pub phase: Phase,
    /// Recoveries of the call being made.
    pub recoveries: u32,
    /// Whether the warning was given since the last compaction.
    pub is_warned: bool,
    /// Whether it was said since the last compaction that one is due and left to a person.
    pub is_reminded: bool,
    /// Whether a person who was asked did not want one, since the last compaction.
    pub is_refused: bool,
    /// Whether it was said that automatic compaction has stopped, since it did.
    pub is_stop_told: bool,
    /// Whether the next call is the first of another model with a smaller window.
    pub is_downshift: bool,
    /// A summary made before it was needed.
    pub ready: Option<Arc<PreparedCompaction>>,
    /// Summaries made in vain since the last compaction that was made on this path.
    pub wasted: u32,
    /// The newest pass when it was said that pruning is put off; none where that was not said.
    pub deferred_at: Option<Option<EntryId>>,
    /// Minutes without a word, where someone said so.
    pub idle_minutes: Option<u64>,
    /// What happened and was not told yet.
    pub events: Vec<Event>,
}

/// How much of what is in view was seen to have its originals in memory: the first so many slots, as long as the context is not rebuilt
/// and nothing is let go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReadView {
    pub slots: usize,
    pub times_rebuilt: u64,
    pub times_let_go: u64,
}

/// What a session is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing.
    #[default]
    Idle,
    /// A turn runs.
    Turn,
    /// A compaction runs, or waits for an operator.
    Compacting,
}

/// What one act did: entries to be stored, events to be told, and what came of a compaction, if one was asked for.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Step {
    /// What was appended, in order.
    pub appended: Vec<AppendedEntry>,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// What came of the compaction, pass or application that the act came to, where it came to one.
    pub record: Option<Arc<Record>>,
}

/// An entry that was appended.
#[derive(Clone, Debug, PartialEq)]
pub struct AppendedEntry {
    /// Its id.
    pub id: EntryId,
    /// The parent of a message, the anchor of a mark.
    pub parent: Option<EntryId>,
    /// The entry.
    pub entry: epitome_core::Entry,
}

impl Session {
    /// A session over a log that has taken up none of it yet.
    pub fn new(
        log: Arc<Log>,
        sizes: Arc<SizeTable>,
        archive: Arc<MemoryArchive>,
        assembly: Assembly,
    ) -> Self {
        let handed_out = log.len();
        Self {
            timeline: Timeline::new(log, sizes),
            assembly,
            archive,
            digests: Arc::default(),
            options: SessionOptions::default(),
            handed_out,
            entries_seen: 0,
            is_outdated: false,
            is_tally_outdated: false,
            read_view: ReadView::default(),
            state: SessionState::default(),
        }
    }

    /// A session in which nothing was said yet.
    pub fn empty(assembly: Assembly) -> Self {
        Self::new(Arc::default(), Arc::default(), Arc::default(), assembly)
    }

    /// The same with options that hold for all its compactions.
    #[must_use]
    pub fn with_options(self, options: SessionOptions) -> Self {
        Self { options, ..self }
    }

    /// Appends a message at the end of the path, and takes it up.
    pub fn append(&mut self, message: Message) -> Result<EntryId, EngineError> {
        self.archive.put(self.timeline.next_id(), message.clone());
        let Self { timeline, assembly, archive, .. } = self;
        let id = timeline.append_message(&message, assembly.lens(&**archive))?;
        if message.role == Role::Assistant {
            (self.state.recoveries, self.state.is_downshift) = (0, false);
        }
        self.outgrow_no_more()?;
        Ok(id)
    }

    /// Appends a mark at the end of the path.
    pub(crate) fn mark(&mut self, mark: Mark) -> Result<EntryId, EngineError> {
        self.mark_at(self.leaf(), mark)
    }

    /// Appends a mark at a message of the path.
    pub(crate) fn mark_at(&mut self, anchor: Option<EntryId>, mark: Mark) -> Result<EntryId, EngineError> {
        let Self { timeline, assembly, archive, .. } = self;
        let id = timeline.append_mark(anchor, mark, assembly.lens(&**archive))?;
        self.state.is_stop_told &= self.breaker().is_open();
        Ok(id)
    }

    /// Takes up what the provider said of the call whose reply was just taken up.
    pub fn record_usage(&mut self, usage: Usage) -> Result<(), EngineError> {
        let growth = self.prompt_growth(usage);
        let is_believed = self.mark_usage(usage)?;
        if let Some((growth, calibration)) = growth.filter(|_| is_believed).zip(self.assembly.calibration()) {
            let before = calibration.scale();
            calibration.learn(growth);
            let has_passes = self.timeline.newest_pass().is_some() || self.timeline.ignores_any();
            // What was made for a smaller window is done without by the room there is now.
            if has_passes && calibration.scale() != before {
                self.outgrow()?;
            }
        }
        Ok(())
    }

    /// Takes it up as the size of the context alone; whether it is believed.
    pub(crate) fn mark_usage(&mut self, usage: Usage) -> Result<bool, EngineError> {
        let mark = self.usage_mark(usage);
        let is_believed = mark.is_some();
        mark.map(|mark| self.mark(mark)).transpose()?;
        Ok(is_believed)
    }

    /// Keeps our own count of the call whose reply was just taken up, where its provider said nothing of it: for whoever adds up
    /// what calls took. The context is measured as before.
    pub fn record_estimate(&mut self, usage: Usage) -> Result<(), EngineError> {
        let tokens = Tokens(usage.prompt) + Tokens(usage.output);
        if usage.is_zero() {
            return Ok(());
        }
        let prompt = Tokens(usage.prompt);
        let model = self.assembly.model().id.as_str().into();
        let mark = UsageMark {
            tokens,
            counted: tokens,
            prompt,
            prompt_counted: prompt,
            model,
            is_estimated: true,
            ..UsageMark::default()
        };
        self.mark(Mark::Usage(mark)).map(drop)
    }

    /// What a plan is drafted from.
    pub(crate) fn job<'s>(&'s self, trigger: Trigger, asked: PlanOptions<'s>) -> Job<'s> {
        let Self { timeline, assembly, archive, digests, options, .. } = self;
        Job {
            log: timeline.log(),
            sizes: timeline.sizes(),
            history: timeline.history(),
            compactions: timeline.compactions(),
            earlier: timeline.earlier(),
            context: timeline.context(),
            archive: &**archive,
            digests,
            measure: &**assembly.measure(),
            count_method: assembly.count_method(),
            budget: assembly.budget(),
            policy: assembly.policy(),
            trigger,
            focus: options.focus.as_deref(),
            recall: options.recall.as_deref(),
            pins: &options.pins,
            can: options.can,
            available: asked.available,
            range: asked.range,
            circumstances: Circumstances { usage_percent: self.usage_percent(), ..asked.circumstances },
        }
    }

    /// One pass in place over the context; none where it is not worth its price.
    pub(crate) fn edit_pass(
        &self,
        pass: EditPass,
        idle_minutes: Option<u64>,
    ) -> Result<Option<Conclusion>, EngineError> {
        let prompts = Prompts::default();
        let circumstances = Circumstances { idle_minutes, ..Circumstances::default() };
        let asked = PlanOptions { circumstances, ..PlanOptions::asking_nobody(&prompts) };
        Ok(Plan::edit_only(self.job(Trigger::Threshold, asked), pass)?)
    }

    /// The same by another policy, wherever it is written; this one stays.
    pub(crate) fn edit_pass_under(
        &self,
        policy: &Policy,
        pass: EditPass,
    ) -> Result<Option<Conclusion>, EngineError> {
        let prompts = Prompts::default();
        let asked = PlanOptions::asking_nobody(&prompts);
        let job = Job { policy, can: Expressible::ALL, ..self.job(Trigger::Manual, asked) };
        Ok(Plan::edit_only(job, pass)?)
    }

    /// Everything appended and told since this was last asked, with what came of it.
    pub fn step(&mut self, record: Option<Arc<Record>>) -> Step {
        let log = self.timeline.log();
        let appended = (self.handed_out..log.len()).map(|at| EntryId(at as u32));
        let appended = appended.filter_map(|id| {
            let entry = log.get(id)?.clone();
            Some(AppendedEntry { id, parent: log.parent(id), entry })
        });
        let appended = appended.collect();
        self.handed_out = log.len();
        Step { appended, events: std::mem::take(&mut self.state.events), record }
    }

    /// What happened since this was last asked.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.state.events)
    }

    /// Uses another policy from the next check on; messages are counted anew where it counts otherwise.
    pub fn set_policy(&mut self, policy: Arc<Policy>) -> Result<(), EngineError> {
        let is_other_count = self.assembly.set_policy(policy)?;
        self.look_anew(is_other_count)
    }

    /// Uses another model from the next check on; messages are counted anew where it counts otherwise. What one
    /// model's provider counted says nothing of the next one's requests.
    pub fn set_assembly(&mut self, assembly: Assembly) -> Result<(), EngineError> {
        let is_other_count = assembly.sizes_key() != self.assembly.sizes_key();
        if self.timeline.usage().is_some() {
            self.mark(Mark::Usage(UsageMark::default()))?;
        }
        self.state.is_downshift = assembly.is_smaller_model_than(&self.assembly);
        self.assembly = assembly;
        self.look_anew(is_other_count)
    }

    /// Derives anew what depends on the policy or the model.
    fn look_anew(&mut self, is_other_count: bool) -> Result<(), EngineError> {
        let Self { timeline, assembly, archive, .. } = self;
        let lens = assembly.lens(&**archive);
        if is_other_count {
            timeline.recount(lens)?;
        } else {
            timeline.review(lens)?;
        }
        self.outgrow()
    }

    /// Learns a window in the provider's tokens, where it is a smaller one, and says so.
    pub fn learn_window(&mut self, window: Tokens) {
        if let Some(window) = self.assembly.learn_window(window) {
            self.state.events.push(Event::Learned { window });
        }
    }

    /// Learns a window from a refusal of the request that was sent, and says so.
    pub fn learn(&mut self, figures: RefusalFigures) {
        let counted = self.assembly.fixed_counted() + self.context().tokens();
        if let Some(window) = self.assembly.learn(counted, figures) {
            self.state.events.push(Event::Learned { window });
        }
    }

    /// Asks for a compaction at the end of the turn. What is asked for twice is done once.
    pub fn request_compaction(&mut self) -> Result<(), EngineError> {
        if !self.is_requested() {
            self.mark_at(self.newest_answered(), Mark::Request { is_open: true })?;
        }
        Ok(())
    }

    pub(crate) fn is_requested(&self) -> bool {
        self.timeline.request().is_some()
    }

    /// Says how long nobody has spoken; providers' caches grow cold meanwhile.
    pub fn set_idle_minutes(&mut self, minutes: Option<u64>) {
        self.state.idle_minutes = minutes;
    }

    /// A turn begins: nothing is compacted by hand until it ends.
    pub fn begin_turn(&mut self) {
        self.state.phase = Phase::Turn;
    }

    pub(crate) fn lens(&self) -> Lens<'_> {
        self.assembly.lens(&*self.archive)
    }

    pub(crate) fn timeline_mut(&mut self) -> &mut Timeline {
        &mut self.timeline
    }

    /// Everything in view, as messages.
    pub fn shown(&self) -> Result<Vec<MessageView>, EngineError> {
        Ok(self.context().shown(self.timeline.reader(self.lens()))?)
    }

    /// What is derived from the log along the path.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// What decides how much room there is.
    pub fn assembly(&self) -> &Assembly {
        &self.assembly
    }

    /// How to compact.
    pub fn policy(&self) -> &Policy {
        self.assembly.policy()
    }

    /// The room there is, as the policy sees it.
    pub fn budget(&self) -> Budget {
        self.assembly.budget()
    }

    /// What holds for all compactions of the session, open to change.
    pub fn options_mut(&mut self) -> &mut SessionOptions {
        &mut self.options
    }

    /// What holds for all compactions of the session.
    pub fn options(&self) -> &SessionOptions {
        &self.options
    }

    /// The originals that are at hand.
    pub fn archive(&self) -> &Arc<MemoryArchive> {
        &self.archive
    }

    /// What compactions of it found in messages so far.
    pub fn digests(&self) -> &DigestCache {
        &self.digests
    }

    /// The same, to be filled by others while the session goes on.
    pub(crate) fn shared_digests(&self) -> &Arc<DigestCache> {
        &self.digests
    }

    /// The entries.
    pub fn log(&self) -> &Log {
        self.timeline.log()
    }

    /// Where the path has got to.
    pub fn leaf(&self) -> Option<EntryId> {
        self.timeline.leaf()
    }

    /// What the model sees.
    pub fn context(&self) -> &Context {
        self.timeline.context()
    }

    /// The messages of the path, oldest first.
    pub fn history(&self) -> &[EntryId] {
        self.timeline.history()
    }

    /// The compactions that count on the path, oldest first.
    pub fn compactions(&self) -> &[EntryId] {
        self.timeline.compactions()
    }

    /// What stops a loop, and whether it has.
    pub fn breaker(&self) -> &Breaker {
        self.timeline.breaker()
    }

    /// What is going on.
    pub fn phase(&self) -> Phase {
        self.state.phase
    }

    /// Whether the newest thing said ended a turn: a reply that calls nothing.
    pub fn has_turn_ended(&self) -> bool {
        let newest = self.history().last().and_then(|&id| self.log().item(id));
        newest.is_some_and(|item: &Item| item.role == Role::Assistant && item.calls.is_empty())
    }
}

/// What a plan is asked beside why it runs.
#[derive(Clone, Copy)]
pub(crate) struct PlanOptions<'a> {
    pub available: Available<'a>,
    pub range: Range,
    pub circumstances: Circumstances,
}

impl<'a> PlanOptions<'a> {
    /// All of the context, with nobody to ask.
    pub(crate) fn asking_nobody(prompts: &'a Prompts) -> Self {
        let available = Available::none(prompts);
        Self { available, range: Range::All, circumstances: Circumstances::default() }
    }
}
