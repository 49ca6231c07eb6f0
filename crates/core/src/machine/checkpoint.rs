//! The question for an operator, who approves, edits or rejects a compaction, or is not there in
//! time. How long they have is the engine's to measure.

use super::{EmbeddedQuestion, Next};
use crate::plan::Plan;
use crate::record::Outcome;
use crate::verdict::Decision;
use crate::{ArchiveError, EntryId, Strategy, Tokens};
use serde::{Deserialize, Serialize};

/// A question for an operator.
pub struct Checkpoint<'a> {
    plan: Plan<'a>,
}

/// What an operator is shown, and what is stored while the session is paused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointView {
    /// The whole request now.
    pub tokens: Tokens,
    /// What the history would come down to.
    pub target: Tokens,
    /// Messages that would leave view.
    pub leaving: Vec<EntryId>,
    /// What would be done on approval.
    pub then: Strategy,
}

impl<'a> Checkpoint<'a> {
    pub(super) fn new(plan: Plan<'a>) -> Self {
        Self { plan }
    }

    /// What the operator is shown.
    pub fn pending(&self) -> CheckpointView {
        let plan = &self.plan;
        CheckpointView {
            tokens: plan.job.budget.request(plan.job.context.tokens()),
            target: plan.target(),
            leaving: plan.leaving(),
            then: plan.first_cut(),
        }
    }

    /// Takes the decision.
    pub fn answer(self, decision: Decision) -> Result<Next<'a>, ArchiveError> {
        let mut plan = self.plan;
        match decision {
            Decision::Approve => plan.try_next(),
            Decision::Edit { summary } => {
                if plan.cut_for == Some(Strategy::Drop) {
                    // What was only to be dropped leaves no room for a summary.
                    plan.cut(Strategy::Summarize, 0)?;
                }
                EmbeddedQuestion::new(plan)?.take_supplied("the operator", &summary)
            }
            Decision::Reject => {
                let (by, why) = ("the operator".into(), "rejected at the checkpoint".into());
                Ok(Next::Done(plan.conclude(Outcome::Vetoed { by, why })))
            }
            Decision::TimedOut if plan.job.circumstances.must_ask => {
                let why =
                    "nobody gave their word in time, and without it nothing is compacted (`mode = \"ask\"`)";
                Ok(Next::Done(plan.conclude(Outcome::Noop { why: why.into() })))
            }
            Decision::TimedOut => {
                plan.give_up(Strategy::Checkpoint, "nobody decided in time");
                plan.try_next()
            }
        }
    }
}
