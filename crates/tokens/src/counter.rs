//! The counter: one model's way of counting text, JSON, images, tools and framing.

use crate::image::{ImageDetail, ImageRule, PixelSize};
use crate::model::{Framing, ModelSpec};
use crate::{Encoding, Family, Method, Tokenizer, estimate};

/// Counts for one model. Cheap to make and to clone; vocabularies load on the first exact count.
///
/// ```
/// # #[cfg(feature = "tokenizers")] {
/// use epitome_tokens::{Counter, Encoding};
/// let counter = Counter::exact(Encoding::O200kBase);
/// assert_eq!(counter.count_text("hello world"), 2);
/// assert_eq!(counter.method().to_string(), "o200k_base");
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Counter {
    tokenizer: Tokenizer,
    framing: Framing,
    image: ImageRule,
}

/// A count, and how it came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenCount {
    /// The tokens.
    pub tokens: u64,
    /// The method of this very count: a text too large for the tokenizer is estimated.
    pub method: Method,
}

/// Larger texts are estimated: an exact count of scrambled scripts runs at 0.4 MB/s, and nobody
/// should wait longer than ten seconds for one.
pub const EXACT_BYTES_MAX: usize = 4 << 20;

/// Slices are about this long when counting may stop early: 4 KB count in 0.1 ms.
const SLICE_BYTES: usize = 4096;

impl Counter {
    /// The counter for a model.
    #[must_use]
    pub fn for_model(model: &ModelSpec) -> Self {
        Self { framing: model.framing(), image: model.image, ..Self::new(model.tokenizer) }
    }

    /// Counts exactly, or by the family's estimate where this build lacks the vocabulary.
    #[must_use]
    pub fn exact(encoding: Encoding) -> Self {
        Self::new(Tokenizer::Exact(encoding))
    }

    /// Counts by estimate.
    #[must_use]
    pub fn estimate(family: Family) -> Self {
        Self::new(Tokenizer::Estimate(family))
    }

    fn new(wanted: Tokenizer) -> Self {
        let tokenizer = match wanted {
            Tokenizer::Exact(encoding) if !encoding.is_built_in() => Tokenizer::Estimate(encoding.family()),
            Tokenizer::Exact(_) | Tokenizer::Estimate(_) => wanted,
        };
        Self { tokenizer, framing: Framing::of_family(tokenizer.family()), image: ImageRule::Unknown }
    }

    /// How this counter counts text of ordinary size.
    #[must_use]
    pub const fn method(&self) -> Method {
        Method(self.tokenizer)
    }

    /// What goes around messages, calls and tools.
    #[must_use]
    pub const fn framing(&self) -> &Framing {
        &self.framing
    }

    /// The tokens of a text.
    #[must_use]
    pub fn count_text(&self, text: &str) -> u64 {
        self.count(text).tokens
    }

    /// The tokens of a text, and whether they were counted or estimated.
    #[must_use]
    pub fn count(&self, text: &str) -> TokenCount {
        let exact = match self.tokenizer {
            Tokenizer::Exact(encoding) if text.len() <= EXACT_BYTES_MAX => encoding.count(text),
            Tokenizer::Exact(_) | Tokenizer::Estimate(_) => None,
        };
        match exact {
            Some(tokens) => TokenCount { tokens, method: self.method() },
            None => self.guess(text),
        }
    }

    fn guess(&self, text: &str) -> TokenCount {
        let family = self.tokenizer.family();
        TokenCount { tokens: estimate::estimate(family, text), method: Method(Tokenizer::Estimate(family)) }
    }

    /// The tokens of JSON (tool arguments, schemas) as it is written, keys and quotes included.
    #[must_use]
    pub fn count_json(&self, json: &str) -> u64 {
        self.count_text(json)
    }

    /// The tokens of an image.
    #[must_use]
    pub fn count_image(&self, size: PixelSize, detail: ImageDetail) -> u64 {
        self.image.tokens(size, detail)
    }

    /// The tokens of an image nobody could measure: the most one can take.
    #[must_use]
    pub const fn count_unmeasured_image(&self) -> u64 {
        self.image.tokens_max()
    }

    pub(crate) const fn family(&self) -> Family {
        self.tokenizer.family()
    }

    pub(crate) const fn image_rule(&self) -> ImageRule {
        self.image
    }

    /// The tokens of tool definitions, with what the provider adds for having any.
    #[must_use]
    pub fn count_tools(&self, definitions: &[&str]) -> u64 {
        let written = definitions.iter().map(|definition| self.count_json(definition)).sum::<u64>();
        written + self.tool_overhead(definitions.len())
    }

    /// What the provider adds to a request with this many tools: a hidden prompt, if there are any.
    #[must_use]
    pub const fn tool_overhead(&self, tools: usize) -> u64 {
        if tools == 0 { 0 } else { self.framing.tool_prompt_tokens }
    }

    /// What the provider adds around each message.
    #[must_use]
    pub const fn message_overhead(&self) -> u64 {
        self.framing.message_tokens
    }
}

/// Cuts a text into slices of about 4 KB, each ending at a line end where there is one.
pub(crate) fn slices(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (slice, after) = rest.split_at(slice_end(rest));
        rest = after;
        (!slice.is_empty()).then_some(slice)
    })
}

/// The same from the end of the text back, each slice starting behind a line end where there is one.
pub(crate) fn slices_back(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (before, slice) = rest.split_at(slice_start(rest));
        rest = before;
        (!slice.is_empty()).then_some(slice)
    })
}

fn slice_start(text: &str) -> usize {
    let start = text.ceil_char_boundary(text.len().saturating_sub(SLICE_BYTES));
    if start == 0 {
        return start;
    }
    let line = memchr::memchr(b'\n', &text.as_bytes()[start..]).map(|at| start + at + 1);
    line.filter(|&line| line < text.len()).unwrap_or(start)
}

fn slice_end(text: &str) -> usize {
    let end = text.floor_char_boundary(SLICE_BYTES);
    if end == text.len() {
        return end;
    }
    memchr::memrchr(b'\n', &text.as_bytes()[..end]).map_or(end, |line_end| line_end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn o200k() -> Counter {
        Counter::exact(Encoding::O200kBase)
    }

    #[test]
    fn a_huge_text_is_estimated_and_says_so() {
        let count = o200k().count(&"word ".repeat(1 << 20));
        let method = Method(Tokenizer::Estimate(Family::O200k));
        assert_eq!(count, TokenCount { tokens: 1_101_005, method });
    }

    #[test]
    fn tools_cost_their_text_and_the_hidden_prompt() {
        let counter = Counter::estimate(Family::Claude47);
        assert_eq!(counter.count_tools(&[]), 0);
        let one = counter.count_json(r#"{"name":"read"}"#);
        assert_eq!(counter.count_tools(&[r#"{"name":"read"}"#]), one + counter.tool_overhead(1));
    }

    proptest! {
        #[test]
        fn slices_are_the_text_and_none_is_long(text in "(\\PC{0,40}\n?){0,400}") {
            prop_assert_eq!(slices(&text).collect::<String>(), text.as_str());
            prop_assert!(slices(&text).all(|slice| slice.len() <= SLICE_BYTES));
            let back = slices_back(&text).collect::<Vec<_>>();
            prop_assert_eq!(back.iter().rev().copied().collect::<String>(), text.as_str());
        }
    }
}
