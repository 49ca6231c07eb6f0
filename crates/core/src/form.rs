//! How a message in view is shown: whole, without its thinking, with a pointer for its bulk, or
//! shortened to head and tail. The original stays in the archive.

mod marker;

pub use marker::without_address;

use crate::plain_text::ends;
use crate::policy::Notice;
use crate::{Block, Call, EntryId, Image, Measure, Message, Opaque, ResultPart, Tokens, ToolResult};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What is left out of a message, and what takes its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Form {
    /// Tool results give way to a pointer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub results: bool,
    /// How that pointer is worded.
    #[serde(default, skip_serializing_if = "Notice::is_pointer")]
    pub notice: Notice,
    /// Long values inside tool-call arguments give way to their beginning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub arguments: bool,
    /// Arguments of a call that take at most this stay as they are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub arguments_over: Tokens,
    /// Thinking is left out, whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub thinking: bool,
    /// Pictures give way to a marker.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub images: bool,
    /// Blocks we carry and do not read give way to a marker. Their size is our guess alone, so a message is
    /// cut around them unless it is far too large.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub opaque: bool,
    /// The same was said again later: a pointer stands for all of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
    /// The same was said again later, and the context needs nothing in its place: it is not shown at all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left_out: bool,
    /// The message as a whole is cut to head, pointer and tail of about this many tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shorten: Option<Tokens>,
}

/// A message as the context shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageView {
    /// The entry it comes from; none for a summary.
    pub id: Option<EntryId>,
    /// As shown.
    pub message: Arc<Message>,
}

/// Argument values at most this long stay as they are: a path, a flag, a short query.
const ARGUMENT_CHARS_MAX: usize = 200;

/// Arguments of a call that take no more than this stay in its last form too: the path that was read says more than a
/// pointer, and takes little more.
const BARE_INPUT_BYTES_MAX: usize = 120;

impl Form {
    /// The message whole.
    pub const WHOLE: Self = Self {
        results: false,
        notice: Notice::Pointer,
        arguments: false,
        arguments_over: Tokens::ZERO,
        thinking: false,
        images: false,
        opaque: false,
        repeated: false,
        left_out: false,
        shorten: None,
    };

    /// The same for a message that is no longer cut for want of room.
    #[must_use]
    pub fn uncut(self) -> Self {
        Self { shorten: None, opaque: false, ..self }
    }

    /// Both forms at once; the shorter of two lengths, and the wording that came first.
    pub fn and(self, other: Self) -> Self {
        let shorten = match (self.shorten, other.shorten) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (one, two) => one.or(two),
        };
        let arguments_over = match (self.arguments, other.arguments) {
            (true, true) => self.arguments_over.min(other.arguments_over),
            (true, false) => self.arguments_over,
            (false, _) => other.arguments_over,
        };
        Self {
            results: self.results || other.results,
            notice: if self.results { self.notice } else { other.notice },
            arguments: self.arguments || other.arguments,
            arguments_over,
            thinking: self.thinking || other.thinking,
            images: self.images || other.images,
            opaque: self.opaque || other.opaque,
            repeated: self.repeated || other.repeated,
            left_out: self.left_out || other.left_out,
            shorten,
        }
    }

    /// Whether it hides something that a summary should tell. Thinking is left out of view and of summaries.
    pub fn is_cut(&self) -> bool {
        Self { thinking: false, images: false, repeated: false, left_out: false, ..*self } != Self::WHOLE
    }

    /// `message` in this form. Calls and results keep their ids, so pairs stay pairs. Of a message that is
    /// left out, the pointer for those who must show something in its place.
    pub fn apply(&self, id: EntryId, message: &Arc<Message>, measure: &dyn Measure) -> Arc<Message> {
        if *self == Self::WHOLE {
            return message.clone();
        }
        if self.repeated || self.left_out {
            let blocks = vec![Block::text(format!("[said again later; recall {id}]"))];
            return Arc::new(Message { blocks, ..Message::clone(message) });
        }
        let share = self.shorten.map(|all| self.share_of(all, id, message, measure));
        let mut blocks = Vec::with_capacity(message.blocks.len());
        for block in &message.blocks {
            blocks.extend(self.apply_to_block(block, share, id, measure));
        }
        if blocks.is_empty() {
            blocks.push(Block::text(format!("[thinking left out; recall {id}]")));
        }
        let shown = Message { blocks, ..Message::clone(message) };
        match self.shorten {
            Some(all) if measure.sizes(&shown).total() > all => Arc::new(self.only_pointers(message, id)),
            Some(_) | None => Arc::new(shown),
        }
    }

    fn apply_to_block(
        &self,
        block: &Block,
        share: Option<Tokens>,
        id: EntryId,
        measure: &dyn Measure,
    ) -> Option<Block> {
        let short = |text: &Arc<str>| match share {
            Some(share) => shorten(text, share, id, measure),
            None => text.clone(),
        };
        Some(match block {
            Block::Thinking { .. } if self.thinking || share.is_some() => return None,
            Block::Opaque(opaque) if self.opaque => Block::text(opaque_pointer(opaque, id)),
            Block::Thinking { .. } | Block::Opaque(_) => block.clone(),
            Block::Text { text } => Block::Text { text: short(text) },
            Block::Image(image) if self.images || share.is_some() => Block::text(image_pointer(image, id)),
            Block::Image(_) => block.clone(),
            Block::Call(call) if share.is_some() || self.cuts_arguments(call, measure) => {
                Block::Call(trim_arguments(call, id))
            }
            Block::Call(_) => block.clone(),
            Block::Result(result) if self.results => {
                Block::Result(point_to(result, id, self.notice, measure))
            }
            Block::Result(result) => Block::Result(self.apply_to_result(result, short, id)),
        })
    }

    fn cuts_arguments(&self, call: &Call, measure: &dyn Measure) -> bool {
        self.arguments && measure.text(&call.input) > self.arguments_over
    }

    fn apply_to_result(
        &self,
        result: &ToolResult,
        short: impl Fn(&Arc<str>) -> Arc<str>,
        id: EntryId,
    ) -> ToolResult {
        let parts = result.parts.iter().map(|part| match part {
            ResultPart::Text { text } => ResultPart::Text { text: short(text) },
            ResultPart::Image(image) if self.images || self.shorten.is_some() => {
                ResultPart::Text { text: image_pointer(image, id).into() }
            }
            ResultPart::Opaque(opaque) if self.opaque => {
                ResultPart::Text { text: opaque_pointer(opaque, id).into() }
            }
            ResultPart::Image(_) | ResultPart::Opaque(_) => part.clone(),
        });
        ToolResult { parts: parts.collect(), ..result.clone() }
    }

    /// What each text of the message may take so that all of them, and what stands beside them, take `all`.
    fn share_of(&self, all: Tokens, id: EntryId, message: &Message, measure: &dyn Measure) -> Tokens {
        let beside = message.blocks.iter().filter_map(without_text);
        let beside = beside.filter_map(|block| self.apply_to_block(&block, Some(Tokens::ZERO), id, measure));
        let beside = Message { blocks: beside.collect(), ..message.clone() };
        let texts = message.blocks.iter().map(|block| match block {
            Block::Text { .. } => 1,
            Block::Result(result) => {
                result.parts.iter().filter(|part| part.as_text().is_some()).count() as u64
            }
            Block::Thinking { .. } | Block::Call(_) | Block::Image(_) | Block::Opaque(_) => 0,
        });
        Tokens(all.less(measure.sizes(&beside).total()).0 / texts.sum::<u64>().max(1))
    }

    /// The last form there is: pairs stay pairs, and a pointer stands for all that can be cut, in the place of the first
    /// of it. Calls and results have their own.
    fn only_pointers(&self, message: &Message, id: EntryId) -> Message {
        let mut is_pointed_to =
            message.blocks.iter().any(|block| matches!(block, Block::Call(_) | Block::Result(_)));
        let mut blocks = Vec::with_capacity(message.blocks.len());
        for block in &message.blocks {
            let is_cut = matches!(block, Block::Text { .. } | Block::Image(_));
            if is_cut && !is_pointed_to {
                blocks.push(Block::text(bare_pointer(id)));
                is_pointed_to = true;
            }
            blocks.extend(self.bare(block, id));
        }
        if blocks.is_empty() {
            blocks.push(Block::text(bare_pointer(id)));
        }
        Message { blocks, ..message.clone() }
    }

    /// A call or result with nothing in it but the pointer, or what must be passed on as it is.
    fn bare(&self, block: &Block, id: EntryId) -> Option<Block> {
        match block {
            Block::Call(call) if call.input.len() <= BARE_INPUT_BYTES_MAX => Some(block.clone()),
            Block::Call(call) => {
                let input = format!("{{\"left_out\":\"recall {id}\"}}").into();
                Some(Block::Call(Call { input, freeform: false, ..call.clone() }))
            }
            Block::Result(result) => {
                let is_rigid = |part: &&ResultPart| !self.opaque && matches!(part, ResultPart::Opaque(_));
                let rigid = result.parts.iter().filter(is_rigid).cloned();
                let pointer = ResultPart::Text { text: bare_pointer(id).into() };
                let parts = std::iter::once(pointer).chain(rigid).collect();
                Some(Block::Result(ToolResult { parts, ..result.clone() }))
            }
            Block::Opaque(_) if !self.opaque => Some(block.clone()),
            Block::Text { .. } | Block::Thinking { .. } | Block::Image(_) | Block::Opaque(_) => None,
        }
    }
}

/// What is left of a block that is not text; none of a text.
fn without_text(block: &Block) -> Option<Block> {
    match block {
        Block::Text { .. } => None,
        Block::Result(result) => {
            let parts = result.parts.iter().filter(|part| part.as_text().is_none()).cloned().collect();
            Some(Block::Result(ToolResult { parts, ..result.clone() }))
        }
        Block::Thinking { .. } | Block::Call(_) | Block::Image(_) | Block::Opaque(_) => Some(block.clone()),
    }
}

fn is_zero(tokens: &Tokens) -> bool {
    *tokens == Tokens::ZERO
}

fn image_pointer(image: &Image, id: EntryId) -> String {
    format!("[image {}; recall {id}]", image.media_type)
}

fn opaque_pointer(opaque: &Opaque, id: EntryId) -> String {
    format!("[{}; recall {id}]", opaque.kind)
}

/// The first and last part of a text with a pointer between, within `max` where that is possible. Where the pointer
/// would take most of that, a shorter one leaves room for words.
fn shorten(text: &Arc<str>, max: Tokens, id: EntryId, measure: &dyn Measure) -> Arc<str> {
    let whole = measure.text(text);
    if whole <= max {
        return text.clone();
    }
    let full = format!("\n[… {whole} tokens in all; recall {id} …]\n");
    let pointer = if measure.text(&full) > max.share(1, 2) { bare_pointer(id) } else { full };
    ends(text, max.less(measure.text(&pointer)), &pointer, measure).into()
}

/// The shortest pointer there is.
fn bare_pointer(id: EntryId) -> String {
    format!("[recall {id}]")
}

fn point_to(result: &ToolResult, id: EntryId, notice: Notice, measure: &dyn Measure) -> ToolResult {
    let text = result.text();
    let tokens = measure.text(&text);
    let pointer = match notice {
        Notice::Pointer => {
            let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
            let first: String = first.chars().take(80).collect();
            format!("[tool result {id}: {tokens} tokens, begins \"{first}\"; recall {id}]")
        }
        Notice::Pruned => format!("[Pruned — {} tokens] [recall {id}]", tokens.0),
        Notice::Truncated => format!("[Output truncated - {} tokens] [recall {id}]", tokens.0),
    };
    if pointer.len() >= text.len() && !result.parts.iter().any(|part| part.as_text().is_none()) {
        return result.clone();
    }
    ToolResult { parts: vec![ResultPart::Text { text: pointer.into() }], ..result.clone() }
}

/// Long strings inside the arguments give way to their beginning; names and short values stay, so
/// that the model is not taught parameters that do not exist.
fn trim_arguments(call: &Call, id: EntryId) -> Call {
    let input = match serde_json::from_str::<serde_json::Value>(&call.input) {
        Ok(mut value) if !call.freeform => {
            trim_value(&mut value, id);
            value.to_string()
        }
        Ok(_) | Err(_) => trim_text(&call.input, id).unwrap_or_else(|| call.input.to_string()),
    };
    Call {
        input: if input.len() < call.input.len() { input.into() } else { call.input.clone() },
        ..call.clone()
    }
}

fn trim_value(value: &mut serde_json::Value, id: EntryId) {
    match value {
        serde_json::Value::String(text) => {
            if let Some(shorter) = trim_text(text, id) {
                *text = shorter;
            }
        }
        serde_json::Value::Array(values) => values.iter_mut().for_each(|value| trim_value(value, id)),
        serde_json::Value::Object(fields) => fields.values_mut().for_each(|value| trim_value(value, id)),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {}
    }
}

fn trim_text(text: &str, id: EntryId) -> Option<String> {
    let (cut, _) = text.char_indices().nth(ARGUMENT_CHARS_MAX)?;
    Some(format!("{}… [{} characters in all; recall {id}]", &text[..cut], text.chars().count()))
}

#[cfg(test)]
mod tests;
