//! An event of a log, as far as we read it.

use crate::jsonl::Text;
use serde::Deserialize;
use serde_json::value::RawValue;

/// One event.
#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow, default)]
    pub id: Option<Text<'a>>,
    #[serde(borrow)]
    pub data: &'a RawValue,
}

/// The data of an event that says something: each type has some of these fields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Data<'a> {
    #[serde(borrow, default)]
    pub content: Option<Text<'a>>,
    /// What was sent in place of what was typed.
    #[serde(borrow, default)]
    pub transformed_content: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub reasoning_text: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub reasoning_opaque: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub tool_requests: Option<Vec<Request<'a>>>,
    #[serde(borrow, default)]
    pub model: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub new_model: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub tool_call_id: Option<Text<'a>>,
    #[serde(default)]
    pub success: Option<bool>,
    #[serde(borrow, default)]
    pub result: Option<Outcome<'a>>,
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
}

/// A call.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request<'a> {
    #[serde(borrow, default)]
    pub tool_call_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub name: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub arguments: Option<&'a RawValue>,
}

/// What a call came to.
#[derive(Deserialize)]
pub(super) struct Outcome<'a> {
    #[serde(borrow, default)]
    pub content: Option<Text<'a>>,
}
