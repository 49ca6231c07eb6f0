//! Reading a session file, line by line.

use super::record::PiRecord;
use super::session::PiSession;
use super::weigh::weigh;
use crate::detect::{DetectSample, has_role};
use crate::jsonl::{AheadObject, JsonlObject, Problems, each_object_ahead};
use crate::{ByteSource, Format, Originals, ReadError, Transcript};
use epitome_core::Measure;
use std::sync::Arc;

/// Entries that are no part of the context.
const ASIDES: [&str; 6] =
    ["model_change", "thinking_level_change", "custom", "label", "session_info", "usage"];

/// Whether a line is a header or a message of a session file.
pub(crate) fn is_entry(sample: &DetectSample<'_>) -> bool {
    match sample.line_kind() {
        Some("message") => sample.object.get("message").is_some_and(has_role),
        Some("session") => sample.has("id") && sample.has("cwd"),
        Some(_) | None => false,
    }
}

/// Reads a session file of any version.
pub(crate) fn read(source: Arc<dyn ByteSource>, measure: &dyn Measure) -> Result<Transcript, ReadError> {
    if source.is_empty() {
        return Err(ReadError::Empty);
    }
    let mut problems = Problems::default();
    let mut session = PiSession::new(measure, Originals::new(source.clone(), Format::Pi), source.len());
    let mut known = 0_u64;
    each_object_ahead(
        &*source,
        &mut problems,
        |line| weigh(line, measure),
        |met, problems| {
            known += match met {
                AheadObject::Object(object) => u64::from(take(&mut session, object, problems)?),
                AheadObject::Parsed { line, span, parsed } => {
                    session.take_weighed(parsed, line, span, problems);
                    1
                }
            };
            Ok(())
        },
    )?;
    if known == 0 {
        let why = "no line is a `session` header or an entry of a `type` it writes".into();
        return Err(ReadError::NotThis { format: Format::Pi, why });
    }
    let conversation = session.finish();
    Ok(Transcript { format: Format::Pi, conversations: vec![conversation], problems: problems.told() })
}

/// Roles of messages pi knows.
pub(super) const ROLES: [&str; 7] =
    ["user", "assistant", "toolResult", "bashExecution", "system", "custom", "hookMessage"];

/// Takes one entry; true where it is one of pi's.
fn take(
    session: &mut PiSession<'_>,
    object: JsonlObject<'_>,
    problems: &mut Problems,
) -> serde_json::Result<bool> {
    let record: PiRecord<'_> = serde_json::from_str(object.text)?;
    match &*record.kind {
        "session" => session.take_header(&record),
        "message" if record.message.is_none() => {
            problems.add_unknown(object.line, "message without a body");
            return Ok(false);
        }
        "message" if !record.message.as_ref().is_some_and(|body| ROLES.contains(&body.role())) => {
            problems.add_unknown(object.line, "message of a role pi does not have");
            session.take_aside(&record, object, problems);
        }
        "message" | "custom_message" | "branch_summary" => session.take_message(&record, object, problems),
        "compaction" => session.take_compaction(&record, object, problems),
        "context_edit" => session.take_edit(&record, object, problems),
        kind => {
            let is_known = ASIDES.contains(&kind);
            if !is_known {
                problems.add_unknown(object.line, kind);
            }
            session.take_aside(&record, object, problems);
            return Ok(is_known);
        }
    }
    Ok(true)
}
