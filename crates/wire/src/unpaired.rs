//! Results whose calls are gone: providers refuse a result without its call, so they are shown as text.

use std::fmt::Display;

/// How such a text begins, by which it is known for the harness's.
pub(crate) const UNPAIRED: &str = "[a tool's result, without its call";

/// The text that stands for what `call` answered.
pub(crate) fn unpaired(call: impl Display, answer: &str) -> String {
    format!("{UNPAIRED} {call}]\n{answer}")
}
