//! Where the blocks of a message stand in its elements, by protocol, found as the readers of the protocol find
//! them; and how calls and results are cut where they stand.

use super::content::{ContentField, fates, quoted};
use super::edit::Edits;
use crate::document::{ObjectView, View};
use crate::protocol::read::{anthropic, block_of, content_part, openai_chat, openai_responses};
use crate::protocol::{Protocol, encode};
use epitome_core::{Block, Call, ToolResult};

/// A block, and where it stands in its element.
pub(super) struct Site<'e> {
    pub(super) block: Block,
    pub(super) place: BlockPlace<'e>,
}

/// How a block stands in its element.
#[derive(Clone, Copy)]
pub(super) enum BlockPlace<'e> {
    /// An entry of one of its contents.
    Piece { content: usize, at: usize },
    /// The element is nothing but this call or item.
    Item(View<'e>),
    /// The element is nothing but this result, whose parts stand in the field named.
    Answer(&'static str),
    /// A field that goes with the message whatever is cut: reasoning that some servers want back, or a call
    /// from before calls had ids.
    Bound,
}

/// An element with everything in it that can be cut.
#[derive(Default)]
pub(super) struct Layout<'e> {
    pub(super) contents: Vec<ContentField<'e>>,
    pub(super) sites: Vec<Site<'e>>,
}

impl<'e> Layout<'e> {
    pub(super) fn of(protocol: Protocol, element: View<'e>) -> Self {
        match protocol {
            Protocol::Anthropic => Self::anthropic(element),
            Protocol::OpenaiChat => Self::chat(element),
            Protocol::OpenaiResponses => Self::responses(element),
        }
    }

    fn anthropic(element: View<'e>) -> Self {
        let mut layout = Self::default();
        layout.add(ContentField::of(element, "content", "text", "[]"), anthropic::block);
        layout
    }

    fn chat(element: View<'e>) -> Self {
        let message = element.object().unwrap_or_default();
        let mut layout = Self::default();
        match message.text("role").as_deref() {
            Some("tool" | "function") => layout.add_answers(openai_chat::results(&message), "content"),
            Some("assistant") => {
                let thinking = openai_chat::thinking(&message);
                layout.sites.extend(thinking.map(|block| Site { block, place: BlockPlace::Bound }));
                layout.add(ContentField::of(element, "content", "text", "null"), piece);
                layout.add(ContentField::of(element, "refusal", "text", "null"), piece);
                layout.add(ContentField::of(element, "tool_calls", "function", "null"), |view| {
                    Some(openai_chat::call(view))
                });
                let legacy = message.get("function_call").and_then(openai_chat::legacy_call);
                layout.sites.extend(legacy.map(|block| Site { block, place: BlockPlace::Bound }));
            }
            Some(_) | None => layout.add(ContentField::of(element, "content", "text", "\"\""), piece),
        }
        layout
    }

    fn responses(element: View<'e>) -> Self {
        let item = element.object().unwrap_or_default();
        let mut layout = Self::default();
        match openai_responses::shape(element) {
            openai_responses::ItemShape::Speech => {
                let is_reply = item.text("role").as_deref() == Some("assistant");
                let text_type = if is_reply { "output_text" } else { "input_text" };
                layout.add(ContentField::of(element, "content", text_type, "[]"), piece);
            }
            openai_responses::ItemShape::Answer => {
                let key = if item.has("output") { "output" } else { "tools" };
                let answer = openai_responses::answer(&item).map(|message| message.blocks);
                layout.add_answers(answer.unwrap_or_default(), key);
            }
            openai_responses::ItemShape::Item => {
                let blocks = openai_responses::reply_blocks(element).into_iter();
                layout.sites.extend(blocks.map(|block| Site { block, place: BlockPlace::Item(element) }));
            }
        }
        layout
    }

    /// Adds a content with what its reader finds in it.
    fn add(&mut self, content: ContentField<'e>, read: impl Fn(View<'e>) -> Option<Block>) {
        let number = self.contents.len();
        let found = content.entries.iter().enumerate().filter_map(|(at, &entry)| Some((at, read(entry)?)));
        let place = |at| BlockPlace::Piece { content: number, at };
        self.sites.extend(found.map(|(at, block)| Site { block, place: place(at) }));
        self.contents.push(content);
    }

    /// Adds results that share one element: its content is the first one's.
    fn add_answers(&mut self, results: Vec<Block>, key: &'static str) {
        for (at, block) in results.into_iter().enumerate() {
            let place = if at == 0 { BlockPlace::Answer(key) } else { BlockPlace::Bound };
            self.sites.push(Site { block, place });
        }
    }
}

fn piece(view: View<'_>) -> Option<Block> {
    content_part(view).map(block_of)
}

/// Cuts the arguments of a call where they stand in its entry or item.
pub(super) fn cut_call(entry: View<'_>, call: &Call, whole: &str, edits: &mut Edits) {
    let object = entry.object().unwrap_or_default();
    if object.text("type").as_deref() == Some("tool_use") {
        let json = encode::input::object(call);
        return match object.get("input") {
            Some(input) => edits.replace(whole, input, json.get().to_owned()),
            None => edits.add_field(whole, entry, "input", json.get()),
        };
    }
    let inner = object.get("function").or_else(|| object.get("custom")).and_then(View::object);
    if let Some(input) = arguments(inner.as_ref().unwrap_or(&object)) {
        let is_text = input.text().is_some();
        match encode::input::json(&call.input).filter(|_| !is_text) {
            Some((value, json)) if has_same_keys(input, &value) => {
                edits.replace(whole, input, json.get().to_owned())
            }
            // An action has a shape of its own: what would not have it stays out.
            Some(_) => {}
            None if is_text => edits.replace(whole, input, quoted(&call.input)),
            None => {}
        }
    }
}

/// Where the arguments of a call stand, by whatever name.
fn arguments<'e>(object: &ObjectView<'e>) -> Option<View<'e>> {
    ["arguments", "input", "action", "operation"].into_iter().find_map(|key| object.get(key))
}

fn has_same_keys(old: View<'_>, new: &serde_json::Value) -> bool {
    let old: Option<serde_json::Value> = serde_json::from_str(old.json()).ok();
    let keys = |value: &serde_json::Value| {
        value.as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>())
    };
    old.as_ref().and_then(keys) == keys(new)
}

/// Cuts a `tool_result` block.
pub(super) fn cut_anthropic_result(entry: View<'_>, result: &ToolResult, whole: &str, edits: &mut Edits) {
    let content = ContentField::of(entry, "content", "text", "[]");
    cut_parts(&content, result, |view| anthropic::part(view).map(block_of), whole, edits);
}

/// Cuts a result that is an element of its own.
pub(super) fn cut_answer(
    protocol: Protocol,
    element: View<'_>,
    key: &'static str,
    result: &ToolResult,
    whole: &str,
    edits: &mut Edits,
) {
    let (text_type, empty) = match protocol {
        Protocol::Anthropic | Protocol::OpenaiChat => ("text", "\"\""),
        Protocol::OpenaiResponses => ("input_text", "\"\""),
    };
    let value = element.at(&[key]);
    // The screenshot of a computer is an object, and no text may stand in its place.
    if value.is_some_and(|value| value.object().is_some()) {
        return;
    }
    cut_parts(&ContentField::of(element, key, text_type, empty), result, piece, whole, edits);
}

fn cut_parts<'e>(
    content: &ContentField<'e>,
    result: &ToolResult,
    read: impl Fn(View<'e>) -> Option<Block>,
    whole: &str,
    edits: &mut Edits,
) {
    let found: Vec<(usize, Block)> =
        content.entries.iter().enumerate().filter_map(|(at, &entry)| Some((at, read(entry)?))).collect();
    let wanted: Vec<Block> = result.parts.iter().cloned().map(block_of).collect();
    let old: Vec<&Block> = found.iter().map(|(_, block)| block).collect();
    let (fates, left) = fates(&old, &wanted);
    let cuts: Vec<_> = found.iter().zip(fates).map(|((at, block), fate)| (*at, block, fate)).collect();
    let added: Vec<&str> = left.iter().filter_map(as_text).collect();
    content.cut(&cuts, &added, whole, edits);
}

/// The text of a text block.
pub(super) fn as_text(block: &Block) -> Option<&str> {
    match block {
        Block::Text { text } => Some(text),
        Block::Thinking { .. } | Block::Call(_) | Block::Result(_) | Block::Image(_) | Block::Opaque(_) => {
            None
        }
    }
}
