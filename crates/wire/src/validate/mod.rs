//! Strict validators of the three protocols: what a provider would refuse, found before it is sent.
//!
//! Only what can be seen in the body is checked. Where a provider is lenient and a rule keeps bytes
//! stable or satisfies the strictest compatible server (alternation, a system prompt that stands first), we demand
//! the rule. Sizes in bytes and pixels, and which model reads whose blocks, are left to others.

mod anthropic;
mod content;
mod openai_chat;
mod openai_responses;

pub(crate) use content::{IMAGE_TYPES, inline_data, is_base64, is_blank, is_plain_id, is_web_url};
pub(crate) use openai_responses::{LONE_ITEMS, PAIRED_ITEMS};

use crate::protocol::Protocol;
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// One place of a body, and the rule it breaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Where, such as `messages[3].content[0]`.
    pub path: String,
    /// The rule, as a sentence that holds for good bodies.
    pub rule: &'static str,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.rule)
    }
}

/// What is wrong with a body of `protocol`.
pub fn body(protocol: Protocol, body: &Value) -> Vec<Violation> {
    match protocol {
        Protocol::Anthropic => anthropic::anthropic(body),
        Protocol::OpenaiChat => openai_chat::openai_chat(body),
        Protocol::OpenaiResponses => openai_responses::openai_responses(body),
    }
}

/// Whether `protocol` takes a piece of a message (a block, a message or an item, by protocol), whatever stands around
/// it.
pub(crate) fn is_sound(protocol: Protocol, piece: &Value, is_users: bool) -> bool {
    match protocol {
        Protocol::Anthropic => anthropic::is_sound(piece, is_users),
        Protocol::OpenaiChat => openai_chat::is_sound(piece),
        Protocol::OpenaiResponses => openai_responses::is_sound(piece),
    }
}

/// The violations met so far.
#[derive(Default)]
struct Findings(Vec<Violation>);

impl Findings {
    fn add(&mut self, path: impl Into<String>, rule: &'static str) {
        self.0.push(Violation { path: path.into(), rule });
    }

    /// Notes the rule as broken unless it `holds`.
    fn demand(&mut self, holds: bool, path: &str, rule: &'static str) {
        if !holds {
            self.add(path, rule);
        }
    }
}

/// The string in a field.
fn text_of<'v>(value: &'v Value, field: &str) -> Option<&'v str> {
    value.get(field).and_then(Value::as_str)
}

/// The `type` of a block or item; empty where it has none.
fn type_of(value: &Value) -> &str {
    text_of(value, "type").unwrap_or_default()
}

/// The list in a field; empty where there is none.
fn list_of<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
