//! A message as plain text: one walk over its blocks, the wording of each kind left to whoever wants the text, and the
//! beginning and end of a text that is too long to show. How a summariser is shown messages follows the policy's
//! markers and is `transcript`'s; text that is searched for facts is [`crate::facts::passages`]'s.

use crate::{Block, Call, Image, Measure, Message, Opaque, ResultPart, Tokens, ToolResult};

/// How each kind of block is worded; empty where nothing is to be said of it.
pub(crate) trait Wording {
    fn said(&mut self, text: &str) -> String;
    fn thought(&mut self, text: &str) -> String;
    fn called(&mut self, call: &Call) -> String;
    fn answered(&mut self, result: &ToolResult) -> String;
    fn pictured(&mut self, image: &Image) -> String;
    /// Something we carry and do not read.
    fn carried(&mut self, opaque: &Opaque) -> String;
}

/// The message as text: its blocks in order, each on lines of its own, `separator` between.
pub(crate) fn render(message: &Message, wording: &mut dyn Wording, separator: &str) -> String {
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
pub(crate) fn ends(text: &str, room: Tokens, mark: &str, measure: &dyn Measure) -> String {
    both_ends(text, room, room.share(1, 3), mark, measure)
}

/// The same with `tail` of the room for the end.
pub(crate) fn both_ends(text: &str, room: Tokens, tail: Tokens, mark: &str, measure: &dyn Measure) -> String {
    format!("{}{mark}{}", measure.head(text, room.less(tail)), measure.tail(text, tail))
}

/// How much of a message is written out for whoever reads it outside a context: people who recall it, hooks, what is
/// told inside a summary's frame or of a branch that is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextDetail {
    /// All of it: thinking, and blocks that are carried unread as the JSON they came in.
    Whole,
    /// What was said, called and answered.
    Spoken,
    /// What was said and called; of answers, how many pictures they held.
    WithoutResults,
}

impl Message {
    /// The message as plain text, a line or more for each block; nothing for what `detail` leaves out.
    pub fn plain_text(&self, mut detail: TextDetail) -> String {
        render(self, &mut detail, "\n")
    }
}

impl Wording for TextDetail {
    fn said(&mut self, text: &str) -> String {
        text.to_owned()
    }

    fn thought(&mut self, text: &str) -> String {
        match self {
            Self::Whole => format!("(thought: {text})"),
            Self::Spoken | Self::WithoutResults => String::new(),
        }
    }

    fn called(&mut self, call: &Call) -> String {
        format!("(used {} with {})", call.name, call.input)
    }

    fn answered(&mut self, result: &ToolResult) -> String {
        match self {
            Self::Whole => whole_result(result),
            Self::Spoken => result.text(),
            Self::WithoutResults => pictures(result),
        }
    }

    fn pictured(&mut self, image: &Image) -> String {
        of_image(image)
    }

    fn carried(&mut self, opaque: &Opaque) -> String {
        match self {
            Self::Whole => opaque.json.to_string(),
            Self::Spoken => format!("[{}]", opaque.kind),
            Self::WithoutResults => String::new(),
        }
    }
}

fn of_image(image: &Image) -> String {
    format!("[image {}]", image.media_type)
}

fn whole_result(result: &ToolResult) -> String {
    let parts = result.parts.iter().map(|part| match part {
        ResultPart::Text { text } => text.to_string(),
        ResultPart::Image(image) => of_image(image),
        ResultPart::Opaque(opaque) => opaque.json.to_string(),
    });
    parts.collect::<Vec<_>>().join("\n")
}

fn pictures(result: &ToolResult) -> String {
    let count = result.parts.iter().filter(|part| matches!(part, ResultPart::Image(_))).count();
    if count > 0 { format!("({count} pictures)") } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::{TextDetail, ends};
    use crate::{Author, Block, Call, Image, Message, Opaque, ResultPart, Role, Tokens, ToolResult};

    #[test]
    fn each_detail_leaves_out_what_it_says() {
        let image = Image { media_type: "image/png".into(), data: "AA==".into(), is_url: false };
        let call = Call { id: "1".into(), name: "read".into(), input: "{}".into(), freeform: false };
        let parts = vec![ResultPart::Text { text: "found".into() }, ResultPart::Image(image)];
        let blocks = vec![
            Block::Thinking { text: "hm".into(), signature: None, redacted: false },
            Block::text("look"),
            Block::Call(call),
            Block::Result(ToolResult { call: "1".into(), parts, is_error: false }),
            Block::Opaque(Opaque { kind: "fence".into(), json: r#"{"type":"fence"}"#.into() }),
        ];
        let message = Message { role: Role::Assistant, author: Author::Model, blocks };
        let texts = [TextDetail::Whole, TextDetail::Spoken, TextDetail::WithoutResults]
            .map(|detail| message.plain_text(detail));
        assert_eq!(
            texts,
            [
                "(thought: hm)\nlook\n(used read with {})\nfound\n[image image/png]\n{\"type\":\"fence\"}",
                "look\n(used read with {})\nfound\n[fence]",
                "look\n(used read with {})\n(1 pictures)",
            ]
        );
    }

    #[test]
    fn a_long_text_keeps_two_parts_of_its_beginning_to_one_of_its_end() {
        use crate::transcript::Characters;
        assert_eq!(ends("abcdefghijkl", Tokens(7), " … ", &Characters), "abcde … kl");
        assert_eq!(ends("äöüßéèêë", Tokens(3), "…", &Characters), "äö…ë");
    }
}
