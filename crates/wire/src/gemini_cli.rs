//! Gemini CLI's session files: `{sessionId, projectHash, messages: [{type, content, …}]}`.
//!
//! A `gemini` record holds the reply, its thoughts, its calls and their results all in one; here the
//! reply is a message and each result another, made from its call's own bytes.

use crate::detect::DetectSample;
use crate::document::{ConversationDraft, ConversationView, Dialect, ObjectView, Side, View};
use crate::protocol::read::block_of;
use crate::{Format, ReportedUsage};
use epitome_core::{
    Author, Block, Call, CallId, EntryId, Image, Message, Opaque, ResultPart, Role, ToolResult,
};
use std::sync::Arc;

/// Gemini CLI session files.
pub(crate) struct GeminiCli;

impl Dialect for GeminiCli {
    const FORMAT: Format = Format::GeminiCli;

    fn is_document(sample: &DetectSample<'_>) -> bool {
        sample.messages.is_some() && is_session(&sample.object)
    }

    fn bodies<'a>(roots: &[View<'a>]) -> Result<Vec<ConversationView<'a>>, String> {
        roots.iter().map(|root| body_of(*root)).collect()
    }

    fn tell(body: &ConversationView<'_>, draft: &mut ConversationDraft<'_, Self>) {
        for (index, element) in body.elements.iter().enumerate() {
            draft.turn_to(index);
            tell_record(*element, draft);
        }
    }

    fn message(runs: &[View<'_>], side: Side) -> Result<Message, String> {
        let record = runs.first().and_then(|run| run.object()).ok_or("it is no object")?;
        match (side, record.text("type").as_deref()) {
            (Side::Answered, _) => Ok(answer(&record)),
            (Side::Said | Side::Added, Some("user")) => {
                let blocks = said(record.get("content"));
                Ok(Message { role: Role::User, author: Author::Person, blocks })
            }
            (Side::Said | Side::Added, _) => {
                let blocks = reply_blocks(&record);
                Ok(Message { role: Role::Assistant, author: Author::Model, blocks })
            }
        }
    }
}

fn body_of(root: View<'_>) -> Result<ConversationView<'_>, String> {
    let around = root.object().unwrap_or_default();
    let elements = around.get("messages").and_then(View::list).filter(|_| is_session(&around));
    let elements = elements.ok_or("there is no `sessionId` with `projectHash` and `messages` beside it")?;
    Ok(ConversationView { around, elements })
}

fn is_session(around: &ObjectView<'_>) -> bool {
    around.has("sessionId") && (around.has("projectHash") || around.has("startTime"))
}

fn tell_record(view: View<'_>, draft: &mut ConversationDraft<'_, GeminiCli>) {
    let record = view.object().unwrap_or_default();
    let id = match record.text("type").as_deref() {
        Some("user") => draft.say(&[view], Side::Said),
        Some("gemini") => tell_reply(view, &record, draft),
        // `info`, `error` and their like are for the screen.
        Some(other) => return draft.note(other),
        None => return draft.leave_out("it has no `type`"),
    };
    if let Some(id) = id {
        draft.name(id, &record.shared("id"));
    }
}

fn tell_reply(
    view: View<'_>,
    record: &ObjectView<'_>,
    draft: &mut ConversationDraft<'_, GeminiCli>,
) -> Option<EntryId> {
    let id = draft.say(&[view], Side::Said)?;
    let usage = record.get("tokens").and_then(View::object).and_then(|tokens| usage(&tokens));
    draft.reply(id, record.text("model").map(Into::into), usage);
    for call in record.list("toolCalls") {
        let has_result = !call.object().unwrap_or_default().list("result").is_empty();
        if has_result {
            draft.say(&[call], Side::Answered);
        }
    }
    Some(id)
}

/// Gemini counts cached tokens in its input, and thoughts beside its output.
fn usage(tokens: &ObjectView<'_>) -> Option<ReportedUsage> {
    let count = |key| tokens.number(key).unwrap_or(0);
    Some(ReportedUsage {
        prompt: tokens.number("input")?,
        output: count("output").saturating_add(count("thoughts")),
        cache_read: count("cached"),
        cache_write: 0,
    })
}

fn reply_blocks(record: &ObjectView<'_>) -> Vec<Block> {
    let thoughts =
        record.list("thoughts").into_iter().filter_map(|thought| Some(thinking(&thought.object()?)));
    let calls = record.list("toolCalls").into_iter().filter_map(|call| Some(call_of(&call.object()?)));
    thoughts.chain(said(record.get("content"))).chain(calls).collect()
}

fn thinking(thought: &ObjectView<'_>) -> Block {
    let pieces = ["subject", "description"].into_iter().filter_map(|key| thought.text(key));
    let text = pieces.collect::<Vec<_>>().join("\n");
    Block::Thinking { text: text.into(), signature: None, redacted: false }
}

fn call_of(call: &ObjectView<'_>) -> Block {
    let input = call.get("args").map_or("{}", View::json).into();
    Block::Call(Call { id: CallId(call.shared("id")), name: call.shared("name"), input, freeform: false })
}

/// A message's content: a string, or Gemini's parts.
fn said(content: Option<View<'_>>) -> Vec<Block> {
    let Some(content) = content else { return Vec::new() };
    let parts = content.list().unwrap_or_else(|| vec![content]);
    parts.into_iter().filter_map(part).map(block_of).collect()
}

fn part(view: View<'_>) -> Option<ResultPart> {
    let Some(part) = view.object() else { return text(view.text()?.into()) };
    if let Some(said) = part.text("text") {
        return text(said.into());
    }
    let inline = part.get("inlineData").and_then(View::object);
    if let Some((inline, data)) =
        inline.and_then(|inline| Some((inline.shared("mimeType"), inline.text("data")?)))
    {
        return Some(ResultPart::Image(Image { media_type: inline, data: data.into(), is_url: false }));
    }
    Some(ResultPart::Opaque(Opaque { kind: "part".into(), json: view.json().into() }))
}

fn text(text: Arc<str>) -> Option<ResultPart> {
    (!text.is_empty()).then_some(ResultPart::Text { text })
}

/// The result a call carries. What was cancelled or refused comes as an error.
fn answer(call: &ObjectView<'_>) -> Message {
    let is_error = call.text("status").is_some_and(|status| status != "success");
    let parts = call.list("result").into_iter().filter_map(result_part).collect();
    let result = ToolResult { call: CallId(call.shared("id")), parts, is_error };
    Message { role: Role::Tool, author: Author::Tool, blocks: vec![Block::Result(result)] }
}

fn result_part(view: View<'_>) -> Option<ResultPart> {
    let Some(response) = view.at(&["functionResponse", "response"]) else { return part(view) };
    let fields = response.object().unwrap_or_default();
    let said = fields.text("output").or_else(|| fields.text("error"));
    text(said.unwrap_or_else(|| response.json().into()).into())
}
