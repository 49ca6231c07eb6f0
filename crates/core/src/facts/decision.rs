//! Choices that were made, and questions that wait for an answer.

use super::rule::sentences;
use crate::pattern::compile;
use regex::Regex;
use std::sync::LazyLock;

/// A longer sentence is an explanation, not a decision.
const DECISION_CHARS_MAX: usize = 300;

static CHOICE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?i)\b(?:decided?(?:\s+to|\s+on)?|decision|(?:we|i)(?:['’]ll|\s+will)\s+(?:use|go\s+with|keep|switch)|chose|chosen|going\s+with|opted\s+for|settled\s+on|instead\s+of|rather\s+than|root\s+cause|entschieden|décidé|decidido|decidimos)\b|决定|選択|改用|采用|採用|选择|결정|선택|代わりに|根本原因|原因是";
    compile(pattern)
});

/// The sentences of a text that state a choice.
pub fn decisions(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(sentences).filter(|sentence| {
        sentence.len() >= 12 && sentence.chars().count() <= DECISION_CHARS_MAX && CHOICE.is_match(sentence)
    })
}

/// The last question of a text, where the text ends with asking.
pub fn closing_question(text: &str) -> Option<&str> {
    // A question further up was followed by more talk; what waits for an answer stands near the end.
    let tail = text.trim_end().lines().rev().take(4);
    tail.flat_map(|line| sentences(line).collect::<Vec<_>>().into_iter().rev())
        .find(|sentence| sentence.ends_with(['?', '？']) && sentence.chars().count() >= 4)
}

#[cfg(test)]
mod tests {
    use super::{closing_question, decisions};

    #[test]
    fn choices_are_sentences_of_their_own() {
        let all: Vec<&str> = decisions("Looked around. We will use SQLite instead of files. Done.").collect();
        assert_eq!(all, ["We will use SQLite instead of files."]);
    }

    #[test]
    fn only_a_question_near_the_end_is_open() {
        assert_eq!(closing_question("Done.\nShall I push it? Tell me."), Some("Shall I push it?"));
        assert_eq!(closing_question("Why?\n1\n2\n3\n4\nBecause."), None);
    }
}
