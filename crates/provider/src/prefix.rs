//! The session's own last request, gone on with: its bytes stay as they are, so that the provider's
//! prompt cache still knows them, and an instruction is put behind its messages.

use bytes::Bytes;
use epitome_wire::Protocol;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

/// The session's last request, as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastRequest {
    /// Its body, byte for byte.
    pub body: Bytes,
    /// Its `anthropic-beta` header, where it had one: fields of the body may depend on it.
    pub beta: Option<Arc<str>>,
}

/// The parts of a body that matter here, where they stand.
#[derive(Deserialize)]
struct BodyParts<'a> {
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    context_management: Option<&'a RawValue>,
    #[serde(borrow)]
    max_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    max_completion_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    max_output_tokens: Option<&'a RawValue>,
}

/// The parts of a message that matter here.
#[derive(Deserialize)]
struct LastMessage<'a> {
    #[serde(borrow, default)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

/// What the session's last request is gone on with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extension<'a> {
    /// What the model is told to do now.
    pub(crate) instruction: &'a str,
    /// Room for its answer: a request may have been content with less.
    pub(crate) output_max: u64,
}

/// Text that is put in place of a part of a body.
struct Splice {
    range: Range<usize>,
    text: String,
}

/// The body with the instruction behind its messages: in the last one where that is the user's, since roles must take
/// turns, else as one more. None where it asks another model, or its messages are no list.
pub(crate) fn extend(
    body: &[u8],
    protocol: Protocol,
    model: &str,
    extension: Extension<'_>,
) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(body).ok()?;
    let parts: BodyParts<'_> = serde_json::from_str(text).ok()?;
    let list = list(&parts, protocol)?;
    if !asks(&parts, model) {
        return None;
    }
    let elements: Vec<&RawValue> = serde_json::from_str(list.get()).ok()?;
    let in_last = elements.last().and_then(|last| splice_into(text, protocol, last, extension.instruction));
    let said = in_last.unwrap_or_else(|| {
        let comma = if elements.is_empty() { "" } else { "," };
        let message = user_message(protocol, extension.instruction);
        Splice { range: before_end(text, list), text: format!("{comma}{message}") }
    });
    let mut splices: Vec<Splice> = limits(&parts, protocol)
        .into_iter()
        .flatten()
        .filter(|limit| limit.get().parse().is_ok_and(|limit: u64| limit < extension.output_max))
        .map(|limit| Splice { range: range_in(text, limit), text: extension.output_max.to_string() })
        .chain([said])
        .collect();
    // From the last to the first, so that places stay where they were found.
    splices.sort_by_key(|splice| Reverse(splice.range.start));
    let mut whole = text.to_owned();
    for Splice { range, text } in splices {
        whole.replace_range(range, &text);
    }
    Some(whole.into_bytes())
}

/// The instruction at the end of a message of the user's; none where it is somebody else's, or an item of its own is
/// what the protocol has for it.
fn splice_into(text: &str, protocol: Protocol, last: &RawValue, instruction: &str) -> Option<Splice> {
    let element: LastMessage<'_> = serde_json::from_str(last.get()).ok()?;
    let content =
        element.content.filter(|_| element.role == "user" && protocol != Protocol::OpenaiResponses)?;
    let more = if content.get().starts_with('"') {
        let quoted = Value::from(format!("\n\n{instruction}")).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    } else if content.get().starts_with('[') {
        format!(",{}", json!({"type": "text", "text": instruction}))
    } else {
        return None;
    };
    Some(Splice { range: before_end(text, content), text: more })
}

/// Where a value stands in the text it was read from.
fn range_in(text: &str, value: &RawValue) -> Range<usize> {
    let start = value.get().as_ptr().addr() - text.as_ptr().addr();
    start..start + value.get().len()
}

/// The place before the last character of a value: its closing quote or bracket.
fn before_end(text: &str, value: &RawValue) -> Range<usize> {
    let end = range_in(text, value).end - 1;
    end..end
}

/// The body with one more field at its end; none where it asks another model or for edits of its own.
pub(crate) fn with_field(body: &[u8], model: &str, key: &str, value: &str) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(body).ok()?;
    let parts: BodyParts<'_> = serde_json::from_str(text).ok()?;
    if !asks(&parts, model) || parts.context_management.is_some() {
        return None;
    }
    let end = text.rfind('}')?;
    Some(format!(r#"{},"{key}":{value}}}"#, &text[..end]).into_bytes())
}

fn list<'a>(parts: &BodyParts<'a>, protocol: Protocol) -> Option<&'a RawValue> {
    match protocol {
        Protocol::Anthropic | Protocol::OpenaiChat => parts.messages,
        Protocol::OpenaiResponses => parts.input,
    }
}

/// The fields by which a protocol limits an answer.
fn limits<'a>(parts: &BodyParts<'a>, protocol: Protocol) -> [Option<&'a RawValue>; 2] {
    match protocol {
        Protocol::Anthropic => [parts.max_tokens, None],
        Protocol::OpenaiChat => [parts.max_completion_tokens, parts.max_tokens],
        Protocol::OpenaiResponses => [parts.max_output_tokens, None],
    }
}

fn asks(parts: &BodyParts<'_>, model: &str) -> bool {
    parts.model.is_some_and(|name| serde_json::from_str::<String>(name.get()).is_ok_and(|name| name == model))
}

fn user_message(protocol: Protocol, text: &str) -> String {
    let message = match protocol {
        Protocol::Anthropic => json!({"role": "user", "content": [{"type": "text", "text": text}]}),
        Protocol::OpenaiChat => json!({"role": "user", "content": text}),
        Protocol::OpenaiResponses => {
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
        }
    };
    message.to_string()
}

#[cfg(test)]
mod tests {
    use super::{Extension, extend, with_field};
    use epitome_wire::Protocol;

    fn extended(protocol: Protocol, body: &str) -> Option<String> {
        let extension = Extension { instruction: "go", output_max: 90 };
        extend(body.as_bytes(), protocol, "m", extension)
            .map(|body| String::from_utf8(body).expect("it is text"))
    }

    #[test]
    fn the_bytes_before_and_behind_stay_as_they_are() {
        let body = r#"{"model": "m",  "messages" : [ {"role":"assistant","content":"]}"} ] ,"n":1.50}"#;
        let whole = r#"{"model": "m",  "messages" : [ {"role":"assistant","content":"]}"} ,{"role":"user","content":"go"}] ,"n":1.50}"#;
        assert_eq!(extended(Protocol::OpenaiChat, body).as_deref(), Some(whole));
        let empty = extended(Protocol::OpenaiResponses, r#"{"model":"m","input":[]}"#);
        let item = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}"#;
        assert_eq!(empty, Some(format!(r#"{{"model":"m","input":[{item}]}}"#)));
    }

    #[test]
    fn behind_words_of_the_users_it_is_said_in_the_same_breath() {
        let put = |content: &str| {
            let body = format!(r#"{{"model":"m","messages":[{{"role":"user","content":{content}}}]}}"#);
            extended(Protocol::Anthropic, &body)
        };
        let whole = |content: &str| {
            Some(format!(r#"{{"model":"m","messages":[{{"role":"user","content":{content}}}]}}"#))
        };
        assert_eq!(put(r#""a\"""#), whole(r#""a\"\n\ngo""#));
        let block = r#"{"type":"text","text":"a"}"#;
        assert_eq!(put(&format!("[{block}]")), whole(&format!(r#"[{block},{{"type":"text","text":"go"}}]"#)));
    }

    #[test]
    fn an_answer_gets_the_room_it_needs_and_no_less_than_it_had() {
        let limited = |limit: u32| {
            extended(Protocol::Anthropic, &format!(r#"{{"max_tokens":{limit},"model":"m","messages":[]}}"#))
        };
        let whole = |limit: u32| {
            let message = r#"{"content":[{"text":"go","type":"text"}],"role":"user"}"#;
            Some(format!(r#"{{"max_tokens":{limit},"model":"m","messages":[{message}]}}"#))
        };
        assert_eq!([limited(20), limited(200)].map(sorted), [whole(90), whole(200)].map(sorted));
    }

    fn sorted(body: Option<String>) -> serde_json::Value {
        serde_json::from_str(&body.expect("it was extended")).expect("JSON")
    }

    #[test]
    fn a_request_to_another_model_or_without_a_list_is_not_gone_on_with() {
        let bodies = [r#"{"model":"other","input":[]}"#, r#"{"model":"m","input":"text"}"#, "[]", "no json"];
        assert_eq!(bodies.map(|body| extended(Protocol::OpenaiResponses, body)), [None, None, None, None]);
    }

    #[test]
    fn a_field_is_put_at_the_end_unless_the_request_edits_already() {
        let put = |body: &str| {
            with_field(body.as_bytes(), "m", "k", "1").map(|it| String::from_utf8_lossy(&it).into_owned())
        };
        assert_eq!(put("{\"model\":\"m\"}\n").as_deref(), Some(r#"{"model":"m","k":1}"#));
        assert_eq!(put(r#"{"model":"m","context_management":{}}"#), None);
    }
}
