//! A line of a Claude Code session, as far as we read it. What we do not name is skipped unread:
//! `toolUseResult` alone, a second copy of each result, can be half of a file.

use crate::jsonl::{JsonText, TextOrBlocks};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// One record.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: JsonText<'a>,
    #[serde(borrow, default)]
    pub subtype: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub uuid: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub parent_uuid: Option<JsonText<'a>>,
    /// Where a boundary, which has no parent, continues from.
    #[serde(borrow, default)]
    pub logical_parent_uuid: Option<JsonText<'a>>,
    #[serde(default)]
    pub is_sidechain: Option<bool>,
    #[serde(default)]
    pub is_meta: Option<bool>,
    #[serde(default)]
    pub is_compact_summary: Option<bool>,
    #[serde(default)]
    pub is_api_error_message: Option<bool>,
    #[serde(borrow, default)]
    pub origin: Option<RecordOrigin<'a>>,
    #[serde(borrow, default)]
    pub message: Option<RecordMessage<'a>>,
    #[serde(borrow, default)]
    pub attachment: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub compact_metadata: Option<CompactMetadata<'a>>,
    #[serde(default)]
    pub microcompact_metadata: Option<MicrocompactMetadata>,
}

/// Who or what a user record comes from.
#[derive(Deserialize)]
pub(super) struct RecordOrigin<'a> {
    #[serde(borrow, default)]
    pub kind: Option<JsonText<'a>>,
}

/// An Anthropic message, or a part of one: the lines of a reply each hold a block, and share an id.
#[derive(Deserialize)]
pub(super) struct RecordMessage<'a> {
    #[serde(borrow, default)]
    pub id: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub model: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub content: TextOrBlocks<'a, BlockLine<'a>>,
    #[serde(default)]
    pub usage: Option<UsageLine>,
}

/// A block of any type: each type has some of these fields.
#[derive(Deserialize)]
pub(super) struct BlockLine<'a> {
    #[serde(borrow, rename = "type", default)]
    pub kind: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub text: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub thinking: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub signature: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub data: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub id: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub name: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub tool_use_id: Option<JsonText<'a>>,
    #[serde(default)]
    pub is_error: Option<bool>,
    #[serde(borrow, default)]
    pub content: TextOrBlocks<'a, PartLine<'a>>,
    #[serde(borrow, default)]
    pub source: Option<ImageLine<'a>>,
}

/// A piece of a tool result.
#[derive(Deserialize)]
pub(super) struct PartLine<'a> {
    #[serde(borrow, rename = "type", default)]
    pub kind: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub text: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub source: Option<ImageLine<'a>>,
}

/// Where a picture is.
#[derive(Deserialize)]
pub(super) struct ImageLine<'a> {
    #[serde(borrow, default)]
    pub media_type: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub data: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub url: Option<JsonText<'a>>,
}

/// ReportedUsage as Anthropic reports it.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct UsageLine {
    #[serde(default)]
    pub input_tokens: Option<u64>,
    #[serde(default)]
    pub output_tokens: Option<u64>,
    #[serde(default)]
    pub cache_read_input_tokens: Option<u64>,
    #[serde(default)]
    pub cache_creation_input_tokens: Option<u64>,
}

/// What a boundary says of its compaction.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CompactMetadata<'a> {
    #[serde(borrow, default)]
    pub preserved_messages: Option<PreservedRecords<'a>>,
    #[serde(borrow, default)]
    pub preserved_segment: Option<Segment<'a>>,
}

/// What was cleared from the prompt without a summary.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MicrocompactMetadata {
    #[serde(default)]
    pub compacted_tool_ids: Vec<IgnoredAny>,
}

/// The records kept verbatim after a summary. They stay where they are, before the boundary.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PreservedRecords<'a> {
    #[serde(borrow, default)]
    pub uuids: Vec<JsonText<'a>>,
    /// Those and what stands between them in the chain.
    #[serde(borrow, default)]
    pub all_uuids: Vec<JsonText<'a>>,
}

/// The same by its two ends, from versions that did not list them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Segment<'a> {
    #[serde(borrow, default)]
    pub head_uuid: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub tail_uuid: Option<JsonText<'a>>,
}

impl Record<'_> {
    pub(super) fn is_sidechain(&self) -> bool {
        self.is_sidechain.unwrap_or(false)
    }
}
