//! Pictures and lists made of characters: bars, a line over time, names in a sentence.

use std::io::IsTerminal;

/// Eighths of a cell, thinnest first.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
/// Heights of a cell, lowest first.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A bar for `part` of `whole`, `cells` wide where it is all of it.
pub fn bar(part: u64, whole: u64, cells: usize) -> String {
    let part = part.min(whole);
    let eighths = (u128::from(part) * cells as u128 * 8).checked_div(u128::from(whole)).unwrap_or(0) as usize;
    let shown = if part > 0 { eighths.max(1) } else { 0 };
    format!("{}{}", "█".repeat(shown / 8), EIGHTHS[shown % 8])
}

/// Amounts over time in one line, at most `cells` wide; each cell is the largest of its stretch.
pub fn line(amounts: &[u64], cells: usize) -> String {
    let most = amounts.iter().copied().max().unwrap_or(0).max(1);
    let stretch = amounts.len().div_ceil(cells.max(1)).max(1);
    let height = |amount: u64| HEIGHTS[((u128::from(amount) * 7).div_ceil(u128::from(most)) as usize).min(7)];
    amounts.chunks(stretch).map(|part| height(part.iter().copied().max().unwrap_or(0))).collect()
}

/// Names of which one is to be taken, in a sentence: `a, b or c`.
pub fn alternatives<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let mut names: Vec<String> = names.into_iter().map(|name| name.as_ref().to_owned()).collect();
    let last = names.pop().unwrap_or_default();
    if names.is_empty() { last } else { format!("{} or {last}", names.join(", ")) }
}

/// Digits in groups of three.
pub fn grouped(amount: u64) -> String {
    epitome_core::Tokens(amount).to_string()
}

/// So many of something: `1 turn`, `1,204 turns`.
pub fn counted(amount: usize, what: &str) -> String {
    let ending = if amount == 1 { "" } else { "s" };
    format!("{} {what}{ending}", grouped(amount as u64))
}

/// So many entries.
pub fn entries(amount: usize) -> String {
    if amount == 1 { "1 entry".to_owned() } else { format!("{} entries", grouped(amount as u64)) }
}

/// The share of `part` in `whole` in hundredths, rounded.
pub fn percent(part: u64, whole: u64) -> u64 {
    share(part, whole, 100)
}

/// The share of `part` in `whole` in so many parts, rounded.
pub fn share(part: u64, whole: u64, parts: u64) -> u64 {
    let twice = u128::from(part) * u128::from(parts) * 2;
    let share = twice.saturating_add(u128::from(whole)).checked_div(u128::from(whole) * 2);
    share.and_then(|share| u64::try_from(share).ok()).unwrap_or(0)
}

/// Paint for a terminal, where there is one and nobody minds.
#[derive(Clone, Copy)]
pub struct Paint {
    is_on: bool,
}

impl Paint {
    /// Paint for standard output.
    pub fn stdout() -> Self {
        Self::on(std::io::stdout().is_terminal())
    }

    /// Paint for standard error.
    pub fn stderr() -> Self {
        Self::on(std::io::stderr().is_terminal())
    }

    fn on(is_terminal: bool) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { is_on: !refused && is_terminal }
    }

    /// Bold.
    pub fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    /// Dim.
    pub fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    /// The colour of bars.
    pub fn bar(self, text: &str) -> String {
        self.with("36", text)
    }

    /// The colour of what was lost.
    pub fn warn(self, text: &str) -> String {
        self.with("33", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.is_on { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::{bar, line, percent, share};

    #[test]
    fn a_bar_is_as_long_as_its_part() {
        assert_eq!(
            [bar(0, 10, 40), bar(10, 10, 40), bar(1, 1_000_000, 40)],
            [String::new(), "█".repeat(40), "▏".to_owned()]
        );
    }

    #[test]
    fn an_absurd_amount_is_drawn_like_another() {
        let most = u64::MAX;
        assert_eq!((bar(most, most, 4), line(&[most / 2, most], 2)), ("████".into(), "▅█".into()));
        assert_eq!([percent(most, most), share(most, most, 80)], [100, 80]);
    }

    #[test]
    fn a_percentage_is_rounded() {
        assert_eq!([percent(589, 10_000), percent(1, 3), percent(1, 0), percent(3, 3)], [6, 33, 0, 100]);
    }

    #[test]
    fn a_line_shows_the_largest_of_each_stretch() {
        assert_eq!(line(&[0, 1, 7, 7, 0, 0], 3), "▂█▁");
    }
}
