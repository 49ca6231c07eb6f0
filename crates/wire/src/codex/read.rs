//! Reading a rollout, line by line.

use super::item::{CompactedItem, Item, RolloutEvent, RolloutLine, SessionMeta, TurnContext};
use super::message::{LETTER, letter_item};
use super::rollout::Rollout;
use crate::detect::DetectSample;
use crate::jsonl::{JsonlObject, Problems, each_object};
use crate::timestamp::unix_ms;
use crate::{ByteSource, Format, ReadError, Transcript};
use epitome_core::Measure;
use serde_json::value::RawValue;
use std::sync::Arc;

/// Whether a line is one of a rollout.
pub(crate) fn is_line(sample: &DetectSample<'_>) -> bool {
    sample.line_kind().is_some() && sample.has("payload") && sample.has("timestamp")
}

/// Reads a rollout.
pub(crate) fn read(source: Arc<dyn ByteSource>, measure: &dyn Measure) -> Result<Transcript, ReadError> {
    if source.is_empty() {
        return Err(ReadError::Empty);
    }
    let mut problems = Problems::default();
    let mut rollout = Rollout::new(measure);
    let mut known = 0_u64;
    each_object(&*source, &mut problems, |object, problems| {
        known += u64::from(take(&mut rollout, object, problems)?);
        Ok(())
    })?;
    if known == 0 {
        let why = "no line is a record with a `type` it writes and a `payload`".into();
        return Err(ReadError::NotThis { format: Format::Codex, why });
    }
    let conversation = rollout.finish(source);
    Ok(Transcript { format: Format::Codex, conversations: vec![conversation], problems: problems.told() })
}

/// Lines that say nothing to the model. Newer versions keep what they know of the surroundings, of usage and of
/// risks on lines of their own.
const ASIDES: [&str; 7] = [
    "inter_agent_communication_metadata",
    "world_state",
    "retained_context",
    "security_risk_score",
    "token_usage_record",
    "realtime_item",
    "rollout_reference",
];

/// Takes one line; true where it is one of Codex's.
fn take(
    rollout: &mut Rollout<'_>,
    object: JsonlObject<'_>,
    problems: &mut Problems,
) -> serde_json::Result<bool> {
    let line: RolloutLine<'_> = serde_json::from_str(object.text)?;
    let payload = line.payload.get();
    rollout.time_ms = line.timestamp.as_deref().and_then(unix_ms);
    match &*line.kind {
        "response_item" => {
            let item: Item<'_> = serde_json::from_str(payload)?;
            rollout.take_item(&item, payload, object, 0, problems);
        }
        LETTER => {
            let json = letter_item(payload)?;
            rollout.take_item(&serde_json::from_str(&json)?, &json, object, 0, problems);
        }
        "event_msg" => {
            if let Ok(event) = serde_json::from_str::<RolloutEvent<'_>>(payload) {
                rollout.take_event(&event);
            }
        }
        "session_meta" => take_meta(rollout, payload),
        "turn_context" => {
            if let Ok(context) = serde_json::from_str::<TurnContext<'_>>(payload) {
                rollout.fixed.model = context.model.as_ref().map(Arc::from).or(rollout.fixed.model.take());
            }
        }
        "compacted" => {
            let compacted: CompactedItem<'_> = serde_json::from_str(payload)?;
            rollout.take_compacted(&compacted, line.mark().as_ref(), object, problems);
        }
        kind if ASIDES.contains(&kind) => {}
        kind => {
            problems.add_unknown(object.line, kind);
            return Ok(false);
        }
    }
    Ok(true)
}

fn take_meta(rollout: &mut Rollout<'_>, payload: &str) {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Instructions {
        Plain(Arc<str>),
        Inside { text: Arc<str> },
    }
    let Ok(meta) = serde_json::from_str::<SessionMeta<'_>>(payload) else { return };
    let instructions = meta.base_instructions.and_then(|raw| serde_json::from_str(raw.get()).ok());
    let tools: Vec<&RawValue> =
        meta.dynamic_tools.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    if rollout.fixed.system.is_empty() {
        rollout.fixed.system.extend(instructions.map(|instructions| match instructions {
            Instructions::Plain(text) | Instructions::Inside { text } => text,
        }));
        rollout.fixed.tools = tools.into_iter().map(|tool| tool.get().into()).collect();
    }
}
