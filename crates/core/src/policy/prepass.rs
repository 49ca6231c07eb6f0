//! The settings of `trim` and `prune`: which messages may be shown shorter, when, and what is left
//! alone. Doing it is `prune`'s.

use super::{Compare, Threshold};
use crate::Tokens;
use serde::{Deserialize, Serialize};

/// Repeated harness messages: only the newest copy stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrimRule {
    /// Whether to.
    pub enabled: bool,
    /// When the request comes to this.
    pub at: Threshold,
    /// Tokens that replace `at` where they are set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absolute: Option<Tokens>,
}

impl Default for TrimRule {
    fn default() -> Self {
        Self { enabled: false, at: Threshold::Share(5_000), absolute: None }
    }
}

/// What pruning touches, when, and what it leaves alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PruneRule {
    /// When it is done, apart from a `prune` named among the strategies.
    pub when: PruneWhen,
    /// Tool results.
    pub results: bool,
    /// Long values in tool-call arguments.
    pub arguments: bool,
    /// Results of reading a file that was read again, or written, later. Protection does not apply.
    pub superseded_reads: bool,
    /// Thinking.
    pub thinking: bool,
    /// Pictures.
    pub images: bool,
    /// How the pointer in place of a result is worded.
    #[serde(default)]
    pub notice: Notice,
    /// The newest part of the context that pruning leaves alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protect: Option<Threshold>,
    /// The newest tool results, by their tokens, that pruning leaves alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protect_results: Option<Tokens>,
    /// Results of a message smaller than this, and arguments of a call not larger, are left as they are.
    pub size_min: Tokens,
    /// A pass that saves less is not worth its price.
    pub saving_min: Tokens,
    /// Whether the saving must reach that or pass it.
    pub saving_compare: Compare,
    /// Results of these tools are left alone.
    pub tools_kept: Vec<String>,
    /// Whether results that report an error are left alone.
    pub errors_kept: bool,
    /// A result is touched only while at most this much follows it, so that the prompt cache is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_tokens_max: Option<Tokens>,
    /// After so many minutes without a word the cache is cold, and the rule above does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_cold_minutes: Option<u64>,
}

impl Default for PruneRule {
    fn default() -> Self {
        Self {
            when: PruneWhen::Never,
            results: true,
            arguments: true,
            superseded_reads: true,
            thinking: true,
            images: true,
            notice: Notice::Pointer,
            protect: Some(Threshold::Share(1_000)),
            protect_results: None,
            size_min: Tokens(200),
            saving_min: Tokens::ZERO,
            saving_compare: Compare::Reached,
            tools_kept: Vec::new(),
            errors_kept: false,
            cache_tokens_max: None,
            cache_cold_minutes: None,
        }
    }
}

/// How the pointer in place of a tool result is worded. Each ends in the id that brings the result back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Notice {
    /// Its size and how it begins.
    #[default]
    Pointer,
    /// `[Pruned — 10000 tokens]`.
    Pruned,
    /// `[OutputCount truncated - 10000 tokens]`.
    Truncated,
}

impl Notice {
    /// Whether it is our own wording, which a stored form leaves out.
    pub(crate) fn is_pointer(&self) -> bool {
        *self == Self::Pointer
    }
}

/// When pruning is done by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PruneWhen {
    /// Never.
    Never,
    /// After each round of tools.
    ToolRound,
    /// Before each look at the context's size.
    Check,
    /// In the kept part of a compaction.
    Compaction,
}
