//! The lines of a rollout and the items in them, as far as we read them.

use crate::boundary::BoundaryMark;
use crate::jsonl::{JsonText, TextOrBlocks};
use serde::Deserialize;
use serde_json::value::RawValue;

/// One line.
#[derive(Deserialize)]
pub(super) struct RolloutLine<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: JsonText<'a>,
    #[serde(borrow)]
    pub payload: &'a RawValue,
    /// What we noted on a compaction of ours.
    #[serde(default)]
    pub epitome: Option<BoundaryMark>,
}

/// Something that went to or from the model, of any type: each type has some of these fields.
#[derive(Deserialize)]
pub(super) struct Item<'a> {
    #[serde(borrow, rename = "type", default)]
    pub kind: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub id: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub role: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub content: TextOrBlocks<'a, ContentPiece<'a>>,
    #[serde(borrow, default)]
    pub call_id: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub name: Option<JsonText<'a>>,
    /// A JSON string for functions, an object for tool searches.
    #[serde(borrow, default)]
    pub arguments: Option<&'a RawValue>,
    /// What a free-form tool is given.
    #[serde(borrow, default)]
    pub input: Option<JsonText<'a>>,
    /// What a local shell is asked to run.
    #[serde(borrow, default)]
    pub action: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub output: TextOrBlocks<'a, ContentPiece<'a>>,
    /// What a tool search found.
    #[serde(borrow, default)]
    pub tools: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub summary: TextOrBlocks<'a, ContentPiece<'a>>,
    #[serde(borrow, default)]
    pub encrypted_content: Option<JsonText<'a>>,
}

/// A piece of a message, a result or a reasoning.
#[derive(Deserialize)]
pub(super) struct ContentPiece<'a> {
    #[serde(borrow, default)]
    pub text: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub image_url: Option<JsonText<'a>>,
}

/// What a session begins with.
#[derive(Deserialize)]
pub(super) struct SessionMeta<'a> {
    #[serde(borrow, default)]
    pub base_instructions: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub dynamic_tools: Option<Vec<&'a RawValue>>,
}

/// What a turn begins with.
#[derive(Deserialize)]
pub(super) struct TurnContext<'a> {
    #[serde(borrow, default)]
    pub model: Option<JsonText<'a>>,
}

/// An event, as far as it counts tokens.
#[derive(Deserialize)]
pub(super) struct TokenEvent<'a> {
    #[serde(borrow, rename = "type", default)]
    pub kind: Option<JsonText<'a>>,
    #[serde(default)]
    pub info: Option<TokenInfo>,
}

/// What a token count tells.
#[derive(Deserialize)]
pub(super) struct TokenInfo {
    #[serde(default)]
    pub last_token_usage: Option<UsageLine>,
    #[serde(default)]
    pub model_context_window: Option<u64>,
}

/// ReportedUsage as OpenAI reports it: the input includes what was cached.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct UsageLine {
    #[serde(default)]
    pub input_tokens: u64,
    #[serde(default)]
    pub cached_input_tokens: u64,
    #[serde(default)]
    pub output_tokens: u64,
}

/// A compaction: the history that takes the place of all before it.
#[derive(Deserialize)]
pub(super) struct CompactedItem<'a> {
    #[serde(borrow, default)]
    pub message: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub replacement_history: Option<Vec<&'a RawValue>>,
}
