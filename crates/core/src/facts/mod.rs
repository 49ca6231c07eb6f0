//! Facts a machine can check: what they are, and how they are found in a message.
//!
//! Finding is deterministic and takes one pass over the text. Which facts matter is left to the
//! summariser, whether they survived to [`crate::verify`]; files, commands and todos, which are
//! known from tool calls, to the [`crate::ledger`].

mod argument;
mod class;
mod decision;
mod error;
mod fact_hash;
mod form;
mod instruction;
mod key;
mod live;
mod number;
mod passage;
mod passage_facts;
mod path;
mod retraction;
mod rule;
mod secret;
mod spoken;
mod statement;
mod token;

pub use argument::scan_commands;
pub use class::{Class, Fact};
pub(crate) use class::{Evidence, RepairLine, Tier};
pub use decision::{closing_question, decisions};
pub use error::{ERROR_CHARS_MAX, first_error};
pub(crate) use fact_hash::{FactHash, FactIndex, lower_case, text_hash};
pub use live::{live_work, tells_of_an_end};
pub use number::scan_pairs;
pub use passage::{Passage, Voice, passages, spoken_passages, unfold};
pub(crate) use passage_facts::PassageFacts;
pub use path::{cut_line_suffix, has_known_extension};
pub(crate) use retraction::takes_back;
pub use rule::{Rule, RuleReach, list_item, rules, sentences};
pub(crate) use secret::find_secrets;
pub use secret::{SECRET, Secrets, screen};
pub use spoken::spoken;
pub(crate) use statement::statements;
pub use token::{Mention, VALUE_BYTES_MIN, is_code_like, scan_line};

use crate::Author;

/// A fact in a passage: borrowed, with the line it stands in.
#[derive(Clone, Copy, Debug)]
pub struct Sighting<'t> {
    /// Class, key and value.
    pub mention: Mention<'t>,
    /// The line, trimmed of its indentation.
    pub line: &'t str,
}

/// What a fact was found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoundBy {
    /// Its form alone, whoever wrote it wherever.
    Form,
    /// Where it stands, or who speaks.
    Place,
}

/// Calls `found` for each fact in a passage, line by line.
pub fn scan<'t>(passage: &'t Passage<'_>, mut found: impl FnMut(Sighting<'t>)) {
    scan_each(passage, |sighting, _| found(sighting));
}

/// The same with what each was found by.
pub(crate) fn scan_each<'t>(passage: &'t Passage<'_>, mut found: impl FnMut(Sighting<'t>, FoundBy)) {
    let text: &'t str = &passage.text;
    for line in text.lines() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let mut sight = |mention| found(Sighting { mention, line }, FoundBy::Form);
        scan_line(line, &mut sight);
        scan_pairs(line, &mut sight);
        let mut sight = |mention| found(Sighting { mention, line }, FoundBy::Place);
        match passage.voice {
            Voice::Called => argument::scan_argument(line, &mut sight),
            Voice::Said | Voice::Thought | Voice::Answered => {
                if let Some(script) = line.strip_prefix("$ ") {
                    argument::scan_commands(script, &mut sight);
                }
            }
        }
    }
    scan_statements(passage, text, &mut |sighting| found(sighting, FoundBy::Place));
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
            live_work(text, found);
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

#[cfg(test)]
mod tests {
    use super::class::RepairLine;
    use super::{Class, Passage, Voice, scan};
    use crate::Author;

    fn facts(voice: Voice, author: Author, text: &str) -> Vec<(Class, String, String)> {
        let mut all = Vec::new();
        scan(&Passage { voice, author, tool: None, text: text.into() }, |sighting| {
            let mention = sighting.mention;
            all.push((mention.class, mention.key.to_owned(), mention.value.to_owned()));
        });
        all
    }

    #[test]
    fn only_a_person_makes_rules() {
        let is_rule = |(class, ..): &(Class, String, String)| class.row().repair == RepairLine::Rule;
        assert!(facts(Voice::Said, Author::Person, "Never delete it.").iter().any(is_rule));
        assert!(!facts(Voice::Said, Author::Harness, "Never delete it.").iter().any(is_rule));
    }

    #[test]
    fn only_a_tool_tells_of_live_work() {
        let text = "Command running in background with ID: bash_7";
        let live = (Class::LiveWork, "bash_7".to_owned(), "bash_7".to_owned());
        assert!(facts(Voice::Answered, Author::Tool, text).contains(&live));
        assert!(!facts(Voice::Said, Author::Model, text).contains(&live));
    }
}
