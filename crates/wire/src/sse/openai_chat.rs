//! Streams of OpenAI Chat Completions, and of the many servers that speak nearly the same.

use super::fields::{FieldsDraft, entries, raw, string};
use super::{EventKind, Progress, StreamEvent};
use crate::document::{ObjectView, View};
use std::collections::BTreeMap;

/// A completion that is coming in. Of several choices the first is read.
#[derive(Debug, Default)]
pub(super) struct CompletionDraft {
    around: FieldsDraft,
    message: FieldsDraft,
    calls: BTreeMap<u64, FieldsDraft>,
    finish_reason: Option<String>,
    pub(super) progress: Progress,
}

/// More calls than a reply makes; a stream that numbers them higher is broken.
const CALLS_MAX: usize = 10_000;

impl CompletionDraft {
    pub(super) fn take(&mut self, event: &StreamEvent) -> EventKind {
        if event.data.trim() == "[DONE]" {
            return EventKind::Last;
        }
        let Some(chunk) = View::parse(&event.data).ok().and_then(View::object) else {
            return EventKind::Piece;
        };
        if chunk.has("error") || event.name == "error" {
            return EventKind::Error;
        }
        for key in ["id", "model", "usage"] {
            if let Some(value) = chunk.get(key) {
                self.around.set_anew(key, value.json());
            }
        }
        let choices = chunk.list("choices").into_iter().filter_map(View::object);
        for choice in choices.filter(|choice| choice.number("index").unwrap_or(0) == 0) {
            self.choose(&choice);
        }
        EventKind::Piece
    }

    fn choose(&mut self, choice: &ObjectView<'_>) {
        // A few servers put the last piece, or all of it, in `message`.
        let delta = choice.get("delta").or_else(|| choice.get("message"));
        let delta = delta.and_then(View::object).unwrap_or_default();
        for (key, value) in delta.entries() {
            self.grow(key, value);
        }
        if let Some(reason) = choice.text("finish_reason").filter(|reason| !reason.is_empty()) {
            self.finish_reason = Some(reason.into_owned());
        }
    }

    fn grow(&mut self, key: &str, value: View<'_>) {
        match (key, value.text(), value.list()) {
            ("role", ..) => {}
            ("tool_calls", _, Some(calls)) => calls.into_iter().for_each(|call| self.call(call)),
            ("function_call", ..) => grow_function(self.message.inner("function_call"), value),
            ("content", None, Some(parts)) => parts.into_iter().for_each(|part| self.part(part)),
            (_, Some(piece), _) => self.say(key, &piece),
            (_, None, Some(list)) => {
                self.message.extend(key, list.into_iter().filter_map(|item| raw(item.json())));
            }
            (_, None, None) => self.message.set_once(key, raw(value.json()).expect("a view stands on JSON")),
        }
    }

    fn say(&mut self, key: &str, piece: &str) {
        self.progress.has_output |= !piece.is_empty();
        self.message.append(key, piece);
        if matches!(key, "content" | "refusal") {
            self.progress.newest_text.push_str(piece);
        }
    }

    /// A piece of content in parts: words, or reasoning as Mistral writes it.
    fn part(&mut self, part: View<'_>) {
        let Some(part) = part.object() else { return };
        if let Some(text) = part.text("text") {
            self.say("content", &text);
        }
        for text in part.list("thinking").into_iter().filter_map(|inner| inner.at(&["text"])?.text()) {
            self.say("reasoning_content", &text);
        }
    }

    /// A piece of a call: those of one call share an index; some servers leave it out and send each
    /// call whole.
    fn call(&mut self, call: View<'_>) {
        let Some(call) = call.object() else { return };
        let index = call.number("index").unwrap_or(self.calls.len() as u64);
        if self.calls.len() >= CALLS_MAX && !self.calls.contains_key(&index) {
            return;
        }
        self.progress.has_output = true;
        let fields = self.calls.entry(index).or_default();
        for (key, text) in call.rest(&["index"]) {
            let Some(value) = raw(&text) else { continue };
            match &*key {
                "function" | "custom" => grow_function(fields.inner(&key), View::from(&*value)),
                _ => fields.set_once(&key, value),
            }
        }
    }

    pub(super) fn body(&self) -> String {
        let mut message = self.message.clone();
        message.set("role", string("assistant"));
        if !self.calls.is_empty() {
            message.extend("tool_calls", self.calls.values().map(FieldsDraft::raw));
        }
        let mut choice = FieldsDraft::default();
        choice.set("message", message.raw());
        if let Some(reason) = &self.finish_reason {
            choice.set("finish_reason", string(reason));
        }
        let mut body = self.around.clone();
        body.extend("choices", [choice.raw()]);
        body.raw().get().to_owned()
    }
}

/// The name comes once, whatever else is repeated; the arguments grow.
fn grow_function(function: &mut FieldsDraft, piece: View<'_>) {
    for (key, value) in entries(piece.json()) {
        match (key.as_str(), View::from(&*value).text()) {
            ("arguments" | "input", Some(text)) => function.append(&key, &text),
            _ => function.set_once(&key, value),
        }
    }
}
