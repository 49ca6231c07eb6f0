//! Single elements of a request's list as messages, and what stands around the list: for whoever holds a
//! request in pieces and reads only what is new in it. Whole bodies in files are read by `read`.

use super::Protocol;
use super::read::openai_chat::lift_system;
use super::read::{anthropic, openai_chat, openai_responses};
use crate::FixedParts;
use crate::document::View;
use epitome_core::Message;

/// An element of a request's list that is no message of its protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("element {element} is no message of its protocol: {why}")]
pub struct ElementError {
    /// Its place among the elements given, from 0.
    pub element: usize,
    /// What is wrong with it.
    pub why: String,
}

/// The messages in these elements of a request's list, each with the place of the element it stands in.
///
/// An element may hold two messages: Anthropic puts the results of tools and what is said beside them into
/// one. And a message may take several elements: in OpenAI Responses a reply is a run of items, and its place
/// is that of the first. Every element belongs to a message; one that cannot be read fails all of them.
/// Instructions at the beginning of a list are messages here like any other.
///
/// ```
/// use epitome_core::Role;
/// use epitome_wire::{Protocol, decode};
///
/// let called = r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"read","input":{}}]}"#;
/// let answered = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"},
///     {"type":"text","text":"and now?"}]}"#;
/// let messages = decode(Protocol::Anthropic, &[called, answered])?;
/// let roles: Vec<(usize, Role)> = messages.iter().map(|(at, message)| (*at, message.role)).collect();
/// assert_eq!(roles, [(0, Role::Assistant), (1, Role::Tool), (1, Role::User)]);
/// # Ok::<(), epitome_wire::ElementError>(())
/// ```
pub fn decode(protocol: Protocol, elements: &[&str]) -> Result<Vec<(usize, Message)>, ElementError> {
    let views = views(elements)?;
    match protocol {
        Protocol::Anthropic => anthropic::decode(&views),
        Protocol::OpenaiChat => openai_chat::decode(&views),
        Protocol::OpenaiResponses => openai_responses::decode(&views),
    }
}

/// What a request says beside its history: the system prompt, tools, model and limits of `body`, a JSON
/// object whose list of messages is not looked at, and the instructions in `opening`, the elements that list
/// begins with. What cannot be read is not in it.
///
/// ```
/// use epitome_wire::{Protocol, decode_fixed};
///
/// let opening = [r#"{"role":"system","content":"be brief"}"#];
/// let fixed = decode_fixed(Protocol::OpenaiChat, r#"{"model":"m","messages":[]}"#, &opening);
/// assert_eq!((fixed.model.as_deref(), fixed.system[0].as_ref()), (Some("m"), "be brief"));
/// ```
pub fn decode_fixed(protocol: Protocol, body: &str, opening: &[&str]) -> FixedParts {
    let around = View::parse(body).ok().and_then(View::object).unwrap_or_default();
    let mut fixed = match protocol {
        Protocol::Anthropic => anthropic::fixed(&around),
        Protocol::OpenaiChat => openai_chat::fixed(&around),
        Protocol::OpenaiResponses => openai_responses::fixed(&around),
    };
    let opening: Vec<View<'_>> = opening.iter().filter_map(|text| View::parse(text).ok()).collect();
    lift_system(&opening, &mut fixed);
    fixed
}

fn views<'e>(elements: &[&'e str]) -> Result<Vec<View<'e>>, ElementError> {
    let view = |(element, text): (usize, &&'e str)| {
        View::parse(text).map_err(|error| ElementError { element, why: error.to_string() })
    };
    elements.iter().enumerate().map(view).collect()
}
