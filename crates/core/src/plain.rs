//! A message as plain text: one walk over its blocks, the wording of each kind left to whoever wants the text,
//! and the beginning and end of a text that is too long to show. Text that is searched for facts is
//! [`crate::facts::passages`]'s.

use crate::{Block, Call, Image, Measure, Message, Opaque, Tokens, ToolResult};

/// How each kind of block is worded; empty where nothing is to be said of it. What is not stated otherwise is
/// worded as in a message told within another text.
pub trait Wording {
    /// What was said.
    fn said(&mut self, text: &str) -> String {
        text.to_owned()
    }

    /// What was thought, as far as it can be read.
    fn thought(&mut self, _: &str) -> String {
        String::new()
    }

    /// A call of a tool.
    fn called(&mut self, call: &Call) -> String {
        format!("[used the tool {} on {}]", call.name, call.input)
    }

    /// What a tool answered.
    fn answered(&mut self, result: &ToolResult) -> String {
        result.text()
    }

    /// A picture.
    fn pictured(&mut self, image: &Image) -> String {
        format!("[image {}]", image.media_type)
    }

    /// Something we carry and do not read.
    fn carried(&mut self, opaque: &Opaque) -> String {
        format!("[{}]", opaque.kind)
    }
}

/// The wording of a message told within another text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told;

impl Wording for Told {}

/// The message as text: its blocks in order, each on lines of its own, `separator` between.
///
/// ```
/// use epitome_core::{Author, Message, Role, plain};
/// let message = Message::text(Role::User, Author::Person, "fix it");
/// assert_eq!(plain::render(&message, &mut plain::Told, "\n"), "fix it");
/// ```
pub fn render(message: &Message, wording: &mut dyn Wording, separator: &str) -> String {
    let pieces = message.blocks.iter().map(|block| match block {
        Block::Text { text } => wording.said(text),
        Block::Thinking { text, .. } => wording.thought(text),
        Block::Call(call) => wording.called(call),
        Block::Result(result) => wording.answered(result),
        Block::Image(image) => wording.pictured(image),
        Block::Opaque(opaque) => wording.carried(opaque),
    });
    pieces.filter(|piece| !piece.is_empty()).collect::<Vec<_>>().join(separator)
}

/// The beginning and the end of a text, `room` of it by `measure`, with `mark` between to say what is missing.
/// The beginning says what it is, the end how it ended: two parts to one.
pub fn ends(text: &str, room: Tokens, mark: &str, measure: &dyn Measure) -> String {
    let tail = room.share(1, 3);
    format!("{}{mark}{}", measure.head(text, room.less(tail)), measure.tail(text, tail))
}

#[cfg(test)]
mod tests {
    use super::{Told, ends, render};
    use crate::{Author, Block, Call, Image, Message, Opaque, Part, Role, Tokens, ToolResult};

    #[test]
    fn each_block_is_told_in_its_own_words() {
        let image = Image { media_type: "image/png".into(), data: "AA".into(), is_url: false };
        let result = ToolResult {
            call: "1".into(),
            parts: vec![Part::Text { text: "ok".into() }, Part::Image(image.clone())],
            is_error: false,
        };
        let blocks = vec![
            Block::Thinking { text: "hm".into(), signature: None, redacted: false },
            Block::text("look"),
            Block::Call(Call { id: "1".into(), name: "run".into(), input: "{}".into(), freeform: false }),
            Block::Result(result),
            Block::Image(image),
            Block::Opaque(Opaque { kind: "document".into(), json: "{}".into() }),
            Block::text(""),
        ];
        let message = Message { role: Role::Assistant, author: Author::Model, blocks };
        let told = "look\n[used the tool run on {}]\nok\n[image image/png]\n[document]";
        assert_eq!(render(&message, &mut Told, "\n"), told);
    }

    #[test]
    fn a_long_text_keeps_two_parts_of_its_beginning_to_one_of_its_end() {
        use crate::transcript::Characters;
        assert_eq!(ends("abcdefghijkl", Tokens(7), " … ", &Characters), "abcde … kl");
        assert_eq!(ends("äöüßéèêë", Tokens(3), "…", &Characters), "äö…ë");
    }
}
