//! Streams of OpenAI Responses: items that are added, grow and are done, and a last event with all.

use super::fields::{FieldsDraft, raw, string};
use super::{EventKind, Progress, StreamEvent};
use crate::document::{ObjectView, View};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// A response that is coming in.
#[derive(Debug, Default)]
pub(super) struct ResponseDraft {
    response: FieldsDraft,
    items: BTreeMap<u64, Item>,
    pub(super) progress: Progress,
}

/// One item of the output.
#[derive(Debug)]
enum Item {
    /// It grows: as it was when it was added, and the text or arguments since then.
    Open { added: FieldsDraft, kind: String, text: String },
    /// It is done, as it came.
    Done(Box<RawValue>),
}

/// More items than a reply has; a stream that numbers them higher is broken.
const ITEMS_MAX: usize = 10_000;

impl ResponseDraft {
    pub(super) fn take(&mut self, event: &StreamEvent) -> EventKind {
        let Some(data) = View::parse(&event.data).ok().and_then(View::object) else {
            return EventKind::Piece;
        };
        match &*data.text("type").unwrap_or_default() {
            "response.output_item.added" => self.put(&data, Item::open),
            "response.output_item.done" => self.put(&data, |json| raw(json).map(Item::Done)),
            "response.output_text.delta" | "response.refusal.delta" => {
                self.grow(&data);
                self.progress.newest_text.push_str(&data.text("delta").unwrap_or_default());
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                self.grow(&data)
            }
            "response.created" | "response.in_progress" => self.note(&data),
            "response.completed" | "response.incomplete" => {
                self.note(&data);
                return EventKind::Last;
            }
            "response.failed" => self.fail(&data),
            "error" => return EventKind::Error,
            // Parts, annotations, searches and whatever comes to be: the items bring it all again.
            _ => {}
        }
        EventKind::Piece
    }

    fn note(&mut self, data: &ObjectView<'_>) {
        self.response.set_all(data.get("response").map_or("{}", View::json));
    }

    /// The error alone: the rest of a failed response repeats the request's own words.
    fn fail(&mut self, data: &ObjectView<'_>) {
        self.note(data);
        let error = data.get("response").and_then(|response| response.at(&["error"]));
        let mut told = FieldsDraft::default();
        told.set("error", error.and_then(|error| raw(error.json())).unwrap_or_else(|| string("it failed")));
        self.progress.error.get_or_insert_with(|| told.raw().get().into());
    }

    fn put(&mut self, data: &ObjectView<'_>, make: impl FnOnce(&str) -> Option<Item>) {
        let index = data.number("output_index").unwrap_or(self.items.len() as u64);
        let has_room = self.items.len() < ITEMS_MAX || self.items.contains_key(&index);
        let item = data.get("item").and_then(|item| make(item.json()));
        if let Some(item) = item.filter(|_| has_room) {
            self.progress.has_output = true;
            self.items.insert(index, item);
        }
    }

    fn grow(&mut self, data: &ObjectView<'_>) {
        let item = data.number("output_index").and_then(|index| self.items.get_mut(&index));
        if let Some(Item::Open { text, .. }) = item {
            text.push_str(&data.text("delta").unwrap_or_default());
        }
    }

    /// The response as its last event has it; where that lists no output, with the items seen.
    pub(super) fn body(&self) -> String {
        let mut response = self.response.clone();
        let told = View::parse(response.raw().get())
            .ok()
            .and_then(|body| body.at(&["output"])?.list())
            .map(|all| all.len());
        if told.unwrap_or(0) == 0 {
            response.set("output", raw("[]").expect("an empty list is JSON"));
            response.extend("output", self.items.values().filter_map(Item::whole));
        }
        response.raw().get().to_owned()
    }
}

impl Item {
    fn open(json: &str) -> Option<Self> {
        let kind = View::parse(json).ok()?.at(&["type"])?.text()?.into_owned();
        Some(Self::Open { added: FieldsDraft::of(json), kind, text: String::new() })
    }

    /// The item, or what there is of one that broke off; none where that cannot be read.
    fn whole(&self) -> Option<Box<RawValue>> {
        let (added, kind, text) = match self {
            Self::Done(raw) => return Some(raw.clone()),
            Self::Open { added, kind, text } => (added, kind, text),
        };
        let mut fields = added.clone();
        match kind.as_str() {
            "message" => {
                let mut part = FieldsDraft::default();
                part.set("type", string("output_text"));
                part.set("text", string(text));
                fields.set("content", raw("[]").expect("an empty list is JSON"));
                fields.extend("content", [part.raw()]);
            }
            "function_call" => fields.set("arguments", string(text)),
            "custom_tool_call" => fields.set("input", string(text)),
            _ => return None,
        }
        Some(fields.raw())
    }
}
