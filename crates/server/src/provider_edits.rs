//! What a request asks its provider to do to its context by itself. A provider that is asked to make room, by a summary of its own or by
//! clearing old results, is let: to do the same here would do it twice, on figures that its edits make wrong. What it refuses all the
//! same is compacted. An edit that only clears thinking makes little room, and agents ask for it with every request.

use crate::request::Request;
use epitome_wire::Protocol;
use serde::Deserialize;
use std::borrow::Cow;

/// How the types of edits begin that make room; a date follows.
const ROOM_MAKING_EDITS: [&str; 2] = ["compact_", "clear_tool_uses_"];

#[derive(Deserialize)]
struct Management<'b> {
    #[serde(borrow, default)]
    edits: Vec<ProviderEdit<'b>>,
}

#[derive(Deserialize)]
struct ProviderEdit<'b> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'b, str>,
}

/// Whether a request asks its provider to make room in its context.
pub(crate) fn are_asked(request: &Request) -> bool {
    let Some(asked) = request.body.field("context_management") else { return false };
    match request.protocol {
        Protocol::Anthropic => make_room(asked),
        Protocol::OpenaiChat => false,
        Protocol::OpenaiResponses => true,
    }
}

fn make_room(asked: &str) -> bool {
    let edits =
        serde_json::from_str::<Management<'_>>(asked).map_or_else(|_| Vec::new(), |asked| asked.edits);
    edits.iter().any(|edit| ROOM_MAKING_EDITS.iter().any(|kind| edit.kind.starts_with(kind)))
}

#[cfg(test)]
mod tests {
    use super::make_room;

    #[test]
    fn edits_that_make_room_are_told_from_those_that_do_not() {
        let asked = [
            r#"{"edits":[{"type":"compact_20260112","trigger":{"type":"input_tokens","value":50000}}]}"#,
            r#"{"edits":[{"type":"clear_thinking_20251015","keep":"all"},{"type":"clear_tool_uses_20250919"}]}"#,
            r#"{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}"#,
            r#"{}"#,
            "7",
        ];
        assert_eq!(asked.map(make_room), [true, true, false, false, false]);
    }
}
