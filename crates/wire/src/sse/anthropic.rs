//! Streams of Anthropic Messages: blocks that start, grow by deltas and stop.
//!
//! A delta's text is added to the block's field of the same name, whatever the delta is called, so that
//! kinds of blocks we have not met come out whole.

use super::fields::{FieldsDraft, raw, string};
use super::{EventKind, Progress, StreamEvent};
use crate::document::{ObjectView, View};
use std::collections::BTreeMap;

/// A message that is coming in.
#[derive(Debug, Default)]
pub(super) struct MessageDraft {
    message: FieldsDraft,
    blocks: BTreeMap<u64, BlockDraft>,
    pub(super) progress: Progress,
}

/// A content block, and the arguments of its call as far as they came.
#[derive(Debug, Default)]
struct BlockDraft {
    fields: FieldsDraft,
    input: String,
}

/// More blocks than a reply has; a stream that numbers them higher is broken.
const BLOCKS_MAX: usize = 10_000;

impl MessageDraft {
    pub(super) fn take(&mut self, event: &StreamEvent) -> EventKind {
        let Some(data) = View::parse(&event.data).ok().and_then(View::object) else {
            return EventKind::Piece;
        };
        match &*data.text("type").unwrap_or_default() {
            "message_start" => self.message.set_all(data.get("message").map_or("{}", View::json)),
            "content_block_start" => self.start(&data),
            "content_block_delta" => self.grow(&data),
            "message_delta" => self.change(&data),
            "message_stop" => return EventKind::Last,
            "error" => return EventKind::Error,
            // Pings, stops of blocks, and what comes to be.
            _ => {}
        }
        EventKind::Piece
    }

    fn start(&mut self, data: &ObjectView<'_>) {
        if let Some(block) = block(&mut self.blocks, data) {
            block.fields = FieldsDraft::of(data.get("content_block").map_or("{}", View::json));
            self.progress.has_output = true;
            let said = data.get("content_block").and_then(|block| block.at(&["text"])?.text());
            self.progress.newest_text.push_str(&said.unwrap_or_default());
        }
    }

    fn grow(&mut self, data: &ObjectView<'_>) {
        let Self { blocks, progress, .. } = self;
        let Some(block) = block(blocks, data) else { return };
        let delta = data.get("delta").and_then(View::object).unwrap_or_default();
        for (key, value) in delta.entries() {
            match (key, value.text()) {
                ("type", _) => {}
                ("partial_json", Some(piece)) => block.input.push_str(&piece),
                ("citation", _) => block.fields.extend("citations", raw(value.json())),
                (_, Some(piece)) => {
                    block.fields.append(key, &piece);
                    progress.newest_text.push_str(if key == "text" { &piece } else { "" });
                }
                (_, None) => raw(value.json()).into_iter().for_each(|value| block.fields.set(key, value)),
            }
        }
    }

    fn change(&mut self, data: &ObjectView<'_>) {
        self.message.set_all(data.get("delta").map_or("{}", View::json));
        if let Some(usage) = data.get("usage") {
            self.message.inner("usage").set_all(usage.json());
        }
    }

    pub(super) fn body(&self) -> String {
        let mut message = self.message.clone();
        message.set("content", raw("[]").expect("an empty list is JSON"));
        message.extend("content", self.blocks.values().map(|block| block.whole().raw()));
        message.raw().get().to_owned()
    }
}

/// The block that an event is of; none where a stream has too many.
fn block<'b>(blocks: &'b mut BTreeMap<u64, BlockDraft>, data: &ObjectView<'_>) -> Option<&'b mut BlockDraft> {
    let index = data.number("index")?;
    let has_room = blocks.len() < BLOCKS_MAX || blocks.contains_key(&index);
    has_room.then(|| blocks.entry(index).or_default())
}

impl BlockDraft {
    /// The block with its arguments in place, as text where they broke off.
    fn whole(&self) -> FieldsDraft {
        let mut fields = self.fields.clone();
        if !self.input.is_empty() {
            fields.set("input", raw(&self.input).unwrap_or_else(|| string(&self.input)));
        }
        fields
    }
}
