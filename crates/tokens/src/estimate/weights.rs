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

/// OpenAI's `o200k_base`, fitted by non-negative least squares on 67 MB of code, prose, logs and JSON in
/// a dozen languages.
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
    wide: [780, 700, 810, 910, 310, 470, 400, 400, 460, 1040],
};

/// OpenAI's `cl100k_base`: alike in ASCII, poorer in every other script.
pub(crate) const CL100K: Weights =
    Weights { wide: [1150, 1000, 1200, 910, 480, 1100, 800, 1100, 900, 1040], ..O200K };

/// Claude 3 to 4.6, fitted on the usage of 2,157 exchanges. Punctuation and line ends cost half as much
/// again as in `o200k_base`, words hardly more. Scripts from `Latin` on are scaled, not fitted.
pub(crate) const CLAUDE: Weights = Weights {
    small: 1110,
    small_after_capital: 920,
    small_beyond: 1000,
    capital: 670,
    capital_beyond: 330,
    digits: 1480,
    punctuation: 860,
    punctuation_beyond: 160,
    line_ends: 950,
    blanks: 1260,
    letter_digit: 20,
    wide: [890, 880, 1020, 1090, 430, 660, 560, 560, 640, 670],
};

/// Claude from 4.7 on, fitted on the usage of 463 exchanges. Wide characters but `Other` are those of
/// [`CLAUDE`] and three tenths, not fitted.
pub(crate) const CLAUDE47: Weights = Weights {
    small: 1350,
    small_after_capital: 1320,
    small_beyond: 1320,
    capital: 1110,
    capital_beyond: 490,
    digits: 1960,
    punctuation: 1310,
    punctuation_beyond: 310,
    line_ends: 1150,
    blanks: 1580,
    letter_digit: 30,
    wide: [1160, 1150, 1320, 1420, 560, 860, 730, 730, 830, 1350],
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
