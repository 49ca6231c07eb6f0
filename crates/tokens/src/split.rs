//! Cutting a text to a number of tokens, from its start or its end.
//!
//! A piece ends between characters, and between lines where that costs little. Saying what was left
//! out is up to the caller.

use crate::counter::{Counter, slices, slices_back};

/// A cut moves to a line end if that gives up no more than one part in four of the piece.
const GIVEN_UP_MAX: usize = 4;

impl Counter {
    /// A start of a text that takes at most `tokens_max`, as long as can be, but cut at a line end if
    /// one is near.
    ///
    /// ```
    /// use epitome_tokens::{Counter, Encoding};
    /// let counter = Counter::exact(Encoding::O200kBase);
    /// assert_eq!(counter.take_prefix("one two\nthree four\nfive six", 7), "one two\nthree four\n");
    /// ```
    #[must_use]
    pub fn take_prefix<'a>(&self, text: &'a str, tokens_max: u64) -> &'a str {
        if text.len() as u64 <= tokens_max {
            return text;
        }
        let mut piece = whole_lines_before(text, self.longest_prefix(text, tokens_max));
        while let Some(over) = self.over(piece, tokens_max) {
            piece = &piece[..piece.floor_char_boundary(piece.len().saturating_sub(over))];
        }
        piece
    }

    /// An end of a text that takes at most `tokens_max`, as long as can be, but cut at a line end if
    /// one is near.
    ///
    /// ```
    /// use epitome_tokens::{Counter, Encoding};
    /// let counter = Counter::exact(Encoding::O200kBase);
    /// assert_eq!(counter.take_suffix("one two\nthree four\nfive six", 6), "three four\nfive six");
    /// ```
    #[must_use]
    pub fn take_suffix<'a>(&self, text: &'a str, tokens_max: u64) -> &'a str {
        if text.len() as u64 <= tokens_max {
            return text;
        }
        let mut piece = whole_lines_after(text, self.longest_suffix(text, tokens_max));
        while let Some(over) = self.over(piece, tokens_max) {
            piece = &piece[piece.ceil_char_boundary(over.min(piece.len()))..];
        }
        piece
    }

    /// How many tokens a piece takes beyond its limit. Slices add up to nearly the whole, not exactly
    /// to it; and each token too many is at least one byte too many.
    fn over(&self, piece: &str, tokens_max: u64) -> Option<usize> {
        let tokens = self.count_text(piece);
        (tokens > tokens_max).then(|| usize::try_from(tokens - tokens_max).unwrap_or(usize::MAX))
    }

    fn longest_prefix(&self, text: &str, tokens_max: u64) -> usize {
        let (mut left, mut end) = (tokens_max, 0);
        for slice in slices(text) {
            let tokens = self.count_text(slice);
            if tokens > left {
                return end
                    + longest(slice.len(), |bytes| {
                        self.count_text(&slice[..slice.floor_char_boundary(bytes)]) <= left
                    });
            }
            left -= tokens;
            end += slice.len();
        }
        end
    }

    fn longest_suffix(&self, text: &str, tokens_max: u64) -> usize {
        let (mut left, mut start) = (tokens_max, text.len());
        for slice in slices_back(text) {
            let tokens = self.count_text(slice);
            if tokens > left {
                return start
                    - longest(slice.len(), |bytes| {
                        self.count_text(&slice[slice.ceil_char_boundary(slice.len() - bytes)..]) <= left
                    });
            }
            left -= tokens;
            start -= slice.len();
        }
        start
    }
}

/// The largest length up to `max` that fits, where shorter ones fit too.
fn longest(max: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, max);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    low
}

fn whole_lines_before(text: &str, end: usize) -> &str {
    let end = text.floor_char_boundary(end);
    if end == text.len() {
        return text;
    }
    let line_end = memchr::memrchr(b'\n', &text.as_bytes()[..end]).map_or(0, |at| at + 1);
    if (end - line_end) * GIVEN_UP_MAX <= end { &text[..line_end] } else { &text[..end] }
}

fn whole_lines_after(text: &str, start: usize) -> &str {
    let start = text.ceil_char_boundary(start);
    if start == 0 || text.as_bytes()[start - 1] == b'\n' {
        return &text[start..];
    }
    let line = memchr::memchr(b'\n', &text.as_bytes()[start..]).map_or(text.len(), |at| start + at + 1);
    if (line - start) * GIVEN_UP_MAX <= text.len() - start { &text[line..] } else { &text[start..] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Encoding, Family};
    use proptest::prelude::*;

    fn counters() -> [Counter; 2] {
        [Counter::exact(Encoding::O200kBase), Counter::estimate(Family::Claude47)]
    }

    #[test]
    #[cfg(feature = "tokenizers")]
    fn a_text_without_lines_is_cut_between_words() {
        let [counter, _] = counters();
        assert_eq!(counter.take_prefix("one two three four five", 3), "one two three");
        assert_eq!(counter.take_suffix("one two three four five", 3), " three four five");
    }

    #[test]
    fn a_wide_character_is_never_cut() {
        let [counter, _] = counters();
        assert_eq!(counter.take_prefix("👩‍💻👩‍💻", 1), "");
        assert_eq!(counter.take_suffix("漢字漢字", 2), "漢字");
    }

    #[test]
    fn a_giant_result_is_cut_to_nearly_its_limit() {
        let text = "src/lib.rs:42: warning: unused variable `count`\n".repeat(200_000);
        for counter in counters() {
            for piece in [counter.take_prefix(&text, 20_000), counter.take_suffix(&text, 20_000)] {
                let tokens = counter.count_text(piece);
                assert!((19_900..=20_000).contains(&tokens), "{tokens}");
            }
        }
    }

    proptest! {
        #[test]
        fn a_piece_keeps_to_its_limit(text in "(\\PC{0,30}\n?){0,80}", tokens_max in 0..400u64) {
            for counter in counters() {
                let (head, tail) = (counter.take_prefix(&text, tokens_max), counter.take_suffix(&text, tokens_max));
                prop_assert!(text.starts_with(head) && counter.count_text(head) <= tokens_max);
                prop_assert!(text.ends_with(tail) && counter.count_text(tail) <= tokens_max);
            }
        }
    }
}
