//! A line of a pi session, as far as we read it.

use crate::jsonl::{JsonText, TextOrBlocks};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// One entry, of any type: each type has some of these fields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: JsonText<'a>,
    #[serde(default)]
    pub version: Option<u32>,
    #[serde(borrow, default)]
    pub id: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub parent_id: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub message: Option<AnyMessage<'a>>,
    /// What a `custom_message` says.
    #[serde(borrow, default)]
    pub content: TextOrBlocks<'a, BlockLine<'a>>,
    #[serde(borrow, default)]
    pub summary: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub first_kept_entry_id: Option<JsonText<'a>>,
    #[serde(default)]
    pub first_kept_entry_index: Option<usize>,
    #[serde(default)]
    pub system_message: Option<IgnoredAny>,
    #[serde(borrow, default)]
    pub model_id: Option<JsonText<'a>>,
}

/// A message of any role.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AnyMessage<'a> {
    #[serde(borrow)]
    pub role: JsonText<'a>,
    #[serde(borrow, default)]
    pub content: TextOrBlocks<'a, BlockLine<'a>>,
    #[serde(borrow, default)]
    pub model: Option<JsonText<'a>>,
    #[serde(default)]
    pub usage: Option<UsageLine>,
    #[serde(borrow, default)]
    pub tool_call_id: Option<JsonText<'a>>,
    #[serde(default)]
    pub is_error: Option<bool>,
    #[serde(borrow, default)]
    pub command: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub output: Option<JsonText<'a>>,
    #[serde(default)]
    pub exit_code: Option<i64>,
    #[serde(default)]
    pub cancelled: Option<bool>,
    #[serde(default)]
    pub truncated: Option<bool>,
    #[serde(borrow, default)]
    pub full_output_path: Option<JsonText<'a>>,
    #[serde(default)]
    pub exclude_from_context: Option<bool>,
}

/// A block of any type.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BlockLine<'a> {
    #[serde(borrow, rename = "type", default)]
    pub kind: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub text: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub thinking: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub thinking_signature: Option<JsonText<'a>>,
    #[serde(default)]
    pub redacted: Option<bool>,
    #[serde(borrow, default)]
    pub id: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub name: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub data: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub mime_type: Option<JsonText<'a>>,
}

/// ReportedUsage as pi notes it: `input` is what was neither read from nor written to the cache.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UsageLine {
    #[serde(default)]
    pub input: Option<u64>,
    #[serde(default)]
    pub output: Option<u64>,
    #[serde(default)]
    pub cache_read: Option<u64>,
    #[serde(default)]
    pub cache_write: Option<u64>,
    #[serde(default)]
    pub total_tokens: Option<u64>,
}
