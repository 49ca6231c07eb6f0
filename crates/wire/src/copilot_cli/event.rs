//! An event of a log, as far as we read it.

use crate::jsonl::JsonText;
use serde::Deserialize;
use serde_json::value::RawValue;

/// One event.
#[derive(Deserialize)]
pub(super) struct CopilotEvent<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: JsonText<'a>,
    #[serde(borrow, default)]
    pub id: Option<JsonText<'a>>,
    #[serde(borrow)]
    pub data: &'a RawValue,
}

/// The data of an event that says something: each type has some of these fields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Data<'a> {
    #[serde(borrow, default)]
    pub content: Option<JsonText<'a>>,
    /// What was sent in place of what was typed.
    #[serde(borrow, default)]
    pub transformed_content: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub reasoning_text: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub reasoning_opaque: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub tool_requests: Option<Vec<ToolRequest<'a>>>,
    #[serde(borrow, default)]
    pub model: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub new_model: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub tool_call_id: Option<JsonText<'a>>,
    #[serde(default)]
    pub success: Option<bool>,
    #[serde(borrow, default)]
    pub result: Option<ToolOutcome<'a>>,
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
}

/// A call.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolRequest<'a> {
    #[serde(borrow, default)]
    pub tool_call_id: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub name: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pub arguments: Option<&'a RawValue>,
}

/// What a call came to.
#[derive(Deserialize)]
pub(super) struct ToolOutcome<'a> {
    #[serde(borrow, default)]
    pub content: Option<JsonText<'a>>,
}
