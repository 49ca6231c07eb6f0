//! Which window counts, and who says so.

use epitome_core::{Policy, Tokens};
use epitome_tokens as tokens;
use serde::Serialize;

/// What is known of a model's window.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// What somebody said for this run.
    pub flag: Option<Tokens>,
    /// What the provider lists for the model, or the transcript records.
    pub provider: Option<Tokens>,
    /// What the catalog makes of the model, overrides and overflow errors included.
    pub catalog: tokens::Sourced<u64>,
}

/// Where a window's figure comes from, most believed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WindowFrom {
    /// Somebody stated it: a flag, `window.tokens`, an override of the catalog.
    Explicit,
    /// The provider said so when it refused a request.
    Learned,
    /// The provider lists it.
    Provider,
    /// The catalog has it.
    Catalog,
    /// Nobody knows: it is the policy's guess.
    Guess,
}

/// A window and where its figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Window {
    /// In tokens.
    pub tokens: Tokens,
    /// Where the figure comes from.
    pub from: WindowFrom,
}

/// Nobody knows the window, and the policy makes no guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the model's window is not known, and `window.unknown` is not set; set `window.tokens`")]
pub struct NoWindow;

impl Window {
    /// The window to go by: explicit before learned before the provider's before the catalog's before a guess.
    ///
    /// # Errors
    /// Where nobody knows it and the policy makes no guess.
    pub fn choose(known: &Known, policy: &Policy) -> Result<Self, NoWindow> {
        let catalog = |source| (known.catalog.source == source).then_some(Tokens(known.catalog.value));
        let explicit = known.flag.or(policy.window.tokens).or(catalog(tokens::SpecSource::Explicit));
        let all = [
            (explicit, WindowFrom::Explicit),
            (catalog(tokens::SpecSource::Learned), WindowFrom::Learned),
            (known.provider, WindowFrom::Provider),
            (catalog(tokens::SpecSource::Catalog), WindowFrom::Catalog),
            (policy.window.unknown, WindowFrom::Guess),
        ];
        let best = all.into_iter().find_map(|(tokens, from)| Some(Self { tokens: tokens?, from }));
        best.ok_or(NoWindow)
    }

    /// The window as it is reported: nothing where it is a guess.
    pub fn reported(&self) -> Option<Tokens> {
        match self.from {
            WindowFrom::Explicit | WindowFrom::Learned | WindowFrom::Provider | WindowFrom::Catalog => {
                Some(self.tokens)
            }
            WindowFrom::Guess => None,
        }
    }
}
