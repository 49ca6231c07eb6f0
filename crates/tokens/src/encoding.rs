//! Published vocabularies: the tokenizers whose counts are exact.
//!
//! The vocabularies and the splitting rules are the `tiktoken` crate's; each is unpacked on first use
//! and kept. Special-token spellings in a text are ordinary text here: a transcript is data.

use crate::estimate::Family;
#[cfg(feature = "tokenizers")]
use memchr::memmem;
use serde::{Deserialize, Serialize};

/// A published byte-pair encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// OpenAI from GPT-4o on.
    O200kBase,
    /// GPT-4 and GPT-3.5.
    Cl100kBase,
    /// Llama 3 and 4.
    Llama3,
    /// Qwen 2.5 and 3.
    Qwen2,
    /// DeepSeek V3, R1 and their like.
    DeepseekV3,
    /// GLM 4.5 to 4.7.
    Glm4,
    /// GLM 5.
    Glm5,
    /// Kimi K2.
    KimiK2,
    /// Mistral's Tekken.
    MistralV3,
    /// MiniMax M2.
    MinimaxM2,
}

impl Encoding {
    /// Every encoding.
    pub const ALL: [Self; 10] = [
        Self::O200kBase,
        Self::Cl100kBase,
        Self::Llama3,
        Self::Qwen2,
        Self::DeepseekV3,
        Self::Glm4,
        Self::Glm5,
        Self::KimiK2,
        Self::MistralV3,
        Self::MinimaxM2,
    ];

    /// The name its publisher gave it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::O200kBase => "o200k_base",
            Self::Cl100kBase => "cl100k_base",
            Self::Llama3 => "llama3",
            Self::Qwen2 => "qwen2",
            Self::DeepseekV3 => "deepseek_v3",
            Self::Glm4 => "glm4",
            Self::Glm5 => "glm5",
            Self::KimiK2 => "kimi_k2",
            Self::MistralV3 => "mistral_v3",
            Self::MinimaxM2 => "minimax_m2",
        }
    }

    /// The family that estimates what this encoding would count.
    #[must_use]
    pub const fn family(self) -> Family {
        match self {
            Self::O200kBase => Family::O200k,
            Self::Cl100kBase => Family::Cl100k,
            Self::Llama3 => Family::Llama,
            Self::Qwen2 => Family::Qwen,
            Self::DeepseekV3 => Family::DeepSeek,
            Self::Glm4 | Self::Glm5 => Family::Glm,
            Self::KimiK2 => Family::Kimi,
            Self::MistralV3 => Family::Mistral,
            Self::MinimaxM2 => Family::Unknown,
        }
    }

    /// Whether this build carries the vocabulary.
    #[must_use]
    pub fn is_built_in(self) -> bool {
        built_in().contains(&self.name())
    }

    /// The exact count, or nothing where this build lacks the vocabulary.
    #[cfg(not(feature = "tokenizers"))]
    pub(crate) fn count(self, _: &str) -> Option<u64> {
        None
    }

    /// The exact count, or nothing where this build lacks the vocabulary.
    #[cfg(feature = "tokenizers")]
    pub(crate) fn count(self, text: &str) -> Option<u64> {
        let vocabulary = tiktoken::get_encoding(self.name())?;
        let count = |piece: &str| vocabulary.count(piece) as u64;
        Some(if self == Self::O200kBase { after_long_s(text).map(count).sum() } else { count(text) })
    }
}

/// The names of the vocabularies that this build carries.
#[cfg(feature = "tokenizers")]
fn built_in() -> &'static [&'static str] {
    tiktoken::list_encodings()
}

/// The same for a build without any.
#[cfg(not(feature = "tokenizers"))]
fn built_in() -> &'static [&'static str] {
    &[]
}

/// An apostrophe and the long s, which o200k's case-blind contraction rule takes for `'s`.
#[cfg(feature = "tokenizers")]
const LONG_S: &str = "'\u{17F}";

/// Cuts a text behind each contraction written with a long s. The `tiktoken` crate leaves such an
/// ending to the next word; the reference ends the word there, as for `'s`.
#[cfg(feature = "tokenizers")]
fn after_long_s(text: &str) -> impl Iterator<Item = &str> {
    let mut ends = memmem::find_iter(text.as_bytes(), LONG_S)
        .filter(|&at| text[..at].ends_with(char::is_alphabetic))
        .map(|at| at + LONG_S.len())
        .chain([text.len()])
        .collect::<Vec<_>>()
        .into_iter();
    let mut start = 0;
    std::iter::from_fn(move || {
        let end = ends.next()?;
        let piece = &text[start..end];
        start = end;
        Some(piece)
    })
}

#[cfg(all(test, feature = "tokenizers"))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn o200k(text: &str) -> u64 {
        Encoding::O200kBase.count(text).expect("o200k is always built in")
    }

    fn cl100k(text: &str) -> u64 {
        Encoding::Cl100kBase.count(text).expect("cl100k is always built in")
    }

    #[cfg(feature = "open-vocabularies")]
    #[test]
    fn every_encoding_is_built_in_by_default() {
        assert_eq!(Encoding::ALL.map(Encoding::is_built_in), [true; 10]);
    }

    #[test]
    fn special_tokens_are_ordinary_text() {
        assert_eq!(o200k("<|endoftext|>"), 7);
        assert_eq!(cl100k("<|endoftext|>"), 7);
    }

    #[test]
    fn a_contraction_with_a_long_s_ends_its_word() {
        for text in ["it'ſabc", "'ſabc", "it'ſ", "don'ſ you'ſee", " 'ſ 'ſx"] {
            assert_eq!(o200k(text), bpe_openai::o200k_base().count(text) as u64, "{text}");
        }
    }

    /// Text as agents produce it, and as nobody does.
    fn any_text() -> impl Strategy<Value = String> {
        let pieces = prop_oneof![
            "[a-zA-Z]{1,12}",
            "[ \t\r\n]{1,6}",
            "[0-9]{1,9}",
            "[!-/:-@\\[-`{-~]{1,6}",
            "('s|'T|'re|'VE|'m|'ll|'d|'ſ)",
            "(<\\|endoftext\\|>|<\\|fim_prefix\\|>|<\\|im_start\\|>)",
            "[一-龥]{1,6}",
            "[ぁ-んァ-ン]{1,6}",
            "[가-힣]{1,4}",
            "[а-яА-Яα-ω]{1,8}",
            "[אبहไ\u{300}]{1,4}",
            "[😀-🙏👩‍💻🇩🇪]{1,3}",
            "\\PC{1,4}",
        ];
        proptest::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn counts_agree_with_an_independent_implementation(text in any_text()) {
            prop_assert_eq!(o200k(&text), bpe_openai::o200k_base().count(text.as_str()) as u64);
            prop_assert_eq!(cl100k(&text), bpe_openai::cl100k_base().count(text.as_str()) as u64);
        }

        #[test]
        fn no_encoding_spends_more_than_a_token_per_byte(text in any_text()) {
            for encoding in Encoding::ALL {
                prop_assert!(encoding.count(&text) <= Some(text.len() as u64), "{}", encoding.name());
            }
        }
    }
}
