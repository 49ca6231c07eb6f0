//! One counter for every method: o200k, exact.

use epitome_core::{Image, Measure, Tokens};
use epitome_tokens::{Counter, Encoding};

/// What a picture counts for: about what providers take for a screenshot.
const IMAGE_TOKENS: u64 = 1_500;
/// What stands around a message.
const FRAMING_TOKENS: u64 = 4;

/// Counts text exactly, pictures at a flat rate.
pub struct O200k(Counter);

impl Default for O200k {
    fn default() -> Self {
        Self(Counter::exact(Encoding::O200kBase))
    }
}

impl Measure for O200k {
    fn text(&self, text: &str) -> Tokens {
        Tokens(self.0.count_text(text))
    }

    fn image(&self, _: &Image) -> Tokens {
        Tokens(IMAGE_TOKENS)
    }

    fn framing(&self) -> Tokens {
        Tokens(FRAMING_TOKENS)
    }
}
