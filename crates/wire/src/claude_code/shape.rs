//! The records of a compaction, field by field: the two that Claude Code writes, and the one of its document.

use crate::boundary::{Boundary, BoundaryMark};
use epitome_core::Trigger;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The type of the one record of its document.
pub(super) const SUMMARY_MESSAGE: &str = "SummaryMessage";

/// What every record of a session carries; taken over from its last one.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Envelope {
    #[serde(default, skip_serializing)]
    pub(super) uuid: Option<String>,
    #[serde(default, skip_serializing)]
    is_sidechain: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_type: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entrypoint: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cwd: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) session_id: Option<Value>,
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
pub(super) struct RecordIds {
    pub(super) boundary: String,
    pub(super) summary: String,
}

/// The first record of a compaction.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BoundaryLine<'a> {
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
    compact_metadata: MetadataLine<'a>,
    #[serde(flatten)]
    envelope: &'a Envelope,
    epitome: &'a BoundaryMark,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MetadataLine<'a> {
    trigger: &'a str,
    pre_tokens: u64,
    duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    preserved_segment: Option<SegmentLine<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preserved_messages: Option<PreservedLine<'a>>,
    post_tokens: u64,
    cumulative_dropped_tokens: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SegmentLine<'a> {
    head_uuid: &'a str,
    anchor_uuid: &'a str,
    tail_uuid: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PreservedLine<'a> {
    anchor_uuid: &'a str,
    uuids: &'a [String],
    all_uuids: &'a [String],
}

/// The boundary: which records are kept, and what it all took.
pub(super) fn boundary_line<'a>(
    boundary: &'a Boundary,
    ids: &'a RecordIds,
    envelope: &'a Envelope,
    follows: Option<String>,
    kept: &'a [String],
    mark: &'a BoundaryMark,
) -> BoundaryLine<'a> {
    let anchor_uuid = &*ids.summary;
    let ends = kept.first().zip(kept.last());
    let segment =
        |(head_uuid, tail_uuid): (&'a String, &'a String)| SegmentLine { head_uuid, anchor_uuid, tail_uuid };
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
        compact_metadata: MetadataLine {
            trigger: trigger_name(boundary.trigger),
            pre_tokens: boundary.tokens_before.0,
            duration_ms: boundary.duration_ms,
            preserved_segment: ends.map(segment),
            preserved_messages: ends.map(|_| PreservedLine { anchor_uuid, uuids: kept, all_uuids: kept }),
            post_tokens: boundary.tokens_after.0,
            cumulative_dropped_tokens: boundary.tokens_before.less(boundary.tokens_after).0,
        },
        envelope,
        epitome: mark,
    }
}

fn trigger_name(trigger: Trigger) -> &'static str {
    if trigger.is_manual() { "manual" } else { "auto" }
}

/// The second.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SummaryLine<'a> {
    parent_uuid: &'a str,
    is_sidechain: bool,
    r#type: &'a str,
    message: SummaryMessage<'a>,
    is_visible_in_transcript_only: bool,
    is_compact_summary: bool,
    uuid: &'a str,
    timestamp: &'a str,
    #[serde(flatten)]
    envelope: &'a Envelope,
    epitome: &'a BoundaryMark,
}

#[derive(Serialize)]
struct SummaryMessage<'a> {
    role: &'a str,
    content: &'a str,
}

/// The summary, as something the user's side says.
pub(super) fn summary_line<'a>(
    boundary: &'a Boundary,
    ids: &'a RecordIds,
    envelope: &'a Envelope,
    mark: &'a BoundaryMark,
) -> SummaryLine<'a> {
    SummaryLine {
        parent_uuid: &ids.boundary,
        is_sidechain: envelope.is_sidechain,
        r#type: "user",
        message: SummaryMessage { role: "user", content: &boundary.summary },
        is_visible_in_transcript_only: true,
        is_compact_summary: true,
        uuid: &ids.summary,
        timestamp: &boundary.timestamp,
        envelope,
        epitome: mark,
    }
}

/// The one record of its document: it stands outside the chain, and only `epitome` says what it keeps.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SummaryMessageLine<'a> {
    r#type: &'a str,
    content: &'a str,
    original_turns: usize,
    tokens_saved: u64,
    timestamp: &'a str,
    epitome: &'a BoundaryMark,
}

/// The summary, with what it covers and saved.
pub(super) fn summary_message_line<'a>(
    boundary: &'a Boundary,
    mark: &'a BoundaryMark,
) -> SummaryMessageLine<'a> {
    SummaryMessageLine {
        r#type: SUMMARY_MESSAGE,
        content: &boundary.summary,
        original_turns: boundary.turns,
        tokens_saved: boundary.tokens_before.less(boundary.tokens_after).0,
        timestamp: &boundary.timestamp,
        epitome: mark,
    }
}
