//! The settings of `keep`: what stays in view, word for word. Choosing it is the `keep` module's.

use crate::Tokens;
use serde::{Deserialize, Serialize};

/// What of the newest messages stays in view, and what stays in any case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeepRule {
    /// How the newest part is measured.
    pub newest: Newest,
    /// Whether the beginning of a turn that is cut is summarised apart from what lies before it.
    pub within_turn: bool,
    /// Whether an amount in tokens is the provider's count, where that is above ours.
    #[serde(default)]
    pub calibrated: bool,
    /// What is kept in any case, outside the target and word for word while the window has room for it.
    /// The system prompt, pins, instructions in the middle of a history and an exchange that is still open are
    /// kept whatever it says.
    pub always: Vec<AlwaysKeep>,
    /// A message in view that holds one of these words or phrases counts as pinned.
    #[serde(default)]
    pub matching: Vec<String>,
}

impl Default for KeepRule {
    fn default() -> Self {
        Self {
            newest: Newest::Percent(30),
            within_turn: true,
            calibrated: false,
            always: vec![AlwaysKeep::First, AlwaysKeep::Newest, AlwaysKeep::Exchange],
            matching: Vec::new(),
        }
    }
}

/// How much of the newest part of a context is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Newest {
    /// This share of the target, in percent; the rest of it is the summary's.
    Percent(u32),
    /// So many messages, and the call of a result among them.
    Messages(u32),
    /// The fewest messages that take at least so many tokens.
    TokensAtLeast(Tokens),
    /// From the first place to cut at or after the message with which so many tokens are reached.
    TokensReached(Tokens),
    /// The most messages that take at most so many tokens.
    TokensAtMost(Tokens),
    /// So many turns.
    Turns(u32),
    /// None.
    Nothing,
}

/// What is kept in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AlwaysKeep {
    /// The first message a person wrote.
    First,
    /// The newest one.
    Newest,
    /// A person's newest word, where the model has not answered it yet.
    Input,
    /// The model's newest exchange, where a person has not spoken since, and what it said last.
    Exchange,
}
