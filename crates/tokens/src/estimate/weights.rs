//! What each kind of run and character costs, in thousandths of a token, for each kind of tokenizer.
//!
//! How the figures were fitted and how far off they are is told in `docs/reference/tokens.md`.

use super::script::SCRIPTS;

/// The prices of one kind of tokenizer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weights {
    /// A run of small letters.
    pub(crate) small: u16,
    /// A run of small letters that a capital begins.
    pub(crate) small_after_capital: u16,
    /// Each small letter of a run beyond the 12th.
    pub(crate) small_beyond: u16,
    /// A run of capitals.
    pub(crate) capital: u16,
    /// Each capital of a run beyond the second.
    pub(crate) capital_beyond: u16,
    /// Up to three digits in a row.
    pub(crate) digits: u16,
    /// A run of punctuation.
    pub(crate) punctuation: u16,
    /// Each punctuation character of a run beyond the second.
    pub(crate) punctuation_beyond: u16,
    /// A run of line ends.
    pub(crate) line_ends: u16,
    /// A run of two blanks or more; one blank belongs to the word after it.
    pub(crate) blanks: u16,
    /// A letter next to a digit.
    pub(crate) letter_digit: u16,
    /// One character of each script, in the order of `Script`.
    pub(crate) wide: [u16; SCRIPTS],
}

/// OpenAI's `o200k_base`, fitted by non-negative least squares on 67 MB of code, prose, logs and JSON.
pub(crate) const O200K: Weights = Weights {
    small: 1050,
    small_after_capital: 1050,
    small_beyond: 760,
    capital: 730,
    capital_beyond: 260,
    digits: 1530,
    punctuation: 580,
    punctuation_beyond: 140,
    line_ends: 610,
    blanks: 1000,
    letter_digit: 20,
    wide: [820, 700, 810, 910, 310, 450, 460, 1040],
};

impl Weights {
    /// The same weights, each taken `permille` thousandths of.
    pub(crate) const fn scaled(self, permille: u32) -> Self {
        let mut wide = self.wide;
        let mut at = 0;
        while at < SCRIPTS {
            wide[at] = scale(wide[at], permille);
            at += 1;
        }
        Self {
            small: scale(self.small, permille),
            small_after_capital: scale(self.small_after_capital, permille),
            small_beyond: scale(self.small_beyond, permille),
            capital: scale(self.capital, permille),
            capital_beyond: scale(self.capital_beyond, permille),
            digits: scale(self.digits, permille),
            punctuation: scale(self.punctuation, permille),
            punctuation_beyond: scale(self.punctuation_beyond, permille),
            line_ends: scale(self.line_ends, permille),
            blanks: scale(self.blanks, permille),
            letter_digit: scale(self.letter_digit, permille),
            wide,
        }
    }
}

const fn scale(weight: u16, permille: u32) -> u16 {
    (weight as u32 * permille / 1000) as u16
}
