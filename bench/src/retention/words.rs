//! Words: which are ordinary, and which are so frequent that they say nothing.

use epitome_core::facts::is_code_like;
use std::collections::{HashMap, HashSet};

/// As many of the most frequent words of the corpus are no facts.
const FREQUENT: usize = 1000;
/// How far beside a fact an ordinary word may stand, in bytes.
const BESIDE_BYTES: usize = 100;

/// How often each word occurs.
#[derive(Default)]
pub struct Vocabulary {
    counts: HashMap<String, u64>,
}

impl Vocabulary {
    /// Counts the words of a text.
    pub fn take(&mut self, text: &str) {
        for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| word.len() >= 2) {
            match self.counts.get_mut(word) {
                Some(count) => *count += 1,
                None => {
                    self.counts.insert(word.to_owned(), 1);
                }
            }
        }
    }

    /// The most frequent words.
    pub fn frequent(self) -> HashSet<String> {
        let mut counts: Vec<(String, u64)> = self.counts.into_iter().collect();
        counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        counts.into_iter().take(FREQUENT).map(|(word, _)| word).collect()
    }
}

/// Words of grammar, which stand beside everything.
const GRAMMAR: [&str; 40] = [
    "the", "and", "for", "that", "this", "with", "from", "are", "was", "not", "but", "you", "have", "has",
    "had", "will", "can", "its", "all", "any", "let", "const", "var", "return", "null", "true", "false",
    "self", "str", "int", "def", "new", "use", "pub", "into", "then", "else", "when", "what", "which",
];

/// The ordinary words within reach of the text's bytes `start..end`.
pub fn beside(text: &str, start: usize, end: usize) -> HashSet<String> {
    let from = text.floor_char_boundary(start.saturating_sub(BESIDE_BYTES));
    let to = text.ceil_char_boundary((end + BESIDE_BYTES).min(text.len()));
    let mut words = HashSet::new();
    ordinary(&text[from..start], &mut words);
    ordinary(&text[end..to], &mut words);
    words
}

/// Letters only, not written like code, not grammar; of scripts without spaces each pair of letters.
fn ordinary(text: &str, into: &mut HashSet<String>) {
    for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
        if word.is_ascii() {
            let is_plain =
                word.len() >= 3 && word.bytes().all(|b| b.is_ascii_alphabetic()) && !is_code_like(word);
            let word = word.to_ascii_lowercase();
            if is_plain && !GRAMMAR.contains(&word.as_str()) {
                into.insert(word);
            }
        } else {
            let letters: Vec<char> = word.chars().filter(|c| !c.is_ascii()).collect();
            into.extend(letters.windows(2).map(|pair| pair.iter().collect::<String>()));
        }
    }
}
