//! Appending a compaction the way qwen-code does, and finding the last one to take it back.

use super::content_of;
use crate::boundary::{
    AppendedLines, Boundary, BoundaryMark, BoundaryUndo, LastCompaction, WriteError, conversation_to_compact,
    derive, kept_tail, read_again, record_parent, record_uuid, take_back_line, written_out,
};
use crate::document::View;
use crate::gemini_parts::{SNAPSHOT, is_response, parts_of};
use crate::jsonl::{JsonText, JsonlObject, Problems, each_object};
use crate::{ByteSource, ReadError, Transcript};
use epitome_core::{EntryId, Role};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The bytes that add a compaction to the end of `source`: one record with the new history in full, in which the
/// summary stands as qwen-code marks its own.
pub(crate) fn append(
    transcript: &Transcript,
    conversation: usize,
    source: &dyn ByteSource,
    boundary: &Boundary,
) -> Result<Vec<u8>, WriteError> {
    let nothing_said = WriteError::NothingSaid(conversation);
    let conversation = conversation_to_compact(transcript, conversation)?;
    let last = last_record(source).map_err(read_again)?.ok_or(nothing_said)?;
    let is_result = |id: EntryId| conversation.log.item(id).is_some_and(|item| item.role == Role::Tool);
    let contents = |ids| written_out(conversation, source, ids, |run, id| content(run, is_result(id)));
    let mut history = contents(&boundary.front)?;
    history.push(summary_content(&boundary.summary));
    history.extend(contents(&kept_tail(conversation, boundary)?)?);
    let line = CompressionRecord {
        uuid: record_uuid(derive(&last.session_id, source.len(), &boundary.summary, 0)),
        parent_uuid: &last.uuid,
        session_id: &last.session_id,
        timestamp: &boundary.timestamp,
        kind: "system",
        subtype: COMPRESSION,
        cwd: last.cwd.as_deref(),
        version: last.version.as_deref(),
        system_payload: SystemPayload {
            info: CompressionInfo {
                original_token_count: boundary.tokens_before.0,
                new_token_count: boundary.tokens_after.0,
                compression_status: COMPRESSED,
            },
            compressed_history: history,
        },
        epitome: BoundaryMark::new(source.len(), boundary.record.as_deref()),
    };
    Ok(AppendedLines::behind(source)?.with(&line).into_bytes())
}

/// What it calls a compaction, and one that was done.
const COMPRESSION: &str = "chat_compression";
const COMPRESSED: u32 = 1;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CompressionRecord<'a> {
    uuid: String,
    parent_uuid: &'a str,
    session_id: &'a str,
    timestamp: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    subtype: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    system_payload: SystemPayload,
    epitome: BoundaryMark,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SystemPayload {
    info: CompressionInfo,
    compressed_history: Vec<Box<RawValue>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CompressionInfo {
    original_token_count: u64,
    new_token_count: u64,
    compression_status: u32,
}

/// The last record of the session's own, off which the next one hangs.
struct LastRecord {
    uuid: String,
    session_id: String,
    cwd: Option<String>,
    version: Option<String>,
}

fn last_record(source: &dyn ByteSource) -> Result<Option<LastRecord>, ReadError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct RecordHead<'a> {
        #[serde(borrow, default)]
        uuid: Option<JsonText<'a>>,
        #[serde(borrow, default)]
        session_id: Option<JsonText<'a>>,
        #[serde(borrow, default)]
        cwd: Option<JsonText<'a>>,
        #[serde(borrow, default)]
        version: Option<JsonText<'a>>,
        #[serde(borrow, default)]
        agent_id: Option<JsonText<'a>>,
        #[serde(default)]
        is_sidechain: Option<bool>,
    }
    let mut last = None;
    each_object(source, &mut Problems::default(), |object, _| {
        let record: RecordHead<'_> = serde_json::from_str(object.text)?;
        let is_own = record.agent_id.is_none() && record.is_sidechain != Some(true);
        let text = |field: Option<JsonText<'_>>| field.map(|text| text.to_string());
        if let (true, Some(uuid), Some(session_id)) = (is_own, text(record.uuid), text(record.session_id)) {
            last =
                Some(LastRecord { uuid, session_id, cwd: text(record.cwd), version: text(record.version) });
        }
        Ok(())
    })?;
    Ok(last)
}

/// The `Content` of a message: of a record that holds results and words, the half that is meant.
fn content(run: &str, is_result: bool) -> Result<Box<RawValue>, String> {
    let content = content_of(View::parse(run).map_err(|error| error.to_string())?)?;
    let parts = parts_of(content.get("parts"));
    let meant: Vec<&str> =
        parts.into_iter().filter(|part| is_response(*part) == is_result).map(View::json).collect();
    let role = serde_json::to_string(&content.text("role").unwrap_or("user".into()));
    let json = format!("{{\"role\":{},\"parts\":[{}]}}", role.expect("a string is JSON"), meant.join(","));
    RawValue::from_string(json).map_err(|error| error.to_string())
}

/// A summary as qwen-code's own stand in a history.
fn summary_content(summary: &str) -> Box<RawValue> {
    let closing = SNAPSHOT.replace('<', "</");
    let text = format!("{SNAPSHOT}\n{summary}\n{closing}");
    let content = serde_json::json!({ "role": "user", "parts": [{ "text": text }] });
    serde_json::value::to_raw_value(&content).expect("strings are JSON")
}

/// How to take back the last compaction of `source`.
pub(crate) fn undo(source: &dyn ByteSource) -> Result<BoundaryUndo, ReadError> {
    take_back_line(source, compaction_on, record_parent)
}

fn compaction_on(line: JsonlObject<'_>) -> serde_json::Result<Option<LastCompaction>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct CompressionHead<'a> {
        #[serde(borrow, default)]
        subtype: Option<JsonText<'a>>,
        #[serde(borrow, default)]
        uuid: Option<JsonText<'a>>,
        #[serde(borrow, default)]
        parent_uuid: Option<JsonText<'a>>,
        #[serde(default)]
        epitome: Option<BoundaryMark>,
    }
    let CompressionHead { subtype, uuid, parent_uuid, epitome } = serde_json::from_str(line.text)?;
    let is_compaction = subtype.is_some_and(|subtype| &*subtype == COMPRESSION);
    let found = || LastCompaction::on_line(line, uuid.as_ref(), parent_uuid.as_ref(), epitome.as_ref());
    Ok(is_compaction.then(found))
}
