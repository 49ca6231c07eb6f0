//! The text of a line: bytes that are no UTF-8 and halves of surrogate pairs become U+FFFD, and places in
//! the text are still found in the file.
//!
//! Half a pair is what is left where a tool cut a text in the middle of an emoji (`"\ud83d"`): JSON that no
//! strict parser takes, and no provider. Only what is read is mended; the file stays as it is.

use std::borrow::Cow;

/// A line, mended where it had to be.
pub(super) struct LineText<'a> {
    pub(super) text: Cow<'a, str>,
    /// Where the text has grown longer than its bytes, in order.
    shifts: Vec<Shift>,
    pub(super) has_half_pairs: bool,
}

/// A place from which on a text stands further on than its bytes do.
#[derive(Clone, Copy)]
struct Shift {
    text_at: usize,
    bytes: usize,
}

impl<'a> LineText<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        let (text, shifts) = match str::from_utf8(bytes) {
            Ok(text) => (Cow::Borrowed(text), Vec::new()),
            Err(_) => with_replacements(bytes),
        };
        let (text, has_half_pairs) = with_whole_pairs(text);
        Self { text, shifts, has_half_pairs }
    }

    /// Whether some of its bytes are no text.
    pub(super) fn has_other_bytes(&self) -> bool {
        !self.shifts.is_empty()
    }

    /// How many bytes of the file lie between the beginnings of two slices of the text.
    pub(super) fn bytes_between(&self, first: &str, second: &str) -> u64 {
        let place =
            |slice: &str| self.byte_at((slice.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize));
        (place(second) - place(first)) as u64
    }

    fn byte_at(&self, text_at: usize) -> usize {
        let before = self.shifts.partition_point(|shift| shift.text_at <= text_at);
        text_at - before.checked_sub(1).map_or(0, |last| self.shifts[last].bytes)
    }
}

/// The text of a line or of a value in it, mended.
pub(crate) fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    LineText::of(bytes).text
}

fn with_replacements(bytes: &[u8]) -> (Cow<'_, str>, Vec<Shift>) {
    let (mut text, mut shifts, mut grown) = (String::with_capacity(bytes.len()), Vec::new(), 0);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
            grown += char::REPLACEMENT_CHARACTER.len_utf8() - chunk.invalid().len();
            shifts.push(Shift { text_at: text.len(), bytes: grown });
        }
    }
    (Cow::Owned(text), shifts)
}

/// An escape of one UTF-16 unit, such as `\ud83d`.
const ESCAPE_BYTES: usize = 6;

/// The text with `\ufffd` in place of each half of a pair, which is as long: nothing moves.
fn with_whole_pairs(text: Cow<'_, str>) -> (Cow<'_, str>, bool) {
    let halves = half_pairs(text.as_bytes());
    if halves.is_empty() {
        return (text, false);
    }
    let mut whole = text.into_owned();
    for at in halves {
        whole.replace_range(at..at + ESCAPE_BYTES, r"\ufffd");
    }
    (Cow::Owned(whole), true)
}

/// Whether an escape in `text` is half of a pair.
pub(super) fn has_half_pair(text: &str) -> bool {
    !half_pairs(text.as_bytes()).is_empty()
}

/// Where escapes stand that are half of a pair.
fn half_pairs(text: &[u8]) -> Vec<usize> {
    let (mut halves, mut end) = (Vec::new(), 0);
    for at in memchr::memmem::find_iter(text, r"\u") {
        if at < end || !is_escape(text, at) {
            continue;
        }
        match (unit_at(text, at), unit_at(text, at + ESCAPE_BYTES)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => end = at + 2 * ESCAPE_BYTES,
            (Some(0xd800..=0xdfff), _) => halves.push(at),
            (Some(_) | None, _) => {}
        }
    }
    halves
}

/// Whether the backslash at `at` begins an escape, and is not the second half of an escaped backslash.
fn is_escape(text: &[u8], at: usize) -> bool {
    let before = text[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
    before.is_multiple_of(2)
}

/// The UTF-16 unit that an escape at `at` stands for.
fn unit_at(text: &[u8], at: usize) -> Option<u16> {
    let digits = text.get(at..at + ESCAPE_BYTES)?.strip_prefix(br"\u")?;
    let digits =
        str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::{LineText, decoded, has_half_pair};

    #[test]
    fn halves_of_pairs_are_mended_and_pairs_are_left() {
        let cases = [
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""\uD83D\uDE00 \uDE00\uD83D""#, r#""\uD83D\uDE00 \ufffd\ufffd""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\\ud83d \\\ud83d \u00e9""#, r#""\\ud83d \\\ufffd \u00e9""#),
            (r#""\ud8"#, r#""\ud8"#),
            (r#""\ud83d\ude0""#, r#""\ufffd\ude0""#),
        ];
        for (text, mended) in cases {
            assert_eq!(decoded(text.as_bytes()), mended);
            assert_eq!(has_half_pair(text), text != mended);
        }
    }

    #[test]
    fn a_place_behind_bytes_that_are_no_text_is_found_in_the_file() {
        let bytes = b"\xff{a}\xf0\x9f{b}";
        let line = LineText::of(bytes);
        assert_eq!(line.text, "\u{fffd}{a}\u{fffd}{b}");
        let text = &*line.text;
        let [a, b, end] = ["{a}", "{b}", ""].map(|piece| &text[text.rfind(piece).expect("it is there")..]);
        let places = [a, &a[3..], b, end].map(|slice| line.bytes_between(text, slice));
        assert_eq!(places, [1, 4, 6, 9]);
    }
}
