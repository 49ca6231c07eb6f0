//! Fragments of error texts, with holes for numbers: `prompt is too long: {requested} tokens > {window}`.
//!
//! `…` stands for any text between. A pattern begins with words, so that finding it is one search.

use super::OverflowFigures;
use epitome_core::Tokens;

/// How often a pattern's words are looked for again when what follows them does not fit; bounded so that
/// matching is linear in the text.
const TRIES_MAX: usize = 8;

/// The numbers of a text that a pattern fits; none where it does not fit.
pub(super) fn find(pattern: &str, text: &str) -> Option<OverflowFigures> {
    let mut found = PatternFigures::default();
    seek(pattern, text, &mut found).then(|| found.numbers())
}

/// Whether a pattern fits anywhere in a text.
pub(super) fn is_in(pattern: &str, text: &str) -> bool {
    find(pattern, text).is_some()
}

#[derive(Clone, Copy, Debug, Default)]
struct PatternFigures {
    numbers: OverflowFigures,
    /// Prompt and output counted as one.
    total: Option<Tokens>,
}

impl PatternFigures {
    fn put(&mut self, hole: &str, number: u64) {
        let tokens = Some(Tokens(number));
        match hole {
            "window" => self.numbers.window = tokens,
            "input_max" => self.numbers.input_max = tokens,
            "requested" => self.numbers.requested = tokens,
            "total" => self.total = tokens,
            "output" => self.numbers.output = tokens,
            "over" => self.numbers.over = tokens,
            "rate" => self.numbers.rate = tokens,
            "megabytes" => self.numbers.megabytes_max = Some(number),
            "pixels" => self.numbers.pixels_max = Some(number),
            // `{n}`: a number that must be there and says nothing.
            _ => {}
        }
    }

    fn numbers(self) -> OverflowFigures {
        let prompt = self.total.map(|total| total.less(self.numbers.output.unwrap_or_default()));
        OverflowFigures { requested: self.numbers.requested.or(prompt), ..self.numbers }
    }
}

/// Finds the words the pattern begins with, and then the rest of it right behind them.
fn seek(pattern: &str, text: &str, found: &mut PatternFigures) -> bool {
    let end = pattern.find(['{', '…']).unwrap_or(pattern.len());
    let (words, rest) = pattern.split_at(end);
    if words.is_empty() {
        let start = text.find(|c: char| c.is_ascii_digit());
        return start.is_some_and(|start| follow(rest, &text[start..], found));
    }
    text.match_indices(words).take(TRIES_MAX).any(|(at, _)| {
        let mut attempt = *found;
        let fits = follow(rest, &text[at + words.len()..], &mut attempt);
        if fits {
            *found = attempt;
        }
        fits
    })
}

/// Whether the pattern fits at the beginning of a text.
fn follow(pattern: &str, text: &str, found: &mut PatternFigures) -> bool {
    if let Some(rest) = pattern.strip_prefix('…') {
        return seek(rest, text, found);
    }
    if let Some((hole, rest)) = pattern.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
        let Some((number, behind)) = number(text) else { return false };
        found.put(hole, number);
        return follow(rest, behind, found);
    }
    let end = pattern.find(['{', '…']).unwrap_or(pattern.len());
    let (words, rest) = pattern.split_at(end);
    match text.strip_prefix(words) {
        Some(_) if rest.is_empty() => true,
        Some(behind) => follow(rest, behind, found),
        None => false,
    }
}

/// The number a text begins with, its digits possibly grouped, and what is behind it.
fn number(text: &str) -> Option<(u64, &str)> {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_group = |at: usize| matches!(bytes.get(at), Some(b',' | b'_')) && is_digit(at + 1);
    let end = (0..text.len()).find(|&at| !is_digit(at) && !is_group(at)).unwrap_or(text.len());
    let digits: String = text[..end].chars().filter(char::is_ascii_digit).collect();
    Some((digits.parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::{OverflowFigures, find, is_in};
    use epitome_core::Tokens;

    #[test]
    fn holes_take_numbers_in_any_grouping() {
        let found =
            find("too long: {requested} tokens > {window}", "is too long: 210,001 tokens > 200_000, so");
        let numbers = OverflowFigures {
            requested: Some(Tokens(210_001)),
            window: Some(Tokens(200_000)),
            ..OverflowFigures::default()
        };
        assert_eq!(found, Some(numbers));
    }

    #[test]
    fn a_gap_goes_on_until_the_rest_fits() {
        let text = "you asked for a lot; you asked for 9 tokens";
        assert_eq!(find("you…asked for {over} tokens", text).and_then(|it| it.over), Some(Tokens(9)));
        assert!(is_in("must be…{n}", "must be at most 9") && !is_in("must be…{n}", "must be at most nine"));
    }

    #[test]
    fn what_is_counted_as_one_is_told_apart_by_the_output() {
        let found =
            find("requested {total} tokens ({output} in the output)", "requested 9 tokens (4 in the output)");
        let numbers = OverflowFigures {
            requested: Some(Tokens(5)),
            output: Some(Tokens(4)),
            ..OverflowFigures::default()
        };
        assert_eq!(found, Some(numbers));
    }
}
