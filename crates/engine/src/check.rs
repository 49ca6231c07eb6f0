//! How full the context is: the figure, the point it is held against, and where each comes from. What is done
//! about it is [`crate::Driver`]'s.

use crate::growth_tracker::GrowthTracker;
use crate::pre_passes::wants_pass;
use crate::session::Session;
use epitome_core::policy::{CheckRule, MeasureBy, TriggerMode};
use epitome_core::{Mark, Role, Slot, Tokens, Trigger, UsageMark};
use epitome_tokens::{PromptGrowth, Usage};
use serde::{Deserialize, Serialize};

/// The point at which a look is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookPoint {
    /// Before a call of the model.
    Call,
    /// When a turn has ended.
    TurnEnd,
    /// Before a person's input is taken up, which takes so much.
    Input(Tokens),
    /// After so many seconds without a word.
    Idle(u64),
}

/// What a look at the context says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The history, by our own count.
    pub history: Tokens,
    /// The whole request in the provider's tokens as the policy measures it, what is about to be said included.
    pub tokens: Tokens,
    /// Where that figure comes from.
    pub source: FigureSource,
    /// The point it is held against.
    pub limit: Tokens,
    /// What a compaction would bring the history down to, by our own count as well.
    pub target: Tokens,
    /// The window.
    pub window: Tokens,
    /// Why the policy wants it compacted now, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    /// What may be done about it by itself.
    pub permission: Permission,
    /// Whether the warning's point is reached.
    pub is_approaching: bool,
}

/// What may be done about a context that is due, without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Permission {
    /// Compact it.
    Compact,
    /// Only what needs no model and no hook, and only where the request does not fit: the breaker is open.
    Mechanical,
    /// Ask a person; where none can be asked, or one said no, say so.
    Ask,
    /// Say so: the policy leaves it to a person.
    Remind,
    /// Nothing: compaction is off.
    Nothing,
}

impl Check {
    /// Whether a compaction is to begin now: by itself, or with a person's word.
    pub fn is_due(&self) -> bool {
        let may_begin = match self.permission {
            Permission::Compact | Permission::Mechanical | Permission::Ask => true,
            Permission::Remind | Permission::Nothing => false,
        };
        self.trigger.is_some() && may_begin
    }
}

/// Where the size of a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FigureSource {
    /// Our own count.
    Count,
    /// What the provider said of the newest call.
    Usage,
    /// That, and our count of what came since.
    Hybrid,
}

/// Usage that differs from our count by more than this factor is not believed: it left out the cache,
/// or summed up several calls.
const TRUST_FACTOR: u64 = 2;
/// Below this a request is all framing, and a factor says nothing.
const TRUST_TOKENS_MIN: Tokens = Tokens(2_000);
/// Providers put texts of their own into a prompt, and leave them out again; so much of one is not held against it.
const JUMP_SLACK: (u64, u64) = (1, 5);
/// A sum over two calls is over our count of one by more than this.
const JUMP_MIN: (u64, u64) = (5, 4);

impl Session {
    /// Looks at the context before a call. Costs the same however long the session is.
    pub fn check(&self) -> Check {
        self.check_at(LookPoint::Call)
    }

    /// Looks at the context at some point. Costs the same however long the session is.
    pub fn check_at(&self, point: LookPoint) -> Check {
        self.check_figure(point, self.figure())
    }

    /// Looks at the context before a call as it would be, had every compaction been made that was only observed.
    pub(crate) fn check_observed(&self) -> Check {
        let (figure, source) = self.figure();
        self.check_figure(LookPoint::Call, (figure.less(self.timeline().observed()), source))
    }

    fn check_figure(&self, point: LookPoint, (figure, source): (Tokens, FigureSource)) -> Check {
        let (budget, policy) = (self.budget(), self.policy());
        let pending = match point {
            LookPoint::Input(tokens) => tokens,
            LookPoint::Call | LookPoint::TurnEnd | LookPoint::Idle(_) => Tokens::ZERO,
        };
        let tokens = figure + budget.scale.theirs(pending);
        let history = budget.history_in(tokens);
        let approaching = policy.trigger.approaching.map(|at| at.of(budget.window));
        let trigger = self.wants(point, history);
        Check {
            history: self.context().tokens(),
            tokens,
            source,
            limit: budget.trigger_point(policy),
            target: budget.target(policy),
            window: budget.window,
            trigger: if self.breaker().is_open() { self.held_back(trigger, history) } else { trigger },
            permission: self.permission(),
            is_approaching: approaching.is_some_and(|at| tokens >= at),
        }
    }

    /// Whether nothing at all would be done at some point: no compaction, pass, warning or summary made beforehand. Costs
    /// the same however long the session is.
    pub fn is_settled_at(&self, point: LookPoint) -> bool {
        let check = self.check_at(point);
        let is_quiet = check.trigger.is_none() && !check.is_approaching;
        is_quiet && !wants_pass(self, point) && !self.policy().speculate.enabled
    }

    /// Whether what is done at some point may read more than what is in view, as a compaction does, or the beginning of a summary before
    /// it is needed. Passes look at what is in view alone.
    pub(crate) fn reads_originals_at(&self, point: LookPoint) -> bool {
        let is_asked_for = point == LookPoint::TurnEnd && self.is_requested();
        let is_begun = self.policy().speculate.enabled && self.figure().0 >= self.speculation_mark();
        self.check_at(point).is_due() || is_asked_for || is_begun
    }

    /// Whether what is done at some point reads no originals, edits nothing and tells nobody: then it takes next to no time, and what it
    /// leaves behind need not be on the disk at once.
    pub(crate) fn is_calm_at(&self, point: LookPoint) -> bool {
        let is_quiet = !self.is_warning_due(&self.check_at(point));
        is_quiet && !self.reads_originals_at(point) && !wants_pass(self, point)
    }

    /// Whether nobody was warned yet that the context is nearly full.
    pub(crate) fn is_warning_due(&self, check: &Check) -> bool {
        check.is_approaching && !self.state.is_warned && self.policy().mode != TriggerMode::Off
    }

    fn permission(&self) -> Permission {
        match self.policy().mode {
            TriggerMode::Off => Permission::Nothing,
            TriggerMode::Remind => Permission::Remind,
            // Of what came to nothing too often nobody is asked again.
            TriggerMode::Ask if self.breaker().is_open() || self.state.is_refused => Permission::Remind,
            TriggerMode::Ask => Permission::Ask,
            TriggerMode::Auto if self.breaker().is_open() => Permission::Mechanical,
            TriggerMode::Auto => Permission::Compact,
        }
    }

    /// What is left of a trigger with an open breaker: nothing until the request no longer fits, and then it is the
    /// window that it came to, and not the policy's threshold.
    fn held_back(&self, trigger: Option<Trigger>, history: Tokens) -> Option<Trigger> {
        let trigger = trigger.filter(|_| !self.budget().fits(history))?;
        Some(if trigger == Trigger::Threshold { Trigger::Overflow } else { trigger })
    }

    /// Why the policy wants a compaction at this point, if it does.
    fn wants(&self, point: LookPoint, history: Tokens) -> Option<Trigger> {
        let policy = self.policy();
        if !is_looked_at(&policy.check, point, self.is_in_tool_loop()) {
            // Whatever a policy looks at, a request that is sure to be refused is not sent as it is.
            return (point == LookPoint::Call && !self.is_sendable(history)).then_some(Trigger::Overflow);
        }
        if self.is_requested() && point == LookPoint::TurnEnd {
            return Some(Trigger::Requested);
        }
        if let LookPoint::Idle(_) = point {
            let large = policy.check.idle_tokens.is_none_or(|least| self.budget().request(history) >= least);
            return large.then_some(Trigger::Idle);
        }
        if self.budget().is_due(history, policy) {
            let is_downshift = self.state.is_downshift;
            return Some(if is_downshift { Trigger::Downshift } else { Trigger::Threshold });
        }
        let reaches = |limit: Option<u64>, have: u64| limit.is_some_and(|limit| have >= limit);
        let seen = self.timeline().tally();
        if reaches(policy.trigger.messages, seen.messages) {
            return Some(Trigger::Messages);
        }
        if reaches(policy.trigger.bytes, seen.bytes) {
            return Some(Trigger::Bytes);
        }
        reaches(policy.trigger.media, seen.media).then_some(Trigger::Media)
    }

    /// Whether a provider takes a request with so much history, by our count; an answer may get little room.
    fn is_sendable(&self, history: Tokens) -> bool {
        history <= self.budget().history_max()
    }

    /// Whether the next call answers tools, not a person.
    pub(crate) fn is_in_tool_loop(&self) -> bool {
        let newest = self.history().last().and_then(|&id| self.log().item(id));
        newest.is_some_and(|item| item.role == Role::Tool || !item.answers.is_empty())
    }

    /// The size of the next request in the provider's tokens, as the policy measures it.
    pub fn figure(&self) -> (Tokens, FigureSource) {
        let budget = self.budget();
        let count = budget.request(self.context().tokens());
        let Some(usage) = self.timeline().usage() else { return (count, FigureSource::Count) };
        let slots = self.context().slots().len();
        let since = budget.scale.theirs(self.context().tokens_between(usage.slots.min(slots), slots));
        let freed = budget.scale.theirs(self.timeline().freed_since(usage, self.assembly().fixed_counted()));
        let told = usage.mark.tokens.less(freed);
        let hybrid = told + since;
        match self.policy().trigger.measure {
            MeasureBy::Count => (count, FigureSource::Count),
            // Of a newer call nobody knows what it took: then what came since is counted.
            MeasureBy::Usage if self.has_reply_since(usage.slots) => (hybrid, FigureSource::Hybrid),
            MeasureBy::Usage => (told, FigureSource::Usage),
            MeasureBy::Hybrid => (hybrid, FigureSource::Hybrid),
            MeasureBy::Floor if hybrid >= count => (hybrid, FigureSource::Hybrid),
            MeasureBy::Floor => (count, FigureSource::Count),
        }
    }

    /// Whether the model has spoken behind so many slots.
    fn has_reply_since(&self, slots: usize) -> bool {
        let since = self.context().slots().get(slots..).unwrap_or_default();
        let is_reply =
            |slot: &Slot| self.log().item(slot.id()).is_some_and(|item| item.role == Role::Assistant);
        since.iter().any(is_reply)
    }

    /// What the provider counts where we count a hundred; 0 where nothing is known.
    pub(crate) fn usage_percent(&self) -> u32 {
        let scale = self.budget().scale;
        let percent = match self.timeline().usage().map(|usage| &usage.mark) {
            Some(UsageMark { tokens, counted, .. }) if !counted.is_zero() => tokens.share(100, counted.0),
            // What was learned of the endpoint outlasts a compaction.
            Some(_) | None if !scale.is_same() => scale.theirs(Tokens(100)),
            Some(_) | None => Tokens::ZERO,
        };
        u32::try_from(percent.0).unwrap_or(u32::MAX)
    }

    /// The mark of what the provider said of the call whose reply was just taken up; none where it is not to be
    /// believed. Usage of summary calls has no place here.
    pub(crate) fn usage_mark(&self, usage: Usage) -> Option<Mark> {
        let counted = self.assembly().fixed_counted() + self.context().tokens();
        let tokens = Tokens(usage.prompt) + Tokens(usage.output);
        let is_far = |one: Tokens, other: Tokens| one > other.share(TRUST_FACTOR, 1);
        let is_far_off = is_far(tokens, counted) || is_far(counted, tokens);
        // A figure near our own count is no sum, whatever was said before it.
        let is_sum = tokens > counted.share(JUMP_MIN.0, JUMP_MIN.1) && self.is_jump(usage);
        let is_odd = tokens > TRUST_TOKENS_MIN && (is_far_off || is_sum);
        let is_floor = self.policy().trigger.measure == MeasureBy::Floor;
        (!usage.is_zero() && (!is_odd || !is_floor)).then(|| {
            Mark::Usage(UsageMark {
                tokens,
                counted,
                prompt: Tokens(usage.prompt),
                prompt_counted: self.prompt_counted(),
                cache_read: Tokens(usage.cache_read),
                cache_write: Tokens(usage.cache_write),
                model: self.assembly().model().id.as_str().into(),
                is_estimated: false,
            })
        })
    }

    /// Whether a prompt grew by more than what was said since the call before can account for: then it is a sum over several
    /// calls, retries for one, and not the size of the last.
    fn is_jump(&self, usage: Usage) -> bool {
        self.prompt_growth(usage).filter(|growth| growth.before > 0).is_some_and(|growth| {
            let (before, counted) = (Tokens(growth.before), Tokens(growth.counted));
            let slack = before.share(JUMP_SLACK.0, JUMP_SLACK.1);
            Tokens(growth.prompt) > before + slack + counted.share(TRUST_FACTOR, 1)
        })
    }

    /// The prompt of the call whose reply was just taken up, by our count.
    fn prompt_counted(&self) -> Tokens {
        let context = self.context();
        let is_reply =
            |slot: &&Slot| self.log().item(slot.id()).is_some_and(|item| item.role == Role::Assistant);
        let replies = context.slots().iter().rev().take_while(is_reply).count();
        self.assembly().fixed_counted() + context.tokens().less(context.newest_tokens(replies))
    }

    /// What the call whose reply was just taken up says of how its provider counts: what its prompt grew by since the
    /// call before, and all of it where none came before and what stands before the history is known.
    pub(crate) fn prompt_growth(&self, usage: Usage) -> Option<PromptGrowth> {
        let before = self.timeline().usage().map(|usage| &usage.mark);
        let mut tracker = before.map(GrowthTracker::after).unwrap_or_default();
        self.growth(&mut tracker, Tokens(usage.prompt), self.prompt_counted())
    }

    fn growth(&self, tracker: &mut GrowthTracker, prompt: Tokens, counted: Tokens) -> Option<PromptGrowth> {
        let whole = PromptGrowth { before: 0, prompt: prompt.0, counted: counted.0 };
        let is_all_known = !self.budget().fixed.is_zero();
        tracker.take(prompt, counted).or(is_all_known.then_some(whole))
    }

    /// What all usage on the path says of how its provider counts, oldest first, as it was learned when it came: for a
    /// session that goes on where nothing else remembers.
    pub(crate) fn growths_on_path(&self) -> Vec<PromptGrowth> {
        let log = self.log();
        let model = self.assembly().model().id.as_str();
        let (mut growths, mut tracker) = (Vec::new(), GrowthTracker::default());
        for id in log.marks_on(&log.path_of(self.leaf())) {
            tracker.pass(log, id);
            let Some(Mark::Usage(mark)) = log.mark_of(id) else { continue };
            let is_ours = mark.model.is_empty() || &*mark.model == model;
            if is_ours && *mark != UsageMark::default() {
                growths.extend(self.growth(&mut tracker, mark.prompt, mark.prompt_counted));
            } else {
                tracker = GrowthTracker::default();
            }
        }
        growths
    }
}

/// Whether a policy looks at this point at all.
fn is_looked_at(rule: &CheckRule, point: LookPoint, in_tool_loop: bool) -> bool {
    match point {
        LookPoint::Call if in_tool_loop => rule.in_tool_loop,
        LookPoint::Call => rule.before_call,
        LookPoint::TurnEnd => rule.after_turn,
        LookPoint::Input(_) => rule.before_input,
        LookPoint::Idle(seconds) => rule.idle_seconds.is_some_and(|least| seconds >= least),
    }
}
