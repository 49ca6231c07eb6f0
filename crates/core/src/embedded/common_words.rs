//! A list of common words that is asked of nearly every word of a summary and of its lines: sorted, with the place at which
//! the words of each first letter begin, so that a word is compared with the two or three it might be.

/// Letters of the alphabet.
const LETTERS: usize = 26;

/// Words in small letters, in their order.
pub(super) struct CommonWords {
    words: &'static [&'static str],
    /// Where the words of each first letter begin; behind them where the last ones end.
    starts: [u8; LETTERS + 1],
}

impl CommonWords {
    /// The list; its words begin with a small letter each and stand in the order of these.
    pub(super) const fn new(words: &'static [&'static str]) -> Self {
        let (mut starts, mut at, mut letter) = ([0; LETTERS + 1], 0, 0);
        while letter < LETTERS {
            starts[letter] = at as u8;
            while at < words.len() && words[at].as_bytes()[0] == b'a' + letter as u8 {
                at += 1;
            }
            letter += 1;
        }
        assert!(at == words.len(), "the words are in the order of their first letters");
        starts[LETTERS] = at as u8;
        Self { words, starts }
    }

    /// Whether a word is one of them, in any case of its letters.
    pub(super) fn hold(&self, word: &str) -> bool {
        let Some(first) = word.bytes().next().filter(u8::is_ascii_alphabetic) else { return false };
        let letter = usize::from(first.to_ascii_lowercase() - b'a');
        let (from, to) = (usize::from(self.starts[letter]), usize::from(self.starts[letter + 1]));
        self.words[from..to].iter().any(|common| common.eq_ignore_ascii_case(word))
    }
}

#[cfg(test)]
mod tests {
    use super::CommonWords;

    #[test]
    fn a_word_is_found_in_any_case_and_no_other_is() {
        const WORDS: CommonWords = CommonWords::new(&["a", "all", "an", "me", "was", "your"]);
        let held = ["a", "ALL", "An", "me", "Your", "was", "al", "alle", "zoo", "", "über", "5", "m"]
            .map(|word| WORDS.hold(word));
        assert_eq!(
            held,
            [true, true, true, true, true, true, false, false, false, false, false, false, false]
        );
    }
}
