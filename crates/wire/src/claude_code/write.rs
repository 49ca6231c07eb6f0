//! Appending a compaction the way Claude Code does.

use crate::boundary::{Boundary, Mark, WriteError, begin_line, derive, kept_tail};
use crate::{Conversation, Format, Source, Span, Transcript};
use epitome_core::{EntryId, Trigger};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The bytes that add a compaction to the end of `source`: a boundary record and the summary.
///
/// Claude Code shows the summary, then the records kept, then what comes later; messages before the
/// summary are refused.
pub fn append(
    transcript: &Transcript,
    conversation: usize,
    source: &dyn Source,
    boundary: &Boundary,
) -> Result<Vec<u8>, WriteError> {
    if let Some(&id) = boundary.before.first() {
        return Err(WriteError::NoPlaceBefore { format: Format::ClaudeCode, id });
    }
    let nothing_said = WriteError::NothingSaid(conversation);
    let conversation = transcript.conversations.get(conversation).ok_or(nothing_said)?;
    let (last, follows) = last_record(conversation, source)?;
    let kept = kept_uuids(conversation, source, boundary)?;
    let ids = Ids::new(&last, source.len(), &boundary.summary);
    let mark = Mark::new(source.len(), boundary.record.as_deref());
    let mut bytes = begin_line(source)?;
    write_line(&mut bytes, &boundary_line(boundary, &ids, &last, follows, &kept, &mark));
    write_line(&mut bytes, &summary_line(boundary, &ids, &last, &mark));
    Ok(bytes)
}

/// What every record of a session carries; taken over from its last one.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    #[serde(default, skip_serializing)]
    uuid: Option<String>,
    #[serde(default, skip_serializing)]
    is_sidechain: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_type: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entrypoint: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cwd: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session_id: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    git_branch: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slug: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent_id: Option<Value>,
}

/// The ids of the two records.
struct Ids {
    boundary: String,
    summary: String,
}

impl Ids {
    fn new(last: &Envelope, original_bytes: u64, summary: &str) -> Self {
        let session = last.session_id.as_ref().and_then(Value::as_str).unwrap_or_default();
        let nth = |nth| uuid(derive(session, original_bytes, summary, nth));
        Self { boundary: nth(0), summary: nth(1) }
    }
}

/// A version 4 UUID of these bytes.
fn uuid(mut bytes: [u8; 32]) -> String {
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// The last record of the live branch that is in the file, and the id a boundary follows.
fn last_record(
    conversation: &Conversation,
    source: &dyn Source,
) -> Result<(Envelope, Option<String>), WriteError> {
    let branch = conversation.leaf.map_or_else(Vec::new, |leaf| conversation.log.branch(leaf));
    let last = branch.iter().rev().find_map(|id| Some((*id, *conversation.originals.spans(*id)?.last()?)));
    let (id, span) = last.ok_or(WriteError::NothingSaid(0))?;
    let envelope = envelope_at(source, id, span)?;
    // A compaction may come after the last message; its name is that of its boundary record.
    let newest = branch.iter().rev().take_while(|other| **other > id);
    let follows = newest.filter_map(|id| conversation.names[id.index()].as_deref()).next().map(str::to_owned);
    let follows = follows.or_else(|| envelope.uuid.clone());
    Ok((envelope, follows))
}

fn envelope_at(source: &dyn Source, id: EntryId, span: Span) -> Result<Envelope, WriteError> {
    let bytes = source.slice(span).map_err(WriteError::Read)?;
    serde_json::from_slice(&bytes).map_err(|error| WriteError::Changed { id, why: error.to_string() })
}

/// The ids of the records kept, in file order: each line of a reply has its own.
fn kept_uuids(
    conversation: &Conversation,
    source: &dyn Source,
    boundary: &Boundary,
) -> Result<Vec<String>, WriteError> {
    let mut spans: Vec<(EntryId, Span)> = Vec::new();
    for id in kept_tail(conversation, boundary) {
        let own = conversation.originals.spans(id).ok_or(WriteError::NotInFile(id))?;
        spans.extend(own.iter().map(|span| (id, *span)));
    }
    spans.sort_by_key(|(_, span)| span.offset);
    let uuid = |(id, span)| envelope_at(source, id, span)?.uuid.ok_or(WriteError::NotInFile(id));
    spans.into_iter().map(uuid).collect()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BoundaryLine<'a> {
    parent_uuid: Option<()>,
    logical_parent_uuid: Option<String>,
    is_sidechain: bool,
    r#type: &'a str,
    subtype: &'a str,
    content: &'a str,
    is_meta: bool,
    timestamp: &'a str,
    uuid: &'a str,
    level: &'a str,
    compact_metadata: Metadata<'a>,
    #[serde(flatten)]
    envelope: &'a Envelope,
    epitome: &'a Mark,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    trigger: &'a str,
    pre_tokens: u64,
    duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    preserved_segment: Option<Segment<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preserved_messages: Option<Preserved<'a>>,
    post_tokens: u64,
    cumulative_dropped_tokens: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Segment<'a> {
    head_uuid: &'a str,
    anchor_uuid: &'a str,
    tail_uuid: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Preserved<'a> {
    anchor_uuid: &'a str,
    uuids: &'a [String],
    all_uuids: &'a [String],
}

fn boundary_line<'a>(
    boundary: &'a Boundary,
    ids: &'a Ids,
    envelope: &'a Envelope,
    follows: Option<String>,
    kept: &'a [String],
    mark: &'a Mark,
) -> BoundaryLine<'a> {
    let anchor_uuid = &*ids.summary;
    let ends = kept.first().zip(kept.last());
    let segment =
        |(head_uuid, tail_uuid): (&'a String, &'a String)| Segment { head_uuid, anchor_uuid, tail_uuid };
    BoundaryLine {
        parent_uuid: None,
        logical_parent_uuid: follows,
        is_sidechain: envelope.is_sidechain,
        r#type: "system",
        subtype: "compact_boundary",
        content: "Conversation compacted",
        is_meta: false,
        timestamp: &boundary.timestamp,
        uuid: &ids.boundary,
        level: "info",
        compact_metadata: Metadata {
            trigger: trigger_name(boundary.trigger),
            pre_tokens: boundary.tokens_before.0,
            duration_ms: boundary.duration_ms,
            preserved_segment: ends.map(segment),
            preserved_messages: ends.map(|_| Preserved { anchor_uuid, uuids: kept, all_uuids: kept }),
            post_tokens: boundary.tokens_after.0,
            cumulative_dropped_tokens: boundary.tokens_before.less(boundary.tokens_after).0,
        },
        envelope,
        epitome: mark,
    }
}

fn trigger_name(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Manual => "manual",
        Trigger::Threshold => "auto",
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SummaryLine<'a> {
    parent_uuid: &'a str,
    is_sidechain: bool,
    r#type: &'a str,
    message: Said<'a>,
    is_visible_in_transcript_only: bool,
    is_compact_summary: bool,
    uuid: &'a str,
    timestamp: &'a str,
    #[serde(flatten)]
    envelope: &'a Envelope,
    epitome: &'a Mark,
}

#[derive(Serialize)]
struct Said<'a> {
    role: &'a str,
    content: &'a str,
}

fn summary_line<'a>(
    boundary: &'a Boundary,
    ids: &'a Ids,
    envelope: &'a Envelope,
    mark: &'a Mark,
) -> SummaryLine<'a> {
    SummaryLine {
        parent_uuid: &ids.boundary,
        is_sidechain: envelope.is_sidechain,
        r#type: "user",
        message: Said { role: "user", content: &boundary.summary },
        is_visible_in_transcript_only: true,
        is_compact_summary: true,
        uuid: &ids.summary,
        timestamp: &boundary.timestamp,
        envelope,
        epitome: mark,
    }
}

fn write_line(bytes: &mut Vec<u8>, line: &impl Serialize) {
    serde_json::to_writer(&mut *bytes, line)
        .expect("strings and numbers are JSON, and memory can be written");
    bytes.push(b'\n');
}
