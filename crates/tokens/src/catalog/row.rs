//! A row of the catalog: every value may be missing, so that an override names only what it changes.

use crate::Tokenizer;
use crate::image::ImageRule;
use crate::model::{BetaWindow, ModelSpec, RowOrigin, SpecSource, SpecValue, Vendor};
use crate::price::{LongRates, Prices, Rates};
use serde::Deserialize;

/// The file: a list of `[[model]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rows {
    #[serde(default)]
    pub(super) model: Vec<ModelRow>,
}

/// One `[[model]]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelRow {
    /// Names it stands for, and for every longer name that goes on with a dash.
    #[serde(rename = "match")]
    pub(super) names: Vec<String>,
    /// Names it stands for, and for no longer ones.
    #[serde(default, rename = "alias")]
    pub(super) aliases: Vec<String>,
    provider: Option<Vendor>,
    tokenizer: Option<Tokenizer>,
    window: Option<u64>,
    beta_window: Option<BetaWindow>,
    input_max: Option<u64>,
    output_max: Option<u64>,
    cache_min: Option<u64>,
    tool_prompt: Option<u64>,
    image: Option<ImageRule>,
    price: Option<Price>,
    /// Prices of prompts longer than `above`.
    price_long: Option<LongPrice>,
    source: Option<String>,
    as_of: Option<String>,
    #[serde(default)]
    verified: bool,
}

/// Dollars per million tokens. What a provider does not charge for caching costs the same as input.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Price {
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write_5m: Option<f64>,
    cache_write_1h: Option<f64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct LongPrice {
    above: u64,
    input: f64,
    output: f64,
    cache_read: Option<f64>,
}

impl ModelRow {
    /// Puts this row's values on a model, marked with where they come from.
    pub(super) fn apply(&self, source: SpecSource, model: &mut ModelSpec) {
        let sourced = |value| SpecValue::new(value, source);
        model.row = self.names.first().cloned().or(model.row.take());
        model.provider = self.provider.unwrap_or(model.provider);
        model.tokenizer = self.tokenizer.unwrap_or(model.tokenizer);
        model.window_tokens = self.window.map_or(model.window_tokens, sourced);
        model.beta_window = self.beta_window.clone().or(model.beta_window.take());
        model.input_tokens_max = self.input_max.map(sourced).or(model.input_tokens_max);
        model.output_tokens_max = self.output_max.map(sourced).or(model.output_tokens_max);
        model.cache_tokens_min = self.cache_min.map(sourced).or(model.cache_tokens_min);
        model.prices = self.prices().map(|prices| SpecValue::new(prices, source)).or(model.prices);
        model.image = self.image.unwrap_or(model.image);
        model.tool_prompt_tokens = self.tool_prompt.or(model.tool_prompt_tokens);
        model.origin = self.origin().or(model.origin.take());
    }

    fn prices(&self) -> Option<Prices> {
        let rates = self.price?.rates();
        let long = self.price_long.map(|long| long.rates(rates));
        Some(Prices { rates, long })
    }

    fn origin(&self) -> Option<RowOrigin> {
        let (source, as_of) = (self.source.clone()?, self.as_of.clone()?);
        Some(RowOrigin { source, as_of, is_verified: self.verified })
    }
}

impl Price {
    fn rates(self) -> Rates {
        let cache_write_5m = self.cache_write_5m.unwrap_or(self.input);
        Rates {
            input: self.input,
            output: self.output,
            cache_read: self.cache_read.unwrap_or(self.input),
            cache_write_5m,
            cache_write_1h: self.cache_write_1h.unwrap_or(cache_write_5m),
        }
    }
}

impl LongPrice {
    /// Cache prices the row does not give rise with the input price.
    fn rates(self, usual: Rates) -> LongRates {
        let rise = if usual.input > 0.0 { self.input / usual.input } else { 1.0 };
        let rates = Rates {
            input: self.input,
            output: self.output,
            cache_read: self.cache_read.unwrap_or(usual.cache_read * rise),
            cache_write_5m: usual.cache_write_5m * rise,
            cache_write_1h: usual.cache_write_1h * rise,
        };
        LongRates { above_tokens: self.above, rates }
    }
}
