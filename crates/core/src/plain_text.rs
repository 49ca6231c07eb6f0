//! A message as plain text, for whoever reads it outside a context: people who recall it, hooks, what is told inside
//! a summary's frame or of a branch that is left. How a summariser is shown messages follows the policy's markers and
//! is `transcript`'s.

use crate::{Block, Image, Message, Part, ToolResult};

/// How much of a message is written out.
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
    pub fn plain_text(&self, detail: TextDetail) -> String {
        let pieces = self.blocks.iter().map(|block| of_block(block, detail));
        pieces.filter(|piece| !piece.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

fn of_block(block: &Block, detail: TextDetail) -> String {
    match (block, detail) {
        (Block::Text { text }, _) => text.to_string(),
        (Block::Call(call), _) => format!("(used {} with {})", call.name, call.input),
        (Block::Image(image), _) => of_image(image),
        (Block::Thinking { text, .. }, TextDetail::Whole) => format!("(thought: {text})"),
        (Block::Thinking { .. }, TextDetail::Spoken | TextDetail::WithoutResults) => String::new(),
        (Block::Opaque(opaque), TextDetail::Whole) => opaque.json.to_string(),
        (Block::Opaque(opaque), TextDetail::Spoken) => format!("[{}]", opaque.kind),
        (Block::Opaque(_), TextDetail::WithoutResults) => String::new(),
        (Block::Result(result), TextDetail::Whole) => whole_result(result),
        (Block::Result(result), TextDetail::Spoken) => result.text(),
        (Block::Result(result), TextDetail::WithoutResults) => pictures(result),
    }
}

fn of_image(image: &Image) -> String {
    format!("[image {}]", image.media_type)
}

fn whole_result(result: &ToolResult) -> String {
    let parts = result.parts.iter().map(|part| match part {
        Part::Text { text } => text.to_string(),
        Part::Image(image) => of_image(image),
        Part::Opaque(opaque) => opaque.json.to_string(),
    });
    parts.collect::<Vec<_>>().join("\n")
}

fn pictures(result: &ToolResult) -> String {
    let count = result.parts.iter().filter(|part| matches!(part, Part::Image(_))).count();
    if count > 0 { format!("({count} pictures)") } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::TextDetail;
    use crate::{Author, Block, Call, Image, Message, Opaque, Part, Role, ToolResult};

    #[test]
    fn each_detail_leaves_out_what_it_says() {
        let image = Image { media_type: "image/png".into(), data: "AA==".into(), is_url: false };
        let call = Call { id: "1".into(), name: "read".into(), input: "{}".into(), freeform: false };
        let parts = vec![Part::Text { text: "found".into() }, Part::Image(image)];
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
}
