//! Looking for what was said: what is asked for, what is found, what of a message can be looked for. How it is indexed is each
//! store's own.

use super::name::{SessionId, TenantId};
use epitome_core::{Block, EntryId, Message, ResultPart, Role};
use serde::Serialize;
use std::collections::HashSet;

/// What is looked for. What is not said is not asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// All of these words, in any order; the last may be the beginning of one, from three letters on.
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

/// So many places of one word are looked at: what is everywhere is at the beginning too.
const PLACES_MAX: usize = 1_000;

/// The part of a text where most of `words` stand together, on one line; its beginning where none does. A word counts where it
/// begins one, or a part of an identifier.
pub fn snippet(text: &str, words: &[&str]) -> String {
    let chars: Vec<char> = text.chars().collect();
    let lower: Vec<char> = chars.iter().map(|&one| lowered(one)).collect();
    let mut places: Vec<(usize, usize)> = Vec::new();
    for (word, number) in words.iter().zip(0..) {
        let wanted: Vec<char> = word.chars().map(lowered).collect();
        places.extend(places_of(&chars, &lower, &wanted).take(PLACES_MAX).map(|at| (at, number)));
    }
    places.sort_unstable();
    let start = best_place(&places).saturating_sub(SNIPPET_CHARS / 4);
    let part: String = chars.iter().skip(start).take(SNIPPET_CHARS).collect();
    let line = part.split_whitespace().collect::<Vec<_>>().join(" ");
    let (head, tail) =
        (if start > 0 { "…" } else { "" }, if chars.len() > start + SNIPPET_CHARS { "…" } else { "" });
    format!("{head}{line}{tail}")
}

/// A letter as it is compared: one for each, whatever lower case takes.
fn lowered(one: char) -> char {
    one.to_lowercase().next().unwrap_or(one)
}

/// Where a word begins a word of a text, or a part of an identifier.
fn places_of<'t>(
    chars: &'t [char],
    lower: &'t [char],
    wanted: &'t [char],
) -> impl Iterator<Item = usize> + 't {
    let begins = |at: usize| match at.checked_sub(1).map(|before| chars[before]) {
        None => true,
        // Scripts without spaces have a word anywhere.
        Some(before) => {
            !before.is_alphanumeric()
                || !chars[at].is_ascii()
                || (chars[at].is_uppercase() && before.is_lowercase())
        }
    };
    let is_there = move |at: &usize| lower[*at..].starts_with(wanted) && begins(*at);
    let last = if wanted.is_empty() { 0 } else { lower.len().saturating_sub(wanted.len() - 1) };
    (0..last).filter(is_there)
}

/// Where a stretch begins that holds most of the words, each counted once; the first of several.
fn best_place(places: &[(usize, usize)]) -> usize {
    let count = |from: usize| {
        let start = places[from].0;
        let near = places[from..].iter().take_while(|(at, _)| *at < start + SNIPPET_CHARS * 3 / 4);
        near.map(|(_, word)| word).collect::<HashSet<_>>().len()
    };
    let best = (0..places.len()).max_by_key(|&from| (count(from), std::cmp::Reverse(from)));
    best.map_or(0, |from| places[from].0)
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

    #[test]
    fn a_snippet_is_where_most_of_the_words_stand_and_not_where_one_stands_first() {
        let text = format!("the walk begins {}\nthe parser of src/walk.rs fails", "and goes on ".repeat(60));
        let shown = snippet(&text, &["walk", "rs", "parser"]);
        assert!(shown.starts_with('…') && shown.ends_with("the parser of src/walk.rs fails"), "{shown}");
        let inside = format!("versed {}HttpClient", "in it ".repeat(60));
        assert!(snippet(&inside, &["rs", "client"]).ends_with("HttpClient"), "no word begins inside another");
        let unspaced = format!("{}上下文窗口", "无".repeat(300));
        assert!(snippet(&unspaced, &["窗口"]).ends_with("窗口"));
    }
}
