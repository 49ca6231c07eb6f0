//! Looking for what was said: what is asked for, what is found, what of a message can be looked for. How it is indexed is each
//! store's own.

use super::name::{SessionId, TenantId};
use epitome_core::{Block, EntryId, Message, ResultPart, Role};
use serde::Serialize;

/// What is looked for. What is not said is not asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// All of these words, in any order; the last may be the beginning of one.
    pub words: String,
    /// Said in this session.
    pub session: Option<SessionId>,
    /// Said by or to this tenant.
    pub tenant: Option<TenantId>,
    /// In a call of this tool.
    pub tool: Option<String>,
    /// With this path, or one that ends so, among a call's arguments.
    pub file: Option<String>,
    /// Stored at this time or later, in milliseconds since 1970.
    pub since_ms: Option<u64>,
    /// Stored before this time.
    pub until_ms: Option<u64>,
    /// At most so many; none is twenty.
    pub limit: Option<usize>,
}

impl SearchQuery {
    /// How many are wanted.
    pub fn limit(&self) -> usize {
        self.limit.unwrap_or(HITS)
    }

    /// Whether a message calls the tool and the file that are asked for. Results do not say which tool answered.
    pub(super) fn names(&self, message: &Message) -> bool {
        let calls_tool = |tool: &String| message.calls().any(|call| call.name.eq_ignore_ascii_case(tool));
        let names_file = |file: &String| message.calls().any(|call| call.input.contains(file.as_str()));
        self.tool.as_ref().is_none_or(calls_tool) && self.file.as_ref().is_none_or(names_file)
    }
}

/// What a screen shows.
const HITS: usize = 20;

/// A message that was looked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SearchHit {
    /// The session.
    pub session: SessionId,
    /// The message.
    pub entry: EntryId,
    /// On which side it stands.
    pub role: Role,
    /// When it was stored, in milliseconds since 1970; none where nobody looked at a calendar.
    pub time_ms: Option<u64>,
    /// The part of it where the words stand.
    pub snippet: String,
    /// How well it matches, larger for better; comparable within one answer only.
    pub score: f64,
}

impl SearchHit {
    /// A hit.
    pub fn new(session: SessionId, entry: EntryId, role: Role, time_ms: Option<u64>) -> Self {
        Self { session, entry, role, time_ms, snippet: String::new(), score: 0.0 }
    }
}

/// Everything in a message that can be read: what was said and thought, calls with their arguments, results.
pub fn readable(message: &Message) -> String {
    let mut text = String::new();
    let mut add = |part: &str| {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(part);
    };
    for block in &message.blocks {
        match block {
            Block::Text { text } | Block::Thinking { text, .. } => add(text),
            Block::Call(call) => {
                add(&call.name);
                add(&call.input);
            }
            Block::Result(result) => result.parts.iter().filter_map(ResultPart::as_text).for_each(&mut add),
            Block::Image(_) | Block::Opaque(_) => {}
        }
    }
    text
}

/// So much of a message is shown around what was looked for.
const SNIPPET_CHARS: usize = 160;

/// The part of a text around the first of `words` that stands in it, on one line; its beginning where none does.
pub fn snippet(text: &str, words: &[&str]) -> String {
    let lower = text.to_lowercase();
    let found = words.iter().filter_map(|word| lower.find(&word.to_lowercase())).min().unwrap_or_default();
    // Lower case may take other bytes: the place is taken by its characters.
    let before = lower[..found].chars().count();
    let start = before.saturating_sub(SNIPPET_CHARS / 4);
    let part: String = text.chars().skip(start).take(SNIPPET_CHARS).collect();
    let line = part.split_whitespace().collect::<Vec<_>>().join(" ");
    let (head, tail) =
        (if start > 0 { "…" } else { "" }, text.chars().nth(start + SNIPPET_CHARS).map_or("", |_| "…"));
    format!("{head}{line}{tail}")
}

#[cfg(test)]
mod tests {
    use super::{readable, snippet};
    use epitome_core::{Author, Block, Call, Message, Role};

    #[test]
    fn what_can_be_looked_for_is_what_can_be_read() {
        let call = Call {
            id: "c".into(),
            name: "read".into(),
            input: r#"{"path":"src/lib.rs"}"#.into(),
            freeform: false,
        };
        let thinking =
            Block::Thinking { text: "where is it".into(), signature: Some("sealed".into()), redacted: false };
        let blocks = vec![thinking, Block::text("I look"), Block::Call(call.clone())];
        let reply = Message { role: Role::Assistant, author: Author::Model, blocks };
        assert_eq!(readable(&reply), "where is it\nI look\nread\n{\"path\":\"src/lib.rs\"}");
        let blocks = vec![Block::Result(call.answer("pub mod parse;"))];
        assert_eq!(readable(&Message { role: Role::Tool, author: Author::Tool, blocks }), "pub mod parse;");
    }

    #[test]
    fn a_snippet_shows_what_was_looked_for_on_one_line() {
        let text = format!("{}\nthe Parser fails\nin İstanbul {}", "a ".repeat(100), "b ".repeat(100));
        let shown = snippet(&text, &["parser"]);
        assert!(
            shown.starts_with('…') && shown.ends_with('…') && shown.contains("the Parser fails in İstanbul"),
            "{shown}"
        );
        assert_eq!(snippet("short", &["absent"]), "short");
    }
}
