//! The lines of a rollout and the items in them, as far as we read them.

use crate::boundary::BoundaryMark;
use crate::jsonl::{Field, JsonText, TextOrBlocks, object_values};
use serde::Deserialize;
use serde_json::value::RawValue;

/// One line.
#[derive(Deserialize)]
pub(super) struct RolloutLine<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: JsonText<'a>,
    #[serde(borrow, default)]
    pub timestamp: Field<JsonText<'a>>,
    #[serde(borrow)]
    pub payload: &'a RawValue,
    #[serde(borrow, default)]
    epitome: Option<&'a RawValue>,
}

impl RolloutLine<'_> {
    /// What we noted on a compaction of ours.
    pub(super) fn mark(&self) -> Option<BoundaryMark> {
        serde_json::from_str(self.epitome?.get()).ok()
    }
}

/// Something that went to or from the model, of any type: each type has some of these fields.
#[derive(Deserialize)]
pub(super) struct Item<'a> {
    #[serde(borrow, rename = "type", default)]
    pub kind: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub id: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub role: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub content: TextOrBlocks<'a, ContentPiece<'a>>,
    #[serde(borrow, default)]
    pub call_id: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub name: Field<JsonText<'a>>,
    /// A JSON string for functions, an object for tool searches.
    #[serde(borrow, default)]
    pub arguments: Option<&'a RawValue>,
    /// What a free-form tool is given.
    #[serde(borrow, default)]
    pub input: Option<&'a RawValue>,
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
    pub encrypted_content: Field<JsonText<'a>>,
}

/// A piece of a message, a result or a reasoning.
#[derive(Default, Deserialize)]
pub(super) struct ContentPiece<'a> {
    #[serde(borrow, rename = "type", default)]
    pub kind: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub text: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub image_url: Field<JsonText<'a>>,
}

/// What a session begins with.
#[derive(Deserialize)]
pub(super) struct SessionMeta<'a> {
    #[serde(borrow, default)]
    pub base_instructions: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub dynamic_tools: Option<&'a RawValue>,
}

/// What a turn begins with.
#[derive(Deserialize)]
pub(super) struct TurnContext<'a> {
    #[serde(borrow, default)]
    pub model: Field<JsonText<'a>>,
}

/// An event, as far as it says what the conversation came to.
#[derive(Deserialize)]
pub(super) struct RolloutEvent<'a> {
    #[serde(borrow, rename = "type", default)]
    pub kind: Field<JsonText<'a>>,
    /// What tokens were counted.
    #[serde(default)]
    pub info: Field<TokenInfo>,
    /// How many turns the person took back.
    #[serde(default)]
    pub num_turns: Field<u64>,
}

/// What a token count tells.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct TokenInfo {
    #[serde(default)]
    pub last_token_usage: Field<CodexUsage>,
    /// All of the session's, which each new count adds to.
    #[serde(default)]
    pub total_token_usage: Field<CodexUsage>,
    #[serde(default)]
    pub model_context_window: Field<u64>,
}

/// Usage as OpenAI reports it: the input includes what was cached.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) struct CodexUsage {
    #[serde(default)]
    pub input_tokens: Field<u64>,
    #[serde(default)]
    pub cached_input_tokens: Field<u64>,
    #[serde(default)]
    pub output_tokens: Field<u64>,
}

/// A compaction: the history that takes the place of all before it.
#[derive(Deserialize)]
pub(super) struct CompactedItem<'a> {
    #[serde(borrow, default)]
    pub message: Field<JsonText<'a>>,
    /// A list of items; something else counts as none.
    #[serde(borrow, default)]
    pub replacement_history: Option<&'a RawValue>,
}

impl<'a> CompactedItem<'a> {
    /// The items of the new history; none where it is not there.
    pub(super) fn history(&self) -> Option<Vec<&'a RawValue>> {
        serde_json::from_str(self.replacement_history?.get()).ok()
    }
}

/// What one agent of a session wrote to another.
#[derive(Deserialize)]
pub(super) struct AgentLetter<'a> {
    #[serde(borrow, default)]
    pub author: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub recipient: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub content: Field<JsonText<'a>>,
    #[serde(borrow, default)]
    pub encrypted_content: Field<JsonText<'a>>,
    /// Whether the recipient is to begin a turn with it.
    #[serde(default)]
    pub trigger_turn: Field<bool>,
}

object_values!(ContentPiece<'a>, TokenInfo, CodexUsage);
