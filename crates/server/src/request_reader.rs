//! What a request body says, as messages of a history and the parts around it. Elements are decoded by
//! `wire`, which is shown only what is new.

use crate::body::Body;
use crate::element;
use crate::seen_lists::ElementLink;
use crate::view::Origin;
use epitome_core::Message;
use epitome_wire::protocol::ElementPart;
use epitome_wire::{FixedParts, Protocol, decode, decode_fixed};
use std::collections::HashSet;
use std::ops::Range;

/// A body we cannot tell the meaning of. It is passed on as it came; its provider will.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("message {element} of the request is none we know; report it where its provider takes it")]
    Element {
        /// Its place in the list, from 0.
        element: usize,
    },
    #[error(
        "item {element} of the request answers a call that it only names, and that did not go by here; have the client send its items whole, or start it anew"
    )]
    Reference {
        /// Its place in the list, from 0.
        element: usize,
    },
}

/// How many elements at the start of the list are no history: instructions, which stay where they are and may change
/// from turn to turn, and what the provider itself has made of earlier ones.
pub(crate) fn count_opening(protocol: Protocol, body: &Body, sealed: Option<&Range<usize>>) -> usize {
    let is_instruction = |at: &usize| match body.link(*at) {
        ElementLink::Opening => true,
        ElementLink::Hash(_) => false,
        ElementLink::Unread => matches!(&*element::role(body.element(*at)), "system" | "developer"),
    };
    let instructions = || (0..body.len()).take_while(is_instruction).count();
    match protocol {
        Protocol::Anthropic => sealed.map_or(0, |sealed| sealed.end),
        Protocol::OpenaiChat => instructions(),
        Protocol::OpenaiResponses => sealed.map_or_else(instructions, |sealed| sealed.end),
    }
}

/// The newest summary that its provider itself made, with all that must stay behind it: answers to calls in front of it. What stands
/// in front of it the model does not see.
pub(crate) fn sealed(protocol: Protocol, body: &Body) -> Option<Range<usize>> {
    match protocol {
        Protocol::Anthropic => sealed_message(body),
        Protocol::OpenaiChat => None,
        Protocol::OpenaiResponses => sealed_item(body),
    }
}

/// The newest reply of Anthropic's that holds such a summary, with the results of its calls.
fn sealed_message(body: &Body) -> Option<Range<usize>> {
    let first = (0..body.len()).rev().find(|at| body.is_sealed(*at))?;
    let is_answered = first + 1 < body.len() && element::has_block(body.element(first + 1), "tool_result");
    Some(first..first + 1 + usize::from(is_answered))
}

/// The newest such item of OpenAI Responses.
fn sealed_item(body: &Body) -> Option<Range<usize>> {
    let is_sealed = |at: &usize| body.is_sealed(*at);
    let first = (0..body.len()).rev().find(is_sealed)?;
    let calls = (0..first).map(|at| body.meaning(at)).filter(|element| !element::is_answer(element));
    let called: HashSet<String> = calls.filter_map(element::call_id).collect();
    let is_late = |at: &usize| {
        let element = body.element(*at);
        element::is_answer(element) && element::call_id(element).is_some_and(|id| called.contains(&id))
    };
    let last = (first + 1..body.len()).rev().find(is_late).unwrap_or(first);
    Some(first..last + 1)
}

/// The messages in the elements of `range`, counted behind the `opening`, each with where it stands.
pub(crate) fn messages(
    protocol: Protocol,
    body: &Body,
    opening: usize,
    range: Range<usize>,
) -> Result<Vec<(Origin, Message)>, Unreadable> {
    let Range { start: first, end } = range.clone();
    match protocol {
        Protocol::Anthropic | Protocol::OpenaiChat => {}
        Protocol::OpenaiResponses => check_references(body, opening + first..opening + end)?,
    }
    let elements: Vec<&str> = range.map(|at| body.meaning(opening + at)).collect();
    let found = decode(protocol, &elements)
        .map_err(|error| Unreadable::Element { element: opening + first + error.element })?;
    let origin = |element| Origin { element: first + element, count: 1, part: ElementPart::All };
    let mut found: Vec<(Origin, Message)> =
        found.into_iter().map(|(element, message)| (origin(element), message)).collect();
    mark_parts(&mut found, end);
    Ok(found)
}

/// Refuses answers to calls that nobody knows, because they stand in items that are only named: they could be parted.
fn check_references(body: &Body, range: Range<usize>) -> Result<(), Unreadable> {
    let mut has_unknown = false;
    let mut called = HashSet::new();
    for at in range {
        has_unknown |= !body.is_known(at);
        let element = body.meaning(at);
        if !element::is_answer(element) {
            called.extend(element::call_id(element));
        } else if has_unknown && element::call_id(element).is_none_or(|id| !called.contains(&id)) {
            return Err(Unreadable::Reference { element: at });
        }
    }
    Ok(())
}

/// Two messages from one element are its results and what was said beside them; elements without a message of their own,
/// up to `end`, are said with the one before.
fn mark_parts(found: &mut [(Origin, Message)], end: usize) {
    for at in (0..found.len()).rev() {
        let next = found.get(at + 1).map_or(end, |(next, _)| next.element);
        if next == found[at].0.element {
            (found[at].0.part, found[at + 1].0.part) = (ElementPart::Results, ElementPart::Said);
            found[at].0.count = found[at + 1].0.count;
        } else {
            found[at].0.count = next - found[at].0.element;
        }
    }
}

/// What stands around the history: system prompt, tools, model and the answer's limit.
pub(crate) fn fixed(protocol: Protocol, body: &Body, opening: usize) -> FixedParts {
    let texts: Vec<&str> = (0..opening).map(|at| body.element(at)).collect();
    let around = body.with_messages::<&str>(&[]);
    decode_fixed(protocol, &String::from_utf8_lossy(&around), &texts)
}

#[cfg(test)]
mod tests {
    use super::{count_opening, fixed, messages};
    use crate::body::Body;
    use crate::view::Origin;
    use epitome_core::Role;
    use epitome_wire::Protocol;
    use epitome_wire::protocol::ElementPart;

    fn told(protocol: Protocol, json: &'static str, first: usize) -> Vec<(Origin, Role)> {
        let body = Body::alone(protocol, json).expect("a body");
        let all = {
            let opening = count_opening(protocol, &body, None);
            messages(protocol, &body, opening, first..body.len() - opening)
        }
        .expect("readable");
        all.into_iter().map(|(origin, message)| (origin, message.role)).collect()
    }

    #[test]
    fn results_and_what_is_said_beside_them_are_two_messages_of_one_element() {
        let json = r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"},{"type":"text","text":"and now?"}]}]}"#;
        let origin = |element, part| Origin { element, count: 1, part };
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
        let body = Body::alone(Protocol::OpenaiChat, json).expect("a body");
        let fixed = fixed(Protocol::OpenaiChat, &body, 1);
        assert_eq!(
            (fixed.system.as_slice(), fixed.max_tokens),
            ([std::sync::Arc::from("be brief")].as_slice(), Some(9))
        );
    }

    #[test]
    fn an_element_nobody_can_read_is_named() {
        let body = Body::alone(
            Protocol::Anthropic,
            r#"{"messages":[{"role":"user","content":"a"},{"role":"martian","content":"b"}]}"#,
        );
        let error =
            messages(Protocol::Anthropic, &body.expect("a body"), 0, 0..2).expect_err("nobody has that role");
        assert_eq!(
            error.to_string(),
            "message 1 of the request is none we know; report it where its provider takes it"
        );
    }
}
