//! Observing: what would be done before a call, with nothing done. A compaction that is due is made on a copy by what asks nobody, and
//! what came of it is kept as a mark that shows nothing otherwise. What the marks on a path say would have been saved is taken off
//! the next figure, so that the next one is due when it would have been.

use super::{AskScope, CompactOptions, Driver};
use crate::check::Check;
use crate::error::EngineError;
use crate::event::Event;
use crate::session::{Session, Step};
use epitome_core::{Circumstances, Mark, Record, Tokens, Trigger};
use std::sync::Arc;

impl Driver {
    /// What would be done before a call. The record is of a compaction that was not made.
    pub async fn observe(&self, session: &mut Session) -> Result<Step, EngineError> {
        let check = session.check_observed();
        let Some(trigger) = due(session, &check) else { return Ok(session.step(None)) };
        let options = CompactOptions {
            circumstances: Circumstances::default(),
            asking: AskScope::Nobody,
            ..CompactOptions::default()
        };
        let record = self.preview(session, trigger, options).await?;
        let record =
            record.outcome.is_rebuilt().then(|| session.note_observed(&check, &record)).transpose()?;
        Ok(session.step(record))
    }
}

/// Why a compaction is due that would be made without asking. How many messages, bytes or pictures there are is not less by what was only
/// observed: of that it is said once.
fn due(session: &Session, check: &Check) -> Option<Trigger> {
    let trigger = check.trigger.filter(|_| check.is_due())?;
    let is_said = session.timeline().observed() > Tokens::ZERO;
    match trigger {
        Trigger::Messages | Trigger::Bytes | Trigger::Media if is_said => None,
        Trigger::Messages
        | Trigger::Bytes
        | Trigger::Media
        | Trigger::Manual
        | Trigger::Threshold
        | Trigger::Overflow
        | Trigger::Requested
        | Trigger::Idle
        | Trigger::Downshift => Some(trigger),
    }
}

impl Session {
    /// Keeps what a compaction would have come to, with the figures that the request would have had by then.
    fn note_observed(&mut self, check: &Check, made: &Record) -> Result<Arc<Record>, EngineError> {
        let (whole, _) = self.figure();
        let after = made.tokens_after.min(check.tokens);
        let record = Arc::new(Record { tokens_before: check.tokens, tokens_after: after, ..made.clone() });
        let saved = whole.less(after);
        let entry =
            self.mark_at(self.newest_answered(), Mark::Observation { record: record.clone(), saved })?;
        self.state.events.push(Event::Observed { entry, record: record.clone() });
        Ok(record)
    }
}
