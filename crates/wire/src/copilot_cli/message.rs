//! From an event to the message the model saw or wrote.

use super::event::CopilotEvent;
use crate::document::{ObjectView, View};
use crate::jsonl::decoded;
use crate::unpaired::unpaired;
use epitome_core::{Author, Block, Call, CallId, Image, Message, Opaque, ResultPart, Role, ToolResult};

/// Set as a place's part where the message is a result without its call.
pub(super) const NO_CALL: u32 = 1;

/// Makes the message of an event again. Behind its own run stand those of the assets it names.
pub(crate) fn decode(runs: &[Vec<u8>], part: u32) -> Result<Message, String> {
    let (run, assets) = runs.split_first().ok_or("the message stands nowhere")?;
    let text = decoded(run);
    let event = CopilotEvent::parse(&text).map_err(|error| error.to_string())?;
    Ok(message_of(&event.ok_or("it is no event")?, part == NO_CALL, assets))
}

/// The message an event is; `assets` are the lines of those it names.
pub(super) fn message_of(event: &CopilotEvent<'_>, no_call: bool, assets: &[Vec<u8>]) -> Message {
    let lines: Vec<_> = assets.iter().map(|line| decoded(line)).collect();
    let parsed = lines.iter().filter_map(|line| CopilotEvent::parse(line).ok().flatten());
    let assets = Assets(parsed.map(|asset| asset.data).collect());
    let data = &event.data;
    match &*event.kind {
        "user.message" => {
            Message { role: Role::User, author: author(event), blocks: said_blocks(data, &assets) }
        }
        "system.notification" => {
            let blocks = text_of(data, "content").into_iter().collect();
            Message { role: Role::User, author: Author::Harness, blocks }
        }
        "assistant.message" => {
            Message { role: Role::Assistant, author: Author::Model, blocks: reply_blocks(data) }
        }
        _ => result_message(data, no_call, &assets),
    }
}

/// Files that stand in the log once, in an event of their own, and are named wherever they were sent.
struct Assets<'a>(Vec<ObjectView<'a>>);

impl Assets<'_> {
    /// The picture that a part of a message is, or names.
    fn picture(&self, part: &ObjectView<'_>) -> Option<Image> {
        let named = part.text("assetId");
        let asset = self.0.iter().find(|asset| named.is_some() && asset.text("assetId") == named);
        let field = |key| part.text(key).or_else(|| asset?.text(key));
        let media_type = field("mimeType").filter(|kind| kind.starts_with("image/"))?;
        Some(Image { media_type: media_type.into(), data: field("data")?.into(), is_url: false })
    }
}

/// Who wrote what stands on the user's side. A subagent's task was put by the agent that started it: in its own
/// conversation that is the person.
fn author(event: &CopilotEvent<'_>) -> Author {
    let source = event.data.text("source").unwrap_or_default();
    let is_task = event.agent.is_some() && source.starts_with("agent-");
    let is_typed = matches!(&*source, "" | "user");
    if (is_task || is_typed) && !event.data.is_true("isAutopilotContinuation") {
        Author::Person
    } else {
        Author::Harness
    }
}

fn text_of(data: &ObjectView<'_>, key: &str) -> Option<Block> {
    data.text(key).filter(|text| !text.is_empty()).map(Block::text)
}

/// What was sent in place of what was typed, and what was attached to it.
fn said_blocks(data: &ObjectView<'_>, assets: &Assets<'_>) -> Vec<Block> {
    let said = text_of(data, "transformedContent").or_else(|| text_of(data, "content"));
    let is_sent = data.has("transformedContent");
    let attached = data.list("attachments").into_iter().filter_map(|view| attachment(view, is_sent, assets));
    said.into_iter().chain(attached).collect()
}

/// A file attached: a picture, or something we carry. What is not sent by itself is told in the text that was sent.
fn attachment(view: View<'_>, is_sent: bool, assets: &Assets<'_>) -> Option<Block> {
    let fields = view.object().unwrap_or_default();
    if let Some(image) = assets.picture(&fields) {
        return Some(Block::Image(image));
    }
    let kind = fields.shared("type");
    let is_alone = &*kind == "blob" || fields.has("assetId") || !is_sent;
    is_alone.then(|| Block::Opaque(Opaque { kind, json: view.json().into() }))
}

fn reply_blocks(data: &ObjectView<'_>) -> Vec<Block> {
    let has_reasoning = data.has("reasoningText") || data.has("reasoningOpaque");
    let thinking = has_reasoning.then(|| Block::Thinking {
        text: data.shared("reasoningText"),
        signature: data.text("reasoningOpaque").map(Into::into),
        redacted: false,
    });
    let calls = data.list("toolRequests").into_iter().filter_map(|request| request.object());
    let calls = calls.map(|request| Block::Call(call_of(&request)));
    thinking.into_iter().chain(text_of(data, "content")).chain(calls).collect()
}

fn call_of(request: &ObjectView<'_>) -> Call {
    let arguments = request.get("arguments");
    // Free-form tools are given a string.
    let freeform = arguments.and_then(View::text);
    Call {
        id: CallId(request.shared("toolCallId")),
        name: request.shared("name"),
        freeform: freeform.is_some(),
        input: freeform.map_or_else(|| arguments.map_or("{}", View::json).into(), Into::into),
    }
}

fn result_message(data: &ObjectView<'_>, no_call: bool, assets: &Assets<'_>) -> Message {
    let call = CallId(data.shared("toolCallId"));
    let result = ToolResult {
        call,
        parts: result_parts(data, assets),
        is_error: data.get("success").is_some_and(is_false),
    };
    if no_call {
        return Message::text(Role::User, Author::Harness, unpaired(&result.call, &result.text()));
    }
    Message { role: Role::Tool, author: Author::Tool, blocks: vec![Block::Result(result)] }
}

fn is_false(view: View<'_>) -> bool {
    view.json() == "false"
}

/// What a call came to: the text sent to the model, and what was sent beside it; of a failure what it says.
fn result_parts(data: &ObjectView<'_>, assets: &Assets<'_>) -> Vec<ResultPart> {
    let result = data.get("result").and_then(View::object).unwrap_or_default();
    let said = result.get("content").map(|content| content.text().unwrap_or_else(|| content.json().into()));
    let said = said.or_else(|| data.get("error").map(error_text)).filter(|text| !text.is_empty());
    let said = said.map(|text| ResultPart::Text { text: text.into() });
    let beside = result.list("binaryResultsForLlm").into_iter().map(|view| binary(view, assets));
    said.into_iter().chain(beside).collect()
}

fn binary(view: View<'_>, assets: &Assets<'_>) -> ResultPart {
    let fields = view.object().unwrap_or_default();
    assets.picture(&fields).map_or_else(
        || ResultPart::Opaque(Opaque { kind: fields.shared("type"), json: view.json().into() }),
        ResultPart::Image,
    )
}

/// What an error says; all of it where it has no message.
fn error_text(error: View<'_>) -> std::borrow::Cow<'_, str> {
    error.at(&["message"]).and_then(View::text).unwrap_or_else(|| error.json().into())
}
