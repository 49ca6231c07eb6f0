//! What a session is about, by its words: pairs of neighbouring words, and in how many passages each stands. Sentences are
//! chosen so that the pairs spoken of most are told once; who weighs them against facts is `select`.

use super::common_words::CommonWords;
use crate::text_hash::TextMap;
use std::sync::Arc;

/// Pairs of words that stand in sentences which could be told, numbered, with how often the log has them.
#[derive(Default)]
pub(super) struct Concepts {
    numbers: TextMap<u64, u32>,
    /// In how many passages each stands.
    passages: Vec<u32>,
}

/// The pairs of words in a passage, each once.
pub(crate) type WordPairs = Arc<[u64]>;

/// Of a longer passage the beginning says what it is about.
const CONCEPT_BYTES_MAX: usize = 64 << 10;

/// The pairs of neighbouring words in a passage. It never changes, so this is found once with its facts.
pub(crate) fn word_pairs(text: &str) -> WordPairs {
    let mut all = Vec::new();
    each_pair(&text[..text.floor_char_boundary(CONCEPT_BYTES_MAX)], |pair| all.push(pair));
    all.sort_unstable();
    all.dedup();
    all.into()
}

/// Words that stand beside everything and tell nothing of what is talked about.
static COMMON: CommonWords = CommonWords::new(&[
    "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "because", "been",
    "before", "both", "but", "by", "can", "could", "did", "do", "does", "each", "for", "from", "had", "has",
    "have", "he", "her", "here", "how", "i", "if", "in", "into", "is", "it", "its", "just", "let", "me",
    "more", "my", "no", "not", "now", "of", "on", "only", "or", "other", "our", "out", "over", "should",
    "so", "some", "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this",
    "to", "too", "up", "us", "via", "was", "we", "were", "what", "when", "where", "which", "while", "will",
    "with", "would", "you", "your",
]);

impl Concepts {
    /// Takes down the pairs in a sentence that could be told, and gives their numbers.
    pub(super) fn number(&mut self, sentence: &str) -> Vec<u32> {
        let mut all = Vec::new();
        each_pair(sentence, |pair| {
            let next = self.passages.len() as u32;
            let number = *self.numbers.entry(pair).or_insert(next);
            if number == next {
                self.passages.push(0);
            }
            all.push(number);
        });
        all
    }

    /// Takes down that these pairs stand in one more passage.
    pub(super) fn count(&mut self, pairs: &[u64]) {
        for number in pairs.iter().filter_map(|pair| self.numbers.get(pair)) {
            self.passages[*number as usize] += 1;
        }
    }

    /// How much each pair says of what the session is about; nothing where it stands in one passage alone.
    pub(super) fn weights(&self) -> impl Iterator<Item = f64> {
        self.passages.iter().map(|&passages| if passages < 2 { 0.0 } else { f64::from(passages).ln_1p() })
    }

    /// The numbers of the pairs in a text.
    pub(super) fn each(&self, text: &str, mut found: impl FnMut(u32)) {
        each_pair(text, |pair| {
            if let Some(number) = self.numbers.get(&pair) {
                found(*number);
            }
        });
    }

    /// How much of what the session is about a text says, by its length.
    pub(super) fn density(&self, text: &str) -> f64 {
        let mut all = 0.0;
        self.each(text, |pair| all += f64::from(self.passages[pair as usize].saturating_sub(1)).ln_1p());
        all / (text.len() as f64 + DENSITY_BYTES)
    }
}

/// A shorter text gains nothing by being short.
const DENSITY_BYTES: f64 = 40.0;

/// Calls `found` for each pair of neighbouring words that tell something. Scripts without spaces have a word in each two
/// characters.
fn each_pair(text: &str, mut found: impl FnMut(u64)) {
    let mut before: Option<u64> = None;
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if word.is_ascii() {
            if let Some(hash) = plain_word(word) {
                before.into_iter().for_each(|before| found(mix(before, hash)));
                before = Some(hash);
            }
            continue;
        }
        let mut last = None;
        for letter in word.chars() {
            let hash = mix(0x9e37_79b9_7f4a_7c15, u64::from(u32::from(letter)));
            last.into_iter().for_each(|last| found(mix(last, hash)));
            last = Some(hash);
        }
        before = last;
    }
}

/// Whether a word stands beside everything, in any case of its letters.
pub(super) fn is_common(word: &str) -> bool {
    COMMON.hold(word)
}

/// Longer words are told apart by so much of them.
const WORD_BYTES_MAX: usize = 24;

fn plain_word(word: &str) -> Option<u64> {
    let is_telling = (word.len() > 1 || word.as_bytes()[0].is_ascii_digit()) && !is_common(word);
    let bytes = word.bytes().take(WORD_BYTES_MAX).map(|byte| byte.to_ascii_lowercase());
    is_telling.then(|| bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| mix(hash, u64::from(byte))))
}

fn mix(hash: u64, more: u64) -> u64 {
    (hash ^ more).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23)
}

#[cfg(test)]
mod tests {
    use super::{Concepts, word_pairs};

    fn weights(sentence: &str, log: &[&str]) -> Vec<bool> {
        let mut concepts = Concepts::default();
        concepts.number(sentence);
        log.iter().for_each(|text| concepts.count(&word_pairs(text)));
        concepts.weights().map(|weight| weight > 0.0).collect()
    }

    #[test]
    fn what_several_passages_speak_of_is_a_concept() {
        let log = ["the metadata tree is read", "Metadata tree, metadata tree", "a nil check"];
        assert_eq!(weights("metadata tree nil check", &log), [true, false, false]);
        assert_eq!(weights("日本語", &["日本人", "日本"]), [true, false]);
    }
}
