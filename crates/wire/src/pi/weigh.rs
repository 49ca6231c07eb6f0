//! Messages weighed where they stand: all a log needs of an ordinary line, and nothing of what it says.

use super::record::{AnyMessage, PiBlock, PiRecord, PiUsage};
use crate::jsonl::{JsonText, TextOrBlocks};
use epitome_core::{Author, CallId, Image, Item, Measure, MeasuredItem, Role, Sizes};
use serde_json::value::RawValue;
use std::sync::Arc;

/// The line of a message, without the message.
pub(super) struct WeighedLine {
    pub id: Option<Arc<str>>,
    pub parent_id: Option<Box<str>>,
    pub model: Option<Box<str>>,
    pub usage: Option<PiUsage>,
    pub time_ms: Option<u64>,
    /// What [`Measure::weigh`] gives for the message as it is.
    pub weighed: MeasuredItem,
}

/// Weighs the line of a message. What is odd about a line in any way, it leaves to others.
pub(super) fn weigh(line: &str, measure: &dyn Measure) -> Option<WeighedLine> {
    if !measure.adds_up() {
        return None;
    }
    let record: PiRecord<'_> = serde_json::from_str(line).ok()?;
    let body = record.message.as_ref().filter(|_| &*record.kind == "message")?;
    let weighed = match body.role() {
        "user" => weigh_said(body, Role::User, Author::Person, measure)?,
        "assistant" => weigh_said(body, Role::Assistant, Author::Model, measure)?,
        "toolResult" => weigh_result(body, measure)?,
        _ => return None,
    };
    Some(WeighedLine {
        id: record.id.as_ref().map(Arc::from),
        parent_id: record.parent_id.as_deref().map(Box::from),
        model: body.model.as_deref().map(Box::from),
        usage: *body.usage,
        time_ms: record.time_ms(),
        weighed,
    })
}

fn weigh_said(
    body: &AnyMessage<'_>,
    role: Role,
    author: Author,
    measure: &dyn Measure,
) -> Option<MeasuredItem> {
    let (mut sizes, mut calls) = (Sizes { framing: measure.framing(), ..Sizes::default() }, Vec::new());
    match &body.content {
        TextOrBlocks::Text(said) => sizes.text += measure.text(said),
        TextOrBlocks::Other => return None,
        TextOrBlocks::Nothing | TextOrBlocks::Blocks(_) => {}
    }
    for block in body.content.blocks() {
        match block.kind.as_deref()? {
            "text" => sizes.text += measure.text(block.text.as_deref()?),
            "thinking" => sizes.thinking += measure.text(read(&block.thinking)),
            "image" => sizes.images += measure.image(&image_of(block)?),
            "toolCall" => {
                let input = block.arguments.map_or("{}", RawValue::get);
                sizes.calls += measure.text(read(&block.name)) + measure.text(input);
                sizes.framing += measure.call_framing();
                calls.push(CallId(read(&block.id).into()));
            }
            _ => return None,
        }
    }
    let item = Item { role, author, calls: calls.into(), answers: Box::default() };
    Some(MeasuredItem { item, sizes })
}

fn weigh_result(body: &AnyMessage<'_>, measure: &dyn Measure) -> Option<MeasuredItem> {
    let framing = measure.framing() + measure.result_framing();
    let mut sizes = Sizes { framing, ..Sizes::default() };
    match &body.content {
        TextOrBlocks::Text(said) => sizes.results += measure.text(said),
        TextOrBlocks::Other => return None,
        TextOrBlocks::Nothing | TextOrBlocks::Blocks(_) => {}
    }
    for block in body.content.blocks() {
        match block.kind.as_deref()? {
            "text" => sizes.results += measure.text(block.text.as_deref()?),
            "image" => sizes.images += measure.image(&image_of(block)?),
            _ => return None,
        }
    }
    let answers = [CallId(body.tool_call_id.as_deref()?.into())].into();
    let item = Item { role: Role::Tool, author: Author::Tool, calls: Box::default(), answers };
    Some(MeasuredItem { item, sizes })
}

fn image_of(block: &PiBlock<'_>) -> Option<Image> {
    let data = block.data.as_deref()?.into();
    Some(Image { media_type: read(&block.mime_type).into(), data, is_url: false })
}

fn read<'t>(text: &'t Option<JsonText<'_>>) -> &'t str {
    text.as_deref().unwrap_or_default()
}
