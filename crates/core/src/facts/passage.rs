//! The readable text of a message, piece by piece, with JSON arguments unfolded into plain lines.

use super::spoken::spoken;
use crate::{Author, Block, Call, Message, ResultPart};
use serde_json::Value;
use std::borrow::Cow;

/// Where in a message a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Voice {
    /// Said, by whoever wrote the message.
    Said,
    /// Thought by the model.
    Thought,
    /// Arguments of a call.
    Called,
    /// A tool's answer.
    Answered,
}

/// A readable piece of a message.
#[derive(Clone, Debug)]
pub struct Passage<'m> {
    /// Where it stands.
    pub voice: Voice,
    /// Who wrote it.
    pub author: Author,
    /// The tool called, for arguments of a call.
    pub tool: Option<&'m str>,
    /// Its text; arguments as one `name: value` per line.
    pub text: Cow<'m, str>,
}

/// The passages of a message, in order. Pictures and blocks we do not read have none, nor has what is staged.
pub fn passages(message: &Message) -> Vec<Passage<'_>> {
    if message.is_staged() {
        return Vec::new();
    }
    message.blocks.iter().flat_map(|block| of_block(message.author, block)).collect()
}

/// The passages of a message as they were really said: without what a harness put into a person's or a tool's words.
///
/// For quoting and for finding facts. Secrets are learned from the whole [`passages`].
pub fn spoken_passages(message: &Message) -> Vec<Passage<'_>> {
    let mut all = passages(message);
    for passage in &mut all {
        let is_mixed = match (passage.voice, passage.author) {
            (Voice::Said, Author::Person) | (Voice::Answered, _) => true,
            (Voice::Said, Author::Harness | Author::Model | Author::Tool)
            | (Voice::Thought | Voice::Called, _) => false,
        };
        if is_mixed && let Cow::Borrowed(text) = passage.text {
            passage.text = spoken(text);
        }
    }
    all.retain(|passage| !passage.text.trim().is_empty());
    all
}

fn of_block(author: Author, block: &Block) -> Vec<Passage<'_>> {
    let text = |voice, author, text| Passage { voice, author, tool: None, text: Cow::Borrowed(text) };
    match block {
        Block::Text { text: said } => vec![text(Voice::Said, author, said)],
        Block::Thinking { text: thought, .. } => vec![text(Voice::Thought, Author::Model, thought)],
        Block::Call(call) => {
            vec![Passage {
                voice: Voice::Called,
                author: Author::Model,
                tool: Some(&call.name),
                text: unfold(call),
            }]
        }
        Block::Result(result) => {
            let texts = result.parts.iter().filter_map(ResultPart::as_text);
            texts.map(|answer| text(Voice::Answered, Author::Tool, answer)).collect()
        }
        Block::Image(_) | Block::Opaque(_) => Vec::new(),
    }
}

/// A call's arguments as text a person would read: strings without their escapes.
pub fn unfold(call: &Call) -> Cow<'_, str> {
    if call.freeform {
        return Cow::Borrowed(&call.input);
    }
    match serde_json::from_str::<Value>(&call.input) {
        Ok(value) => {
            let mut text = String::with_capacity(call.input.len());
            unfold_value("", &value, &mut text);
            Cow::Owned(text)
        }
        Err(_) => Cow::Borrowed(&call.input),
    }
}

fn unfold_value(name: &str, value: &Value, into: &mut String) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| unfold_value(name, value, into)),
        Value::Array(values) => values.iter().for_each(|value| unfold_value(name, value, into)),
        Value::String(text) => unfold_line(name, text, into),
        Value::Number(_) | Value::Bool(_) => unfold_line(name, &value.to_string(), into),
        Value::Null => {}
    }
}

fn unfold_line(name: &str, text: &str, into: &mut String) {
    if !into.is_empty() {
        into.push('\n');
    }
    if !name.is_empty() {
        into.push_str(name);
        into.push_str(": ");
    }
    into.push_str(text);
}

#[cfg(test)]
mod tests {
    use super::{spoken_passages, unfold};
    use crate::{Author, Block, Call, Message, Role};

    #[test]
    fn what_a_harness_slipped_into_a_result_is_not_the_tools() {
        let answer = "fn main() {}\n<system-reminder>\nfile changed\n</system-reminder>";
        let call = Call { id: "1".into(), name: "read".into(), input: "{}".into(), freeform: false };
        let blocks = vec![Block::Result(call.answer(answer)), Block::Result(call.answer("<tools>x</tools>"))];
        let message = Message { role: Role::Tool, author: Author::Tool, blocks };
        let texts: Vec<String> =
            spoken_passages(&message).into_iter().map(|passage| passage.text.into()).collect();
        assert_eq!(texts, ["fn main() {}\n"]);
    }

    #[test]
    fn arguments_unfold_into_lines() {
        let input = r#"{"path":"a.rs","edits":[{"old":"x\ny","all":true}],"n":null}"#;
        let call = Call { id: "1".into(), name: "edit".into(), input: input.into(), freeform: false };
        assert_eq!(unfold(&call), "path: a.rs\nold: x\ny\nall: true");
    }
}
