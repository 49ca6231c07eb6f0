//! A line of a Claude Code session, as far as we read it. What we do not name is skipped unread:
//! `toolUseResult` alone, a second copy of each result, can be half of a file.

use crate::boundary::BoundaryMark;
use crate::jsonl::{Field, JsonText, TextOrBlocks, object_values};
use serde::Deserialize;
use serde_json::value::RawValue;

/// One record.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClaudeRecord<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: JsonText<'a>,
    #[serde(borrow, default)]
    pub subtype: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub uuid: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub parent_uuid: Field<JsonText<'a>>,
    /// Where a boundary, which has no parent, continues from.
    #[serde(borrow, default)]
    pub logical_parent_uuid: Field<JsonText<'a>>,
    #[serde(default)]
    pub is_sidechain: Field<bool>,
    #[serde(default)]
    pub is_meta: Field<bool>,
    #[serde(default)]
    pub is_compact_summary: Field<bool>,
    #[serde(default)]
    pub is_api_error_message: Field<bool>,
    #[serde(borrow, default)]
    pub timestamp: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub origin: Field<RecordOrigin<'a>>,
    #[serde(borrow, default)]
    pub message: Field<RecordMessage<'a>>,
    #[serde(borrow, default)]
    pub attachment: Option<&'a RawValue>,
    /// What is done to the queue of prompts.
    #[serde(borrow, default)]
    pub operation: Field<JsonText<'a>>,
    /// What enters it.
    #[serde(borrow, default)]
    pub content: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    epitome: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub compact_metadata: Field<CompactMetadata<'a>>,
    #[serde(borrow, default)]
    pub microcompact_metadata: Field<MicrocompactMetadata<'a>>,
}

/// Who or what a user record comes from.
#[derive(Deserialize)]
pub(super) struct RecordOrigin<'a> {
    #[serde(borrow, default)]
    pub kind: Field<JsonText<'a>>,
}

/// An Anthropic message, or a part of one: the lines of a reply each hold a block, and share an id.
#[derive(Deserialize)]
pub(super) struct RecordMessage<'a> {
    #[serde(borrow, default)]
    pub id: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub model: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub content: TextOrBlocks<'a, ClaudeBlock<'a>>,
    #[serde(default)]
    pub usage: Field<ClaudeUsage>,
}

/// A block of any type: each type has some of these fields.
#[derive(Default, Deserialize)]
pub(super) struct ClaudeBlock<'a> {
    #[serde(borrow, rename = "type", default)]
    pub kind: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub text: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub thinking: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub signature: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub data: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub id: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub name: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub tool_use_id: Field<JsonText<'a>>,
    #[serde(default)]
    pub is_error: Field<bool>,
    #[serde(borrow, default)]
    pub content: TextOrBlocks<'a, PartLine<'a>>,
    #[serde(borrow, default)]
    pub source: Field<ImageLine<'a>>,
}

/// A piece of a tool result.
#[derive(Default, Deserialize)]
pub(super) struct PartLine<'a> {
    #[serde(borrow, rename = "type", default)]
    pub kind: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub text: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub source: Field<ImageLine<'a>>,
}

/// Where a picture is.
#[derive(Deserialize)]
pub(super) struct ImageLine<'a> {
    #[serde(borrow, default)]
    pub media_type: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub data: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub url: Field<JsonText<'a>>,
}

/// Usage as Anthropic reports it.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct ClaudeUsage {
    #[serde(default)]
    pub input_tokens: Field<u64>,
    #[serde(default)]
    pub output_tokens: Field<u64>,
    #[serde(default)]
    pub cache_read_input_tokens: Field<u64>,
    #[serde(default)]
    pub cache_creation_input_tokens: Field<u64>,
}

/// What a boundary says of its compaction.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CompactMetadata<'a> {
    /// `auto` or `manual`.
    #[serde(borrow, default)]
    pub trigger: Field<JsonText<'a>>,
    #[serde(default)]
    pub pre_tokens: Field<u64>,
    #[serde(borrow, default)]
    pub preserved_messages: Field<PreservedRecords<'a>>,
    #[serde(borrow, default)]
    pub preserved_segment: Field<Segment<'a>>,
}

/// What was cleared from the prompt without a summary.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MicrocompactMetadata<'a> {
    #[serde(borrow, default)]
    pub compacted_tool_ids: Field<Vec<JsonText<'a>>>,
    /// Attachments that went with them.
    #[serde(borrow, default, rename = "clearedAttachmentUUIDs")]
    pub cleared_attachments: Field<Vec<JsonText<'a>>>,
}

/// The records kept verbatim after a summary. They stay where they are, before the boundary.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PreservedRecords<'a> {
    #[serde(borrow, default)]
    pub uuids: Field<Vec<JsonText<'a>>>,
    /// Those and what stands between them in the chain.
    #[serde(borrow, default)]
    pub all_uuids: Field<Vec<JsonText<'a>>>,
}

/// The same by its two ends, from versions that did not list them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Segment<'a> {
    #[serde(borrow, default)]
    pub head_uuid: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub tail_uuid: Field<JsonText<'a>>,
}

object_values!(
    RecordOrigin<'a>,
    RecordMessage<'a>,
    ClaudeBlock<'a>,
    PartLine<'a>,
    ImageLine<'a>,
    ClaudeUsage,
    CompactMetadata<'a>,
    MicrocompactMetadata<'a>,
    PreservedRecords<'a>,
    Segment<'a>,
);

impl ClaudeRecord<'_> {
    /// What we noted on a compaction of ours.
    pub(super) fn mark(&self) -> Option<BoundaryMark> {
        serde_json::from_str(self.epitome?.get()).ok()
    }

    pub(super) fn is_sidechain(&self) -> bool {
        self.is_sidechain.unwrap_or(false)
    }
}
