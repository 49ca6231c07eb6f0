//! From an event to the message the model saw or wrote.

use super::event::{CopilotEvent, Data, ToolRequest};
use crate::jsonl::{JsonText, decoded};
use crate::unpaired::unpaired;
use epitome_core::{Author, Block, Call, CallId, Message, ResultPart, Role, ToolResult};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;

/// Set as a place's part where the message is a result without its call.
pub(super) const NO_CALL: u32 = 1;

/// Makes the message of an event again.
pub(crate) fn decode(runs: &[Vec<u8>], part: u32) -> Result<Message, String> {
    let run = runs.first().ok_or("the message stands nowhere")?;
    let text = decoded(run);
    let event: CopilotEvent<'_> = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let data: Data<'_> = serde_json::from_str(event.data.get()).map_err(|error| error.to_string())?;
    Ok(message_of(&event.kind, &data, part == NO_CALL))
}

/// The message of an event of this kind.
pub(super) fn message_of(kind: &str, data: &Data<'_>, no_call: bool) -> Message {
    match kind {
        "user.message" => {
            let sent = data.transformed_content.as_ref().or(data.content.as_ref());
            Message::text(Role::User, Author::Person, sent.map_or("", |text| &**text))
        }
        "assistant.message" => {
            Message { role: Role::Assistant, author: Author::Model, blocks: reply_blocks(data) }
        }
        _ => result_message(data, no_call),
    }
}

fn reply_blocks(data: &Data<'_>) -> Vec<Block> {
    let has_reasoning = data.reasoning_text.is_some() || data.reasoning_opaque.is_some();
    let thinking = has_reasoning.then(|| Block::Thinking {
        text: owned(&data.reasoning_text),
        signature: data.reasoning_opaque.as_ref().map(Arc::from),
        redacted: false,
    });
    let said = data.content.as_deref().filter(|text| !text.is_empty()).map(Block::text);
    let calls = data.tool_requests.iter().flatten().map(|request| Block::Call(call_of(request)));
    thinking.into_iter().chain(said).chain(calls).collect()
}

fn call_of(request: &ToolRequest<'_>) -> Call {
    let raw = request.arguments.map_or("{}", RawValue::get);
    // Free-form tools are given a string.
    let freeform = serde_json::from_str::<Cow<'_, str>>(raw).ok();
    Call {
        id: CallId(owned(&request.tool_call_id)),
        name: owned(&request.name),
        freeform: freeform.is_some(),
        input: freeform.map_or_else(|| raw.into(), Into::into),
    }
}

fn result_message(data: &Data<'_>, no_call: bool) -> Message {
    let content = data.result.as_ref().and_then(|result| result.content.as_ref()).map(Arc::from);
    let text: Arc<str> = content.or_else(|| data.error.map(error_text)).unwrap_or_default();
    let call = CallId(owned(&data.tool_call_id));
    if no_call {
        return Message::text(Role::User, Author::Harness, unpaired(call, &text));
    }
    let result =
        ToolResult { call, parts: vec![ResultPart::Text { text }], is_error: data.success == Some(false) };
    Message { role: Role::Tool, author: Author::Tool, blocks: vec![Block::Result(result)] }
}

/// What an error says; all of it where it has no message.
fn error_text(error: &RawValue) -> Arc<str> {
    #[derive(Deserialize)]
    struct ErrorMessage<'a> {
        #[serde(borrow)]
        message: JsonText<'a>,
    }
    serde_json::from_str::<ErrorMessage<'_>>(error.get())
        .map_or_else(|_| error.get().into(), |told| (&told.message).into())
}

fn owned(text: &Option<JsonText<'_>>) -> Arc<str> {
    text.as_deref().unwrap_or_default().into()
}
