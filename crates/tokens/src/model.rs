//! A model as the catalog knows it: each figure with where it comes from.

use crate::image::ImageRule;
use crate::price::Prices;
use crate::{Family, Tokenizer};
use serde::{Deserialize, Serialize};

/// Where a figure comes from, least believed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpecSource {
    /// Nobody said: a cautious default.
    Guess,
    /// The catalog that came with the program.
    Catalog,
    /// The provider's own words, such as an overflow error.
    Learned,
    /// The operator, or the model's name itself.
    Explicit,
}

/// A value and where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Serialize, Deserialize)]
pub struct SpecValue<T> {
    /// The value.
    pub value: T,
    /// Where it comes from.
    pub source: SpecSource,
}

impl<T> SpecValue<T> {
    /// A value with its source.
    pub const fn new(value: T, source: SpecSource) -> Self {
        Self { value, source }
    }
}

/// Who serves a model, as far as rules of counting and caching differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Vendor {
    Anthropic,
    Openai,
    Google,
    Meta,
    Deepseek,
    Alibaba,
    Mistral,
    Moonshot,
    Zhipu,
    Minimax,
    Xai,
    Unknown,
}

/// A model: how it counts, how much it holds, what it costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelSpec {
    /// The name as it was asked for.
    pub id: String,
    /// The catalog's row for it, if there is one.
    pub row: Option<String>,
    /// Who serves it.
    pub provider: Vendor,
    /// How its tokens are counted.
    pub tokenizer: Tokenizer,
    /// Prompt and output together.
    pub window_tokens: SpecValue<u64>,
    /// The window of a request that asks for a beta.
    pub beta_window: Option<BetaWindow>,
    /// The longest prompt, where it is less than the window.
    pub input_tokens_max: Option<SpecValue<u64>>,
    /// The longest reply.
    pub output_tokens_max: Option<SpecValue<u64>>,
    /// The shortest prefix the provider caches.
    pub cache_tokens_min: Option<SpecValue<u64>>,
    /// What tokens cost.
    pub prices: Option<SpecValue<Prices>>,
    /// How images are charged.
    pub image: ImageRule,
    /// What having tools adds to a prompt, where it is not what the family usually adds.
    pub tool_prompt_tokens: Option<u64>,
    /// Where the catalog's row comes from.
    pub origin: Option<RowOrigin>,
}

/// A window that a request must ask for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BetaWindow {
    /// How the beta's name begins.
    pub beta: String,
    /// Prompt and output together, with it.
    pub window: u64,
}

/// Where a row of the catalog comes from, and when it was true.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowOrigin {
    /// Who said so.
    pub source: String,
    /// The month, as `2026-08`.
    pub as_of: String,
    /// Whether anyone here checked it against the provider.
    pub is_verified: bool,
}

/// The window of a model nobody knows: what most models have at least.
pub const GUESSED_WINDOW_TOKENS: u64 = 128_000;

impl ModelSpec {
    /// A model nobody knows: counted on the high side, with a small window.
    #[must_use]
    pub fn guess(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            row: None,
            provider: Vendor::Unknown,
            tokenizer: Tokenizer::Estimate(Family::Unknown),
            window_tokens: SpecValue::new(GUESSED_WINDOW_TOKENS, SpecSource::Guess),
            beta_window: None,
            input_tokens_max: None,
            output_tokens_max: None,
            cache_tokens_min: None,
            prices: None,
            image: ImageRule::Unknown,
            tool_prompt_tokens: None,
            origin: None,
        }
    }

    /// The model as a request with these betas, apart by commas, gets it.
    #[must_use]
    pub fn with_betas(mut self, betas: &str) -> Self {
        // A beta's name goes on with its date.
        let asks_for =
            |window: &BetaWindow| betas.split(',').any(|beta| beta.trim().starts_with(&*window.beta));
        if let Some(window) = self.beta_window.as_ref().filter(|window| asks_for(window)) {
            // Neither what an operator stated nor the name's own `[1m]` is made smaller.
            let value = window.window.max(self.window_tokens.value);
            if self.window_tokens.source < SpecSource::Explicit {
                self.window_tokens = SpecValue::new(value, SpecSource::Explicit);
            }
        }
        self
    }

    /// What goes around its messages and tools.
    #[must_use]
    pub fn framing(&self) -> Framing {
        let usual = Framing::of_family(self.tokenizer.family());
        let tool_prompt_tokens = self.tool_prompt_tokens.unwrap_or(usual.tool_prompt_tokens);
        Framing { tool_prompt_tokens, ..usual }
    }

    /// The longest prompt that leaves `reserve_tokens` for the reply.
    #[must_use]
    pub fn usable_tokens(&self, reserve_tokens: u64) -> u64 {
        let room = self.window_tokens.value.saturating_sub(reserve_tokens);
        self.input_tokens_max.map_or(room, |input| room.min(input.value))
    }
}

/// What a provider puts around the parts of a prompt, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Framing {
    /// Around each message.
    pub message_tokens: u64,
    /// Once, to open the reply.
    pub reply_tokens: u64,
    /// Around each tool call.
    pub call_tokens: u64,
    /// Around each tool result.
    pub result_tokens: u64,
    /// Once, if there are any tools.
    pub tool_prompt_tokens: u64,
}

impl Framing {
    /// The framing usual in a family.
    #[must_use]
    pub const fn of_family(family: Family) -> Self {
        match family {
            Family::Claude => CLAUDE,
            Family::Claude47 => CLAUDE47,
            Family::Gemini => GEMINI,
            Family::O200k
            | Family::Cl100k
            | Family::Llama
            | Family::Qwen
            | Family::DeepSeek
            | Family::Glm
            | Family::Kimi
            | Family::Mistral
            | Family::Unknown => CHAT,
        }
    }
}

/// A message of one character counts 8. What a call and a result take beyond their text was fitted on
/// the same exchanges as the weights of the family: arguments travel as tags, not as JSON.
const CLAUDE: Framing = Framing {
    message_tokens: 4,
    reply_tokens: 3,
    call_tokens: 58,
    result_tokens: 16,
    tool_prompt_tokens: 497,
};

const CLAUDE47: Framing = Framing { call_tokens: 66, result_tokens: 2, tool_prompt_tokens: 290, ..CLAUDE };

/// Usage rises by the text alone.
const GEMINI: Framing =
    Framing { message_tokens: 0, reply_tokens: 0, call_tokens: 0, result_tokens: 0, tool_prompt_tokens: 0 };

/// Role, separators and name, as OpenAI counts them and the open models nearly do.
const CHAT: Framing =
    Framing { message_tokens: 4, reply_tokens: 3, call_tokens: 7, result_tokens: 6, tool_prompt_tokens: 0 };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_bound_by_the_window_and_by_the_input_limit() {
        let mut model = ModelSpec::guess("mystery");
        assert_eq!(model.usable_tokens(8_000), 120_000);
        model.input_tokens_max = Some(SpecValue::new(100_000, SpecSource::Catalog));
        assert_eq!(model.usable_tokens(8_000), 100_000);
        assert_eq!(model.usable_tokens(128_001), 0);
    }
}
