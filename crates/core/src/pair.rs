//! Halves of a pair among blocks we otherwise do not read: calls that a provider makes itself, computers
//! and shells in a provider's own form, approvals that are asked for and given.

use crate::{Block, CallId, Message, Opaque};
use serde_json::Value;

/// One half of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Half {
    Call(CallId),
    Answer(CallId),
}

/// Calls that a message makes and does not answer itself, in any form.
pub(crate) fn calls(message: &Message) -> Box<[CallId]> {
    let own: Vec<CallId> = opaque_halves(message).filter_map(Half::answer).collect();
    let opaque = opaque_halves(message).filter_map(Half::call).filter(|call| !own.contains(call));
    message.calls().map(|call| call.id.clone()).chain(opaque).collect()
}

/// Calls of other messages that a message answers, in any form.
pub(crate) fn answers(message: &Message) -> Box<[CallId]> {
    let own: Vec<CallId> = opaque_halves(message).filter_map(Half::call).collect();
    let opaque = opaque_halves(message).filter_map(Half::answer).filter(|call| !own.contains(call));
    message.results().map(|result| result.call.clone()).chain(opaque).collect()
}

impl Half {
    fn call(self) -> Option<CallId> {
        match self {
            Self::Call(id) => Some(id),
            Self::Answer(_) => None,
        }
    }

    fn answer(self) -> Option<CallId> {
        match self {
            Self::Answer(id) => Some(id),
            Self::Call(_) => None,
        }
    }
}

fn opaque_halves(message: &Message) -> impl Iterator<Item = Half> + '_ {
    message.blocks.iter().filter_map(|block| match block {
        Block::Opaque(opaque) => half(opaque),
        Block::Text { .. } | Block::Thinking { .. } | Block::Call(_) | Block::Result(_) | Block::Image(_) => {
            None
        }
    })
}

/// What half of a pair a block is, by its type and the field that names the call.
fn half(opaque: &Opaque) -> Option<Half> {
    let kind = opaque.kind.as_ref();
    let (make, field): (fn(CallId) -> Half, _) = match kind {
        "mcp_approval_request" => (Half::Call, "id"),
        "mcp_approval_response" => (Half::Answer, "approval_request_id"),
        _ if kind.ends_with("tool_use") => (Half::Call, "id"),
        _ if kind.ends_with("tool_result") => (Half::Answer, "tool_use_id"),
        _ if kind.ends_with("_call") => (Half::Call, "call_id"),
        _ if kind.ends_with("_call_output") => (Half::Answer, "call_id"),
        _ => return None,
    };
    let json: Value = serde_json::from_str(&opaque.json).ok()?;
    json.get(field)?.as_str().map(|id| make(id.into()))
}

#[cfg(test)]
mod tests {
    use super::{answers, calls};
    use crate::{Author, Block, CallId, Message, Opaque, Role};

    fn message(blocks: &[(&str, &str)]) -> Message {
        let blocks = blocks
            .iter()
            .map(|(kind, json)| Block::Opaque(Opaque { kind: (*kind).into(), json: (*json).into() }));
        Message { role: Role::Assistant, author: Author::Model, blocks: blocks.collect() }
    }

    fn halves(blocks: &[(&str, &str)]) -> (Vec<CallId>, Vec<CallId>) {
        let message = message(blocks);
        (calls(&message).into_vec(), answers(&message).into_vec())
    }

    #[test]
    fn halves_are_known_by_the_field_that_names_the_call() {
        let asked = ("mcp_approval_request", r#"{"id":"a1"}"#);
        let given = ("mcp_approval_response", r#"{"approval_request_id":"a1"}"#);
        let searched = ("server_tool_use", r#"{"id":"s1"}"#);
        let found = ("web_search_tool_result", r#"{"tool_use_id":"s1"}"#);
        let clicked = ("computer_call", r#"{"id":"x","call_id":"c1"}"#);
        let seen = ("computer_call_output", r#"{"call_id":"c1"}"#);
        assert_eq!(
            halves(&[asked, searched, clicked]),
            (vec!["a1".into(), "s1".into(), "c1".into()], vec![])
        );
        assert_eq!(halves(&[given, found, seen]), (vec![], vec!["a1".into(), "s1".into(), "c1".into()]));
    }

    #[test]
    fn a_pair_within_one_message_and_a_block_without_an_id_tie_nothing() {
        let searched = ("server_tool_use", r#"{"id":"s1"}"#);
        let found = ("web_search_tool_result", r#"{"tool_use_id":"s1"}"#);
        let lone = ("web_search_call", r#"{"status":"completed"}"#);
        assert_eq!(halves(&[searched, found, lone, ("document", "{}"), ("tool_use", "{")]), (vec![], vec![]));
    }
}
