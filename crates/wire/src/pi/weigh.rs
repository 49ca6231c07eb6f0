//! Messages weighed where they stand: all a log needs of an ordinary line, and nothing of what it says.

use super::record::{BlockLine, Body, Record, UsageLine};
use crate::jsonl::{Content, RawText, Text};
use epitome_core::{Author, CallId, Image, Item, Measure, Role, Sizes, Tokens};
use serde_json::value::RawValue;
use std::sync::Arc;

/// The line of a message, without the message.
pub(super) struct Weighed {
    pub id: Option<Arc<str>>,
    pub parent_id: Option<Box<str>>,
    pub model: Option<Box<str>>,
    pub usage: Option<UsageLine>,
    /// What [`Measure::weigh`] gives for the message as it is.
    pub item: Item,
}

/// A scale for the lines of messages. What is odd about a line in any way, it leaves to others.
pub(super) fn scale(measure: &dyn Measure) -> impl FnMut(&str) -> Option<Weighed> {
    let mut buffer = String::new();
    move |line| {
        let record: Record<'_, RawText<'_>> = serde_json::from_str(line).ok()?;
        let body = record.message.as_ref().filter(|_| &*record.kind == "message")?;
        let item = Scale { measure, buffer: &mut buffer }.weigh(body)?;
        Some(Weighed {
            id: record.id.as_ref().map(Arc::from),
            parent_id: record.parent_id.as_deref().map(Box::from),
            model: body.model.as_deref().map(Box::from),
            usage: body.usage,
            item,
        })
    }
}

struct Scale<'s> {
    measure: &'s dyn Measure,
    /// Where texts are unescaped, one after the other.
    buffer: &'s mut String,
}

impl Scale<'_> {
    fn weigh(&mut self, body: &Body<'_, RawText<'_>>) -> Option<Item> {
        let (role, author) = match &*body.role {
            "user" => (Role::User, Author::Person),
            "assistant" => (Role::Assistant, Author::Model),
            "toolResult" => return self.weigh_result(body),
            _ => return None,
        };
        let mut sizes = Sizes { framing: self.measure.framing(), ..Sizes::default() };
        let mut calls = Vec::new();
        if let Content::Text(said) = &body.content {
            sizes.text += self.measure.text(said);
        }
        for block in body.content.blocks() {
            calls.extend(self.add_block(block, &mut sizes)?);
        }
        Some(Item { role, author, sizes, calls: calls.into(), answers: Box::default() })
    }

    /// Adds a block to `sizes`, and says which call it makes, if it makes one.
    fn add_block(&mut self, block: &BlockLine<'_, RawText<'_>>, sizes: &mut Sizes) -> Option<Option<CallId>> {
        match block.kind.as_deref()? {
            "text" => sizes.text += self.text(block.text)?,
            "thinking" => sizes.thinking += self.text(block.thinking)?,
            "image" => sizes.images += self.image(block)?,
            "toolCall" => {
                let input = block.arguments.map_or("{}", RawValue::get);
                sizes.calls += self.measure.text(said(&block.name)) + self.measure.text(input);
                sizes.framing += self.measure.call_framing();
                return Some(Some(CallId(said(&block.id).into())));
            }
            _ => return None,
        }
        Some(None)
    }

    fn weigh_result(&mut self, body: &Body<'_, RawText<'_>>) -> Option<Item> {
        let framing = self.measure.framing() + self.measure.result_framing();
        let mut sizes = Sizes { framing, ..Sizes::default() };
        if let Content::Text(said) = &body.content {
            sizes.results += self.measure.text(said);
        }
        for block in body.content.blocks() {
            match block.kind.as_deref()? {
                "text" => sizes.results += self.text(block.text)?,
                "image" => sizes.images += self.image(block)?,
                _ => return None,
            }
        }
        let answers = [CallId(body.tool_call_id.as_deref()?.into())].into();
        Some(Item { role: Role::Tool, author: Author::Tool, sizes, calls: Box::default(), answers })
    }

    fn text(&mut self, text: Option<RawText<'_>>) -> Option<Tokens> {
        let text = text.map_or(Some(""), |text| text.read(self.buffer))?;
        Some(self.measure.text(text))
    }

    fn image(&mut self, block: &BlockLine<'_, RawText<'_>>) -> Option<Tokens> {
        let data = block.data.map_or(Some(""), |data| data.read(self.buffer))?.into();
        let media_type = said(&block.mime_type).into();
        Some(self.measure.image(&Image { media_type, data, is_url: false }))
    }
}

fn said<'t>(text: &'t Option<Text<'_>>) -> &'t str {
    text.as_deref().unwrap_or_default()
}
