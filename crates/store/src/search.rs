//! What of a message goes into an index, and what of a query is looked for there: common to all stores.

use crate::terms::{terms, wanted_terms};
use epitome_core::Message;
use epitome_engine::store::{SearchQuery, readable};
use serde_json::Value;

/// The terms of one message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct IndexedTerms {
    /// Of everything in it that can be read.
    pub(crate) said: Vec<String>,
    /// Of the tools it calls.
    pub(crate) tools: Vec<String>,
    /// Of paths among the arguments of its calls.
    pub(crate) files: Vec<String>,
}

impl IndexedTerms {
    /// Of a message.
    pub(crate) fn of(message: &Message) -> Self {
        let mut indexed = Self { said: terms(&readable(message)), ..Self::default() };
        for call in message.calls() {
            indexed.tools.extend(terms(&call.name));
            let arguments: Value = serde_json::from_str(&call.input).unwrap_or_default();
            each_path(&arguments, &mut |path| indexed.files.extend(terms(path)));
        }
        indexed
    }
}

/// Longer texts are contents of files, not their names.
const PATH_BYTES_MAX: usize = 512;

/// Texts among arguments that are paths by their looks: in one piece, with a slash or a dot.
fn each_path(value: &Value, take: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => {
            let is_path = text.len() <= PATH_BYTES_MAX
                && text.contains(['/', '.', '\\'])
                && !text.contains(char::is_whitespace);
            if is_path {
                take(text);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| each_path(value, take)),
        Value::Object(fields) => fields.values().for_each(|value| each_path(value, take)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// So many of the messages that match are ranked, the newest. What is rarer is ranked whole; a word that is everywhere is in a third of
/// all messages, and to weigh each of them takes seconds in a gigabyte.
pub(crate) const RANKED_MAX: i64 = 5_000;

/// What is looked for, as terms that must all be there.
pub(crate) struct WantedTerms {
    pub(crate) said: Vec<String>,
    /// The last word may go on: somebody is still typing, or looks for all that begin so, of which there are not too many.
    pub(crate) is_open: bool,
    pub(crate) tools: Vec<String>,
    pub(crate) files: Vec<String>,
}

impl WantedTerms {
    /// Of a query; none where it has no word that could be looked for.
    pub(crate) fn of(query: &SearchQuery) -> Option<Self> {
        let of = |text: &Option<String>| text.as_deref().map(wanted_terms).unwrap_or_default();
        let said = wanted_terms(&query.words);
        let wanted = Self {
            is_open: query.words.ends_with(|last: char| last.is_alphanumeric() || last == '_')
                && said.last().is_some_and(|last| may_go_on(last)),
            said,
            tools: of(&query.tool),
            files: of(&query.file),
        };
        let is_empty = wanted.said.is_empty() && wanted.tools.is_empty() && wanted.files.is_empty();
        (!is_empty).then_some(wanted)
    }

    /// All of them, for a look at where they stand.
    pub(crate) fn all(&self) -> Vec<&str> {
        self.said.iter().chain(&self.tools).chain(&self.files).map(String::as_str).collect()
    }
}

/// Beginnings of fewer letters are those of half of all words: an index reads through all of them.
const OPEN_CHARS_MIN: usize = 3;

/// Whether what begins so is looked for too. In scripts without spaces one character is a word.
fn may_go_on(term: &str) -> bool {
    !term.is_ascii() || term.len() >= OPEN_CHARS_MIN
}

#[cfg(test)]
mod tests {
    use super::{IndexedTerms, WantedTerms};
    use epitome_core::{Author, Block, Call, Message, Role};
    use epitome_engine::store::SearchQuery;

    #[test]
    fn a_call_is_found_by_its_tool_and_by_the_files_it_names() {
        let input = r#"{"edits":[{"path":"src/walk.rs","text":"a long. text with spaces"}],"count":3}"#;
        let call = Call { id: "c".into(), name: "edit_file".into(), input: input.into(), freeform: false };
        let message =
            Message { role: Role::Assistant, author: Author::Model, blocks: vec![Block::Call(call)] };
        let indexed = IndexedTerms::of(&message);
        assert_eq!(indexed.tools, ["edit_file", "edit", "file"]);
        assert_eq!(indexed.files, ["src", "walk", "rs"]);
        assert!(indexed.said.contains(&"spaces".to_owned()));
    }
    #[test]
    fn the_last_word_may_go_on_where_it_is_more_than_a_letter_or_two() {
        let wanted = |words: &str| {
            let query = SearchQuery { words: words.into(), ..SearchQuery::default() };
            WantedTerms::of(&query).map(|wanted| (wanted.said, wanted.is_open))
        };
        let terms = |terms: &[&str]| terms.iter().map(|&term| term.to_owned()).collect::<Vec<_>>();
        assert_eq!(wanted("parse_hea"), Some((terms(&["parse_hea"]), true)));
        assert_eq!(wanted("the pa"), Some((terms(&["the", "pa"]), false)));
        assert_eq!(wanted("parse_header "), Some((terms(&["parse_header"]), false)));
        assert_eq!(wanted("文"), Some((terms(&["文"]), true)));
        assert_eq!(wanted("—"), None);
    }
}
