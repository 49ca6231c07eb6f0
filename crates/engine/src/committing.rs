//! Keeping what came of a plan: the entry is appended, and what happened is told.

use crate::breaker::{FAILED, IMPOSSIBLE};
use crate::event::Event;
use crate::report::{Happened, Report};
use crate::restore::Restored;
use crate::session::{EngineError, Session};
use epitome_core::{Compaction, Entry, EntryId, Floor, Outcome, Record, Strategy, Tokens, Trail, Trigger};

/// What is brought back leaves at least this part of the way to the next compaction free.
const RESTORE_SHARE: (u64, u64) = (4, 5);

impl Session {
    /// Appends what came of it, and says so.
    pub(crate) fn commit(
        &mut self,
        outcome: Outcome,
        tokens_before: Tokens,
        trigger: Trigger,
    ) -> Result<Report, EngineError> {
        match outcome {
            Outcome::Compacted { mut compaction, record } => {
                let restored = self.bring_back(&mut compaction, &record);
                let turns = self.turns_of(&record.superseded);
                let entry = self.append(Entry::Compaction(Box::new(compaction)))?;
                self.state.is_warned = false;
                self.state.ready = None;
                self.state.wasted = 0;
                let report = self.completed(entry, Happened::Compacted, *record, tokens_before, trigger);
                self.held_to_progress(Report { restored, turns, ..report })
            }
            Outcome::Edited { edit, record } => {
                let entry = self.append(Entry::Edit(edit))?;
                Ok(self.completed(entry, Happened::Pruned, *record, tokens_before, trigger))
            }
            Outcome::Unneeded { why } => {
                let strategy = self.setup().policy.strategy.first().copied().unwrap_or(Strategy::Drop);
                self.state.events.push(Event::Noop { why: why.into(), strategy });
                let report = self.report(Happened::Noop, None, tokens_before, trigger);
                Ok(Report { why: Some(why.into()), ..report })
            }
            Outcome::Vetoed { by, why, trail } => {
                let why = format!("{by} said no: {why}");
                self.state
                    .events
                    .push(Event::Failed { why: why.clone(), in_a_row: self.breaker().failures() });
                Ok(self.unmade(Happened::Vetoed, why, *trail, tokens_before, trigger))
            }
            Outcome::Abandoned { why, fallbacks, trail } => {
                self.append(Entry::Note { kind: FAILED.into() })?;
                self.state
                    .events
                    .push(Event::Failed { why: why.clone(), in_a_row: self.breaker().failures() });
                self.tell_stopped();
                let report = self.unmade(Happened::Abandoned, why, *trail, tokens_before, trigger);
                Ok(Report { tried: fallbacks, ..report })
            }
            Outcome::Impossible(floor) => self.impossible(floor),
        }
    }

    /// Puts what the policy wants back in view behind the summary, as far as there is room.
    fn bring_back(&self, compaction: &mut Compaction, record: &Record) -> Option<Restored> {
        let summary = compaction.summary.as_mut()?;
        let policy = &self.setup().policy;
        let limit = self.budget().limit(policy).less(self.budget().fixed).min(self.budget().room());
        let room = limit.less(record.tokens_after).share(RESTORE_SHARE.0, RESTORE_SHARE.1);
        let (text, restored) = self.restore(&record.ledger, room)?;
        summary.text = format!("{}{text}", summary.text).into();
        summary.tokens = self.setup().measure.text(&summary.text) + self.setup().measure.framing();
        Some(restored)
    }

    /// How many turns begin among these messages.
    fn turns_of(&self, ids: &[EntryId]) -> usize {
        ids.iter().filter(|&&id| self.log().item(id).is_some_and(epitome_core::Item::opens_turn)).count()
    }

    fn impossible(&mut self, floor: Floor) -> Result<Report, EngineError> {
        let least = floor.fixed + floor.reserve + floor.kept;
        if !self.breaker().is_floor(least) {
            self.append(Entry::Note { kind: format!("{IMPOSSIBLE}{}", least.0).into() })?;
            self.state
                .events
                .push(Event::Failed { why: floor.to_string(), in_a_row: self.breaker().failures() });
        }
        Err(EngineError::CannotFit(Box::new(floor)))
    }

    fn completed(
        &mut self,
        entry: EntryId,
        outcome: Happened,
        record: Record,
        tokens_before: Tokens,
        trigger: Trigger,
    ) -> Report {
        let (strategy, messages) = (record.strategy, record.pruned.len());
        let fallbacks = record.fallbacks.clone();
        let report = self.report(outcome, Some(record), tokens_before, trigger);
        let report = Report { entry: Some(entry), ..report };
        let freed = report.tokens_before.less(report.tokens_after);
        self.state.events.push(match (outcome, strategy) {
            (Happened::Pruned, Strategy::Trim) => Event::Trimmed { entry, messages, freed },
            (Happened::Pruned, _) => Event::Pruned { entry, messages, freed },
            (
                Happened::Compacted
                | Happened::Noop
                | Happened::Recorded
                | Happened::Vetoed
                | Happened::Abandoned,
                _,
            ) => Event::Completed {
                entry,
                outcome,
                strategy,
                fallbacks,
                tokens_before: report.tokens_before,
                tokens_after: report.tokens_after,
            },
        });
        self.tell_stopped();
        report
    }

    pub(crate) fn tell_stopped(&mut self) {
        if let Some(why) = self.breaker().why(&self.setup().policy.guard) {
            self.state.events.push(Event::Stopped { why });
        }
    }

    fn unmade(
        &self,
        outcome: Happened,
        why: String,
        trail: Trail,
        tokens_before: Tokens,
        trigger: Trigger,
    ) -> Report {
        let cost = trail.spent.dollars;
        let report = self.report(outcome, None, tokens_before, trigger);
        Report { why: Some(why), cost, spent: trail.spent, hooks: trail.hooks, ..report }
    }
}
