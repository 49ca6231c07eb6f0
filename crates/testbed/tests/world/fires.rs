//! What must fire fires: a compaction where a request is over the trigger and there is something to free, a warning, a
//! hook, a breaker, a summary made beforehand, the word that something was taken back. Each is worked out here from the
//! settings and from what was seen before, apart from how the engine does it.

use crate::World;
use epitome_core::policy::{AlwaysKeep, Newest, OutputCount, TriggerMode};
use epitome_core::{EntryId, Item, Mark, Outcome, Record, Role, Tokens, Trigger};
use epitome_engine::{Event, LookPoint, Step};
use std::collections::HashSet;
use std::sync::PoisonError;

/// What comes of rounding between two counts.
const ROUNDING: Tokens = Tokens(2);
/// A history of which so little is free to go is left to the policy.
const FREEABLE_MESSAGES: usize = 2;

/// What is known before something is done at a point.
pub(crate) struct Outlook {
    is_over: bool,
    is_beyond_window: bool,
    is_freeable: bool,
    is_open: bool,
    has_ready: bool,
    is_warning_due: bool,
    /// Whether a summary is under way: whoever makes it has begun to ask.
    is_running: bool,
    /// How often the summariser was asked.
    asked: usize,
    /// What the hook was asked and told of.
    told: (usize, usize),
}

impl World {
    pub(crate) fn outlook(&self, point: LookPoint) -> Outlook {
        let session = &self.bed.session;
        let (policy, budget, (figure, _)) = (session.policy(), session.budget(), session.figure());
        let pending = match point {
            LookPoint::Input(tokens) => tokens,
            LookPoint::Call | LookPoint::TurnEnd | LookPoint::Idle(_) => Tokens::ZERO,
        };
        let is_auto = policy.mode == TriggerMode::Auto;
        // A figure is the provider's, what is to come is counted by us.
        let request = figure + budget.scale.theirs(pending);
        let is_looked_at = self.is_looked_at(point);
        Outlook {
            is_over: is_auto
                && is_looked_at
                && request > self.line().max(budget.request(Tokens::ZERO)) + ROUNDING,
            is_beyond_window: is_auto && is_looked_at && request > budget.window + ROUNDING,
            is_freeable: self.is_freeable(),
            is_open: session.breaker().is_open(),
            has_ready: session.has_ready(),
            is_running: self.background.is_running(),
            is_warning_due: policy.trigger.approaching.is_some_and(|at| request >= at.of(budget.window)),
            asked: self.model.as_ref().map_or(0, |model| model.asked()),
            told: self.hook.as_ref().map_or((0, 0), |hook| (hook.told().len(), hook.records().len())),
        }
    }

    fn is_looked_at(&self, point: LookPoint) -> bool {
        let (session, points) = (&self.bed.session, &self.bed.session.policy().check);
        let newest = session.history().last().and_then(|&id| session.log().item(id));
        let is_answer = newest.is_some_and(|item| item.role == Role::Tool || !item.answers.is_empty());
        match point {
            LookPoint::Call if is_answer => points.in_tool_loop,
            LookPoint::Call => points.before_call,
            LookPoint::TurnEnd => points.after_turn,
            LookPoint::Input(_) => points.before_input,
            LookPoint::Idle(_) => false,
        }
    }

    /// The request past which the policy wants a compaction, whatever else it says.
    fn line(&self) -> Tokens {
        let (session, budget) = (&self.bed.session, self.bed.session.budget());
        let rule = &session.policy().trigger;
        let at = if rule.yields { budget.window } else { rule.at.of(budget.window) };
        let wanted = rule.absolute.unwrap_or(at);
        match rule.output {
            OutputCount::None => wanted.min(budget.window),
            OutputCount::Reserved => wanted.less(budget.reserve),
            OutputCount::Capped(most) => wanted.less(budget.reserve.min(most)),
            // Large fixed parts move the point, though never into the answer's room.
            OutputCount::Room => {
                let most = budget.window.less(budget.reserve);
                let is_plain = wanted.less(budget.fixed) >= most.less(budget.fixed).share(7, 8);
                if is_plain { wanted.min(most) } else { most }
            }
        }
    }

    /// Whether messages that nothing protects take an eighth of the window: neither among the newest, nor instructions,
    /// pinned, nor what a person said first or last.
    fn is_freeable(&self) -> bool {
        let (session, budget) = (&self.bed.session, self.bed.session.budget());
        let context = session.context();
        let (keep, count) = (&session.policy().keep, context.slots().len());
        // The newest message stands outside the target, which the rest of the newest part and a summary may fill.
        let newest = context.tokens_between(count.saturating_sub(1), count);
        let tail = budget.room().share(1, 2).max(newest + budget.target(session.policy()));
        let is_tail = |at: usize| match keep.newest {
            Newest::Percent(_) => context.tokens_between(at, count) <= tail,
            Newest::Messages(most) => count - at <= most as usize + 8,
            Newest::Nothing => count - at <= 8,
            Newest::TokensAtLeast(_)
            | Newest::TokensReached(_)
            | Newest::TokensAtMost(_)
            | Newest::Turns(_) => true,
        };
        let pins: HashSet<EntryId> = context.pins().iter().copied().collect();
        let is_said = |id: &&EntryId| session.log().item(**id).is_some_and(Item::opens_turn);
        let first = session.history().iter().find(is_said);
        let last = session.history().iter().rev().find(is_said);
        let mut freeable = (0, Tokens::ZERO);
        for (at, slot) in context.slots().iter().enumerate() {
            let id = slot.id();
            let is_message = session.log().item(id).is_some_and(|item| item.role != Role::System);
            let is_free = is_message && !pins.contains(&id) && Some(&id) != first && Some(&id) != last;
            if is_free && !is_tail(at) {
                freeable = (freeable.0 + 1, freeable.1 + context.tokens_between(at, at + 1));
            }
        }
        let keeps_input = keep.always.contains(&AlwaysKeep::Input) || !keep.matching.is_empty();
        !keeps_input && freeable.0 >= FREEABLE_MESSAGES && freeable.1 >= budget.window.share(1, 8)
    }

    /// What had to come of a look at some point.
    pub(crate) fn check_fired(&mut self, before: &Outlook, step: &Step) {
        self.check_compacted(before, step.record.as_deref());
        self.check_asked(before, step.record.as_deref());
        self.check_hook(before, step);
        self.check_beforehand(before, step);
    }

    fn check_compacted(&mut self, before: &Outlook, record: Option<&Record>) {
        let (seed, session) = (self.seed, &self.bed.session);
        let is_stopped = session.breaker().is_open();
        let must_fire = if is_stopped { before.is_beyond_window } else { before.is_over };
        assert!(!must_fire || record.is_some(), "seed {seed}: over {}, and nothing is done", self.line());
        // Who asks for one is told where nothing is new since the last.
        let is_judged =
            |record: &&Record| before.is_over && before.is_freeable && record.trigger != Trigger::Requested;
        let Some(record) = record.filter(is_judged) else { return };
        match &record.outcome {
            Outcome::Compacted(_) | Outcome::Applied { .. } | Outcome::Pruned(_) => {
                self.seen.push("over the trigger, and compacted");
            }
            Outcome::Impossible(_) | Outcome::Vetoed { .. } | Outcome::Abandoned { .. } => {}
            Outcome::Noop { .. } | Outcome::Recorded => {
                panic!("seed {seed}: there is room to free: {record:?}")
            }
        }
    }

    /// With an open breaker nobody is asked; what is asked of a model fits it.
    fn check_asked(&mut self, before: &Outlook, record: Option<&Record>) {
        let asked = self.model.as_ref().map_or(0, |model| model.asked());
        let told = self.hook.as_ref().map_or(0, |hook| hook.told().len());
        // What a person asks for is their word.
        let is_asked_for = record.is_some_and(|record| record.trigger == Trigger::Requested);
        if before.is_open && !before.is_running && !is_asked_for {
            assert_eq!(
                (asked, told),
                (before.asked, before.told.0),
                "seed {}: the breaker is open",
                self.seed
            );
            if record.is_some() {
                self.seen.push("nobody asked with an open breaker");
            }
        }
        self.check_requests(before.asked);
        self.check_breaker();
    }

    /// A hook is asked before each compaction that may ask, told of each, and warned.
    fn check_hook(&mut self, before: &Outlook, step: &Step) {
        let Some(hook) = &self.hook else { return };
        let (seed, (asked, told)) = (self.seed, (hook.told().len(), hook.records().len()));
        let is_open = before.is_open || self.bed.session.breaker().is_open();
        let is_done = step.record.as_ref().is_some_and(|record| match record.outcome {
            Outcome::Compacted(_) | Outcome::Vetoed { .. } => true,
            Outcome::Pruned(_)
            | Outcome::Applied { .. }
            | Outcome::Noop { .. }
            | Outcome::Recorded
            | Outcome::Abandoned { .. }
            | Outcome::Impossible(_) => false,
        });
        if is_done {
            assert!(told > before.told.1, "seed {seed}: the hook was not told: {:?}", step.record);
            let is_asked = asked > before.told.0 || fates(step).contains(&"swapped in");
            assert!(is_asked || is_open, "seed {seed}: the hook was not asked: {:?}", step.record);
        }
        let warned = *hook.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if before.is_warning_due && step.record.is_none() {
            assert!(warned > 0, "seed {seed}: the hook was not warned");
            self.seen.push("warned");
        }
    }

    /// A breaker is open after so many failures in a row, and closed after a reset, by the log alone.
    pub(crate) fn check_breaker(&mut self) {
        let session = &self.bed.session;
        let mut marks = session.log().marks_on(&session.log().path_of(session.leaf()));
        marks.sort_unstable();
        let marks: Vec<&Mark> = marks.into_iter().filter_map(|id| session.log().mark_of(id)).collect();
        let is_end = |mark: &&&Mark| {
            matches!(
                mark,
                Mark::Compaction { .. }
                    | Mark::Apply { .. }
                    | Mark::Undo { .. }
                    | Mark::Redo { .. }
                    | Mark::Reset
            )
        };
        let failures =
            marks.iter().rev().take_while(|mark| !is_end(mark)).filter(|mark| matches!(mark, Mark::Failure));
        let failures = failures.count();
        let most = session.policy().guard.failures_max.map(|most| most as usize);
        let is_open = session.breaker().is_open();
        let is_stopping = |mark: &&&Mark| matches!(mark, Mark::Failure | Mark::Refill);
        let newest = marks.iter().rev().find(|mark| is_end(mark) || is_stopping(mark));
        let seed = self.seed;
        if most.is_some_and(|most| failures >= most) {
            assert!(is_open, "seed {seed}: {failures} failures, and the breaker is closed");
            self.seen.push("breaker opened");
        }
        if matches!(newest, Some(Mark::Reset | Mark::Undo { .. } | Mark::Redo { .. })) {
            assert!(!is_open, "seed {seed}: the breaker stays open");
        }
    }

    /// What was made beforehand is used when the trigger fires, and nobody is asked again; or it is said why not.
    fn check_beforehand(&mut self, before: &Outlook, step: &Step) {
        let fates = fates(step);
        let asked = self.model.as_ref().map_or(0, |model| model.asked());
        let is_made =
            step.record.as_ref().is_some_and(|record| matches!(record.outcome, Outcome::Compacted(_)));
        if before.has_ready && is_made {
            assert!(!fates.is_empty(), "seed {}: what was ready is forgotten", self.seed);
        }
        for fate in fates {
            self.seen.push(match fate {
                "swapped in" => {
                    let is_asked = before.has_ready && asked > before.asked;
                    assert!(is_made && !is_asked, "seed {}: {:?}", self.seed, step.record);
                    "made beforehand and swapped in"
                }
                "came to nothing" => "made beforehand and lost",
                _ => "made beforehand and thrown away",
            });
        }
    }

    /// What happened is told, an undo among it, and a compaction once.
    pub(crate) fn hear(&mut self, step: &Step) {
        let is_told = |of: &EntryId| step.events.contains(&Event::Undone { of: *of });
        assert!(self.untold.iter().all(is_told), "seed {}: {:?} were undone unsaid", self.seed, self.untold);
        self.untold.clear();
        let completed = step.events.iter().filter(|event| matches!(event, Event::Completed { .. })).count();
        let is_made =
            |record: &Record| matches!(record.outcome, Outcome::Compacted(_) | Outcome::Applied { .. });
        let is_any = step.record.as_deref().is_some_and(is_made);
        assert!(!is_any || completed > 0, "seed {}: {:?} was not told", self.seed, step.record);
    }
}

/// What became of summaries made beforehand.
fn fates(step: &Step) -> Vec<&str> {
    let mut found = Vec::new();
    for event in &step.events {
        if let Event::Speculated { fate } = event {
            found.push(fate.as_str());
        }
    }
    found
}
