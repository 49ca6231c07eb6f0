//! Looking a text up in another, whole words only: `#12` is not in `#123`, nor `read` in "already".

use std::collections::HashMap;

/// A text by its words, so that looking something up does not read all of it again.
pub(super) struct Words<'t> {
    text: &'t str,
    /// Where each word stands.
    places: HashMap<&'t str, Vec<u32>>,
}

impl<'t> Words<'t> {
    /// Takes the words of a text down. Past 4 GB a text is no context, and is not read further.
    pub(super) fn of(text: &'t str) -> Self {
        let text = &text[..text.floor_char_boundary(u32::MAX as usize)];
        let mut places = HashMap::<_, Vec<u32>>::new();
        for (at, word) in words(text) {
            places.entry(word).or_default().push(at as u32);
        }
        Self { text, places }
    }

    /// Whether the text holds `value`, not continued on either side.
    pub(super) fn hold(&self, value: &str) -> bool {
        // From the rarest of its words: where that stands, the rest must stand around it.
        let mut rarest: Option<(usize, &[u32])> = None;
        for (offset, word) in words(value) {
            let Some(places) = self.places.get(word) else { return false };
            if rarest.is_none_or(|(_, known)| places.len() < known.len()) {
                rarest = Some((offset, places));
            }
        }
        match rarest {
            None => self.text.contains(value),
            Some((offset, places)) => places.iter().any(|&at| {
                let start = (at as usize).checked_sub(offset);
                start.is_some_and(|start| stands_at(self.text, start, value))
            }),
        }
    }
}

/// Where `value` stands in `text`, not continued on either side.
pub(super) fn places<'t>(text: &'t str, value: &'t str) -> impl Iterator<Item = usize> + 't {
    text.match_indices(value).map(|(at, _)| at).filter(move |&at| stands_at(text, at, value))
}

/// The words of a text with their places: runs of ASCII letters, digits and `_`; of other scripts
/// each letter, since not all of them part their words.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(|c: char| c == '_' || c.is_alphanumeric())?;
        let first = text[start..].chars().next()?;
        let length = match first.is_ascii() {
            true => text[start..].find(|c| !is_word(c)).unwrap_or(text.len() - start),
            false => first.len_utf8(),
        };
        at = start + length;
        Some((start, &text[start..at]))
    })
}

fn stands_at(text: &str, start: usize, value: &str) -> bool {
    let end = start + value.len();
    text.get(start..end) == Some(value)
        && !(value.starts_with(is_part) && is_continued(text[..start].chars().rev()))
        && !(value.ends_with(is_part) && is_continued(text[end..].chars()))
}

/// Whether what lies next to a name, seen from it, belongs to the name: a letter, or a joint with a
/// letter behind it. A full stop at the end of a sentence does not.
fn is_continued(mut outwards: impl Iterator<Item = char>) -> bool {
    match outwards.next() {
        Some(c) if is_word(c) => true,
        Some('/' | '\\' | '.' | '-' | '~') => outwards.next().is_some_and(is_word),
        Some(_) | None => false,
    }
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}

/// What can stand at the edge of a name, a path or an id.
fn is_part(c: char) -> bool {
    is_word(c) || matches!(c, '/' | '\\' | '#' | '@' | '~')
}

#[cfg(test)]
mod tests {
    use super::{Words, places};

    #[test]
    fn a_name_is_not_part_of_a_longer_one() {
        let text = "#123 foo_bar_baz already src/lib.rs.bak /old/src/main.rs a/b-c";
        for value in ["#12", "foo_bar", "read", "src/lib.rs", "src/main.rs", "a/b"] {
            assert!(!Words::of(text).hold(value) && places(text, value).next().is_none(), "{value}");
        }
    }

    #[test]
    fn a_name_ends_where_its_sentence_does() {
        let text = "See #12, (foo_bar) and src/lib.rs:12; 请修改src/main.rs文件。 Never push to main.";
        for value in ["#12", "foo_bar", "src/lib.rs", "src/main.rs", "修改", "Never push to main", "; "] {
            assert!(Words::of(text).hold(value), "{value}");
        }
        assert_eq!(places(text, "src/lib.rs").count(), 1);
    }
}
