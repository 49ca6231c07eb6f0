//! Telling what is said from code and data, line by line, by signs and the words around them.

use super::link::{AROUND, is_ordinary, word_count};
use crate::pattern::compile;
use regex::Regex;
use std::sync::LazyLock;

/// How lines of code begin.
static BEGINS: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"^(?:import |from \S+ import |export |const |let |var |func |fn |def |class |return\b|if \(|for \(|while \(|type \w+ |package |#include|use \w+::|pub |async |await |else\b|end$|try\b|catch\b|[{}]|</?\w+[ >]|//|/\*|\* |@\w+)",
    )
});

/// What names something inside a sentence and is no code by itself: quoted names, addresses, paths.
static NAMES: LazyLock<Regex> = LazyLock::new(|| compile(r"`[^`]*`|https?://\S+|[\w.~@+-]*/[\w.~@+/-]*"));

/// A line of so many words that begins or ends as code does may be a sentence all the same.
const SENTENCE_WORDS: usize = 8;

/// Whether a line reads as code or data rather than as something said.
pub(super) fn is_code(line: &str) -> bool {
    let line = line.trim();
    let is_edged = ends_as_code(line);
    if line.is_empty() || (!is_edged && is_spaceless(line)) {
        return false;
    }
    let is_edged = is_edged || BEGINS.is_match(line);
    // Every line of a history is asked: most have too few signs, with their names or without.
    if !is_edged && signs(line) < SIGNS_MIN {
        return false;
    }
    // Each name has one of these in it.
    let has_names = line.bytes().any(|byte| matches!(byte, b'`' | b'/'));
    let said = if has_names { NAMES.replace_all(line, " x ") } else { line.into() };
    let (words, signs) = (words(&said), signs(&said));
    match is_edged {
        true => words < SENTENCE_WORDS || signs * 3 > words,
        false => signs >= SIGNS_MIN && signs > words,
    }
}

/// Whether a line ends as one of code does.
fn ends_as_code(line: &str) -> bool {
    let listed = line.strip_suffix(',').unwrap_or(line);
    line.ends_with(['{', '}', ';', '(', '\\', ']'])
        || ["=>", "->", "/>"].iter().any(|end| line.ends_with(end))
        || listed.ends_with([']', '}'])
        || (listed.len() < line.len() && listed.trim_end().ends_with(')'))
}

/// A line with fewer signs is no code by these alone.
const SIGNS_MIN: usize = 3;

/// The signs that code is full of, by byte: every byte of a history is asked.
const SIGNS: [bool; 256] = {
    let (all, mut table, mut at) = (b"{}()[]<>=;:&$\"'\\/+%^_@", [false; 256], 0);
    while at < all.len() {
        table[all[at] as usize] = true;
        at += 1;
    }
    table
};

fn signs(text: &str) -> usize {
    text.bytes().filter(|byte| SIGNS[*byte as usize]).count()
}

/// Whether a line says nothing by itself: code, or hardly a word.
pub(crate) fn is_mute(line: &str) -> bool {
    (each_word(line).nth(1).is_none() && !is_spaceless(line)) || is_code(line)
}

/// A sentence has so many ordinary words.
const PROSE_WORDS_MIN: usize = 3;

/// Whether a text is a sentence of prose.
pub(super) fn is_prose(text: &str) -> bool {
    word_count(text) >= PROSE_WORDS_MIN && !is_code(text) && plain_share(text)
}

/// Whether at least a third of the words are ordinary ones: a list of names is no sentence.
fn plain_share(text: &str) -> bool {
    let (mut all, mut plain) = (0, 0);
    for word in text.split_whitespace() {
        let bare = word.trim_matches(AROUND);
        all += usize::from(bare.len() >= 3);
        plain += usize::from(is_ordinary(bare) || !bare.is_ascii());
    }
    plain * 3 >= all
}

fn words(text: &str) -> usize {
    if text.is_ascii() {
        return ascii_words(text.as_bytes());
    }
    each_word(text).count()
}

/// The words of more than one letter.
fn each_word(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphabetic()).filter(|word| word.chars().nth(1).is_some())
}

/// How many words of more than one letter a text has: each ends where a letter has one before it and none behind it.
fn ascii_words(text: &[u8]) -> usize {
    let (mut words, mut letters) = (0, 0_usize);
    for byte in text {
        if byte.is_ascii_alphabetic() {
            letters += 1;
            words += usize::from(letters == 2);
        } else {
            letters = 0;
        }
    }
    words
}

fn is_spaceless(line: &str) -> bool {
    !line.is_ascii()
        && line
            .chars()
            .any(|c| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'))
}

#[cfg(test)]
mod tests {
    use super::{is_mute, is_prose};

    #[test]
    fn code_is_told_from_what_is_said() {
        for said in [
            "The cookie is set after the redirect (see `auth.ts`), so the login fails.",
            "- Hoist the metadata tree out of the loop",
            "根本原因在 src/a.rs 里面",
        ] {
            assert!(!is_mute(said), "{said}");
        }
        for code in [
            "const a = must();",
            "}",
            "end",
            "if err != nil {",
            "\"name\": \"x\",",
            "return strings.Join(result, \"\\n\")",
            "t.Parallel()",
        ] {
            assert!(is_mute(code), "{code}");
        }
    }

    #[test]
    fn a_list_of_names_is_no_sentence() {
        assert!(is_prose("Fetch the metadata tree once, before the loop"));
        assert!(!is_prose("nolint:errcheck getBranchCheckpoints isAncestorOf runExplain"));
        assert!(!is_prose("retry once"));
    }
}
