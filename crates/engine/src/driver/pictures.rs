//! After a provider refused a body for its bytes or its pictures: what is in the way gives way to labels and pointers, and the
//! request is sent once more: pictures first, large results and attachments where there is none. No summary cures it, so none is made;
//! where neither is there the work waits for a person.

use super::recovery::{off, refusal, surface};
use super::{Driver, Recovery};
use crate::error::EngineError;
use crate::session::Session;
use epitome_core::{Conclusion, EditPass, Trigger};

/// What a person is told where nothing can be labelled.
const TOO_MANY_BYTES: &str = "the provider finds the body too large in bytes, not in tokens; compact it by hand, take large attachments and results out of it, or begin a new session";

/// What the act is recorded as, whatever comes of it.
const TRIGGER: Trigger = Trigger::Bytes;

impl Driver {
    /// What to do after a provider refused a request for its bytes or pictures; `bytes_max` is what it says one picture
    /// may take, where it says so. Takes no time.
    pub fn shed_pictures(
        &self,
        session: &mut Session,
        bytes_max: Option<u64>,
    ) -> Result<Recovery, EngineError> {
        if let Some(why) = off(session) {
            return Ok(surface(session, TRIGGER, why));
        }
        let labelled = if refusal(session).is_none() { label(session, bytes_max)? } else { None };
        let Some(mut conclusion) = labelled else {
            session.hold(TOO_MANY_BYTES)?;
            return Ok(surface(session, TRIGGER, TOO_MANY_BYTES));
        };
        session.state.recoveries += 1;
        (conclusion.record.trigger, conclusion.record.source) = (TRIGGER, TRIGGER.kind().source);
        let record = session.conclude(conclusion)?;
        Ok(Recovery::Retry(Box::new(session.step(Some(record)))))
    }
}

/// Labels for the pictures over a limit; for all of them where nobody knows the limit, or none seems to be over it; pointers for
/// large results where there is no picture.
fn label(session: &Session, bytes_max: Option<u64>) -> Result<Option<Conclusion>, EngineError> {
    let over = match bytes_max {
        Some(_) => session.edit_pass(EditPass::Label { bytes_max }, None)?,
        None => None,
    };
    if over.is_some() {
        return Ok(over);
    }
    match session.edit_pass(EditPass::Label { bytes_max: None }, None)? {
        Some(labelled) => Ok(Some(labelled)),
        None => session.edit_pass(EditPass::Shed, None),
    }
}
