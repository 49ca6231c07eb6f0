//! The session's own last request, gone on with: its bytes stay as they are, so that the provider's
//! prompt cache still knows them, and one message is put behind the others.

use bytes::Bytes;
use epitome_wire::Protocol;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
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
struct Parts<'a> {
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    context_management: Option<&'a RawValue>,
}

/// The body with one more user message; none where it asks another model, or its messages are no list.
pub(crate) fn extend(body: &[u8], protocol: Protocol, model: &str, instruction: &str) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(body).ok()?;
    let parts: Parts<'_> = serde_json::from_str(text).ok()?;
    let list = list(&parts, protocol)?.get();
    if !asks(&parts, model) || !list.starts_with('[') {
        return None;
    }
    // The list stands in the text, so its end does.
    let end = list.as_ptr().addr() - text.as_ptr().addr() + list.len() - 1;
    let is_empty = list[1..list.len() - 1].trim().is_empty();
    let comma = if is_empty { "" } else { "," };
    let message = user_message(protocol, instruction);
    Some([&text[..end], comma, message.as_str(), &text[end..]].concat().into_bytes())
}

/// The body with one more field at its end; none where it asks another model or for edits of its own.
pub(crate) fn with_field(body: &[u8], model: &str, key: &str, value: &str) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(body).ok()?;
    let parts: Parts<'_> = serde_json::from_str(text).ok()?;
    if !asks(&parts, model) || parts.context_management.is_some() {
        return None;
    }
    let end = text.rfind('}')?;
    Some(format!(r#"{},"{key}":{value}}}"#, &text[..end]).into_bytes())
}

fn list<'a>(parts: &Parts<'a>, protocol: Protocol) -> Option<&'a RawValue> {
    match protocol {
        Protocol::Anthropic | Protocol::OpenaiChat => parts.messages,
        Protocol::OpenaiResponses => parts.input,
    }
}

fn asks(parts: &Parts<'_>, model: &str) -> bool {
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
    use super::{extend, with_field};
    use epitome_wire::Protocol;

    fn extended(protocol: Protocol, body: &str) -> Option<String> {
        extend(body.as_bytes(), protocol, "m", "go").map(|body| String::from_utf8(body).expect("it is text"))
    }

    #[test]
    fn the_bytes_before_and_behind_stay_as_they_are() {
        let body = r#"{"model": "m",  "messages" : [ {"role":"user","content":"]}"} ] ,"n":1.50}"#;
        let whole = r#"{"model": "m",  "messages" : [ {"role":"user","content":"]}"} ,{"role":"user","content":"go"}] ,"n":1.50}"#;
        assert_eq!(extended(Protocol::OpenaiChat, body).as_deref(), Some(whole));
        let empty = extended(Protocol::OpenaiResponses, r#"{"model":"m","input":[]}"#);
        let item = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}"#;
        assert_eq!(empty, Some(format!(r#"{{"model":"m","input":[{item}]}}"#)));
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
