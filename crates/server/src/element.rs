//! Cutting and joining messages as JSON text: what is not cut away stays as it came, byte for byte.

use epitome_wire::Protocol;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::ops::Range;

/// What is read of a message to cut it.
#[derive(Deserialize)]
struct Parsed<'a> {
    #[serde(borrow, default)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'a, str>,
}

/// The role of a message; empty where it has none.
pub(crate) fn role(message: &str) -> Cow<'_, str> {
    serde_json::from_str(message).map(|Parsed { role, .. }| role).unwrap_or_default()
}

/// Whether a block of this type is a model's reasoning.
pub(crate) fn is_thinking(kind: &str) -> bool {
    matches!(kind, "thinking" | "redacted_thinking")
}

/// A message with only those blocks whose type is wanted; none where that leaves nothing. A content that
/// is a plain text is one block of type `text`.
pub(crate) fn keep_blocks<'m>(message: &'m str, is_wanted: impl Fn(&str) -> bool) -> Option<Cow<'m, str>> {
    let content = content(message)?;
    let Some(blocks) = blocks(message, &content) else {
        return is_wanted("text").then_some(Cow::Borrowed(message));
    };
    let kept: Vec<Range<usize>> =
        blocks.iter().filter(|block| is_wanted(&kind(&message[(*block).clone()]))).cloned().collect();
    if kept.len() == blocks.len() {
        return Some(Cow::Borrowed(message));
    }
    let (first, last) = (blocks.first()?.start, blocks.last()?.end);
    let texts: Vec<&str> = kept.into_iter().map(|block| &message[block]).collect();
    (!texts.is_empty())
        .then(|| format!("{}{}{}", &message[..first], texts.join(","), &message[last..]).into())
}

/// Two messages of the user's side as one: the first, with what the second says behind it. None where one
/// of them cannot be taken apart.
pub(crate) fn join(protocol: Protocol, first: &str, second: &str) -> Option<String> {
    let (before, after) = (content(first)?, content(second)?);
    let (left, right) = (&first[before.clone()], &second[after]);
    let both = match (protocol, unquoted(left), unquoted(right)) {
        // Templates of strict servers take one string and no list.
        (Protocol::OpenaiChat, Some(left), Some(right)) => format!("\"{left}\\n\\n{right}\""),
        (Protocol::Anthropic | Protocol::OpenaiChat | Protocol::OpenaiResponses, _, _) => {
            format!("[{},{}]", listed(left)?, listed(right)?)
        }
    };
    Some(format!("{}{both}{}", &first[..before.start], &first[before.end..]))
}

/// Where the content stands in a message.
fn content(message: &str) -> Option<Range<usize>> {
    let parsed: Parsed<'_> = serde_json::from_str(message).ok()?;
    parsed.content.map(|raw| range(message, raw))
}

/// Where the blocks stand; none where the content is no list.
fn blocks(message: &str, content: &Range<usize>) -> Option<Vec<Range<usize>>> {
    let list: Vec<&RawValue> = serde_json::from_str(&message[content.clone()]).ok()?;
    Some(list.into_iter().map(|raw| range(message, raw)).collect())
}

fn range(whole: &str, part: &RawValue) -> Range<usize> {
    let start = part.get().as_ptr() as usize - whole.as_ptr() as usize;
    start..start + part.get().len()
}

fn kind(block: &str) -> Cow<'_, str> {
    serde_json::from_str(block).map(|Kind { kind }| kind).unwrap_or_default()
}

/// What stands between the quotes of a JSON string.
fn unquoted(json: &str) -> Option<&str> {
    json.strip_prefix('"')?.strip_suffix('"')
}

/// A content as the inside of a list of blocks; none where there is nothing in it.
fn listed(content: &str) -> Option<Cow<'_, str>> {
    if unquoted(content).is_some() {
        return Some(format!(r#"{{"type":"text","text":{content}}}"#).into());
    }
    let inside = content.strip_prefix('[')?.strip_suffix(']')?.trim();
    (!inside.is_empty()).then_some(Cow::Borrowed(inside))
}

#[cfg(test)]
mod tests {
    use super::{is_thinking, join, keep_blocks, role};
    use epitome_wire::Protocol;

    #[test]
    fn thinking_goes_whole_and_the_rest_stays_byte_for_byte() {
        let message = r#"{ "role":"assistant", "content": [ {"type":"thinking","thinking":"hm","signature":"c2ln"}, {"type":"text", "text":"a\u00e9"}, {"type":"redacted_thinking","data":"x"}, {"type":"tool_use","id":"1","name":"n","input":{"x": 1.50}} ] }"#;
        let expected = r#"{ "role":"assistant", "content": [ {"type":"text", "text":"a\u00e9"},{"type":"tool_use","id":"1","name":"n","input":{"x": 1.50}} ] }"#;
        assert_eq!(keep_blocks(message, |kind| !is_thinking(kind)).as_deref(), Some(expected));
    }

    #[test]
    fn a_message_that_has_nothing_to_lose_is_the_same_bytes() {
        for message in [r#"{"role":"user","content":"a"}"#, r#"{"content" : [ {"type":"text","text":"b"} ]}"#]
        {
            assert_eq!(keep_blocks(message, |kind| !is_thinking(kind)).as_deref(), Some(message));
        }
    }

    #[test]
    fn a_message_of_which_nothing_is_wanted_is_nothing() {
        let message =
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"}]}"#;
        assert_eq!(keep_blocks(message, |kind| !is_thinking(kind)), None);
    }

    #[test]
    fn neighbours_become_one_message_with_the_bytes_of_both() {
        let (text, list) = (
            r#"{"role":"user","content":"a\u00e9"}"#,
            r#"{"role":"user","content":[{"type":"text","text": "b"} ]}"#,
        );
        let anthropic =
            r#"{"role":"user","content":[{"type":"text","text":"a\u00e9"},{"type":"text","text": "b"}]}"#;
        assert_eq!(join(Protocol::Anthropic, text, list).as_deref(), Some(anthropic));
        let chat = r#"{"role":"user","content":"a\u00e9\n\na\u00e9"}"#;
        assert_eq!(join(Protocol::OpenaiChat, text, text).as_deref(), Some(chat));
    }

    #[test]
    fn a_role_is_read_wherever_it_stands() {
        assert_eq!([role(r#"{"content":null,"role":"tool"}"#), role("7")], ["tool", ""]);
    }
}
