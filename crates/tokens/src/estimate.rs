//! Estimating a token count without a tokenizer: one pass over the bytes, no allocation.
//!
//! Text falls into runs (small letters, capitals, digits, punctuation, line ends, blanks) and wide
//! characters by script. Each costs a fraction of a token, and the sum is the estimate. What a run
//! costs is data, in `weights`; how runs are told apart is an automaton, in `table`.
//! Correcting an estimate by what a provider reports is left to [`crate::calibrate`].

mod family;
mod lanes;
mod script;
mod table;
mod weights;

pub use family::Family;

use script::Script;
use table::{START, TransitionTable};

/// An estimate that grows as text is appended.
///
/// Pushing a text in pieces gives exactly what pushing it whole gives, wherever it was cut.
///
/// ```
/// use epitome_tokens::{Family, RunningEstimate};
/// let mut pieces = RunningEstimate::new(Family::Claude);
/// pieces.push("let answer");
/// pieces.push(" = 42;");
/// assert_eq!(pieces.tokens(), epitome_tokens::estimate(Family::Claude, "let answer = 42;"));
/// ```
#[derive(Debug, Clone)]
pub struct RunningEstimate {
    table: &'static TransitionTable,
    state: u8,
    milli_tokens: u64,
    bytes: u64,
}

impl RunningEstimate {
    /// Starts at nothing.
    #[must_use]
    pub fn new(family: Family) -> Self {
        Self { table: family.table(), state: START, milli_tokens: 0, bytes: 0 }
    }

    /// Appends a text.
    pub fn push(&mut self, text: &str) {
        self.bytes += text.len() as u64;
        let mut rest = text;
        while !rest.is_empty() {
            let ascii = self.push_ascii(rest.as_bytes());
            rest = self.push_wide(&rest[ascii..]);
        }
    }

    /// The estimate so far, rounded up. Never more than one token per byte: no tokenizer spends more.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.milli_tokens.div_ceil(1000).min(self.bytes)
    }

    /// Takes the ASCII at the start and says how many bytes that was.
    fn push_ascii(&mut self, bytes: &[u8]) -> usize {
        let ascii = &bytes[..ascii_len(bytes)];
        let (state, milli_tokens) = lanes::walk(self.table, self.state, ascii);
        self.state = state;
        self.milli_tokens += milli_tokens;
        ascii.len()
    }

    /// Takes the wide characters at the start and hands back what follows them.
    fn push_wide<'a>(&mut self, text: &'a str) -> &'a str {
        let mut rest = text.chars();
        while let Some(wide) = rest.clone().next().filter(|next| !next.is_ascii()) {
            self.milli_tokens += u64::from(self.table.wide(Script::of(wide)));
            self.state = START;
            rest.next();
        }
        rest.as_str()
    }
}

/// How many bytes at the start are ASCII.
fn ascii_len(bytes: &[u8]) -> usize {
    let whole = bytes.chunks_exact(ASCII_STRIDE).take_while(|stride| stride.is_ascii()).count();
    let rest = &bytes[whole * ASCII_STRIDE..];
    whole * ASCII_STRIDE + rest.iter().take_while(|byte| byte.is_ascii()).count()
}

/// Bytes judged at once: two vector registers.
const ASCII_STRIDE: usize = 32;

/// The estimated tokens of one text.
#[must_use]
pub fn estimate(family: Family, text: &str) -> u64 {
    let mut running = RunningEstimate::new(family);
    running.push(text);
    running.tokens()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn o200k(text: &str) -> u64 {
        estimate(Family::O200k, text)
    }

    #[test]
    fn nothing_costs_nothing() {
        assert_eq!(o200k(""), 0);
    }

    #[test]
    fn a_text_never_costs_more_than_its_bytes() {
        assert_eq!(o200k("1"), 1);
    }

    #[test]
    fn each_kind_of_run_is_charged_once() {
        // Three words, one full stop: 3 × 1.05 + 0.58 = 3.73.
        assert_eq!(o200k("the quick fox."), 4);
        // Four groups of three digits: 4 × 1.53 = 6.12.
        assert_eq!(o200k("123456789012"), 7);
        // A run of blanks and a word: 1.00 + 1.05.
        assert_eq!(o200k("        return"), 3);
    }

    proptest! {
        #[test]
        fn pieces_give_what_the_whole_gives(head in "\\PC*", tail in "[a-zA-Z0-9 \n.{}é漢]*") {
            let mut running = RunningEstimate::new(Family::Claude47);
            running.push(&head);
            running.push(&tail);
            prop_assert_eq!(running.tokens(), estimate(Family::Claude47, &format!("{head}{tail}")));
        }

        #[test]
        fn separate_estimates_add_up_within_rounding(head in "[a-z .\n]{0,400}", tail in "[a-z .\n]{0,400}") {
            let (apart, together) = (o200k(&head) + o200k(&tail), o200k(&format!("{head}{tail}")));
            // Cutting a run charges it twice, and each part rounds up.
            prop_assert!(apart.abs_diff(together) <= 3, "{} apart, {} together", apart, together);
        }

        #[test]
        fn appending_never_lowers_an_estimate(head in "\\PC*", tail in "\\PC*") {
            let whole = format!("{head}{tail}");
            prop_assert!(o200k(&whole) >= o200k(&head));
        }
    }
}
