//! Which protocol a request body, a message or a list of messages is written in: by the blocks, then by the
//! fields around them, then by the model. Files of tools are told apart before anyone asks here.

use crate::Protocol;
use crate::detect::{DetectSample, has_role};
use crate::document::{ObjectView, View};

/// How many messages are looked at to tell two protocols apart; most say it in the first few.
const MESSAGES_MAX: usize = 1000;

/// The protocol of a value, where it is of one.
pub(crate) fn protocol_of(sample: &DetectSample<'_>) -> Option<Protocol> {
    match &sample.list {
        Some(list) => of_list(list),
        None => of_body(&sample.object).or_else(|| of_message(sample.value, &sample.object)),
    }
}

/// Request bodies, and responses that were kept.
fn of_body(body: &ObjectView<'_>) -> Option<Protocol> {
    let held = ["messages", "traj"].into_iter().find_map(|key| body.get(key)?.list());
    if let Some(messages) = held {
        let is_body = messages.first().is_none_or(|&first| has_role(first));
        return is_body.then(|| of_messages(body, &messages));
    }
    let is_held = |key| body.get(key).is_some_and(|held| held.list().is_some() || held.text().is_some());
    let is_response = body.text("object").as_deref() == Some("response") && is_held("output");
    let is_request = is_held("input") && (body.has("model") || body.list("input").into_iter().any(is_item));
    (is_request || is_response).then_some(Protocol::OpenaiResponses)
}

/// A message or item that stands by itself: one of several lines.
fn of_message(value: View<'_>, message: &ObjectView<'_>) -> Option<Protocol> {
    if is_item(value) {
        return Some(Protocol::OpenaiResponses);
    }
    (message.has("role") && message.has("content") || message.has("tool_calls"))
        .then(|| of_messages(&ObjectView::default(), &[value]))
}

fn of_list(list: &[View<'_>]) -> Option<Protocol> {
    let first = *list.first()?;
    if list.iter().take(MESSAGES_MAX).any(|&element| is_item(element)) {
        return Some(Protocol::OpenaiResponses);
    }
    if has_role(first) {
        return Some(of_messages(&ObjectView::default(), list));
    }
    match first.object() {
        Some(body) => of_body(&body),
        None => first
            .list()
            .filter(|inner| inner.first().is_some_and(|&first| has_role(first)))
            .map(|inner| of_messages(&ObjectView::default(), &inner)),
    }
}

/// Anthropic's form or OpenAI's.
fn of_messages(around: &ObjectView<'_>, messages: &[View<'_>]) -> Protocol {
    let messages = || messages.iter().take(MESSAGES_MAX);
    if messages().any(|&message| is_anthropics(message)) {
        return Protocol::Anthropic;
    }
    if messages().any(|&message| is_openais(message)) || around.has("max_completion_tokens") {
        return Protocol::OpenaiChat;
    }
    let has_schema = around.list("tools").first().is_some_and(|tool| tool.at(&["input_schema"]).is_some());
    let is_claude = around.text("model").is_some_and(|model| model.contains("claude"));
    let is_anthropic = has_schema || is_claude || around.has("system") || around.has("anthropic_version");
    if is_anthropic { Protocol::Anthropic } else { Protocol::OpenaiChat }
}

fn is_anthropics(message: View<'_>) -> bool {
    let blocks = message.at(&["content"]).and_then(View::list).unwrap_or_default();
    let mut blocks = blocks.into_iter().filter_map(|block| block.at(&["type"])?.text());
    let own =
        ["tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "image", "document"];
    blocks.any(|kind| own.contains(&&*kind))
}

fn is_openais(message: View<'_>) -> bool {
    let Some(message) = message.object() else { return false };
    let role = message.text("role").unwrap_or_default();
    matches!(&*role, "tool" | "system" | "developer" | "function") || message.has("tool_calls")
}

/// An item of OpenAI Responses.
fn is_item(view: View<'_>) -> bool {
    let Some(item) = view.object() else { return false };
    let parts = || item.list("content").into_iter().filter_map(|part| part.at(&["type"])?.text());
    let kind = item.text("type").unwrap_or_default();
    match &*kind {
        "message" | "" => {
            item.has("role") && parts().any(|part| part.starts_with("input_") || part == "output_text")
        }
        "reasoning" => item.has("summary") || item.has("encrypted_content"),
        "item_reference" | "compaction" => item.has("id") || item.has("encrypted_content"),
        kind => kind.ends_with("_call") || kind.ends_with("_call_output"),
    }
}
