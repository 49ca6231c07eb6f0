//! Passes before a look at the context: repeated texts, and the bulk of old messages. Recorded,
//! announced and reversible like any compaction.

use crate::event::Event;
use crate::report::Report;
use crate::session::{EngineError, Session};
use crate::watch::Point;
use epitome_core::policy::{Mode, PruneWhen};
use epitome_core::{Moment, Outcome, Plan, Role, Strategy, Trigger};

impl Session {
    /// Runs the passes that are due at `point`; the report of the last that did anything.
    pub(crate) async fn prepass(&mut self, point: Point) -> Result<Option<Report>, EngineError> {
        let mut report = None;
        if self.setup().policy.mode == Mode::Off {
            return Ok(report);
        }
        if self.wants_trim() {
            report = self.pass(Strategy::Trim)?.or(report);
        }
        if self.wants_prune(point) {
            let pruned = self.pass(Strategy::Prune)?;
            if pruned.is_none() {
                self.tell_deferred()?;
            }
            report = pruned.or(report);
        }
        Ok(report)
    }

    fn wants_trim(&self) -> bool {
        let rule = &self.setup().policy.trim;
        let limit = rule.absolute.unwrap_or_else(|| rule.at.of(self.budget().window));
        rule.enabled && self.figure().0 >= limit
    }

    fn wants_prune(&self, point: Point) -> bool {
        match self.setup().policy.prune.when {
            PruneWhen::Never | PruneWhen::Compaction => false,
            PruneWhen::Check => true,
            PruneWhen::ToolRound => {
                let newest = self.history().last().and_then(|&id| self.log().item(id));
                point == Point::Call
                    && newest.is_some_and(|item| item.role == Role::Tool || !item.answers.is_empty())
            }
        }
    }

    /// One pass over the context.
    fn pass(&mut self, strategy: Strategy) -> Result<Option<Report>, EngineError> {
        let tokens_before = self.context().tokens();
        let moment = Moment { idle_minutes: self.idle_minutes(), ..Moment::default() };
        let Some(outcome) = Plan::edit_only(self.job(Trigger::Threshold, moment), strategy)? else {
            return Ok(None);
        };
        self.commit(outcome, tokens_before, Trigger::Threshold).map(Some)
    }

    /// Says that pruning is put off until the provider's cache is cold: once, until the context is rebuilt.
    fn tell_deferred(&mut self) -> Result<(), EngineError> {
        let rebuilds = self.rebuilds();
        let Some(minutes) = self.setup().policy.prune.cache_cold_minutes else { return Ok(()) };
        if self.state.deferred_at == Some(rebuilds) {
            return Ok(());
        }
        let cold = Moment { idle_minutes: Some(minutes), ..Moment::default() };
        let made = Plan::edit_only(self.job(Trigger::Threshold, cold), Strategy::Prune)?;
        if let Some(Outcome::Edited { record, .. }) = made {
            let freed = record.tokens_before.less(record.tokens_after);
            let why = format!(
                "pruning would free {freed} tokens, and waits for {minutes} minutes without a word: until then the provider's cache holds what follows"
            );
            self.state.deferred_at = Some(rebuilds);
            self.state.events.push(Event::Noop { why, strategy: Strategy::Prune });
        }
        Ok(())
    }
}
