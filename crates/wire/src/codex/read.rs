//! Reading a rollout, line by line.

use super::item::{CompactedItem, Item, RolloutLine, SessionMeta, TokenEvent, TurnContext};
use super::rollout::Rollout;
use crate::detect::DetectSample;
use crate::jsonl::{JsonlObject, Problems, each_object, part_of};
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

/// Takes one line; true where it is one of Codex's.
fn take(
    rollout: &mut Rollout<'_>,
    object: JsonlObject<'_>,
    problems: &mut Problems,
) -> serde_json::Result<bool> {
    let line: RolloutLine<'_> = serde_json::from_str(object.text)?;
    let payload = line.payload.get();
    match &*line.kind {
        "response_item" => {
            let item: Item<'_> = serde_json::from_str(payload)?;
            rollout.take_item(&item, payload, object, 0, problems);
        }
        "event_msg" => {
            if let Ok(event) = serde_json::from_str::<TokenEvent<'_>>(payload) {
                rollout.take_event(&event);
            }
        }
        "session_meta" => take_meta(rollout, payload),
        "turn_context" => {
            if let Ok(TurnContext { model: Some(model) }) = serde_json::from_str(payload) {
                rollout.fixed.model = Some((&model).into());
            }
        }
        "compacted" => {
            let mut compacted: CompactedItem<'_> = serde_json::from_str(payload)?;
            if object.text.len() != object.span.len as usize {
                problems.add(
                    object.line,
                    "holds a new history that, being no UTF-8, cannot be found again; left out",
                );
                compacted.replacement_history = Some(Vec::new());
            }
            let within = |raw: &RawValue| part_of(object, raw.get()).span;
            rollout.take_compacted(&compacted, line.epitome.as_ref(), object, within, problems);
        }
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
    if rollout.fixed.system.is_empty() {
        rollout.fixed.system.extend(instructions.map(|instructions| match instructions {
            Instructions::Plain(text) | Instructions::Inside { text } => text,
        }));
        rollout.fixed.tools = meta.dynamic_tools.iter().flatten().map(|tool| tool.get().into()).collect();
    }
}
