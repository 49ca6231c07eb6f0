//! Taking up what came of a plan: its mark is appended, what happened is told, and where a compaction came to too little
//! the work is held. What counts as too much in a row is the breaker's.

use super::Session;
use crate::error::EngineError;
use crate::event::Event;
use epitome_core::policy::Resume;
use epitome_core::{Conclusion, Effect, EntryId, Mark, Outcome, Record, Role, Strategy, Tokens, Trigger};
use std::sync::Arc;

impl Session {
    /// Says in the record of a compaction that came to too little that the work waits.
    pub(crate) fn judge_progress(&self, Conclusion { effect, record }: &mut Conclusion) {
        if matches!(effect, Effect::Compact(_)) && self.progress_missed(record).is_some() {
            record.resume = Resume::Wait;
        }
    }

    /// Takes up what came of a plan: the mark is appended, and what happened is told.
    pub(crate) fn conclude(&mut self, conclusion: Conclusion) -> Result<Arc<Record>, EngineError> {
        let Conclusion { effect, record } = conclusion;
        let record: Arc<Record> = Arc::new(*record);
        self.answer_request(record.trigger)?;
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

    /// What was asked for at the end of a turn is done. One that is cancelled or fails is still asked for.
    pub(super) fn answer_request(&mut self, trigger: Trigger) -> Result<(), EngineError> {
        if let Some(request) = self.timeline.request().filter(|_| trigger == Trigger::Requested) {
            // Where it was asked for, so that it is answered on every path that was asked.
            self.mark_at(self.log().parent(request), Mark::Request { is_open: false })?;
        }
        Ok(())
    }

    pub(super) fn compacted(&mut self, entry: EntryId, record: &Arc<Record>) -> Result<(), EngineError> {
        self.drop_outdated();
        let state = &mut self.state;
        // A client that changes its last message puts the same one to use at every request.
        if !matches!(record.outcome, Outcome::Applied { .. }) {
            state.wasted = 0;
        }
        (state.is_warned, state.is_reminded, state.is_refused) = (false, false, false);
        state.is_downshift = false;
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
                let was_given_up = |strategy: &Strategy| {
                    record.fallbacks.iter().any(|fallback| fallback.strategy == *strategy)
                };
                let mut chain = self.policy().strategy.iter().copied();
                let strategy = chain.find(|strategy| !was_given_up(strategy)).unwrap_or(Strategy::Drop);
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
    pub(crate) fn newest_answered(&self) -> Option<EntryId> {
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
        let limit = self.budget().trigger_point(self.policy());
        let most = self.policy().guard.progress.map(|share| share.of(limit))?;
        (record.tokens_after > most && record.trigger.kind().must_progress).then_some(most)
    }
}
