//! Recovery from an overflow: a request that the provider refused as too long is compacted and sent once more, by what
//! was made elsewhere, by what was made beforehand, or by a compaction of its own.

use super::{AskScope, CompactOptions, Driver};
use crate::error::EngineError;
use crate::session::{Session, Step};
use epitome_core::policy::TriggerMode;
use epitome_core::{Circumstances, Outcome, Record, Tokens, Trigger};
use std::sync::Arc;

/// What to do after a provider refused a request as too long.
#[derive(Debug)]
pub enum Recovery {
    /// Room was made: send once more.
    Retry(Box<Step>),
    /// Nothing was done that would help: the provider's error goes back as it came.
    Surface {
        /// What stood in the way.
        why: String,
        /// What was appended and told all the same.
        step: Box<Step>,
    },
}

impl Driver {
    /// What to do after a provider refused the request as too long by `over`: one compaction for each
    /// call, and none where automatic compaction is off. With an open breaker nobody is asked.
    pub async fn recover(
        &self,
        session: &mut Session,
        over: Option<Tokens>,
    ) -> Result<Recovery, EngineError> {
        if let Some(why) = refusal(session) {
            return Ok(surface(session, Trigger::Overflow, why));
        }
        let record = match reuse_after_overflow(session, over)? {
            Some(record) => record,
            None => self.recover_alone(session, over).await?,
        };
        // Not before it came to something: whoever gives up waiting has had no recovery.
        session.state.recoveries += 1;
        match record.outcome.why() {
            None => Ok(Recovery::Retry(Box::new(session.step(Some(record))))),
            Some(why) => Ok(Recovery::Surface { why, step: Box::new(session.step(Some(record))) }),
        }
    }

    /// A compaction of its own for a request that the provider refused.
    async fn recover_alone(
        &self,
        session: &mut Session,
        over: Option<Tokens>,
    ) -> Result<Arc<Record>, EngineError> {
        if let Some(mut ready) = session.take_ready(Trigger::Overflow, over)? {
            self.restore(session, &mut ready);
            return self.conclude(session, ready).await;
        }
        let asking = if session.breaker().is_open() { AskScope::Nobody } else { AskScope::Everybody };
        let circumstances = Circumstances { over, is_passed: true, ..Circumstances::default() };
        let options = CompactOptions { circumstances, asking, ..CompactOptions::default() };
        self.carry_out(session, Trigger::Overflow, options).await
    }
}

/// Uses a compaction made on another path, where it frees what the provider misses.
fn reuse_after_overflow(
    session: &mut Session,
    over: Option<Tokens>,
) -> Result<Option<Arc<Record>>, EngineError> {
    let Some(of) = session.available()? else { return Ok(None) };
    let before = session.context().tokens();
    let record = session.apply(of, Trigger::Overflow)?;
    let after = session.context().tokens();
    let is_enough = session.budget().fits(after) && over.is_none_or(|over| before.less(after) >= over);
    Ok(is_enough.then_some(record))
}

/// Why no room may be made for a request that the provider refused.
pub(super) fn refusal(session: &Session) -> Option<&'static str> {
    let most = session.policy().guard.recoveries_max;
    if most == 0 {
        off(session).or(Some("these settings do not recover from an overflow (`guard.recoveries_max` is 0)"))
    } else {
        let is_spent = session.state.recoveries >= most;
        off(session).or(is_spent.then_some("this request was compacted and sent again already"))
    }
}

/// That nothing may be done to the session at all, where that is so.
pub(super) fn off(session: &Session) -> Option<&'static str> {
    (session.policy().mode == TriggerMode::Off).then_some("compaction is off")
}

/// The provider's error goes back, with a record of why nothing was done about what set out as `trigger`.
pub(super) fn surface(session: &mut Session, trigger: Trigger, why: &str) -> Recovery {
    let budget = session.budget();
    let tokens = budget.request(session.context().tokens());
    let record = Record {
        outcome: Outcome::Abandoned { why: why.to_owned() },
        trigger,
        source: trigger.kind().source,
        budget,
        tokens_before: tokens,
        tokens_after: tokens,
        count_method: session.assembly().count_method().clone(),
        ..Record::default()
    };
    Recovery::Surface { why: why.to_owned(), step: Box::new(session.step(Some(Arc::new(record)))) }
}
