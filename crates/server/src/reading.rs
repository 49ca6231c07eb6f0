//! What a request body says, as messages of a history and the parts around it. Elements are decoded by
//! `wire`, which is shown only what is new.

use crate::body::Body;
use crate::element;
use crate::view::Origin;
use epitome_core::Message;
use epitome_wire::protocol::ElementPart;
use epitome_wire::{FixedParts, Protocol, decode, decode_fixed};
use std::ops::Range;

/// A body we cannot tell the meaning of. It is passed on as it came; its provider will.
#[derive(Debug, thiserror::Error)]
#[error("message {element} of the request is none we know; report it where its provider takes it")]
pub(crate) struct Unreadable {
    /// Its place in the list, from 0.
    element: usize,
}

/// How many messages at the start of the list are instructions. They are no history: they stay
/// where they are, and may change from turn to turn.
pub(crate) fn count_instructions(protocol: Protocol, body: &Body) -> usize {
    let is_instruction = |at: &usize| matches!(&*element::role(body.element(*at)), "system" | "developer");
    match protocol {
        Protocol::Anthropic => 0,
        Protocol::OpenaiChat | Protocol::OpenaiResponses => {
            (0..body.len()).take_while(is_instruction).count()
        }
    }
}

/// The messages in the elements of `range`, counted behind the `instructions`, each with where it stands.
pub(crate) fn messages(
    protocol: Protocol,
    body: &Body,
    instructions: usize,
    range: Range<usize>,
) -> Result<Vec<(Origin, Message)>, Unreadable> {
    let first = range.start;
    let elements: Vec<&str> = range.map(|at| body.element(instructions + at)).collect();
    let found = decode(protocol, &elements)
        .map_err(|error| Unreadable { element: instructions + first + error.element })?;
    let origin = |element| Origin { element: first + element, part: ElementPart::All };
    let mut found: Vec<(Origin, Message)> =
        found.into_iter().map(|(element, message)| (origin(element), message)).collect();
    mark_parts(&mut found);
    Ok(found)
}

/// Two messages from one element are its results and what was said beside them.
fn mark_parts(found: &mut [(Origin, Message)]) {
    for at in 1..found.len() {
        if found[at - 1].0.element == found[at].0.element {
            (found[at - 1].0.part, found[at].0.part) = (ElementPart::Results, ElementPart::Said);
        }
    }
}

/// What stands around the history: system prompt, tools, model and the answer's limit.
pub(crate) fn fixed(protocol: Protocol, body: &Body, instructions: usize) -> FixedParts {
    let texts: Vec<&str> = (0..instructions).map(|at| body.element(at)).collect();
    let around = body.with_messages::<&str>(&[]);
    decode_fixed(protocol, &String::from_utf8_lossy(&around), &texts)
}

#[cfg(test)]
mod tests {
    use super::{count_instructions, fixed, messages};
    use crate::body::Body;
    use crate::view::Origin;
    use epitome_core::Role;
    use epitome_wire::Protocol;
    use epitome_wire::protocol::ElementPart;

    fn told(protocol: Protocol, json: &'static str, first: usize) -> Vec<(Origin, Role)> {
        let body = Body::read(json.as_bytes().into()).expect("a body");
        let all = {
            let instructions = count_instructions(protocol, &body);
            messages(protocol, &body, instructions, first..body.len() - instructions)
        }
        .expect("readable");
        all.into_iter().map(|(origin, message)| (origin, message.role)).collect()
    }

    #[test]
    fn results_and_what_is_said_beside_them_are_two_messages_of_one_element() {
        let json = r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"},{"type":"text","text":"and now?"}]}]}"#;
        let origin = |element, part| Origin { element, part };
        let expected = [
            (origin(1, ElementPart::All), Role::Assistant),
            (origin(2, ElementPart::Results), Role::Tool),
            (origin(2, ElementPart::Said), Role::User),
        ];
        assert_eq!(told(Protocol::Anthropic, json, 1), expected);
    }

    #[test]
    fn instructions_open_a_chat_and_are_no_history_but_later_ones_are() {
        let json = r#"{"max_tokens":9,"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"a"},{"role":"system","content":"now"}]}"#;
        let all = told(Protocol::OpenaiChat, json, 0);
        assert_eq!(
            all.iter().map(|(origin, role)| (origin.element, *role)).collect::<Vec<_>>(),
            [(0, Role::User), (1, Role::System)]
        );
        let body = Body::read(json.as_bytes().into()).expect("a body");
        let fixed = fixed(Protocol::OpenaiChat, &body, 1);
        assert_eq!(
            (fixed.system.as_slice(), fixed.max_tokens),
            ([std::sync::Arc::from("be brief")].as_slice(), Some(9))
        );
    }

    #[test]
    fn an_element_nobody_can_read_is_named() {
        let body = Body::read(
            br#"{"messages":[{"role":"user","content":"a"},{"role":"martian","content":"b"}]}"#[..].into(),
        );
        let error =
            messages(Protocol::Anthropic, &body.expect("a body"), 0, 0..2).expect_err("nobody has that role");
        assert_eq!(
            error.to_string(),
            "message 1 of the request is none we know; report it where its provider takes it"
        );
    }
}
