//! A session: a timeline with its policy and budget. It appends, looks, drafts plans and takes up what came of
//! them; whoever must be asked is asked by [`crate::Driver`], and what it appends is handed out to be stored.

use crate::assembly::{Assembly, NoWindow};
use crate::breaker::Breaker;
use crate::check::CheckPoint;
use crate::event::Event;
use crate::speculation::Ready;
use crate::timeline::{Lens, Timeline, TimelineError};
use epitome_core::policy::Resume;
use epitome_core::{
    Archive, ArchiveError, Available, Budget, Circumstances, Conclusion, Context, EditPass, Effect, EntryId,
    Expressible, Item, Job, Judgement, Log, LogError, Mark, MemoryArchive, Message, MessageView, Outcome,
    Plan, Policy, Range, Record, Role, SizeTable, Strategy, Tokens, Trigger, UsageMark,
};
use epitome_tokens::Usage;
use std::collections::HashSet;
use std::sync::Arc;

/// A path of a log, with how it is compacted.
#[derive(Clone)]
pub struct Session {
    timeline: Timeline,
    assembly: Assembly,
    archive: Arc<MemoryArchive>,
    options: SessionOptions,
    /// Where the entries begin that were not handed out yet.
    handed_out: usize,
    /// How many marks held on the path when it was last brought up to date with its log.
    marks_seen: usize,
    /// Whether others have appended marks that hold on the path.
    is_outdated: bool,
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
    /// What the place the result goes to can say.
    pub can: Expressible,
    /// What a summary is to dwell on.
    pub focus: Option<Arc<str>>,
    /// Messages never to be superseded, beside those pinned in the log.
    pub pins: Vec<EntryId>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self { can: Expressible::ALL, focus: None, pins: Vec::new() }
    }
}

/// What a session remembers beside its log. All of it can be lost: it is found out again.
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
    /// Whether it was said that automatic compaction has stopped, since it did.
    pub is_stop_told: bool,
    /// Whether someone asked for a compaction at the end of this turn.
    pub is_requested: bool,
    /// A summary made before it was needed.
    pub ready: Option<Ready>,
    /// Summaries made in vain since the last compaction.
    pub wasted: u32,
    /// How often the context had been rebuilt when it was said that pruning is put off.
    pub deferred_at: Option<u64>,
    /// Minutes without a word, where someone said so.
    pub idle_minutes: Option<u64>,
    /// What happened and was not told yet.
    pub events: Vec<Event>,
}

/// What a session is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing.
    #[default]
    Idle,
    /// A turn runs.
    Turn,
    /// A compaction runs.
    Compacting,
    /// A compaction waits for an operator.
    Paused,
}

/// What one act did: entries to be stored, events to be told, and what came of a compaction, if one was asked for.
#[derive(Clone, Debug, Default)]
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

/// An act that failed. What it appended before that stays and is handed out with the next step.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// An original could not be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// An entry could not be appended.
    #[error(transparent)]
    Log(#[from] LogError),
    /// It was asked for in the middle of something.
    #[error("a compaction cannot run now: {0}; ask for one at the end of the turn instead")]
    Busy(&'static str),
    /// A place in the tree that is not there.
    #[error("there is no entry {0} in this session")]
    NoEntry(EntryId),
    /// Nobody knows the window.
    #[error(transparent)]
    NoWindow(#[from] NoWindow),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] crate::store::StoreError),
}

impl From<TimelineError> for EngineError {
    fn from(error: TimelineError) -> Self {
        match error {
            TimelineError::Log(error) => Self::Log(error),
            TimelineError::Archive(error) => Self::Archive(error),
        }
    }
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
            options: SessionOptions::default(),
            handed_out,
            marks_seen: 0,
            is_outdated: false,
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

    /// Goes to the path that ends in `leaf`; what was made in the background for another is let go.
    pub fn move_to(&mut self, leaf: Option<EntryId>) -> Result<(), EngineError> {
        let Self { timeline, assembly, archive, .. } = self;
        timeline.move_to(leaf, lens(assembly, archive))?;
        self.outgrow()?;
        (self.state.ready, self.state.is_stop_told) = (None, self.breaker().is_open());
        self.marks_seen = self.log().marks_on(&self.log().path_of(leaf)).len();
        Ok(())
    }

    /// Takes up one more entry of the log: the next of the path, or a mark at its end.
    pub fn absorb(&mut self, id: EntryId) -> Result<(), EngineError> {
        let Self { timeline, assembly, archive, state, .. } = self;
        timeline.absorb(id, lens(assembly, archive))?;
        if timeline.log().item(id).is_some_and(|item| item.role == Role::Assistant) {
            state.recoveries = 0;
        }
        self.outgrow_no_more()
    }

    /// Goes on with the log as others have left it, as an opening says.
    pub(crate) fn take_home(
        &mut self,
        log: Arc<Log>,
        sizes: Arc<SizeTable>,
        opening: &crate::engine::Checkout,
    ) {
        let is_other = |now: &Assembly, next: &Assembly| {
            now.policy().guard != next.policy().guard || now.model().id != next.model().id
        };
        self.is_outdated = log.marks_on(&self.log().path_of(self.leaf())).len() != self.marks_seen
            || is_other(&self.assembly, &opening.assembly);
        self.handed_out = log.len();
        self.timeline.replace_log(log, sizes);
        self.assembly = opening.assembly.clone();
        self.options = opening.options.clone();
        self.state.idle_minutes = opening.idle.map(|idle| idle.as_secs() / 60);
    }

    /// Goes to the end of a path that begins with the one taken up.
    pub(crate) fn go_on(&mut self, path: &[EntryId]) -> Result<(), EngineError> {
        if self.is_outdated {
            self.move_to(path.last().copied())?;
        } else {
            let from = self.leaf().map_or(0, |leaf| path.partition_point(|&id| id <= leaf));
            for &id in &path[from..] {
                self.absorb(id)?;
                let marks = self.log().marks_at(Some(id)).to_vec();
                marks.into_iter().try_for_each(|mark| self.absorb(mark))?;
            }
            let (timeline, trigger) = (&mut self.timeline, self.assembly.policy().trigger.clone());
            if trigger.bytes.is_some() || trigger.media.is_some() {
                timeline.review(lens(&self.assembly, &self.archive))?;
            }
        }
        self.marks_seen = self.log().marks_on(path).len();
        self.is_outdated = false;
        Ok(())
    }

    /// Does without compactions and edits that were made by themselves for a smaller window, as long as this one has
    /// room for what they cover: a larger model keeps its whole history.
    pub(crate) fn outgrow(&mut self) -> Result<(), EngineError> {
        let (log, window) = (self.log(), self.budget().window);
        let marks = log.marks_on(&log.path_of(self.leaf()));
        let passes = marks.into_iter().map(|id| match log.mark_of(id) {
            Some(Mark::Apply { of } | Mark::Redo { of }) => *of,
            Some(_) | None => id,
        });
        let is_smaller = |id: &EntryId| {
            let record = log.mark_of(*id).and_then(Mark::record);
            record.is_some_and(|record| !record.trigger.is_manual() && record.budget.window < window)
        };
        let has_room = !self.budget().is_due(self.timeline.whole(), self.policy());
        let ignored: HashSet<EntryId> =
            if has_room { passes.filter(is_smaller).collect() } else { HashSet::new() };
        let Self { timeline, assembly, archive, .. } = self;
        Ok(timeline.set_ignored(ignored, lens(assembly, archive))?)
    }

    /// The same after something was said: what is done without is needed as soon as there is no room for all it covers.
    fn outgrow_no_more(&mut self) -> Result<(), EngineError> {
        let is_due = || self.budget().is_due(self.timeline.whole(), self.policy());
        if self.timeline.ignores_any() && is_due() { self.outgrow() } else { Ok(()) }
    }

    /// Goes on with a log in which what this session appended stands behind what others did.
    pub(crate) fn rebase(&mut self, log: Arc<Log>, sizes: Arc<SizeTable>) -> Result<(), EngineError> {
        let leaf = self.leaf();
        self.handed_out = log.len();
        self.timeline.replace_log(log, sizes);
        self.move_to(leaf)
    }

    /// The last message that a compaction of the path would cover, were it made now.
    pub(crate) fn covers(&self) -> Result<Option<EntryId>, EngineError> {
        let prompts = epitome_core::Prompts::default();
        let asked = PlanOptions {
            available: Available::none(&prompts),
            range: Range::All,
            circumstances: Circumstances::default(),
        };
        Ok(match Plan::draft(self.job(Trigger::Threshold, asked))? {
            epitome_core::PlanDraft::Plan(plan) => plan.anchor(),
            epitome_core::PlanDraft::Settled(_) => None,
        })
    }

    /// Takes up something that was just said.
    pub fn say(&mut self, message: Message) -> Result<EntryId, EngineError> {
        self.archive.put(self.timeline.next_id(), message.clone());
        let Self { timeline, assembly, archive, .. } = self;
        let id = timeline.append_message(&message, lens(assembly, archive))?;
        if message.role == Role::Assistant {
            self.state.recoveries = 0;
        }
        self.outgrow_no_more()?;
        Ok(id)
    }

    /// Appends a mark at the end of the path.
    pub(crate) fn mark(&mut self, mark: Mark) -> Result<EntryId, EngineError> {
        self.mark_at(self.leaf(), mark)
    }

    /// Appends a mark at a message of the path.
    fn mark_at(&mut self, anchor: Option<EntryId>, mark: Mark) -> Result<EntryId, EngineError> {
        let Self { timeline, assembly, archive, .. } = self;
        let id = timeline.append_mark(anchor, mark, lens(assembly, archive))?;
        // Its own marks are no news to a session: only those of others make it derive its path anew.
        self.marks_seen += 1;
        self.state.is_stop_told &= self.breaker().is_open();
        Ok(id)
    }

    /// Takes up what the provider said of the call whose reply was just taken up.
    pub fn record_usage(&mut self, usage: Usage) -> Result<(), EngineError> {
        if let Some(mark) = self.usage_mark(usage) {
            self.mark(mark)?;
        }
        Ok(())
    }

    /// What a plan is drafted from.
    pub(crate) fn job<'s>(&'s self, trigger: Trigger, asked: PlanOptions<'s>) -> Job<'s> {
        let Self { timeline, assembly, archive, options, .. } = self;
        Job {
            log: timeline.log(),
            sizes: timeline.sizes(),
            history: timeline.history(),
            compactions: timeline.compactions(),
            earlier: timeline.earlier(),
            context: timeline.context(),
            archive: &**archive,
            measure: &**assembly.measure(),
            count_method: assembly.count_method(),
            budget: assembly.budget(),
            policy: assembly.policy(),
            trigger,
            focus: options.focus.as_deref(),
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
        let prompts = epitome_core::Prompts::default();
        let circumstances = Circumstances { idle_minutes, ..Circumstances::default() };
        let asked = PlanOptions { available: Available::none(&prompts), range: Range::All, circumstances };
        Ok(Plan::edit_only(self.job(Trigger::Threshold, asked), pass)?)
    }

    /// Takes up what came of a plan: the mark is appended, and what happened is told.
    pub(crate) fn conclude(&mut self, conclusion: Conclusion) -> Result<Arc<Record>, EngineError> {
        let Conclusion { effect, mut record } = conclusion;
        if matches!(effect, Effect::Compact(_)) && self.progress_missed(&record).is_some() {
            record.resume = Resume::Wait;
        }
        let record: Arc<Record> = Arc::new(*record);
        self.answer_request(record.trigger);
        match effect {
            Effect::Compact(compaction) => {
                let entry = self.mark(Mark::Compaction { compaction, record: record.clone() })?;
                self.compacted(entry, &record)?;
            }
            Effect::Edit(edit) => {
                let newest = edit.forms.iter().map(|&(id, _)| id).max().or(self.leaf());
                let entry = self.mark_at(newest, Mark::Edit { edit, record: record.clone() })?;
                self.tell_edit(entry, &record);
            }
            Effect::Nothing => self.tell_unchanged(&record)?,
        }
        Ok(record)
    }

    /// Uses a compaction or edit that was made on another path through the same prefix.
    pub(crate) fn apply(&mut self, of: EntryId, trigger: Trigger) -> Result<Arc<Record>, EngineError> {
        let budget = self.budget();
        let tokens_before = budget.fixed + self.context().tokens();
        let entry = self.mark(Mark::Apply { of })?;
        self.answer_request(trigger);
        let record = Arc::new(Record {
            outcome: Outcome::Applied { of },
            trigger,
            source: trigger.kind().source,
            budget,
            tokens_before,
            tokens_after: budget.fixed + self.context().tokens(),
            count_method: self.assembly.count_method().clone(),
            ..Record::default()
        });
        self.compacted(entry, &record)?;
        Ok(record)
    }

    /// What was asked for at the end of a turn is done. One that is cancelled or fails is still asked for.
    fn answer_request(&mut self, trigger: Trigger) {
        self.state.is_requested &= trigger != Trigger::Requested;
    }

    fn compacted(&mut self, entry: EntryId, record: &Arc<Record>) -> Result<(), EngineError> {
        let state = &mut self.state;
        (state.is_warned, state.is_reminded, state.ready, state.wasted) = (false, false, None, 0);
        state.events.push(Event::Completed { entry, record: record.clone() });
        self.tell_stopped();
        self.hold_to_progress(record)
    }

    fn tell_edit(&mut self, entry: EntryId, record: &Record) {
        let freed = record.tokens_before.less(record.tokens_after);
        let Some(change) = record.change() else { return };
        let messages = change.pruned.len();
        self.state.events.push(match change.strategy {
            Strategy::Trim => Event::Trimmed { entry, messages, freed },
            Strategy::Prune
            | Strategy::Summarize
            | Strategy::Native
            | Strategy::Delegate
            | Strategy::Checkpoint
            | Strategy::Drop => Event::Pruned { entry, messages, freed },
        });
        self.tell_stopped();
    }

    fn tell_unchanged(&mut self, record: &Record) -> Result<(), EngineError> {
        match &record.outcome {
            Outcome::Noop { why } => {
                let strategy = self.policy().strategy.first().copied().unwrap_or(Strategy::Drop);
                self.state.events.push(Event::Noop { why: why.clone(), strategy });
            }
            Outcome::Vetoed { .. } => self.tell_failed(record),
            Outcome::Abandoned { .. } => {
                self.mark_at(self.newest_answered(), Mark::Failure)?;
                self.tell_failed(record);
                self.tell_stopped();
            }
            Outcome::Impossible(floor) => {
                let tokens = floor.fixed + floor.reserve + floor.kept;
                if !self.breaker().is_floor(tokens) {
                    self.mark(Mark::Floor { tokens })?;
                    self.tell_failed(record);
                }
            }
            Outcome::Compacted(_) | Outcome::Pruned(_) | Outcome::Applied { .. } | Outcome::Recorded => {}
        }
        Ok(())
    }

    fn tell_failed(&mut self, record: &Record) {
        let why = record.outcome.why().unwrap_or_default();
        let in_a_row = self.breaker().failures();
        self.state.events.push(Event::Failed { why, in_a_row });
    }

    /// The newest message that is not input the model has yet to answer. What is known of a history is known of it up
    /// to there: clients change their last message from call to call.
    fn newest_answered(&self) -> Option<EntryId> {
        let is_answered = |id: &&EntryId| {
            self.log().item(**id).is_some_and(|item| item.role == Role::Assistant || item.is_exchange())
        };
        self.history().iter().rev().find(is_answered).copied().or(self.leaf())
    }

    /// Says that automatic compaction has stopped, once for each time it does.
    fn tell_stopped(&mut self) {
        if let Some(why) = self.breaker().why(&self.policy().guard).filter(|_| !self.state.is_stop_told) {
            self.state.is_stop_told = true;
            self.state.events.push(Event::Stopped { why });
        }
    }

    /// Ends automatic compaction where the context keeps filling up right after it, and says so.
    pub(crate) fn stop_refilling(&mut self) -> Result<bool, EngineError> {
        if !self.breaker().is_refilled_too_often(&self.policy().guard) {
            return Ok(false);
        }
        self.mark(Mark::Refill)?;
        self.tell_stopped();
        Ok(true)
    }

    /// Holds the work until a person speaks. Said once, however often it comes to that before they do.
    pub fn hold(&mut self, why: &str) -> Result<(), EngineError> {
        if self.breaker().is_held() {
            return Ok(());
        }
        self.mark(Mark::Hold { why: why.into() })?;
        self.state.events.push(Event::Held { why: why.into() });
        Ok(())
    }

    /// Holds the work where an automatic compaction came to too little.
    fn hold_to_progress(&mut self, record: &Record) -> Result<(), EngineError> {
        match self.progress_missed(record) {
            Some(most) => self.hold(&format!(
                "the compaction left {} tokens, above the {most} from which the work goes on by itself; shorten what is kept, or begin a new session",
                record.tokens_after
            )),
            None => Ok(()),
        }
    }

    /// The tokens that a compaction had to come below and did not.
    pub(crate) fn progress_missed(&self, record: &Record) -> Option<Tokens> {
        let limit = self.budget().limit(self.policy());
        let most = self.policy().guard.progress.map(|share| share.of(limit))?;
        (record.tokens_after > most && record.trigger.kind().must_progress).then_some(most)
    }

    /// The compaction made on another path that this one can use: the deepest that belongs to a prefix of this
    /// path and is not in use here, where it makes room.
    pub(crate) fn available(&self) -> Result<Option<EntryId>, EngineError> {
        let (log, context) = (self.log(), self.context());
        let is_usable = |&(id, anchor): &(EntryId, EntryId)| {
            Some(anchor) > context.anchor()
                && !context.is_undone(id)
                && !self.timeline.ignores(id)
                && self.history().binary_search(&anchor).is_ok()
        };
        let mut found: Vec<(EntryId, EntryId)> = log.compactions().filter(is_usable).collect();
        found.sort_unstable_by_key(|&(id, anchor)| std::cmp::Reverse((anchor, id)));
        let leaf = self.leaf();
        let Some((id, _)) = found.into_iter().find(|&(id, _)| log.can_apply(id, leaf)) else {
            return Ok(None);
        };
        let mut applied = context.clone();
        applied.apply(id, self.timeline.reader(self.lens()))?;
        Ok((applied.tokens() < context.tokens()).then_some(id))
    }

    /// Whether a compaction is due at this point, and would be with the one that can be used from another path.
    pub(crate) fn needs_compaction(&self, point: CheckPoint) -> Result<bool, EngineError> {
        if !self.check_at(point).is_due() {
            return Ok(false);
        }
        let Some(of) = self.available()? else { return Ok(true) };
        let mut applied = self.clone();
        applied.apply(of, Trigger::Threshold)?;
        Ok(applied.check_at(point).is_due())
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

    /// Takes a compaction or edit back on this path.
    pub fn undo(&mut self, of: EntryId) -> Result<(), EngineError> {
        self.mark(Mark::Undo { of })?;
        self.state.events.push(Event::Undone { of });
        Ok(())
    }

    /// Uses one again that was taken back.
    pub fn redo(&mut self, of: EntryId) -> Result<(), EngineError> {
        self.mark(Mark::Redo { of })?;
        self.state.events.push(Event::Redone { of });
        Ok(())
    }

    /// Never supersedes a message from here on; one that is out of view comes back into it.
    pub fn pin(&mut self, of: EntryId) -> Result<(), EngineError> {
        self.mark(Mark::Pin { of }).map(drop)
    }

    /// Lets a pinned message go again.
    pub fn unpin(&mut self, of: EntryId) -> Result<(), EngineError> {
        self.mark(Mark::Unpin { of }).map(drop)
    }

    /// Gives the end of the path a name.
    pub fn label(&mut self, text: &str) -> Result<(), EngineError> {
        self.mark(Mark::Label { text: text.into() }).map(drop)
    }

    /// Closes the breaker: automatic compaction may run again.
    pub fn reset_breaker(&mut self) -> Result<(), EngineError> {
        self.mark(Mark::Reset).map(drop)
    }

    /// Keeps what a person thinks of a compaction or edit, in place of what was thought before.
    pub fn judge(&mut self, of: EntryId, judgement: Judgement) -> Result<(), EngineError> {
        self.mark(Mark::Judgement { of, judgement: judgement.clone() })?;
        self.state.events.push(Event::Flagged { of, judgement });
        Ok(())
    }

    /// What a person thinks of the compaction or edit `of`, where one said so on this path.
    pub fn judgement(&self, of: EntryId) -> Option<&Judgement> {
        let path = self.log().path(self.leaf()?);
        let marks = self.log().marks_on(&path);
        marks.into_iter().rev().find_map(|id| match self.log().mark_of(id)? {
            Mark::Judgement { of: judged, judgement } if *judged == of => Some(judgement),
            _ => None,
        })
    }

    /// Uses another policy from the next check on; messages are counted anew where it counts otherwise.
    pub fn set_policy(&mut self, policy: Arc<Policy>) -> Result<(), EngineError> {
        let is_other_count = self.assembly.set_policy(policy)?;
        let Self { timeline, assembly, archive, .. } = self;
        let lens = lens(assembly, archive);
        if is_other_count {
            timeline.recount(lens)?;
        } else {
            timeline.review(lens)?;
        }
        self.outgrow()
    }

    /// Uses another model from the next check on; messages are counted anew where it counts otherwise. What one
    /// model's provider counted says nothing of the next one's requests.
    pub fn set_assembly(&mut self, assembly: Assembly) -> Result<(), EngineError> {
        let is_other_count = assembly.count_method() != self.assembly.count_method();
        if self.timeline.usage().is_some() {
            self.mark(Mark::Usage(UsageMark::default()))?;
        }
        self.assembly = assembly;
        let Self { timeline, assembly, archive, .. } = self;
        let lens = lens(assembly, archive);
        if is_other_count {
            timeline.recount(lens)?;
        } else {
            timeline.review(lens)?;
        }
        self.outgrow()
    }

    /// Learns a window on our own scale, where it is a smaller one, and says so.
    pub fn learn_window(&mut self, window: Tokens) {
        if let Some(window) = self.assembly.learn_window(window) {
            self.state.events.push(Event::Learned { window });
        }
    }

    /// Learns a window from a refusal of the request that was sent, and says so.
    pub fn learn(&mut self, figures: crate::assembly::RefusalFigures) {
        let counted = self.budget().fixed + self.context().tokens();
        if let Some(window) = self.assembly.learn(counted, figures) {
            self.state.events.push(Event::Learned { window });
        }
    }

    /// Asks for a compaction at the end of the turn.
    pub fn request_compaction(&mut self) {
        self.state.is_requested = true;
    }

    pub(crate) fn is_requested(&self) -> bool {
        self.state.is_requested
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
        lens(&self.assembly, &self.archive)
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

fn lens<'a>(assembly: &'a Assembly, archive: &'a Arc<MemoryArchive>) -> Lens<'a> {
    let archive: &dyn Archive = &**archive;
    Lens {
        measure: &**assembly.measure(),
        archive,
        guard: &assembly.policy().guard,
        trigger: &assembly.policy().trigger,
        model: &assembly.model().id,
    }
}
