//! Rendering of messages for a summariser: as one text with markers, or as messages. Thinking,
//! pictures and long results are left out as the policy says; block tags of ours are escaped, so
//! that nothing said in a session can end its own frame. The rest of a request is
//! `machine::wording`'s.

use crate::facts::SECRET;
use crate::plain_text::{Wording, ends, render};
use crate::policy::{Clip, Markers, Pictures, SummaryRule};
use crate::{
    Archive, ArchiveError, Author, Block, Call, EntryId, Image, Job, Measure, Message, Opaque, ResultPart,
    Role, Tokens, ToolResult,
};
use std::sync::Arc;

/// How messages are written down for a summariser.
pub(crate) struct TranscriptWriter<'j, 'a> {
    pub job: &'j Job<'a>,
    /// Where the messages are.
    pub originals: &'j dyn Archive,
    pub rule: &'j SummaryRule,
    /// Results longer than this many characters are cut.
    pub result_chars_max: Option<u32>,
    /// A message that takes more than this is cut to its ends.
    pub message_max: Option<Tokens>,
    /// Screens out secrets and opens look-alike fences.
    pub harmless: &'j dyn Fn(&str) -> String,
}

/// What was written, and how many of its messages were cut.
pub(crate) struct TranscriptText<T> {
    pub made: T,
    pub cut: usize,
}

/// What stands where a message was cut to fit a request.
const CUT_MARK: &str = "\n[... cut to fit ...]\n";

/// Tags that frame parts of a request; the same in what was said are opened.
const TAGS: [&str; 4] = ["conversation", "previous-summary", "summary", "branch"];

impl TranscriptWriter<'_, '_> {
    /// All of `ids` as one text.
    pub(crate) fn text(&self, ids: &[EntryId]) -> Result<TranscriptText<String>, ArchiveError> {
        let (mut pieces, mut cut) = (Vec::new(), 0);
        for &id in ids {
            let message = self.originals.message(id)?;
            let (text, is_cut) = self.told(id, &message);
            cut += usize::from(is_cut);
            if !text.is_empty() {
                pieces.push(text);
            }
        }
        let between = match self.rule.markers {
            Markers::Upper => "\n\n---\n\n",
            Markers::Ids | Markers::Colon | Markers::Short => "\n\n",
        };
        Ok(TranscriptText { made: pieces.join(between), cut })
    }

    /// All of `ids` as messages. Exchanges are whole, so pairs stay pairs.
    pub(crate) fn messages(
        &self,
        ids: &[EntryId],
    ) -> Result<TranscriptText<Vec<Arc<Message>>>, ArchiveError> {
        let (mut messages, mut cut) = (Vec::new(), 0);
        for &id in ids {
            let message = self.originals.message(id)?;
            let (blocks, is_cut) = self.blocks(&message);
            cut += usize::from(is_cut);
            if !blocks.is_empty() {
                messages.push(Arc::new(Message { blocks, ..Message::clone(&message) }));
            }
        }
        Ok(TranscriptText { made: messages, cut })
    }

    fn told(&self, id: EntryId, message: &Message) -> (String, bool) {
        let mut marked = MarkedWording { writer: self, id, kind: kind_of(message), is_cut: false };
        let separator = match self.rule.markers {
            Markers::Ids => "\n",
            Markers::Upper | Markers::Colon | Markers::Short => "\n\n",
        };
        let mut text = self.screened(&render(message, &mut marked, separator));
        if self.rule.markers == Markers::Ids && !text.is_empty() {
            text = format!("[{id} {}]\n{text}", speaker(message));
        }
        let (text, is_shortened) = self.within(text);
        (text, marked.is_cut || is_shortened)
    }

    fn within(&self, text: String) -> (String, bool) {
        match self.message_max {
            Some(most) if self.job.measure.text(&text) > most => {
                let room = most.less(self.job.measure.text(CUT_MARK));
                (ends(&text, room, CUT_MARK, self.job.measure), true)
            }
            Some(_) | None => (text, false),
        }
    }

    fn told_call(&self, name: &str, input: &str) -> String {
        match self.rule.markers {
            Markers::Ids => format!("(used {name} with {input})"),
            Markers::Upper => format!("[ASSISTANT]\nused the tool {name} with {input}"),
            Markers::Colon => format!("[Assistant tool calls]: {name}({})", fields(input)),
            Markers::Short => format!("[Tool Call] {name}: {input}"),
        }
    }

    fn marked(&self, kind: Speaker, text: &str) -> String {
        match self.rule.markers {
            Markers::Ids => match kind {
                Speaker::Thinking => format!("(thought: {text})"),
                Speaker::User | Speaker::Assistant | Speaker::Result | Speaker::System => text.to_owned(),
            },
            Markers::Upper => format!("[{}]\n{text}", kind.upper()),
            Markers::Colon => format!("[{}]: {text}", kind.worded()),
            Markers::Short => format!("[{}] {text}", kind.short()),
        }
    }

    /// A result's text, cut as the policy says.
    fn result_text(&self, result: &ToolResult) -> (String, bool) {
        let mut text = result.text();
        let pictures = result.parts.iter().filter_map(|part| match part {
            ResultPart::Image(image) => self.picture(image),
            ResultPart::Text { .. } | ResultPart::Opaque(_) => None,
        });
        pictures.for_each(|label| text.push_str(&format!("\n{label}")));
        clip(text, self.result_chars_max, self.rule.clip)
    }

    fn picture(&self, image: &Image) -> Option<String> {
        match self.rule.images {
            Pictures::Label | Pictures::Sent => Some(format!("[Image: {}]", image.media_type)),
            Pictures::Dropped => None,
        }
    }

    fn blocks(&self, message: &Message) -> (Vec<Block>, bool) {
        let (mut blocks, mut is_cut) = (Vec::new(), false);
        for block in &message.blocks {
            match block {
                Block::Text { text } => {
                    let (text, was_cut) = self.within(self.screened(text));
                    is_cut |= was_cut;
                    blocks.push(Block::text(text));
                }
                Block::Image(image) => match self.rule.images {
                    Pictures::Sent => blocks.push(block.clone()),
                    Pictures::Label | Pictures::Dropped => {
                        blocks.extend(self.picture(image).map(Block::text));
                    }
                },
                Block::Result(result) => {
                    let (text, was_cut) = self.result_text(result);
                    let (text, is_shortened) = self.within(self.screened(&text));
                    is_cut |= was_cut || is_shortened;
                    let parts = vec![ResultPart::Text { text: text.into() }];
                    blocks.push(Block::Result(ToolResult { parts, ..result.clone() }));
                }
                Block::Call(call) => {
                    let input = self.screened(&call.input).into();
                    blocks.push(Block::Call(Call { input, ..call.clone() }));
                }
                // Sealed and read by nobody here: passed on whole, or left out whole.
                Block::Thinking { text, .. } => {
                    let is_told = self.rule.thinking && !self.holds_secret(text);
                    blocks.extend(is_told.then(|| block.clone()));
                }
                Block::Opaque(opaque) if self.holds_secret(&opaque.json) => {
                    blocks.push(Block::text(format!("[{}]", opaque.kind)));
                }
                Block::Opaque(_) => blocks.push(block.clone()),
            }
        }
        (blocks, is_cut)
    }

    /// A text without secrets, in which nothing passes for a frame.
    fn screened(&self, text: &str) -> String {
        opened(&(self.harmless)(text))
    }

    fn holds_secret(&self, text: &str) -> bool {
        let count = |text: &str| text.matches(SECRET).count();
        count(&(self.harmless)(text)) > count(text)
    }
}

/// The wording of one message, with the policy's markers.
struct MarkedWording<'m, 'j, 'a> {
    writer: &'m TranscriptWriter<'j, 'a>,
    id: EntryId,
    kind: Speaker,
    /// Whether a result was cut.
    is_cut: bool,
}

impl Wording for MarkedWording<'_, '_, '_> {
    fn said(&mut self, text: &str) -> String {
        self.writer.marked(self.kind, text)
    }

    fn thought(&mut self, text: &str) -> String {
        let is_told = self.writer.rule.thinking && !text.is_empty();
        if is_told { self.writer.marked(Speaker::Thinking, text) } else { String::new() }
    }

    fn called(&mut self, call: &Call) -> String {
        self.writer.told_call(&call.name, &call.input)
    }

    fn answered(&mut self, result: &ToolResult) -> String {
        let (text, is_cut) = self.writer.result_text(result);
        self.is_cut |= is_cut;
        self.writer.marked(Speaker::Result, &text)
    }

    fn pictured(&mut self, image: &Image) -> String {
        let label = self.writer.picture(image);
        label.map(|label| self.writer.marked(self.kind, &label)).unwrap_or_default()
    }

    fn carried(&mut self, opaque: &Opaque) -> String {
        self.writer.marked(self.kind, &format!("[{} {}]", opaque.kind, self.id))
    }
}

/// Who or what speaks in a piece of text.
#[derive(Clone, Copy)]
enum Speaker {
    User,
    Assistant,
    Thinking,
    Result,
    System,
}

impl Speaker {
    fn upper(self) -> &'static str {
        match self {
            Self::User => "USER",
            Self::Assistant => "ASSISTANT",
            Self::Thinking => "ASSISTANT_THINKING",
            Self::Result => "TOOL_RESULT",
            Self::System => "SYSTEM",
        }
    }

    fn worded(self) -> &'static str {
        match self {
            Self::User => "User",
            Self::Assistant => "Assistant",
            Self::Thinking => "Assistant thinking",
            Self::Result => "Tool result",
            Self::System => "System",
        }
    }

    fn short(self) -> &'static str {
        match self {
            Self::User => "User",
            Self::Assistant => "Assistant",
            Self::Thinking => "Think",
            Self::Result => "Tool Result",
            Self::System => "System",
        }
    }
}

fn kind_of(message: &Message) -> Speaker {
    match message.role {
        Role::System => Speaker::System,
        Role::User => Speaker::User,
        Role::Assistant => Speaker::Assistant,
        Role::Tool => Speaker::Result,
    }
}

fn speaker(message: &Message) -> &'static str {
    match (message.role, message.author) {
        (Role::User, Author::Harness) => "harness",
        (Role::User, Author::Tool) => "result",
        (Role::User, Author::Person | Author::Model) => "user",
        (Role::Assistant, _) => "assistant",
        (Role::Tool, _) => "result",
        (Role::System, _) => "system",
    }
}

/// The fields of a call, `key=json` each.
fn fields(input: &str) -> String {
    match serde_json::from_str::<serde_json::Value>(input) {
        Ok(serde_json::Value::Object(fields)) => {
            let told: Vec<String> = fields.iter().map(|(key, value)| format!("{key}={value}")).collect();
            told.join(", ")
        }
        Ok(_) | Err(_) => input.to_owned(),
    }
}

/// A text of at most `most` characters, with a note of what is missing.
fn clip(text: String, most: Option<u32>, how: Clip) -> (String, bool) {
    let Some(most) = most.map(|most| most as usize) else { return (text, false) };
    let count = text.chars().count();
    if count <= most {
        return (text, false);
    }
    if most == 0 {
        return (format!("[{count} characters stripped]"), true);
    }
    let (room, left_out) = (Tokens(most as u64), count - most);
    let told = match how {
        Clip::Head => {
            format!("{}\n[... {left_out} more characters truncated]", Characters.head(&text, room))
        }
        Clip::Ends => {
            ends(&text, room, &format!("\n[... {left_out} characters left out ...]\n"), &Characters)
        }
    };
    (told, true)
}

/// Counts characters, for limits that are set in them.
pub(crate) struct Characters;

impl Measure for Characters {
    fn text(&self, text: &str) -> Tokens {
        Tokens(text.chars().count() as u64)
    }

    fn image(&self, _: &Image) -> Tokens {
        Tokens::ZERO
    }

    fn framing(&self) -> Tokens {
        Tokens::ZERO
    }

    fn head<'t>(&self, text: &'t str, max: Tokens) -> &'t str {
        text.char_indices().nth(max.0 as usize).map_or(text, |(at, _)| &text[..at])
    }

    fn tail<'t>(&self, text: &'t str, max: Tokens) -> &'t str {
        let first = (max.0 as usize).checked_sub(1).map(|before| text.char_indices().rev().nth(before));
        match first {
            None => "",
            Some(first) => first.map_or(text, |(at, _)| &text[at..]),
        }
    }
}

/// Opens block tags of ours in a text, so that it cannot end or begin one.
pub(crate) fn opened(text: &str) -> String {
    let mut text = text.to_owned();
    for tag in TAGS {
        for lead in ["<", "</"] {
            let (closed, open) = (format!("{lead}{tag}"), format!("{lead}\u{200b}{tag}"));
            if text.contains(&closed) {
                text = text.replace(&closed, &open);
            }
        }
    }
    text
}
