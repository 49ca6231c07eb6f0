//! Regular expressions that are constants of this crate.

use regex::Regex;

/// The expression of a pattern that stands in the code.
pub(crate) fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant of this crate")
}
