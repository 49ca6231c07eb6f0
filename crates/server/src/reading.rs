//! What a body says, as messages of a history and the parts around it. The protocols' own readers do the
//! work; here they are shown only what is new.

use crate::body::Body;
use crate::element;
use crate::view::{Origin, Part};
use epitome_core::{Archive, EntryId, Message, Uncounted};
use epitome_wire::{Conversation, Fixed, Format, Protocol, Transcript, read};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// A body we cannot tell the meaning of. It is passed on as it came; its provider will.
#[derive(Debug, thiserror::Error)]
#[error("message {element} of the request is none we know; report it where its provider takes it")]
pub(crate) struct Unreadable {
    /// Its place in the list, from 0; where the whole body is meant, the first.
    element: usize,
}

/// How many messages at the start of the list are instructions. They are no history: they stay
/// where they are, and may change from turn to turn.
pub(crate) fn opening(protocol: Protocol, body: &Body) -> usize {
    let is_instruction = |at: &usize| matches!(&*element::role(body.element(*at)), "system" | "developer");
    match protocol {
        Protocol::Anthropic => 0,
        Protocol::OpenaiChat | Protocol::OpenaiResponses => {
            (0..body.len()).take_while(is_instruction).count()
        }
    }
}

/// Stands in front of what is read, so that instructions given in the middle of a history are not
/// taken for its opening.
const SOMEONE: &str = r#"{"role":"user","content":"-"}"#;

/// The messages in the elements of `range`, counted behind the `opening`, each with where it stands.
pub(crate) fn messages(
    protocol: Protocol,
    body: &Body,
    opening: usize,
    range: Range<usize>,
) -> Result<Vec<(Origin, Message)>, Unreadable> {
    let first = range.start;
    let places: Vec<usize> = range.map(|at| opening + at).collect();
    let mut text = format!(r#"{{"messages":[{SOMEONE}"#);
    let mut starts = Vec::with_capacity(places.len());
    for &at in &places {
        text.push(',');
        starts.push(text.len() as u64);
        text.push_str(body.element(at));
    }
    text.push_str("]}");
    let conversation =
        conversation(protocol, text.into_bytes()).ok_or(Unreadable { element: opening + first })?;
    let mut found: Vec<(Origin, Message)> = Vec::new();
    for (id, offset) in message_offsets(&conversation) {
        let Some(index) = starts.partition_point(|&start| start <= offset).checked_sub(1) else { continue };
        let unreadable = || Unreadable { element: places[index] };
        let message = conversation.originals.message(id).map_err(|_| unreadable())?;
        found.push((Origin { element: first + index, part: Part::All }, Message::clone(&message)));
    }
    tell_parts(&mut found);
    let told: HashSet<usize> = found.iter().map(|(origin, _)| origin.element).collect();
    match (0..places.len()).find(|index| !told.contains(&(first + index))) {
        Some(index) => Err(Unreadable { element: places[index] }),
        None => Ok(found),
    }
}

/// The messages of a conversation, each with where it begins.
fn message_offsets(conversation: &Conversation) -> Vec<(EntryId, u64)> {
    let ids = (0..conversation.log.len()).map(|at| EntryId(at as u32));
    ids.filter_map(|id| Some((id, conversation.originals.spans(id)?.first()?.offset))).collect()
}

/// Two messages from one element are its results and what was said beside them.
fn tell_parts(found: &mut [(Origin, Message)]) {
    for at in 1..found.len() {
        if found[at - 1].0.element == found[at].0.element {
            (found[at - 1].0.part, found[at].0.part) = (Part::Results, Part::Said);
        }
    }
}

/// What stands around the history: system prompt, tools, model and the answer's limit.
pub(crate) fn fixed(protocol: Protocol, body: &Body, opening: usize) -> Fixed {
    let mut instructions: Vec<&str> = (0..opening).map(|at| body.element(at)).collect();
    instructions.push(SOMEONE);
    let bytes = body.with_messages(&instructions).to_vec();
    conversation(protocol, bytes).map(|conversation| conversation.fixed).unwrap_or_default()
}

fn conversation(protocol: Protocol, bytes: Vec<u8>) -> Option<Conversation> {
    let Transcript { conversations, .. } =
        read(Arc::new(bytes), Some(Format::Body(protocol)), &Uncounted).ok()?;
    conversations.into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::{fixed, messages, opening};
    use crate::body::Body;
    use crate::view::{Origin, Part};
    use epitome_core::Role;
    use epitome_wire::Protocol;

    fn told(protocol: Protocol, json: &'static str, first: usize) -> Vec<(Origin, Role)> {
        let body = Body::read(json.as_bytes().into()).expect("a body");
        let all = {
            let opening = opening(protocol, &body);
            messages(protocol, &body, opening, first..body.len() - opening)
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
            (origin(1, Part::All), Role::Assistant),
            (origin(2, Part::Results), Role::Tool),
            (origin(2, Part::Said), Role::User),
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
