//! Anthropic Messages: `{system, messages, tools, model, max_tokens}`, or the messages alone.
//!
//! A user message that brings results and says something too becomes two messages with the same
//! bytes: the results first, then the rest.

use super::bodies::BodyLayout;
use super::part::bare;
use super::usage::anthropic_usage;
use super::{author_of, block_of, image_at};
use crate::detect::DetectSample;
use crate::document::{ConversationDraft, ConversationView, Dialect, ObjectView, Side, View};
use crate::protocol::ElementError;
use crate::{FixedParts, Format, Protocol};
use epitome_core::{
    Author, Block, Call, CallId, EntryId, Image, Message, Opaque, ResultPart, Role, ToolResult,
};

/// Request bodies and message arrays in Anthropic's form.
pub(crate) struct Anthropic;

const LAYOUT: BodyLayout = BodyLayout { fields: &["messages"], is_element: |object| object.has("role") };

impl Dialect for Anthropic {
    const FORMAT: Format = Format::Body(Protocol::Anthropic);

    fn is_document(sample: &DetectSample<'_>) -> bool {
        sample.protocol() == Some(Protocol::Anthropic)
    }

    fn bodies<'a>(roots: &[View<'a>]) -> Result<Vec<ConversationView<'a>>, String> {
        let bodies = LAYOUT.bodies(roots)?;
        let foreign = bodies.iter().flat_map(|body| &body.elements).find_map(|&element| is_foreign(element));
        foreign.map_or(Ok(bodies), Err)
    }

    fn tell(body: &ConversationView<'_>, draft: &mut ConversationDraft<'_, Self>) {
        draft.fixed = fixed(&body.around);
        draft.put_body(body, LAYOUT.fields, 0);
        for (index, &element) in body.elements.iter().enumerate() {
            draft.turn_to(index);
            tell_element(element, draft);
        }
    }

    fn message(runs: &[View<'_>], side: Side) -> Result<Message, String> {
        let message = runs.first().and_then(|run| run.object()).ok_or("it is no object")?;
        let (results, rest) = blocks_of(message.get("content"));
        match side {
            Side::Answered => Ok(answered(results)),
            Side::Said | Side::Added => said(&message.shared("role"), rest),
        }
    }
}

/// What marks a message as another protocol's.
fn is_foreign(element: View<'_>) -> Option<String> {
    let message = element.object()?;
    let role = message.shared("role");
    if matches!(&*role, "tool" | "function" | "developer") {
        return Some(format!("a message has the role `{role}`, which Anthropic Messages does not have"));
    }
    message.has("tool_calls").then(|| "a message has `tool_calls`, which is how OpenAI writes calls".into())
}

fn tell_element(element: View<'_>, draft: &mut ConversationDraft<'_, Anthropic>) {
    let messages = match messages_in(element) {
        Ok(messages) => messages,
        Err(why) => return draft.leave_out(&why),
    };
    for (side, message) in messages {
        let id = draft.put(&[element], side, &message);
        if side == Side::Said {
            tell_about(&element.object().unwrap_or_default(), id, draft);
        }
    }
}

/// What an element says of itself beside its message.
fn tell_about(message: &ObjectView<'_>, id: EntryId, draft: &mut ConversationDraft<'_, Anthropic>) {
    draft.name(id, &message.shared("id"));
    if &*message.shared("role") == "assistant" {
        let usage = message.get("usage").and_then(anthropic_usage);
        draft.reply(id, message.text("model").map(Into::into), usage);
    }
}

/// The one or two messages of an element: the results in it, then what else is said.
fn messages_in(element: View<'_>) -> Result<Vec<(Side, Message)>, String> {
    let message = element.object().unwrap_or_default();
    let (results, rest) = blocks_of(message.get("content"));
    if results.is_empty() {
        return Ok(vec![(Side::Said, said(&message.shared("role"), rest)?)]);
    }
    let mut messages = vec![(Side::Answered, answered(results))];
    if !rest.is_empty() {
        messages.push((Side::Said, said(&message.shared("role"), rest)?));
    }
    Ok(messages)
}

/// The messages of single elements, each with the place of its element.
pub(crate) fn decode(elements: &[View<'_>]) -> Result<Vec<(usize, Message)>, ElementError> {
    let mut all = Vec::with_capacity(elements.len());
    for (at, &element) in elements.iter().enumerate() {
        let failed = |why| ElementError { element: at, why };
        is_foreign(element).map_or(Ok(()), Err).map_err(failed)?;
        all.extend(messages_in(element).map_err(failed)?.into_iter().map(|(_, message)| (at, message)));
    }
    Ok(all)
}

fn answered(blocks: Vec<Block>) -> Message {
    Message { role: Role::Tool, author: Author::Tool, blocks }
}

fn said(role: &str, blocks: Vec<Block>) -> Result<Message, String> {
    let (role, author) = match role {
        "user" => (Role::User, author_of(&blocks)),
        "assistant" => (Role::Assistant, Author::Model),
        "system" => (Role::System, Author::Harness),
        other => return Err(format!("nobody has the role `{other}`")),
    };
    Ok(Message { role, author, blocks })
}

/// The results in a content field, and its other blocks.
fn blocks_of(content: Option<View<'_>>) -> (Vec<Block>, Vec<Block>) {
    let Some(content) = content else { return (Vec::new(), Vec::new()) };
    let blocks = content.list().unwrap_or_else(|| vec![content]);
    blocks.into_iter().filter_map(block).partition(|block| matches!(block, Block::Result(_)))
}

/// One content block; none for a text that says nothing.
pub(crate) fn block(view: View<'_>) -> Option<Block> {
    let Some(block) = view.object() else { return bare(view).map(block_of) };
    let kind = block.shared("type");
    Some(match (&*kind, block.get("source").and_then(image_from)) {
        ("text", _) => return block.text("text").filter(|text| !text.is_empty()).map(Block::text),
        ("image", Some(image)) => Block::Image(image),
        ("tool_use", _) => Block::Call(Call {
            id: CallId(block.shared("id")),
            name: block.shared("name"),
            input: block.get("input").map_or("{}", View::json).into(),
            freeform: false,
        }),
        ("tool_result", _) => Block::Result(result(&block)),
        ("thinking", _) => Block::Thinking {
            text: block.shared("thinking"),
            signature: block.text("signature").filter(|seal| !seal.is_empty()).map(Into::into),
            redacted: false,
        },
        ("redacted_thinking", _) => {
            Block::Thinking { text: "".into(), signature: block.text("data").map(Into::into), redacted: true }
        }
        _ => Block::Opaque(Opaque { kind, json: view.json().into() }),
    })
}

fn result(block: &ObjectView<'_>) -> ToolResult {
    let content = block.get("content");
    let pieces = content.and_then(View::list).unwrap_or_else(|| content.into_iter().collect());
    ToolResult {
        call: CallId(block.shared("tool_use_id")),
        parts: pieces.into_iter().filter_map(part).collect(),
        is_error: block.is_true("is_error"),
    }
}

/// One piece of a result; none for a text that says nothing.
pub(crate) fn part(view: View<'_>) -> Option<ResultPart> {
    let Some(part) = view.object() else { return bare(view) };
    let kind = part.shared("type");
    match (&*kind, part.text("text"), part.get("source").and_then(image_from)) {
        ("text", Some(text), _) => (!text.is_empty()).then(|| ResultPart::Text { text: text.into() }),
        ("image", _, Some(image)) => Some(ResultPart::Image(image)),
        _ => Some(ResultPart::Opaque(Opaque { kind, json: view.json().into() })),
    }
}

/// A picture's `source`: base64 data or a URL. A file id is carried, not read.
fn image_from(source: View<'_>) -> Option<Image> {
    let source = source.object()?;
    match (source.text("data"), source.text("url")) {
        (Some(data), _) => {
            Some(Image { media_type: source.shared("media_type"), data: data.into(), is_url: false })
        }
        (None, Some(url)) => Some(image_at(&url)),
        (None, None) => None,
    }
}

pub(crate) fn fixed(around: &ObjectView<'_>) -> FixedParts {
    let pieces = match around.get("system") {
        Some(system) => system.list().unwrap_or_else(|| vec![system]),
        None => Vec::new(),
    };
    let text = |piece: View<'_>| piece.text().or_else(|| piece.at(&["text"])?.text()).map(Into::into);
    FixedParts {
        system: pieces.into_iter().filter_map(text).collect(),
        tools: around.list("tools").into_iter().map(|tool| tool.json().into()).collect(),
        model: around.text("model").map(Into::into),
        max_tokens: around.number("max_tokens"),
        rest: around.rest(&["messages", "system", "tools", "model", "max_tokens"]),
        window: None,
    }
}
