//! A compaction on trial: the same work on a copy of the session, which is then thrown away.

use crate::compacting::{Driven, Wish};
use crate::report::Report;
use crate::session::{EngineError, Session};
use epitome_core::{Answer, Decision, Outcome, Trigger};

impl Session {
    /// What a compaction would come to; a report comes of it even where there is nothing to do. Models
    /// and hooks are asked as for a real one, an operator counts as agreeing, and nobody is told of an
    /// end. The session stays as it is.
    pub async fn preview(&self, trigger: Trigger, wish: Wish) -> Result<Report, EngineError> {
        let mut copy = self.clone();
        let tokens_before = copy.context().tokens();
        copy.settle()?;
        let outcome = copy.agreed(trigger, wish).await?;
        copy.commit(outcome, tokens_before, trigger)
    }

    /// The outcome where an operator agrees to what they are asked.
    async fn agreed(&self, trigger: Trigger, wish: Wish) -> Result<Outcome, EngineError> {
        let moment = wish.moment;
        match self.drive(trigger, wish).await? {
            Driven::Done(outcome) => Ok(outcome),
            Driven::Waits(paused) => {
                let mut answers = paused.answers;
                answers.push(Answer::Decided(Decision::Approve));
                match self.drive(trigger, Wish { moment, answers }).await? {
                    Driven::Done(outcome) => Ok(outcome),
                    Driven::Waits(_) => Ok(Outcome::Unneeded { why: "it would wait for an operator again" }),
                }
            }
        }
    }
}
