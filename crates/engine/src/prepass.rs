//! Passes before a look at the context: repeated texts, and the bulk of old messages. Recorded,
//! announced and reversible like any compaction.

use crate::report::Report;
use crate::session::{EngineError, Session};
use crate::watch::Point;
use epitome_core::policy::{Mode, PruneWhen};
use epitome_core::{Moment, Plan, Role, Strategy, Trigger};

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
            report = self.pass(Strategy::Prune)?.or(report);
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
}
