//! A broken rule in the words the provider has for it.

use crate::complaint::Complaint;
use epitome_wire::Protocol;
use epitome_wire::validate::Violation;
use serde_json::Value;

/// How strictly requests are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// By every rule of `epitome_wire::validate`.
    #[default]
    Strict,
    /// By those rules alone that the providers themselves hold.
    Lenient,
}

/// The rules that are ours: providers accept what breaks them.
const OURS: [&str; 5] = [
    "user and assistant alternate",
    "the last message is the user's",
    "a system message stands first",
    "the last message is the user's or a tool's",
    LAST_ITEM,
];

/// A list handed over for compaction may end with anything.
pub(crate) const LAST_ITEM: &str = "the last item is not the assistant's message";

impl Strictness {
    /// Whether breaking `rule` gets a request refused.
    pub(crate) fn holds(self, rule: &str) -> bool {
        match self {
            Self::Strict => true,
            Self::Lenient => !OURS.contains(&rule),
        }
    }
}

/// What the provider says to a body that breaks a rule.
pub(crate) fn complaint(protocol: Protocol, body: &Value, broken: &Violation) -> Complaint {
    let found = at(body, &broken.path);
    let message = match protocol {
        Protocol::Anthropic => anthropic(broken, found),
        Protocol::OpenaiChat => openai_chat(broken, found),
        Protocol::OpenaiResponses => openai_responses(broken, found),
    };
    let param = match protocol {
        Protocol::Anthropic => None,
        Protocol::OpenaiChat | Protocol::OpenaiResponses => Some(broken.path.clone()),
    };
    Complaint { param, ..Complaint::invalid(message) }
}

fn anthropic(broken: &Violation, found: &Value) -> String {
    let path = dotted(&broken.path);
    let message = path.split(".content").next().unwrap_or(&path);
    let id = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    match broken.rule {
        "a tool_use has its tool_result in the next message" => format!(
            "{message}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each \
             `tool_use` block must have a corresponding `tool_result` block in the next message.",
            id("id")
        ),
        "a tool_result has its tool_use in the previous message" => format!(
            "{path}: unexpected `tool_use_id` found in `tool_result` blocks: {}. Each `tool_result` block \
             must have a corresponding `tool_use` block in the previous message.",
            id("tool_use_id")
        ),
        "the first message is the user's" => "messages: first message must use the \"user\" role".into(),
        "user and assistant alternate" => {
            "messages: roles must alternate between \"user\" and \"assistant\", but found several of one in \
             a row"
                .into()
        }
        "a text block is not empty" => "messages: text content blocks must be non-empty".into(),
        "content is not empty" => format!(
            "{message}: all messages must have non-empty content except for the optional final assistant \
             message"
        ),
        "with thinking on, the reply with the last calls starts with it" => format!(
            "{path}.type: Expected `thinking` or `redacted_thinking`, but found `{}`. When `thinking` is \
             enabled, a final `assistant` message must start with a thinking block.",
            id("type")
        ),
        "a call's id is unique in the request" => format!("{path}: `tool_use` ids must be unique"),
        "a request has at most 4 cache breakpoints" => {
            "A maximum of 4 blocks with cache_control may be provided.".into()
        }
        "tool names are unique" => "tools: Tool names must be unique.".into(),
        rule => format!("{path}: {rule}"),
    }
}

fn openai_chat(broken: &Violation, found: &Value) -> String {
    match broken.rule {
        "each call is answered by a tool message right behind it" => {
            let calls = found.as_array().into_iter().flatten();
            let ids: Vec<&str> = calls.filter_map(|call| call["id"].as_str()).collect();
            format!(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
                 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
                ids.join(", ")
            )
        }
        "a tool message answers a call right before it" => {
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with \
             'tool_calls'."
                .into()
        }
        "content may be null only beside tool_calls" => {
            format!("Invalid value for '{}': expected a string, got null.", broken.path)
        }
        rule => format!("Invalid '{}': {rule}.", broken.path),
    }
}

fn openai_responses(broken: &Violation, found: &Value) -> String {
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    match broken.rule {
        "an output has its call before it" => {
            format!("No tool call found for function call output with call_id {}.", text("call_id"))
        }
        "a call has its output after it" => {
            format!("No tool output found for function call {}.", text("call_id"))
        }
        "a reasoning item is followed by the item it led to" => format!(
            "Item '{}' of type 'reasoning' was provided without its required following item.",
            text("id")
        ),
        rule => format!("Invalid '{}': {rule}.", broken.path),
    }
}

/// `messages[3].content[0]` as `messages.3.content.0`.
fn dotted(path: &str) -> String {
    path.replace('[', ".").replace(']', "")
}

/// What stands at a path; nothing where it leads nowhere.
fn at<'v>(body: &'v Value, path: &str) -> &'v Value {
    let pointer = format!("/{}", dotted(path).replace('.', "/"));
    body.pointer(&pointer).unwrap_or(&Value::Null)
}
