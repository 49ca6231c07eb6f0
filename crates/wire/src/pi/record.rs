//! A line of a pi session, as far as we read it.

use crate::boundary::BoundaryMark;
use crate::jsonl::{Field, JsonText, TextOrBlocks, object_values};
use crate::timestamp::unix_ms;
use serde::Deserialize;
use serde_json::value::RawValue;

/// One entry, of any type: each type has some of these fields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PiRecord<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: JsonText<'a>,
    #[serde(default)]
    pub version: Field<u32>,
    #[serde(borrow, default)]
    pub id: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub parent_id: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    timestamp: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub message: Field<AnyMessage<'a>>,
    /// What a `custom_message` says.
    #[serde(borrow, default)]
    pub content: TextOrBlocks<'a, PiBlock<'a>>,
    #[serde(borrow, default)]
    pub summary: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub first_kept_entry_id: Field<JsonText<'a>>,
    #[serde(default)]
    pub first_kept_entry_index: Field<usize>,
    /// What a compaction found.
    #[serde(default)]
    tokens_before: Field<u64>,
    /// What we noted on a compaction of ours.
    #[serde(borrow, default)]
    epitome: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub system_message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub model_id: Field<JsonText<'a>>,
    /// The messages a compaction keeps, written out.
    #[serde(borrow, default)]
    pub retained_tail: Option<&'a RawValue>,
    /// The entry that is shown otherwise from here on.
    #[serde(borrow, default)]
    pub target_id: Field<JsonText<'a>>,
    /// What it says instead; none where it is shown no more.
    #[serde(borrow, default)]
    pub replacement: Field<Replacement<'a>>,
}

/// What takes the place of a message's content.
#[derive(Deserialize)]
pub(super) struct Replacement<'a> {
    #[serde(borrow, default)]
    pub content: TextOrBlocks<'a, PiBlock<'a>>,
}

/// A message of any role.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AnyMessage<'a> {
    #[serde(borrow, default)]
    pub role: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub content: TextOrBlocks<'a, PiBlock<'a>>,
    #[serde(borrow, default)]
    pub model: Field<JsonText<'a>>,
    #[serde(default)]
    pub usage: Field<PiUsage>,
    #[serde(borrow, default)]
    pub tool_call_id: Field<JsonText<'a>>,
    #[serde(default)]
    pub is_error: Field<bool>,
    #[serde(borrow, default)]
    pub command: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub output: Field<JsonText<'a>>,
    #[serde(default)]
    pub exit_code: Field<i64>,
    #[serde(default)]
    pub cancelled: Field<bool>,
    #[serde(default)]
    pub truncated: Field<bool>,
    #[serde(borrow, default)]
    pub full_output_path: Field<JsonText<'a>>,
    #[serde(default)]
    pub exclude_from_context: Field<bool>,
}

/// A block of any type.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PiBlock<'a> {
    #[serde(borrow, rename = "type", default)]
    pub kind: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub text: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub thinking: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub thinking_signature: Field<JsonText<'a>>,
    #[serde(default)]
    pub redacted: Field<bool>,
    #[serde(borrow, default)]
    pub id: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub name: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub data: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub mime_type: Field<JsonText<'a>>,
}

/// Usage as pi notes it: `input` is what was neither read from nor written to the cache.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PiUsage {
    #[serde(default)]
    pub input: Field<u64>,
    #[serde(default)]
    pub output: Field<u64>,
    #[serde(default)]
    pub cache_read: Field<u64>,
    #[serde(default)]
    pub cache_write: Field<u64>,
    #[serde(default)]
    pub total_tokens: Field<u64>,
}

object_values!(AnyMessage<'a>, PiBlock<'a>, Replacement<'a>, PiUsage);

impl PiRecord<'_> {
    /// What a compaction of pi's own found; one of ours says what we counted.
    pub(super) fn tokens_before(&self) -> Option<u64> {
        self.tokens_before.filter(|_| self.epitome.is_none())
    }

    /// Whether it is a compaction of ours in a copy of another session.
    pub(super) fn ends_copied(&self) -> bool {
        let mark = self.epitome.and_then(|json| serde_json::from_str::<BoundaryMark>(json.get()).ok());
        mark.is_some_and(|mark| mark.is_copy())
    }

    /// When it was written, in milliseconds since 1970.
    pub(super) fn time_ms(&self) -> Option<u64> {
        self.timestamp.as_deref().and_then(unix_ms)
    }
}

impl AnyMessage<'_> {
    /// Its role; none of pi's where it has none.
    pub(super) fn role(&self) -> &str {
        self.role.as_deref().unwrap_or_default()
    }
}
