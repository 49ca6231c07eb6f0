//! A name told with the ordinary words nearest to it in a line where it stood: a line of code or of a log, cut down to what
//! it says of one name. Which names are told, and from which line, is `select`'s.

use super::concept::is_common;
use super::link::{AROUND, is_ordinary};

/// Two words tell one use of a name from another, and a third makes a phrase of them more often than not.
const WORDS_MAX: usize = 3;
/// Words farther away are of something else.
const REACH_BYTES: usize = 120;
/// A script without spaces says as much as a few words in so many characters.
const SPACELESS_MAX: usize = 8;

/// A word, and how far from the name it stands.
struct NearWord<'t> {
    text: &'t str,
    distance: usize,
}

/// The name `shown`, between the words that stand nearest to `value` in `line`, in their order; none where `value` does
/// not stand there, or no word beside it.
pub(super) fn gloss(line: &str, value: &str, shown: &str) -> Option<String> {
    let at = line.find(value)?;
    let (before, behind) = (&line[..at], &line[at + value.len()..]);
    let before = &before[before.ceil_char_boundary(before.len().saturating_sub(REACH_BYTES))..];
    let behind = &behind[..behind.floor_char_boundary(REACH_BYTES)];
    let left = near_words(before.split_whitespace().rev(), |word| before.len() - offset(before, word), last);
    let right = near_words(behind.split_whitespace(), |word| offset(behind, word), first);
    let mut reach: Vec<usize> = left.iter().chain(&right).map(|word| word.distance).collect();
    reach.sort_unstable();
    let farthest = *reach.get(WORDS_MAX - 1).or(reach.last())?;
    let is_near = |word: &&NearWord<'_>| word.distance <= farthest;
    let mut told: Vec<&str> = left.iter().filter(is_near).map(|word| word.text).collect();
    told.reverse();
    told.push(shown);
    told.extend(right.iter().filter(is_near).map(|word| word.text));
    Some(told.join(" "))
}

/// The nearest words that tell something, nearest first, each once.
fn near_words<'t>(
    words: impl Iterator<Item = &'t str>,
    distance: impl Fn(&str) -> usize,
    cut: impl Fn(&'t str) -> &'t str,
) -> Vec<NearWord<'t>> {
    let mut near: Vec<NearWord<'t>> = Vec::new();
    for word in words {
        let text = word.trim_matches(AROUND);
        let is_new = !near.iter().any(|known| known.text.eq_ignore_ascii_case(text));
        if is_new && is_telling(text) {
            near.push(NearWord { text: cut(text), distance: distance(word) });
        }
        if near.len() == WORDS_MAX {
            break;
        }
    }
    near
}

fn is_telling(word: &str) -> bool {
    match word.is_ascii() {
        true => is_ordinary(word) && !is_common(word),
        false => word.chars().any(|c| c.is_alphabetic() && !c.is_ascii()),
    }
}

fn offset(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// The end of a word, which is the name's side of it.
fn last(word: &str) -> &str {
    let skipped = word.chars().count().saturating_sub(SPACELESS_MAX);
    match word.is_ascii() {
        true => word,
        false => word.char_indices().nth(skipped).map_or(word, |(at, _)| &word[at..]),
    }
}

fn first(word: &str) -> &str {
    match word.is_ascii() {
        true => word,
        false => word.char_indices().nth(SPACELESS_MAX).map_or(word, |(at, _)| &word[..at]),
    }
}

#[cfg(test)]
mod tests {
    use super::gloss;

    #[test]
    fn a_name_stands_between_the_words_nearest_to_it() {
        for (line, name, told) in [
            (
                "await provider.setState(cwd); // keep the session across a reload",
                "setState",
                Some("provider setState cwd keep"),
            ),
            (
                "export function parseFlags(argv: string[]) {",
                "parseFlags",
                Some("function parseFlags argv string"),
            ),
            (
                "the cookie is set in `src/auth.ts`, after the redirect",
                "src/auth.ts",
                Some("cookie set src/auth.ts redirect"),
            ),
            ("根本原因在 src/a.rs 里面", "src/a.rs", Some("根本原因在 src/a.rs 里面")),
            ("}); parseFlags", "parseFlags", None),
            ("another line", "parseFlags", None),
        ] {
            assert_eq!(gloss(line, name, name).as_deref(), told, "{line}");
        }
    }
}
