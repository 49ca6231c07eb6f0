//! Whether a line tells something of the facts in it: whether ordinary words stand beside them. Names, paths and code
//! are no words, however many letters they have; so the parts of a path say nothing of the path.

use super::common_words::CommonWords;

/// As many ordinary words make a line a fact's surroundings.
const LINKS_MIN: usize = 2;
/// Scripts without spaces say as much as a word in so many characters.
const SPACELESS_OF_WORD: usize = 2;

/// What may stand around a word of prose.
pub(super) const AROUND: &[char] = &[
    '.', ',', ';', ':', '!', '?', '(', ')', '[', ']', '{', '}', '<', '>', '"', '\'', '`', '*', '#', '|', '→',
    '-', '—',
];

/// Words that stand beside everything.
static COMMON: CommonWords = CommonWords::new(&[
    "all", "also", "and", "any", "are", "been", "but", "can", "did", "does", "for", "from", "had", "has",
    "have", "her", "here", "his", "how", "into", "its", "let", "not", "now", "our", "out", "should", "so",
    "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "was", "were", "what",
    "when", "which", "will", "with", "would", "you", "your",
]);

/// Whether the facts in this line stand beside enough ordinary words.
pub(super) fn is_linking(line: &str) -> bool {
    // Asked of every line of a history at each compaction, so it stops at the second word.
    let wanted = LINKS_MIN.saturating_sub(spaceless(line) / SPACELESS_OF_WORD);
    let mut words = ordinary_words(line);
    match (wanted, words.next()) {
        (0, _) => true,
        (_, None) => false,
        (1, Some(_)) => true,
        (_, Some(first)) => words.any(|word| !word.eq_ignore_ascii_case(first)),
    }
}

fn ordinary_words(line: &str) -> impl Iterator<Item = &str> {
    line.split_whitespace().map(bare).filter(|word| is_ordinary(word))
}

/// A word without what stands around it.
fn bare(word: &str) -> &str {
    let is_edged = |edge: Option<&u8>| edge.is_some_and(|byte| !byte.is_ascii_alphanumeric());
    // Most words stand alone.
    let is_bare = !is_edged(word.as_bytes().first()) && !is_edged(word.as_bytes().last());
    if is_bare { word } else { word.trim_matches(AROUND) }
}

/// How many ordinary words a line has, each counted once; in a script without spaces a few characters are a word.
pub(super) fn word_count(line: &str) -> usize {
    let mut words: Vec<String> = ordinary_words(line).map(str::to_ascii_lowercase).collect();
    words.sort_unstable();
    words.dedup();
    words.len() + spaceless(line) / SPACELESS_OF_WORD
}

fn spaceless(line: &str) -> usize {
    if line.is_ascii() {
        return 0;
    }
    line.chars().filter(|c| c.is_alphabetic() && !c.is_ascii()).count()
}

/// Letters alone, none but the first a capital, and not one of those that stand beside everything.
pub(super) fn is_ordinary(word: &str) -> bool {
    let Some((first, rest)) = word.as_bytes().split_first() else { return false };
    let is_plain = first.is_ascii_alphabetic() && rest.iter().all(u8::is_ascii_lowercase);
    is_plain && word.len() >= 3 && !is_common(word)
}

/// Whether a word of letters stands beside everything.
fn is_common(word: &str) -> bool {
    COMMON.hold(word)
}

#[cfg(test)]
mod tests {
    use super::is_linking;

    #[test]
    fn words_beside_a_fact_tell_of_it_and_parts_of_paths_do_not() {
        for telling in [
            "**Flag Parsing:** `/home/u/packages/cli/src/parse-flags.ts`",
            "The file src/a.rs has been updated.",
            "根本原因在 src/a.rs 里面",
        ] {
            assert!(is_linking(telling), "{telling}");
        }
        for bare in [
            "read /home/u/packages/cli/src/bin/commands/plugin.ts",
            "checkpointSessionsProvider.setWorkspaceState(workspaceState, cwd);",
            "modified src/a.rs",
            "and this was in src/a.rs",
        ] {
            assert!(!is_linking(bare), "{bare}");
        }
    }
}
