//! How full the context is: the figure, the point it is held against, and where each comes from.

use crate::session::Session;
use epitome_core::policy::{CheckPoints, MeasureBy, Mode};
use epitome_core::{Role, Tokens, Trigger};
use epitome_tokens::{Anchor, Epoch, Usage};
use serde::Serialize;

/// The moment a look is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The history, by our own count.
    pub tokens: Tokens,
    /// The whole request as the policy measures it, what is about to be said included.
    pub request: Tokens,
    /// Where that figure comes from.
    pub source: FigureSource,
    /// The point it is held against.
    pub limit: Tokens,
    /// What a compaction would bring the history down to.
    pub target: Tokens,
    /// The window.
    pub window: Tokens,
    /// Whether the policy wants it compacted now, by itself.
    pub is_due: bool,
    /// Why, where it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    /// Whether the warning's point is reached.
    pub is_approaching: bool,
    /// Whether automatic compaction has stopped.
    pub is_stopped: bool,
}

/// Where the size of a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FigureSource {
    /// Our own count.
    Count,
    /// What the provider said of the newest call.
    Usage,
    /// That, and our count of what came since.
    Hybrid,
}

/// What the provider said of the newest call, and where the history stood then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    anchor: Anchor,
    /// Slots in view when the reply had been taken up.
    slots: usize,
    /// What the provider counted where we counted a hundred.
    pub percent: u32,
}

/// Usage that differs from our count by more than this factor is not believed: it left out the cache,
/// or summed up several calls.
const TRUST_FACTOR: u64 = 2;
/// Below this a request is all framing, and a factor says nothing.
const TRUST_TOKENS_MIN: u64 = 2_000;

impl Session {
    /// Looks at the context before a call. Costs the same however long the session is.
    pub fn check(&self) -> Check {
        self.check_at(Point::Call)
    }

    /// Looks at the context at some point. Costs the same however long the session is.
    pub fn check_at(&self, point: Point) -> Check {
        let budget = self.budget();
        let policy = &self.setup().policy;
        let pending = match point {
            Point::Input(tokens) => tokens,
            Point::Call | Point::TurnEnd | Point::Idle(_) => Tokens::ZERO,
        };
        let (figure, source) = self.figure();
        let request = figure + pending;
        let history = request.less(budget.fixed);
        let trigger = self.wants(point, history);
        let is_auto = policy.mode == Mode::Auto && !self.breaker().is_open();
        let approaching = policy.trigger.approaching.map(|at| at.of(budget.window));
        Check {
            tokens: self.context().tokens(),
            request,
            source,
            limit: budget.limit(policy),
            target: budget.target(policy),
            window: budget.window,
            is_due: trigger.is_some() && is_auto,
            trigger,
            is_approaching: approaching.is_some_and(|at| request >= at),
            is_stopped: self.breaker().is_open(),
        }
    }

    /// Why the policy wants a compaction at this point, if it does.
    fn wants(&self, point: Point, history: Tokens) -> Option<Trigger> {
        let policy = &self.setup().policy;
        if !is_looked_at(&policy.check, point, self.is_in_tool_loop()) {
            return None;
        }
        if self.is_requested() && point == Point::TurnEnd {
            return Some(Trigger::Requested);
        }
        if let Point::Idle(_) = point {
            let large = policy.check.idle_tokens.is_none_or(|least| self.budget().fixed + history >= least);
            return large.then_some(Trigger::Idle);
        }
        if self.budget().is_due(history, policy) {
            return Some(Trigger::Threshold);
        }
        let reaches = |limit: Option<u64>, have: u64| limit.is_some_and(|limit| have >= limit);
        let seen = self.tally();
        if reaches(policy.trigger.messages, seen.messages) {
            return Some(Trigger::Messages);
        }
        if reaches(policy.trigger.bytes, seen.bytes) {
            return Some(Trigger::Bytes);
        }
        reaches(policy.trigger.media, seen.media).then_some(Trigger::Media)
    }

    /// Whether the next call answers tools, not a person.
    fn is_in_tool_loop(&self) -> bool {
        let newest = self.history().last().and_then(|&id| self.log().item(id));
        newest.is_some_and(|item| item.role == Role::Tool || !item.answers.is_empty())
    }

    /// The size of the next request, as the policy measures it.
    pub fn figure(&self) -> (Tokens, FigureSource) {
        let count = self.budget().fixed + self.context().tokens();
        let Some(measured) = self.measured_now() else { return (count, FigureSource::Count) };
        let usage = Tokens(measured.anchor.known());
        let slots = self.context().slots().len();
        let since = self.context().tokens_between(measured.slots.min(slots), slots);
        match self.setup().policy.trigger.measure {
            MeasureBy::Count => (count, FigureSource::Count),
            MeasureBy::Usage => (usage, FigureSource::Usage),
            MeasureBy::Hybrid => (usage + since, FigureSource::Hybrid),
            MeasureBy::Floor if usage + since >= count => (usage + since, FigureSource::Hybrid),
            MeasureBy::Floor => (count, FigureSource::Count),
        }
    }

    /// What the provider said, where it is of this epoch and to be believed.
    pub(crate) fn measured_now(&self) -> Option<Measured> {
        self.measured().filter(|measured| measured.anchor.epoch == self.epoch())
    }

    /// Takes up what the provider said of the call whose reply was just taken up. Usage of summary
    /// calls has no place here.
    pub fn record_usage(&mut self, usage: Usage) {
        let count = self.budget().fixed + self.context().tokens();
        let known = usage.prompt + usage.output;
        let is_odd =
            known > TRUST_TOKENS_MIN && (known > count.0 * TRUST_FACTOR || known * TRUST_FACTOR < count.0);
        if usage.is_zero() || (is_odd && self.setup().policy.trigger.measure == MeasureBy::Floor) {
            return;
        }
        let percent = (known * 100).checked_div(count.0).unwrap_or(0).min(u64::from(u32::MAX)) as u32;
        let anchor = Anchor { epoch: self.epoch(), usage, dropped: 0 };
        self.set_measured(Some(Measured { anchor, slots: self.context().slots().len(), percent }));
    }

    /// The stretch of the session whose prefix only grows.
    pub fn epoch(&self) -> Epoch {
        Epoch(self.rebuilds())
    }
}

/// Whether a policy looks at this point at all.
fn is_looked_at(points: &CheckPoints, point: Point, in_tool_loop: bool) -> bool {
    match point {
        Point::Call if in_tool_loop => points.in_tool_loop,
        Point::Call => points.before_call,
        Point::TurnEnd => points.after_turn,
        Point::Input(_) => points.before_input,
        Point::Idle(seconds) => points.idle_seconds.is_some_and(|least| seconds >= least),
    }
}
