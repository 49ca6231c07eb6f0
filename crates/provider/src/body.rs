//! What is sent: a summary request as a body of its protocol, with the address it goes to.

use crate::options::{BodyField, Options, field};
use crate::prefix::{self, Extension, LastRequest};
use epitome_core::{Author, Failure, Message, MessageView, Purpose, Role, SummaryInput, SummaryRequest};
use epitome_wire::Protocol;
use epitome_wire::encode::{self, RequestParts};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A request on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outgoing {
    pub(crate) place: RequestPath,
    pub(crate) body: Vec<u8>,
    /// Features the provider wants named in a header.
    pub(crate) beta: Option<String>,
}

/// Where a request goes, at the provider's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestPath {
    /// Where replies are made.
    Replies,
    /// Where OpenAI compacts.
    Compactions,
}

/// What is known beside the request itself.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'a> {
    pub(crate) protocol: Protocol,
    pub(crate) model: &'a str,
    pub(crate) cap_tokens: u64,
    pub(crate) options: Options,
    /// The session's last request, where there is one.
    pub(crate) last: Option<&'a LastRequest>,
}

/// Anthropic's name for compacting on demand.
const COMPACTION_BETA: &str = "compact-2026-09-04";

pub(crate) fn outgoing(request: &SummaryRequest, frame: &Frame<'_>) -> Result<Outgoing, Failure> {
    if request.purpose == Purpose::Native {
        return native(request, frame);
    }
    let extended = match (&request.body, frame.last) {
        (SummaryInput::Prefix { instruction, .. }, Some(last)) => {
            let extension = Extension { instruction, output_max: frame.cap_tokens };
            prefix::extend(&last.body, frame.protocol, frame.model, extension)
        }
        (SummaryInput::Prefix { .. }, None) | (SummaryInput::Text(_) | SummaryInput::Messages { .. }, _) => {
            None
        }
    };
    let beta = extended.as_ref().and_then(|_| beta(frame.last, None));
    let body = match extended {
        Some(body) => body,
        None => write(request, frame, frame.options.fields(frame.protocol, frame.cap_tokens), true)?,
    };
    Ok(Outgoing { place: RequestPath::Replies, body, beta })
}

/// The provider's own compaction. What is to be compacted stands alone; what to do goes beside it.
fn native(request: &SummaryRequest, frame: &Frame<'_>) -> Result<Outgoing, Failure> {
    match frame.protocol {
        Protocol::Anthropic => native_of_anthropic(request, frame),
        Protocol::OpenaiResponses => {
            let body = write(request, &Frame { cap_tokens: 0, ..*frame }, Vec::new(), false)?;
            Ok(Outgoing { place: RequestPath::Compactions, body, beta: None })
        }
        Protocol::OpenaiChat => Err(Failure::Unavailable(
            "chat completions have no compaction of their own; use `summarize`".into(),
        )),
    }
}

fn native_of_anthropic(request: &SummaryRequest, frame: &Frame<'_>) -> Result<Outgoing, Failure> {
    let how = compaction(request);
    let extended = match (&request.body, frame.last) {
        (SummaryInput::Prefix { .. }, Some(last)) => {
            prefix::with_field(&last.body, frame.model, "compaction", &how)
        }
        (SummaryInput::Prefix { .. }, None) | (SummaryInput::Text(_) | SummaryInput::Messages { .. }, _) => {
            None
        }
    };
    let beta = beta(frame.last.filter(|_| extended.is_some()), Some(COMPACTION_BETA));
    let fields = || vec![field("stream", "true"), field("compaction", how.as_str())];
    let body = extended.map_or_else(|| write(request, frame, fields(), false), Ok)?;
    Ok(Outgoing { place: RequestPath::Replies, body, beta })
}

/// The features of the request that is gone on with, and one more.
fn beta(last: Option<&LastRequest>, more: Option<&str>) -> Option<String> {
    let named: Vec<&str> = last.and_then(|last| last.beta.as_deref()).into_iter().chain(more).collect();
    (!named.is_empty()).then(|| named.join(","))
}

fn compaction(request: &SummaryRequest) -> String {
    let instruction = match &request.body {
        SummaryInput::Messages { instruction, .. } | SummaryInput::Prefix { instruction, .. } => {
            instruction.trim()
        }
        SummaryInput::Text(_) => "",
    };
    if instruction.is_empty() {
        return json!({"type": "summarize"}).to_string();
    }
    json!({"type": "summarize", "instructions": instruction}).to_string()
}

fn write(
    request: &SummaryRequest,
    frame: &Frame<'_>,
    mut fields: Vec<BodyField>,
    has_instruction: bool,
) -> Result<Vec<u8>, Failure> {
    let shown = shown(&request.body, has_instruction);
    let system: &[Arc<str>] =
        if request.system.is_empty() { &[] } else { std::slice::from_ref(&request.system) };
    let tools = if frame.protocol == Protocol::Anthropic { stubs(&shown) } else { Vec::new() };
    if !tools.is_empty() {
        // With thinking on, a reply with calls must begin with thinking of its own, and ours may have none.
        fields.retain(|(key, _)| key.as_ref() != "thinking");
        fields.push(field("tool_choice", r#"{"type":"none"}"#));
    }
    let max_tokens = Some(frame.cap_tokens).filter(|&cap| cap > 0);
    let parts = RequestParts { system, tools: &tools, model: Some(frame.model), max_tokens };
    encode::body_with_rest(frame.protocol, &parts, &fields, &shown)
        .map_err(|error| Failure::Refused(format!("the request could not be written: {error}")))
}

fn shown(body: &SummaryInput, has_instruction: bool) -> Vec<MessageView> {
    let user = |text: &Arc<str>| Arc::new(Message::text(Role::User, Author::Harness, text.clone()));
    let messages = match body {
        SummaryInput::Text(text) => vec![user(text)],
        SummaryInput::Messages { messages, instruction } | SummaryInput::Prefix { messages, instruction } => {
            let last = has_instruction.then(|| user(instruction));
            messages.iter().cloned().chain(last).collect()
        }
    };
    messages.into_iter().map(|message| MessageView { id: None, message }).collect()
}

/// Anthropic wants every tool that is called in a history defined. They are, and may not be used.
fn stubs(shown: &[MessageView]) -> Vec<Arc<str>> {
    let names: BTreeSet<&str> =
        shown.iter().flat_map(|it| it.message.calls()).map(|call| call.name.as_ref()).collect();
    let stub =
        |name: &str| -> Value { json!({"name": name, "input_schema": {"type": "object", "properties": {}}}) };
    names.into_iter().map(|name| stub(name).to_string().into()).collect()
}

#[cfg(test)]
mod tests;
