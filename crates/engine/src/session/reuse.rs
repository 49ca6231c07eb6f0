//! Compactions and edits made on other paths through the same messages: which of them this path can use, and using one.
//! Which prefix a compaction covers is said by its mark.

use super::{PlanOptions, Session};
use crate::check::LookPoint;
use crate::error::EngineError;
use epitome_core::{EntryId, Form, Mark, Outcome, Plan, PlanDraft, Prompts, Record, Trigger};
use std::cmp::Reverse;
use std::sync::Arc;

impl Session {
    /// The last message that a compaction of the path would cover, were it made now.
    pub(crate) fn covers(&self) -> Result<Option<EntryId>, EngineError> {
        let prompts = Prompts::default();
        let asked = PlanOptions::asking_nobody(&prompts);
        Ok(match Plan::draft(self.job(Trigger::Threshold, asked))? {
            PlanDraft::Plan(plan) => plan.anchor(),
            PlanDraft::Settled(_) => None,
        })
    }

    /// The compaction made on another path that this one can use: the deepest that belongs to a prefix of this
    /// path and is not in use here, where it makes room. A client that goes back sends less than what it covers of the other:
    /// what is being worked on here may be history there.
    pub(crate) fn available(&self) -> Result<Option<EntryId>, EngineError> {
        let (log, context) = (self.log(), self.context());
        let prompts = Prompts::default();
        let asked = PlanOptions::asking_nobody(&prompts);
        let worked_on = self.job(Trigger::Threshold, asked).worked_on();
        let hides_work = |id: EntryId| {
            log.compaction(id).is_some_and(|one| worked_on.iter().any(|&message| one.hides(message)))
        };
        // What was cut out of messages behind it is told in its summary.
        let tells_of_others = |id: EntryId| {
            let is_others = |(message, form): &(EntryId, Form)| {
                form.is_cut() && self.history().binary_search(message).is_err()
            };
            log.compaction(id).is_some_and(|one| one.forms.iter().any(is_others))
        };
        let is_usable = |&(id, anchor): &(EntryId, EntryId)| {
            Some(anchor) > context.anchor()
                && !context.is_undone(id)
                && !self.is_outgrown(id)
                && self.history().binary_search(&anchor).is_ok()
                && !hides_work(id)
                && !tells_of_others(id)
        };
        let mut found: Vec<(EntryId, EntryId)> = log.compactions().filter(is_usable).collect();
        found.sort_unstable_by_key(|&(id, anchor)| Reverse((anchor, id)));
        let leaf = self.leaf();
        let Some((id, _)) = found.into_iter().find(|&(id, _)| log.can_apply(id, leaf)) else {
            return Ok(None);
        };
        let mut applied = context.clone();
        applied.apply(id, self.timeline.reader(self.lens()))?;
        Ok((applied.tokens() < context.tokens()).then_some(id))
    }

    /// Whether a compaction is due at this point, and would be with the one that can be used from another path.
    pub(crate) fn needs_compaction(&self, point: LookPoint) -> Result<bool, EngineError> {
        if !self.check_at(point).is_due() {
            return Ok(false);
        }
        let Some(of) = self.available()? else { return Ok(true) };
        let mut applied = self.clone();
        applied.apply(of, Trigger::Threshold)?;
        Ok(applied.check_at(point).is_due())
    }

    /// Uses a compaction or edit that was made on another path through the same prefix.
    pub(crate) fn apply(&mut self, of: EntryId, trigger: Trigger) -> Result<Arc<Record>, EngineError> {
        let budget = self.budget();
        let tokens_before = budget.request(self.context().tokens());
        self.mark(Mark::Apply { of })?;
        self.answer_request(trigger)?;
        let record = Arc::new(Record {
            outcome: Outcome::Applied { of },
            trigger,
            source: trigger.kind().source,
            budget,
            tokens_before,
            tokens_after: budget.request(self.context().tokens()),
            count_method: self.assembly.count_method().clone(),
            ..Record::default()
        });
        // Told by its own mark, which is the one to undo or to judge, on whichever path.
        self.compacted(of, &record)?;
        Ok(record)
    }
}
