//! Looking a text up in another, whole words only: `#12` is not in `#123`, nor `read` in "already".

use crate::text_hash::TextMap;

/// A text by its words, so that looking something up does not read all of it again.
#[derive(Default)]
pub(super) struct Words<'t> {
    text: &'t str,
    /// The number of the last place each word stands in, and in how many it stands.
    newest: TextMap<&'t str, (u32, u32)>,
    /// Each place of a word, with the number of the one before it of the same word; its own where there is none. A list for each
    /// word would be a thousand small ones.
    places: Vec<(u32, u32)>,
    tail: KnownTail,
}

/// The end of a text, whose words were taken down before it was known what stands in front of it.
#[derive(Clone, Copy, Default)]
struct KnownTail {
    /// The first so many places are its, counted from where it begins.
    places: u32,
    start: u32,
}

impl<'t> Words<'t> {
    /// Takes the words of a text down.
    pub(super) fn of(text: &'t str) -> Self {
        Self::default().complete(text, text.len(), text.len())
    }

    /// Takes the words of a text down that something will stand in front of.
    pub(super) fn of_tail(tail: &'t str) -> Self {
        let mut all = Self::default();
        all.take(tail);
        all.tail.places = all.places.len() as u32;
        all
    }

    /// The words of the whole text: its first `head` bytes are new, and from `tail` on stands what was taken down. Past 4 GB a
    /// text is no context, and is not read further.
    pub(super) fn complete(mut self, text: &'t str, head: usize, tail: usize) -> Self {
        self.take(&text[..head]);
        self.tail.start = tail as u32;
        Self { text: &text[..text.floor_char_boundary(u32::MAX as usize)], ..self }
    }

    fn take(&mut self, text: &'t str) {
        for (at, word) in words(&text[..text.floor_char_boundary(u32::MAX as usize)]) {
            let number = self.places.len() as u32;
            let (newest, count) = self.newest.entry(word).or_insert((number, 0));
            self.places.push((at as u32, *newest));
            (*newest, *count) = (number, *count + 1);
        }
    }

    /// Where a word stands, from the last place that was taken down back.
    fn places(&self, newest: u32) -> impl Iterator<Item = usize> {
        let mut next = Some(newest);
        std::iter::from_fn(move || {
            let number = next?;
            let (at, older) = self.places[number as usize];
            next = Some(older).filter(|older| *older != number);
            let start = if number < self.tail.places { self.tail.start } else { 0 };
            Some(start as usize + at as usize)
        })
    }

    /// Whether the text holds `value`, not continued on either side.
    pub(super) fn hold(&self, value: &str) -> bool {
        // From the rarest of its words: where that stands, the rest must stand around it.
        let mut rarest: Option<(usize, u32, u32)> = None;
        for (offset, word) in words(value) {
            let Some(&(newest, count)) = self.newest.get(word) else { return false };
            if rarest.is_none_or(|(.., known)| count < known) {
                rarest = Some((offset, newest, count));
            }
        }
        match rarest {
            None => self.text.contains(value),
            Some((offset, newest, _)) => self.places(newest).any(|at| {
                let start = at.checked_sub(offset);
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
    let bytes = text.as_bytes();
    std::iter::from_fn(move || {
        // By bytes as long as they are ASCII: all that is in view is gone through.
        let start = loop {
            let byte = *bytes.get(at)?;
            if is_word_byte(byte) {
                break at;
            }
            let other = if byte.is_ascii() { None } else { text[at..].chars().next() };
            if other.is_some_and(char::is_alphanumeric) {
                break at;
            }
            at += other.map_or(1, char::len_utf8);
        };
        at += match bytes[start].is_ascii() {
            true => bytes[start..].iter().take_while(|byte| is_word_byte(**byte)).count(),
            false => text[start..].chars().next().map_or(1, char::len_utf8),
        };
        Some((start, &text[start..at]))
    })
}

fn is_word_byte(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric()
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

    #[test]
    fn a_text_that_was_taken_down_from_its_end_holds_what_it_holds() {
        let text = "fixed src/a.rs in main 修改 src/a.rs once more";
        let values =
            ["src/a.rs in main", "main", "main 修改", "once more", "修改 src/a.rs", "src", "fixed once"];
        let whole = Words::of(text);
        // A space stands between what is in front and the end.
        for (head, cut) in [(0, 0), (5, 6), (14, 15), (17, 18), (text.len(), text.len())] {
            let parts = Words::of_tail(&text[cut..]).complete(text, head, cut);
            assert_eq!(values.map(|value| parts.hold(value)), values.map(|value| whole.hold(value)), "{cut}");
        }
    }
}
