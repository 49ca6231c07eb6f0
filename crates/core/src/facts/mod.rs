//! Facts a machine can check: what they are, and how they are found in a message.
//!
//! Finding is deterministic and takes one pass over the text. Which facts matter is left to the
//! summariser, whether they survived to [`crate::verify`]; files, commands and todos, which are
//! known from tool calls, to the [`crate::ledger`].

mod argument;
mod class;
mod decision;
mod error;
mod form;
mod number;
mod passage;
mod path;
mod rule;
mod secret;
mod token;

pub use argument::scan_commands;
pub use class::{Class, Fact};
pub use decision::{closing_question, decisions};
pub use error::{ERROR_CHARS_MAX, first_error};
pub use number::scan_pairs;
pub use passage::{Passage, Voice, passages, unfold};
pub use path::{cut_line_suffix, has_known_extension};
pub use rule::{Rule, list_item, rules, sentences};
pub use secret::{SECRET, Secrets, screen};
pub use token::{Mention, VALUE_BYTES_MIN, is_code_like, scan_line};

use crate::{Author, EntryId, Message};
use std::collections::HashMap;
use std::sync::Arc;

/// Lines longer than this are cut before they are kept beside a fact.
const LINE_CHARS_MAX: usize = 300;

/// A fact in a passage: borrowed, with the line it stands in.
#[derive(Clone, Copy, Debug)]
pub struct Sighting<'t> {
    /// Class, key and value.
    pub mention: Mention<'t>,
    /// The line, trimmed of its indentation.
    pub line: &'t str,
}

/// Calls `found` for each fact in a passage, line by line.
pub fn scan<'t>(passage: &'t Passage<'_>, mut found: impl FnMut(Sighting<'t>)) {
    let text: &'t str = &passage.text;
    for line in text.lines() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let mut sight = |mention| found(Sighting { mention, line });
        scan_line(line, &mut sight);
        scan_pairs(line, &mut sight);
        match passage.voice {
            Voice::Called => argument::scan_argument(line, &mut sight),
            Voice::Said | Voice::Thought | Voice::Answered => {
                if let Some(script) = line.strip_prefix("$ ") {
                    argument::scan_commands(script, &mut sight);
                }
            }
        }
    }
    scan_statements(passage, text, &mut found);
}

/// Facts that are whole lines or sentences, and depend on who speaks.
fn scan_statements<'t>(passage: &Passage<'_>, text: &'t str, found: &mut impl FnMut(Sighting<'t>)) {
    let mut say = |class, value: &'t str| {
        found(Sighting { mention: Mention { class, key: value, value }, line: value })
    };
    match (passage.voice, passage.author) {
        (Voice::Answered, _) => {
            if let Some(mention) = first_error(text) {
                found(Sighting { mention, line: mention.value });
            }
        }
        (Voice::Said, Author::Person) => {
            rules(text).into_iter().for_each(|rule| say(rule.class, rule.text));
            decisions(text).for_each(|decision| say(Class::Decision, decision));
            say(Class::UserMessage, text.trim());
        }
        (Voice::Said, Author::Model) => {
            decisions(text).for_each(|decision| say(Class::Decision, decision));
            closing_question(text).into_iter().for_each(|question| say(Class::Question, question));
        }
        (Voice::Said, Author::Harness | Author::Tool) | (Voice::Thought | Voice::Called, _) => {}
    }
}

/// The facts of a message, in the order they stand in it.
pub fn facts_of(id: EntryId, message: &Message) -> Vec<Fact> {
    let mut all = Vec::new();
    for passage in passages(message) {
        scan(&passage, |Sighting { mention, line }| {
            let cut = line.char_indices().nth(LINE_CHARS_MAX).map_or(line.len(), |(at, _)| at);
            all.push(Fact {
                class: mention.class,
                key: Arc::from(mention.key),
                value: Arc::from(mention.value),
                source: id,
                line: Arc::from(&line[..cut]),
                author: passage.author,
            });
        });
    }
    all
}

/// The facts that still hold: of the classes whose newest value wins, the newest per key; of the
/// others each value once, where it was last seen.
pub fn latest(facts: impl IntoIterator<Item = Fact>) -> Vec<Fact> {
    let mut all: Vec<Fact> = Vec::new();
    let mut places: HashMap<(Class, Arc<str>), usize> = HashMap::new();
    for fact in facts {
        let key = if fact.class.latest_wins() { fact.key.clone() } else { fact.value.clone() };
        match places.entry((fact.class, key)) {
            std::collections::hash_map::Entry::Occupied(place) => all[*place.get()] = fact,
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(all.len());
                all.push(fact);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{Class, facts_of, latest};
    use crate::{Author, EntryId, Message, Role};

    fn facts(author: Author, text: &str) -> Vec<(Class, String, String)> {
        let all = facts_of(EntryId(1), &Message::text(Role::User, author, text));
        latest(all).into_iter().map(|f| (f.class, f.key.to_string(), f.value.to_string())).collect()
    }

    #[test]
    fn the_newest_value_of_a_key_wins() {
        let found = facts(Author::Harness, "timeout: 30 ms\nlater\ntimeout: 45 ms");
        assert_eq!(found, vec![(Class::Number, "timeout".into(), "45 ms".into())]);
    }

    #[test]
    fn only_a_person_makes_rules() {
        let is_rule = |(class, ..): &(Class, String, String)| class.is_rule();
        assert!(facts(Author::Person, "Never delete it.").iter().any(is_rule));
        assert!(!facts(Author::Harness, "Never delete it.").iter().any(is_rule));
    }
}
