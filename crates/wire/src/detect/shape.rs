//! What each format looks like: the fields of a line, of a document, and of the messages in it.

use crate::Format;
use crate::document::{Object, View};

/// How many messages are looked at to tell two protocols apart; most say it in the first few.
const MESSAGES_MAX: usize = 1000;

/// The format a value has, where its shape is one we know.
pub(super) fn format_of(value: View<'_>) -> Option<Format> {
    match value.object() {
        Some(object) => {
            of_line(&object).or_else(|| of_document(&object)).or_else(|| of_message(value, &object))
        }
        None => of_list(&value.list()?),
    }
}

/// Formats that are written line by line.
fn of_line(line: &Object<'_>) -> Option<Format> {
    let kind = line.text("type").unwrap_or_default();
    let has = |key| line.has(key);
    if line.text("epitome").as_deref() == Some(Format::Native.name()) {
        return Some(Format::Native);
    }
    let is_pi_message =
        kind == "message" && line.get("message").is_some_and(|said| said.at(&["role"]).is_some());
    if kind.is_empty() || has("messages") {
        None
    } else if has("payload") && has("timestamp") {
        Some(Format::Codex)
    } else if has("data") && kind.contains('.') {
        Some(Format::CopilotCli)
    } else if has("sessionId") || has("uuid") || has("leafUuid") || kind == "file-history-snapshot" {
        Some(Format::ClaudeCode)
    } else if is_pi_message || (kind == "session" && has("id") && has("cwd")) {
        Some(Format::Pi)
    } else {
        None
    }
}

/// Formats that are one document.
fn of_document(document: &Object<'_>) -> Option<Format> {
    let messages = document.get("messages").and_then(View::list);
    let first = messages.as_ref().and_then(|all| all.first().copied());
    let is_about = |path: &[&str]| document.get("info").is_some_and(|info| info.at(path).is_some());
    let format = document.text("trajectory_format").unwrap_or_default();
    if format.starts_with("mini-swe-agent") || is_about(&["mini_version"]) {
        return Some(Format::MiniSweAgent);
    }
    if document.has("sessionId")
        && messages.is_some()
        && (document.has("projectHash") || document.has("startTime"))
    {
        return Some(Format::GeminiCli);
    }
    let is_export = first.is_none_or(|first| first.at(&["info"]).is_some() && first.at(&["parts"]).is_some());
    if messages.is_some() && is_about(&[]) && is_export {
        return Some(Format::Opencode);
    }
    let is_thread = document.get("values").is_some_and(|values| values.at(&["messages"]).is_some());
    if is_thread || first.is_some_and(is_langchain) {
        return Some(Format::Langgraph);
    }
    of_run(document).or_else(|| of_body(document))
}

/// Records of an agent at work: SWE-agent's and OpenHands'.
fn of_run(document: &Object<'_>) -> Option<Format> {
    let first_of = |key| document.list(key).first().copied();
    let history = first_of("history");
    if history.is_some_and(is_event) {
        return Some(Format::Openhands);
    }
    let is_step = |step: View<'_>| step.at(&["observation"]).is_some() && step.at(&["action"]).is_some();
    let is_run = history.is_some_and(has_role) || first_of("trajectory").is_some_and(is_step);
    is_run.then_some(Format::SweAgent)
}

/// Request bodies, and responses that were kept.
fn of_body(body: &Object<'_>) -> Option<Format> {
    let held = ["messages", "traj"].into_iter().find_map(|key| body.get(key)?.list());
    if let Some(messages) = held {
        let is_body = messages.first().is_none_or(|&first| has_role(first));
        return is_body.then(|| of_messages(body, &messages));
    }
    let is_held = |key| body.get(key).is_some_and(|held| held.list().is_some() || held.text().is_some());
    let is_response = body.text("object").as_deref() == Some("response") && is_held("output");
    let is_request = is_held("input") && (body.has("model") || body.list("input").into_iter().any(is_item));
    (is_request || is_response).then_some(Format::OpenaiResponses)
}

/// A message or item that stands by itself: one of several lines.
fn of_message(value: View<'_>, message: &Object<'_>) -> Option<Format> {
    if is_item(value) {
        return Some(Format::OpenaiResponses);
    }
    (message.has("role") && message.has("content") || message.has("tool_calls"))
        .then(|| of_messages(&Object::default(), &[value]))
}

fn of_list(list: &[View<'_>]) -> Option<Format> {
    let first = *list.first()?;
    if is_event(first) {
        return Some(Format::Openhands);
    }
    if list.iter().take(MESSAGES_MAX).any(|&element| is_item(element)) {
        return Some(Format::OpenaiResponses);
    }
    if has_role(first) {
        return Some(of_messages(&Object::default(), list));
    }
    let within = match first.object() {
        Some(body) => of_body(&body),
        None => first
            .list()
            .filter(|inner| inner.first().is_some_and(|&first| has_role(first)))
            .map(|inner| of_messages(&Object::default(), &inner)),
    };
    within.filter(|format| format.is_protocol())
}

/// Anthropic's form or OpenAI's: by the blocks, then by the fields around, then by the model.
fn of_messages(around: &Object<'_>, messages: &[View<'_>]) -> Format {
    let messages = || messages.iter().take(MESSAGES_MAX);
    if messages().any(|&message| is_anthropics(message)) {
        return Format::Anthropic;
    }
    if messages().any(|&message| is_openais(message)) || around.has("max_completion_tokens") {
        return Format::OpenaiChat;
    }
    let has_schema = around.list("tools").first().is_some_and(|tool| tool.at(&["input_schema"]).is_some());
    let is_claude = around.text("model").is_some_and(|model| model.contains("claude"));
    let is_anthropic = has_schema || is_claude || around.has("system") || around.has("anthropic_version");
    if is_anthropic { Format::Anthropic } else { Format::OpenaiChat }
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

fn is_event(view: View<'_>) -> bool {
    let Some(event) = view.object() else { return false };
    event.has("source") && (event.has("action") || event.has("observation"))
}

fn is_langchain(message: View<'_>) -> bool {
    let kind = message.at(&["type"]).and_then(View::text).unwrap_or_default();
    matches!(&*kind, "human" | "ai" | "tool" | "system") && message.at(&["content"]).is_some()
}

fn has_role(view: View<'_>) -> bool {
    view.at(&["role"]).is_some()
}
