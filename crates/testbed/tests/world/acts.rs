//! What people do to a session beside talking.

use crate::dice::Dice;
use crate::workshop::at_once;
use crate::{World, any_preset};
use epitome_core::policy::{PruneWhen, Threshold, TriggerMode};
use epitome_core::{
    Budget, CallResult, EntryId, Image, Mark, Measure, Payload, Policy, Settings, SummaryRequest, Tokens,
    Trigger,
};
use epitome_engine::{
    Assembly, Background, BoxFuture, EngineError, LookPoint, Model, Phase, SummaryModel, TurnEnd,
};
use epitome_settings::preset;
use epitome_testbed::Quarter;
use std::sync::Arc;

impl World {
    /// One of all the things that can happen between two calls.
    pub(crate) fn something_else(&mut self) {
        match self.dice.below(18) {
            0 | 1 => self.compact_by_hand(),
            2 => self.undo(),
            3 => self.redo(),
            4 => self.roll_back(),
            5 | 6 => self.fork(),
            7 => self.go_to_another_path(),
            8 => self.switch_policy(),
            9 | 10 => self.switch_model(),
            11 => self.cancel(),
            12 => self.reopen(),
            13 => self.pin(),
            14 => self.request_compaction(),
            15 => self.close_breaker(),
            16 => {
                self.find_summariser();
                self.seen.push("another summariser");
            }
            _ => match self.dice.below(2) {
                0 => self.rest(),
                _ => self.interrupted_exchange(),
            },
        }
    }

    fn compact_by_hand(&mut self) {
        if self.bed.session.phase() == Phase::Turn {
            let refused = self.bed.try_compact(Trigger::Manual);
            assert!(matches!(refused, Err(EngineError::Busy(_))), "seed {}: {refused:?}", self.seed);
            return self.seen.push("refused in a turn");
        }
        let was_open = self.bed.session.breaker().is_open();
        let step = self.patiently(|_, driver, session, _| Box::pin(driver.compact(session, Trigger::Manual)));
        self.look_at(&step);
        let is_made = step.record.is_some_and(|record| record.outcome.is_rebuilt());
        let is_open = self.bed.session.breaker().is_open();
        if was_open && is_made && !is_open {
            self.seen.push("breaker closed");
        }
    }

    /// Somebody asks for a compaction at the end of the turn.
    fn request_compaction(&mut self) {
        self.bed.session.begin_turn();
        self.bed.session.request_compaction().expect("all is in memory");
        let step = self.end_turn(TurnEnd::Good);
        if self.bed.session.policy().mode != TriggerMode::Off {
            let trigger = step.record.as_ref().map(|record| record.trigger);
            assert_eq!(trigger, Some(Trigger::Requested), "seed {}", self.seed);
            self.seen.push("asked for at the end of a turn");
        }
    }

    /// Somebody says that automatic compaction may run again.
    fn close_breaker(&mut self) {
        let was_open = self.bed.session.breaker().is_open();
        self.bed.session.reset_breaker().expect("all is in memory");
        assert!(!self.bed.session.breaker().is_open(), "seed {}", self.seed);
        if was_open {
            self.seen.push("breaker closed");
        }
    }

    /// Nobody says a word for a day.
    fn rest(&mut self) {
        self.prepare_at(LookPoint::Idle(86_400));
        self.seen.push("idle");
    }

    /// The compactions and edits there are, on this path or another.
    fn any_pass(&mut self) -> Option<EntryId> {
        let log = self.bed.session.log();
        let is_pass =
            |id: &EntryId| matches!(log.mark_of(*id), Some(Mark::Compaction { .. } | Mark::Edit { .. }));
        let passes: Vec<EntryId> = log.iter().map(|(id, _)| id).filter(is_pass).collect();
        passes.get(self.dice.below(passes.len() as u64) as usize).copied()
    }

    fn undo(&mut self) {
        let Some(of) = self.any_pass() else { return };
        let (log, leaf) = (self.bed.session.log(), self.bed.session.leaf());
        let is_held = log.marks_on(&log.path_of(leaf)).contains(&of) || log.can_apply(of, leaf);
        if self.bed.session.context().is_undone(of) {
            let refused = self.bed.session.undo(of);
            assert!(matches!(refused, Err(EngineError::Unchanged { .. })), "seed {}: {refused:?}", self.seed);
            self.seen.push("no undo of what is undone");
            return;
        }
        let refused = self.bed.session.undo(of);
        assert_eq!(refused.is_ok(), is_held, "seed {}: {refused:?}", self.seed);
        assert_eq!(self.bed.session.context().is_undone(of), is_held, "seed {}", self.seed);
        let shown = self.bed.session.context().summary(self.bed.session.log()).map(|(id, _)| id);
        assert!(!is_held || shown != Some(of), "seed {}: {of} is undone and shown", self.seed);
        self.untold.extend(is_held.then_some(of));
        self.seen.push(if is_held { "undone" } else { "no undo of what lies elsewhere" });
    }

    fn redo(&mut self) {
        let is_undone = |of: &EntryId| self.bed.session.context().is_undone(*of);
        let undone = self.bed.session.log().iter().map(|(id, _)| id).find(is_undone);
        let Some(of) = undone else { return };
        self.bed.session.redo(of).expect("it is a pass");
        self.seen.push("redone");
    }

    /// Goes back so many messages: at most, to the first.
    fn go_back(&mut self, most: u64) {
        let history = self.bed.session.history();
        let (newest, count) = (history.last().copied(), history.len());
        let back = 1 + self.dice.below(most) as usize;
        let target = self.bed.session.history()[count.saturating_sub(1 + back).min(count - 1)];
        self.left.extend(newest);
        self.bed.session.move_to(Some(target)).expect("all is in memory");
    }

    /// Everything from some message on is as if it had never been said.
    fn roll_back(&mut self) {
        self.go_back(12);
        self.seen.push("rolled back");
    }

    /// The last thing said is said again, in other words.
    fn fork(&mut self) {
        self.go_back(3);
        self.seen.push("forked");
        self.say_something();
        self.send();
    }

    fn go_to_another_path(&mut self) {
        let Some(&leaf) = self.left.get(self.dice.below(self.left.len() as u64) as usize) else { return };
        self.left.extend(self.bed.session.leaf());
        self.bed.session.move_to(Some(leaf)).expect("all is in memory");
        self.seen.push("back on another path");
    }

    fn switch_policy(&mut self) {
        let name = any_preset(&mut self.dice);
        let mut settings = preset::settings(name).expect("it is built in");
        // A bed counts in its own way, whatever the preset's.
        settings.count = self.bed.session.policy().count;
        fit_in(&mut settings, &mut self.dice);
        let policy = Policy::try_from(settings).expect("the settings are sound");
        self.bed.session.set_policy(Arc::new(policy)).expect("the window is stated");
        self.seen.push("another policy");
    }

    /// The session goes on with another model: another window, and at times another way of counting.
    fn switch_model(&mut self) {
        let now = self.bed.session.assembly();
        let mut budget: Budget = self.bed.session.budget();
        budget.window = Tokens(2_000 + self.dice.below(14_000)).max(budget.fixed);
        let (policy, mut measure) = (now.policy().clone(), now.measure().clone());
        let mut method = now.count_method().to_string();
        if self.dice.below(2) == 0 {
            (measure, method) = any_count(&mut self.dice);
            self.seen.push("another count");
        }
        let assembly = Assembly::of_parts(policy, measure, &method, budget);
        self.bed.session.set_assembly(assembly).expect("all is in memory");
        self.seen.push("another model");
    }

    /// Someone stops a compaction while its summary is being written.
    fn cancel(&mut self) {
        let before = (self.bed.session.phase(), self.bed.session.log().len(), self.bed.in_view());
        let mut driver = self.bed.driver.clone();
        driver.ports_mut().model = Some(SummaryModel::apart(Arc::new(Silent)));
        match at_once(Box::pin(driver.compact(&mut self.bed.session, Trigger::Threshold))) {
            Some(step) => self.look_at(&step.expect("all is in memory")),
            None => {
                let after = (self.bed.session.phase(), self.bed.session.log().len(), self.bed.in_view());
                assert_eq!(after, before, "seed {}", self.seed);
                self.seen.push("cancelled");
            }
        }
    }

    /// The program ends and begins again.
    fn reopen(&mut self) {
        self.bed.session = self.bed.reopened();
        self.background = Background::default();
        self.untold.clear();
        self.seen.push("reopened");
    }

    fn pin(&mut self) {
        let history = self.bed.session.history();
        let of = history[self.dice.below(history.len() as u64) as usize];
        if self.bed.session.context().pins().contains(&of) {
            self.bed.session.unpin(of).expect("it is on the path");
        } else {
            self.bed.session.pin(of).expect("it is on the path");
            self.seen.push("pinned");
        }
    }
}

/// Settings of any preset, made fit for this world: half of the time each call is looked at, what large windows leave free
/// is not all of a small one, there are passes in windows of any size, and summaries made beforehand.
pub(crate) fn fit_in(settings: &mut Settings, dice: &mut Dice) {
    if dice.below(2) == 0 {
        (settings.check.before_call, settings.check.in_tool_loop) = (true, true);
    }
    settings.speculate.enabled = dice.below(2) == 0;
    if matches!(settings.trigger.at, Threshold::Remaining(_)) && dice.below(4) > 0 {
        settings.trigger.at = "80%".parse().expect("a threshold");
    }
    if dice.below(4) == 0 {
        settings.prune.when = PruneWhen::Check;
        settings.prune.protect = Some("20%".parse().expect("a threshold"));
        settings.prune.saving_min = Tokens(50);
    }
}

/// One of the ways of counting there are.
fn any_count(dice: &mut Dice) -> (Arc<dyn Measure>, String) {
    match dice.below(2) {
        0 => (Arc::new(Quarter), "a quarter of the bytes".to_owned()),
        _ => (Arc::new(Third), "a third of the bytes".to_owned()),
    }
}

/// A token for every three bytes begun, and four for the frame of a message.
struct Third;

impl Measure for Third {
    fn text(&self, text: &str) -> Tokens {
        Tokens(text.len().div_ceil(3) as u64)
    }

    fn image(&self, _: &Image) -> Tokens {
        Tokens(800)
    }

    fn payload(&self, payload: &Payload) -> Tokens {
        Quarter.payload(payload)
    }

    fn framing(&self) -> Tokens {
        Tokens(4)
    }
}

/// A model that never answers.
struct Silent;

impl Model for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    fn window(&self) -> Tokens {
        Tokens(100_000)
    }

    fn output_max(&self) -> Tokens {
        Tokens(8_000)
    }

    fn summarize(&self, _: SummaryRequest) -> BoxFuture<'_, CallResult> {
        Box::pin(std::future::pending())
    }
}
