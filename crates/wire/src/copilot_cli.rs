//! Copilot CLI's event logs: one event per line, `{type, data, id, timestamp, parentId}`.
//!
//! Calls are in `assistant.message` (and again in `tool.execution_start`), results in
//! `tool.execution_complete`. Everything else is for the screen or the hooks. Read only.

mod event;
mod message;
mod session;

use crate::detect::DetectSample;
use crate::jsonl::{JsonlObject, Problems, each_object};
use crate::{ByteSource, Format, ReadError, Transcript};
use epitome_core::Measure;
use event::CopilotEvent;
pub(crate) use message::decode;
use session::CopilotSession;
use std::sync::Arc;

/// Events that say nothing to the model, by the beginning of their name.
const ASIDES: [&str; 8] = [
    "session.",
    "hook.",
    "abort",
    "assistant.turn_",
    "assistant.intent",
    "assistant.usage",
    "tool.execution_",
    "permission.",
];

/// Whether a line is an event of its log.
pub(crate) fn is_event(sample: &DetectSample<'_>) -> bool {
    sample.line_kind().is_some_and(|kind| kind.contains('.') && sample.has("data"))
}

/// Reads an event log.
pub(crate) fn read(source: Arc<dyn ByteSource>, measure: &dyn Measure) -> Result<Transcript, ReadError> {
    if source.is_empty() {
        return Err(ReadError::Empty);
    }
    let mut problems = Problems::default();
    let mut session = CopilotSession::new(measure);
    let mut known = 0_u64;
    each_object(&*source, &mut problems, |object, problems| {
        known += u64::from(take(&mut session, object, problems)?);
        Ok(())
    })?;
    if known == 0 {
        let why = "no line is an event with a `type` it writes and `data`".into();
        return Err(ReadError::NotThis { format: Format::CopilotCli, why });
    }
    let conversation = session.finish(source);
    Ok(Transcript {
        format: Format::CopilotCli,
        conversations: vec![conversation],
        problems: problems.told(),
    })
}

/// Takes one event; true where it is one of Copilot's.
fn take(
    session: &mut CopilotSession<'_>,
    object: JsonlObject<'_>,
    problems: &mut Problems,
) -> serde_json::Result<bool> {
    let event: CopilotEvent<'_> = serde_json::from_str(object.text)?;
    match &*event.kind {
        "user.message" | "assistant.message" | "tool.execution_complete" => {
            session.take_message(&event, object, problems)?;
        }
        "system.message" => session.take_system(&event)?,
        "session.model_change" => session.take_model(&event)?,
        kind if ASIDES.iter().any(|aside| kind.starts_with(aside)) => {}
        kind => {
            problems.add_unknown(object.line, kind);
            return Ok(false);
        }
    }
    Ok(true)
}
