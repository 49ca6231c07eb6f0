//! A plan: what stays in view, what leaves it, and the strategies to try, decided before anything is done.
//! A dry run stops here; asking and answering is the machine's, the entry and the record are `finish`'s.

use crate::keep::{Chooser, KeepSelection, KeepSet, SUMMARY_MIN, TailShape, matching, spare, summary_min};
use crate::message_cache::MessageCache;
use crate::policy::{LastResort, Newest, Strategy, StrategyKind};
use crate::record::{Conclusion, Coverage, Effect, Fallback, Floor, Outcome};
use crate::verdict::{HookRun, HookSummary};
use crate::{
    ArchiveError, Budget, CallCost, EntryId, Job, LogReader, Range, Slot, Tokens, Trigger, fence, prune,
};
use std::collections::HashSet;

/// A compaction that has been thought through and not begun.
#[derive(Clone)]
pub struct Plan<'a> {
    /// What it was drafted from.
    pub(crate) job: Job<'a>,
    /// Its messages, as far as they were read.
    pub(crate) originals: MessageCache<'a>,
    /// What may stand beside what is kept in any case.
    pub(crate) target: Tokens,
    /// What stays in view.
    pub(crate) kept: KeepSelection,
    /// The strategy that `kept` was chosen for; none where hooks made changes that it does not know of.
    pub(crate) cut_for: Option<Strategy>,
    /// The ids of all that stays, told inside the summary or not, oldest first.
    pub(crate) visible: Vec<EntryId>,
    /// Every message of the history that does not, oldest first.
    pub(crate) superseded: Vec<EntryId>,
    /// Strategies still to try, the first one next.
    pub(crate) strategies: Vec<Strategy>,
    /// Those given up.
    pub(crate) fallbacks: Vec<Fallback>,
    /// Who was asked so far, and what that took.
    pub(crate) progress: PlanProgress,
    /// What hooks and operators change about it.
    pub(crate) changes: CollectedChanges,
}

/// What happened so far in the course of a plan, whatever comes of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlanProgress {
    /// What calls of models took, failed ones included.
    pub spent: CallCost,
    /// How many requests were handed out: a model that reports nothing must not call without end.
    pub requests: u32,
    /// Hooks that were asked, in order.
    pub hooks: Vec<HookRun>,
    /// How much of its material the summariser was shown.
    pub shown: Option<Coverage>,
    /// What was wrong with answers that were asked for again, each once.
    pub refusals: Vec<String>,
}

/// What hooks and operators change about a plan, collected.
#[derive(Clone, Debug, Default)]
pub(crate) struct CollectedChanges {
    /// Whether hooks were asked.
    pub is_asked: bool,
    /// Messages to keep, the session's pins included.
    pub pins: Vec<EntryId>,
    /// Text to stand after the summary.
    pub inject: Vec<String>,
    /// Text for the summariser.
    pub guidance: Vec<String>,
    /// A finished summary, and who wrote it.
    pub summary: Option<(String, HookSummary)>,
}

/// A drafted plan, or the reason there is none.
#[derive(Debug)]
pub enum PlanDraft<'a> {
    /// Something to do.
    Plan(Box<Plan<'a>>),
    /// Nothing to do, or nothing that can be done.
    Settled(Conclusion),
}

/// Where no summary is meant to be written, the line that stands for it needs little.
const DROP_TAIL_PERCENT: u32 = 90;
/// Where a rule keeps more than there is room for, tail and summary share the target like this.
const CROWDED_TAIL_PERCENT: u32 = 40;

impl<'a> Plan<'a> {
    /// Thinks a compaction through.
    pub fn draft(job: Job<'a>) -> Result<PlanDraft<'a>, ArchiveError> {
        let before = job.context.tokens();
        let mut plan = Self::bare(job);
        let matching = matching(&job, &plan.originals)?;
        plan.changes.pins.extend(matching);
        plan.target = target_of(&plan.job, plan.kept_in_view()?);
        if is_just_compacted(&job) && job.budget.fits(before) {
            return Ok(plan.unneeded("nothing was said since the last compaction"));
        }
        if plan.target < SUMMARY_MIN && job.budget.fits(before) && job.trigger.is_manual() {
            return Ok(plan.unneeded("the history is too short to be worth a summary"));
        }
        plan.cut(plan.first_cut(), 0)?;
        if !plan.moves_anything() && plan.must_shrink() {
            plan.cut(Strategy::Drop, 0)?;
        }
        if plan.kept.tokens > job.budget.room() {
            let floor = floor_of(&job, plan.kept.tokens);
            return Ok(PlanDraft::Settled(plan.conclude(Outcome::Impossible(floor))));
        }
        if !job.budget.fits(before)
            && let Some(floor) = plan.floor()?
        {
            return Ok(PlanDraft::Settled(plan.conclude(Outcome::Impossible(floor))));
        }
        if plan.rewrites_only() {
            return Ok(plan.unneeded(
                "no message would leave view, only the summary of an earlier compaction would be cut, and the history is below \
                 its target; name a lower target to have that",
            ));
        }
        if !plan.moves_anything() && !plan.edits_first() {
            return Ok(plan.unneeded("every message in view is one that is kept"));
        }
        Ok(PlanDraft::Plan(Box::new(plan)))
    }

    fn unneeded(&self, why: &str) -> PlanDraft<'a> {
        PlanDraft::Settled(self.conclude(Outcome::Noop { why: why.into() }))
    }

    /// The end of a plan that changes nothing.
    pub(crate) fn conclude(&self, outcome: Outcome) -> Conclusion {
        let record = self.record(outcome, self.job.context.tokens());
        Conclusion { effect: Effect::Nothing, record: Box::new(record) }
    }

    /// What the history is to come down to, beside what is kept in any case: in the provider's tokens, as all that is told
    /// of a plan.
    pub fn target(&self) -> Tokens {
        self.job.budget.scale.theirs(self.target)
    }

    /// Messages that stay, in view or told inside the summary, oldest first.
    pub fn kept(&self) -> &[EntryId] {
        &self.visible
    }

    /// Messages that stay in view, oldest first.
    pub fn staying(&self) -> Vec<EntryId> {
        let mut staying: Vec<EntryId> = self.kept.front.iter().chain(&self.kept.tail).copied().collect();
        staying.sort_unstable();
        staying
    }

    /// The last message that would be covered, kept in front or told inside the summary included: whoever
    /// shares the path up to it can use the result. Never one before what is covered already: a message of that may be shown again,
    /// and what is told of the others was written with it.
    pub fn anchor(&self) -> Option<EntryId> {
        let KeepSelection { front, folded, .. } = &self.kept;
        let told = folded.iter().map(|(id, _)| id).max();
        let last = self.superseded.last().max(front.last()).max(told).copied();
        last.max(self.job.context.anchor())
    }

    /// The means to choose what stays.
    pub(crate) fn chooser(&self) -> Chooser<'_, 'a> {
        Chooser::new(&self.job, self.reader())
    }

    /// What messages in view take that are kept in any case.
    fn kept_in_view(&self) -> Result<Tokens, ArchiveError> {
        let set = KeepSet::of(&self.chooser(), &self.changes.pins)?;
        let kept = self.job.context.message_slots().filter(|(id, ..)| set.contains(*id));
        Ok(kept.map(|(.., tokens)| tokens).sum())
    }

    /// A plan that has decided nothing yet.
    pub(crate) fn bare(job: Job<'a>) -> Self {
        Self {
            target: job.budget.target(job.policy),
            kept: KeepSelection::default(),
            cut_for: None,
            visible: Vec::new(),
            superseded: Vec::new(),
            strategies: strategies_of(&job),
            fallbacks: Vec::new(),
            progress: PlanProgress::default(),
            changes: CollectedChanges {
                pins: job.pins.iter().chain(job.context.pins()).copied().collect(),
                ..CollectedChanges::default()
            },
            originals: MessageCache::new(job.archive),
            job,
        }
    }

    /// What the context is read with; no original is asked for twice.
    pub(crate) fn reader(&self) -> LogReader<'_> {
        LogReader { archive: &self.originals, ..self.job.reader() }
    }

    /// The first strategy that cuts the context; dropping stands behind all others.
    pub(crate) fn first_cut(&self) -> Strategy {
        // Whoever is asked first is asked about what follows.
        let is_cut = |strategy: &&Strategy| strategy.kind() == StrategyKind::Cut;
        self.strategies.iter().find(is_cut).copied().unwrap_or(Strategy::Drop)
    }

    /// Whether a rule that keeps all there is must not be the end of it: the context is full, and dropping
    /// stands behind the rule.
    fn must_shrink(&self) -> bool {
        self.job.trigger.kind().is_full && self.strategies.contains(&Strategy::Drop)
    }

    pub(crate) fn edits_first(&self) -> bool {
        let mut kinds = self.strategies.iter().map(|strategy| strategy.kind());
        kinds.find(|kind| *kind != StrategyKind::Ask) == Some(StrategyKind::Edit)
    }

    /// Chooses what stays in view when `strategy` cuts, with `fewer` messages than the rule says.
    pub(crate) fn cut(&mut self, strategy: Strategy, fewer: u32) -> Result<(), ArchiveError> {
        let shape = self.shape(strategy, fewer);
        let mut kept = KeepSelection::choose(&self.chooser(), &self.changes.pins, shape)?;
        if shape == (TailShape::Rule { fewer }) && self.is_crowded(&kept) {
            let room = TailShape::Room { room: self.target, percent: CROWDED_TAIL_PERCENT };
            kept = KeepSelection::choose(&self.chooser(), &self.changes.pins, room)?;
        }
        prune::prune_tail(&self.job, self.reader(), &mut kept)?;
        self.take(kept);
        self.cut_for = (fewer == 0).then_some(strategy);
        Ok(())
    }

    fn shape(&self, strategy: Strategy, fewer: u32) -> TailShape {
        match self.job.range {
            Range::UpTo(id) => return TailShape::From(id),
            Range::From(id) => return TailShape::Before(id),
            Range::All => {}
        }
        if let Some((_, HookSummary { keep_from: Some(id), .. })) = &self.changes.summary {
            return TailShape::From(*id);
        }
        match (strategy, self.job.policy.keep.newest) {
            (Strategy::Drop, _) => TailShape::Room { room: self.target, percent: DROP_TAIL_PERCENT },
            (_, Newest::Percent(percent)) => TailShape::Room { room: self.target, percent },
            (
                _,
                Newest::Messages(_)
                | Newest::TokensAtLeast(_)
                | Newest::TokensReached(_)
                | Newest::TokensAtMost(_)
                | Newest::Turns(_)
                | Newest::Nothing,
            ) => TailShape::Rule { fewer },
        }
    }

    /// Whether what a rule keeps leaves no room for anything else, or leaves the context due: a rule that keeps
    /// more than its own trigger leaves alone would run at every call.
    fn is_crowded(&self, kept: &KeepSelection) -> bool {
        let (job, tokens) = (&self.job, self.job.context.tokens());
        let keeps_all = kept.tail.len() + kept.front.len() >= job.context.message_slots().count();
        let undue = job.budget.undue(job.policy);
        let is_reachable = job.trigger.kind().is_full && undue >= SUMMARY_MIN;
        let stays_due = is_reachable && kept.tokens + summary_min(job) > undue;
        let is_stuck = if keeps_all { !job.budget.fits(tokens) } else { stays_due };
        kept.tokens >= job.budget.room() || is_stuck
    }

    /// Takes `kept` as what stays.
    pub(crate) fn take(&mut self, kept: KeepSelection) {
        let told = kept.folded.iter().map(|(id, _)| id);
        self.visible = kept.front.iter().chain(&kept.tail).chain(told).copied().collect();
        self.visible.sort_unstable();
        self.visible.dedup();
        self.superseded = without(self.job.history.iter().copied(), &self.visible);
        self.kept = kept;
        self.cut_for = None;
    }

    /// Whether anything in view would leave it or be shortened.
    pub(crate) fn moves_anything(&self) -> bool {
        let job = &self.job;
        let in_view: HashSet<EntryId> = self.kept.front.iter().chain(&self.kept.tail).copied().collect();
        let is_ours = job.context.summary(job.log).is_some_and(|(_, text)| fence::is_ours(text));
        let leaves_view = |slot: &Slot| match slot {
            Slot::Message { id, .. } => !in_view.contains(id),
            Slot::Summary { .. } => !is_ours,
        };
        let is_shortened = self.kept.forms.iter().any(|(_, form)| form.shorten.is_some() || form.results);
        // Leaving out thinking alone may be what makes a context fit.
        let before = job.context.tokens();
        let makes_fit = !job.budget.fits(before) && self.kept.tokens < before;
        is_shortened || makes_fit || job.context.slots().iter().any(leaves_view)
    }

    /// Messages in view that leave it now, oldest first.
    pub fn leaving(&self) -> Vec<EntryId> {
        without(self.job.context.message_slots().map(|(id, ..)| id), &self.staying())
    }

    /// Where a turn is cut, its first message: what leaves from it on is the turn's beginning.
    pub fn cut_turn(&self) -> Option<EntryId> {
        let context = self.job.context;
        let first = *self.kept.tail.first()?;
        let at = context.slots().iter().position(|slot| slot.id() == first)?;
        let turn = context.turns().iter().rev().map(|&turn| turn as usize).find(|&turn| turn <= at)?;
        (turn < at).then(|| context.slots()[turn].id())
    }

    /// What is left for a summary, its frame included and what is told inside it apart.
    pub fn summary_room(&self) -> Tokens {
        let is_range = self.job.range != Range::All;
        let KeepSelection { outside, beside, .. } = self.kept;
        match self.job.policy.keep.newest {
            Newest::Percent(_) if !is_range => spare(&self.job, self.target, outside).less(beside),
            Newest::Percent(_)
            | Newest::Messages(_)
            | Newest::TokensAtLeast(_)
            | Newest::TokensReached(_)
            | Newest::TokensAtMost(_)
            | Newest::Turns(_)
            | Newest::Nothing => {
                let room = self.job.room();
                let most = self.target.max(room.share(RULE_ROOM_SHARE.0, RULE_ROOM_SHARE.1));
                // Where what is kept in any case takes most of the room, half of what it leaves.
                most.less(outside + beside).max(room.less(outside + beside).share(1, 2))
            }
        }
    }
}

/// Those of `ids` that are not among `others`, which are sorted and mostly few.
fn without(ids: impl Iterator<Item = EntryId>, others: &[EntryId]) -> Vec<EntryId> {
    let between = others.first().copied().zip(others.last().copied());
    let is_among = |id: &EntryId| {
        between.is_some_and(|(first, last)| (first..=last).contains(id)) && others.binary_search(id).is_ok()
    };
    ids.filter(|id| !is_among(id)).collect()
}

/// Where a rule or a range and not the target says what is kept, tail and summary take at most this part of the room.
const RULE_ROOM_SHARE: (u64, u64) = (3, 4);

/// The policy's target for what stands beside `kept`, which is kept in any case. Where tokens are not what a history is
/// compacted for, or the provider counts otherwise, it is halved at least: a history hardly above its target would else
/// come out larger than one below. After an overflow at least what it missed is freed.
fn target_of(job: &Job<'_>, kept: Tokens) -> Tokens {
    let target = job.budget.target(job.policy);
    let beside = job.context.tokens().less(kept);
    let is_told = job.circumstances.over.is_some();
    let half = (job.trigger.kind().is_halved && !is_told).then(|| beside.share(1, 2));
    target.min(half.unwrap_or(target)).min(job.room())
}

/// Whether nothing was said since the context was last made smaller. A pass right before this compaction may not have
/// made enough room, and must not stand in the way of what does.
fn is_just_compacted(job: &Job<'_>) -> bool {
    let has_summary = job.context.summary(job.log).is_some_and(|(_, text)| fence::is_ours(text));
    // One that left every message in view has none.
    let is_marked = job.compactions.last().is_some_and(|&id| job.log.mark_of(id).is_some());
    let is_ours = has_summary || is_marked;
    let is_edited = job.context.newest_edit().is_some_and(|edit| Some(&edit) > job.history.last());
    (is_ours && job.context.fresh() == 0) || (is_edited && !job.circumstances.is_passed)
}

pub(crate) fn floor_of(job: &Job<'_>, kept: Tokens) -> Floor {
    let Budget { window, fixed, unrecorded, reserve, scale, .. } = job.budget;
    Floor { window, fixed, unrecorded, reserve, kept: scale.theirs(kept) }
}

/// The policy's strategies. Behind them stands the one that needs nothing, unless the policy would
/// rather go on as it is and can.
fn strategies_of(job: &Job<'_>) -> Vec<Strategy> {
    let mut strategies = job.policy.strategy.clone();
    let is_sendable = job.budget.fits(job.context.tokens()) && job.trigger != Trigger::Overflow;
    let needs_drop = match job.policy.guard.last {
        LastResort::Drop => true,
        LastResort::Abandon => !is_sendable,
    };
    if needs_drop && strategies.last() != Some(&Strategy::Drop) {
        strategies.retain(|strategy| *strategy != Strategy::Drop);
        strategies.push(Strategy::Drop);
    }
    if job.circumstances.must_ask {
        strategies.retain(|strategy| *strategy != Strategy::Checkpoint);
        strategies.insert(0, Strategy::Checkpoint);
    }
    strategies
}
