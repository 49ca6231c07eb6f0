//! Writing a reply down in a provider's shapes, whole or as events.

mod anthropic;
mod openai_chat;
mod openai_responses;

pub(crate) use openai_responses::{compaction, output, response_id};

use crate::complaint::Complaint;
use crate::parsed_request::ParsedRequest;
use crate::reply::Reply;
use epitome_tokens::Usage;
use epitome_wire::Protocol;
use serde_json::Value;

/// A reply, and what goes on the page around it.
pub(crate) struct Draft<'a> {
    pub(crate) asked: &'a ParsedRequest,
    /// The request's number, for ids.
    pub(crate) number: u64,
    pub(crate) reply: &'a Reply,
    pub(crate) usage: Usage,
}

/// The moment every reply claims to be made at: the same script gives the same bytes.
pub(crate) const CREATED: u64 = 1_767_225_600;

/// A stream in two halves: what comes before the first word, and the rest.
pub(crate) struct Frames {
    pub(crate) opening: Vec<String>,
    pub(crate) rest: Vec<String>,
}

impl Frames {
    /// All of them.
    pub(crate) fn all(self) -> Vec<String> {
        [self.opening, self.rest].concat()
    }
}

impl Draft<'_> {
    /// The whole answer.
    pub(crate) fn body(&self) -> Value {
        match self.asked.protocol() {
            Protocol::Anthropic => anthropic::body(self),
            Protocol::OpenaiChat => openai_chat::body(self),
            Protocol::OpenaiResponses => openai_responses::body(self),
        }
    }

    /// The answer as events, in their framing.
    pub(crate) fn frames(&self) -> Frames {
        match self.asked.protocol() {
            Protocol::Anthropic => anthropic::frames(self),
            Protocol::OpenaiChat => openai_chat::frames(self),
            Protocol::OpenaiResponses => openai_responses::frames(self),
        }
    }

    /// The event that ends a stream with an error. `body` is the error as it would be a whole answer.
    pub(crate) fn failure(&self, complaint: &Complaint, body: &Value, sent: usize) -> String {
        match self.asked.protocol() {
            Protocol::Anthropic => event("error", body),
            Protocol::OpenaiChat => data(body),
            Protocol::OpenaiResponses => openai_responses::failed(self, complaint, sent),
        }
    }
}

/// An event with a name.
fn event(name: &str, value: &Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}

/// An event without one.
fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// The least a delta holds; providers send about a word at a time.
const DELTA_BYTES_MIN: usize = 16;
/// A long reply comes in no more deltas than this, so that tests of long replies stay quick.
const DELTAS_MAX: usize = 120;

/// A text as the deltas it is sent in.
fn deltas(text: &str) -> Vec<&str> {
    let size = DELTA_BYTES_MIN.max(text.len().div_ceil(DELTAS_MAX));
    let mut rest = text;
    let mut all = Vec::new();
    while !rest.is_empty() {
        let (delta, after) = rest.split_at(rest.ceil_char_boundary(size));
        all.push(delta);
        rest = after;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::deltas;

    #[test]
    fn deltas_are_the_text_in_order() {
        let text = "für jede Änderung ein Grund ".repeat(300);
        let all = deltas(&text);
        assert_eq!((all.concat(), all.len() <= 120, deltas("").len()), (text, true, 0));
    }
}
