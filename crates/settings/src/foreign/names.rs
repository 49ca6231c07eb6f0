//! The table of other systems' setting names: whose each is, and the rule that translates it.

use super::translate::TranslationRule;

/// A setting of another system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignSetting {
    /// Its name there.
    pub name: &'static str,
    /// Whose it is.
    pub system: &'static str,
    pub(super) rule: TranslationRule,
}

const fn of(system: &'static str, name: &'static str, rule: TranslationRule) -> ForeignSetting {
    ForeignSetting { name, system, rule }
}

/// The settings of other systems that are taken by their own names.
pub const FOREIGN: &[ForeignSetting] = &[
    of("aura", "threshold", TranslationRule::Percent("trigger.at")),
    of("aura", "max_tokens", TranslationRule::TokensOrOff("trigger.absolute")),
    of("aura", "trim_threshold", TranslationRule::Percent("trim.at")),
    of("aura", "trim_max_tokens", TranslationRule::TokensOrOff("trim.absolute")),
    of("aura", "keep_last_messages", TranslationRule::KeepMessages),
    of("aura", "chunks", TranslationRule::Same("summary.chunks")),
    of("aura", "agent", TranslationRule::Agent),
    of("aura", "prompt", TranslationRule::Prompt),
    of("aura", "tool_result_max_length", TranslationRule::Same("summary.result_chars_max")),
    of("aura", "prune.mode", TranslationRule::PruneMode),
    of("aura", "prune.protect_percent", TranslationRule::Percent("prune.protect")),
    of("aura", "prune.arg_threshold", TranslationRule::Same("prune.size_min")),
    of("aura", "context", TranslationRule::Same("window.tokens")),
    of("pi", "enabled", TranslationRule::Enabled),
    of("pi", "reserveTokens", TranslationRule::Reserve),
    of("pi", "keepRecentTokens", TranslationRule::KeepTokens),
    of("pi", "branchSummary.reserveTokens", TranslationRule::Remaining("branch.at")),
    of(
        "pi",
        "branchSummary.skipPrompt",
        TranslationRule::Idle("nobody is asked here; the caller says whether to summarise"),
    ),
    of("kaged", "strategy", TranslationRule::Strategy),
    of("kaged", "upper_threshold", TranslationRule::Fraction("trigger.at")),
    of("kaged", "lower_threshold", TranslationRule::Fraction("trigger.target")),
    of("kaged", "summarize", TranslationRule::SummarizeFirst),
    of("kaged", "summarize.window_messages", TranslationRule::Same("summary.span_messages")),
    of("kaged", "summarize.preserve_recent", TranslationRule::KeepMessages),
    of("kaged", "summarize.max_summary_tokens", TranslationRule::Same("summary.output_max")),
    of("kaged", "summarize.model", TranslationRule::Same("summary.by")),
    of("kaged", "summarize.prompt", TranslationRule::Same("summary.prompt")),
    of("kaged", "PruneConfig.protectTokens", TranslationRule::Same("prune.protect_results")),
    of("kaged", "PruneConfig.protectedTools", TranslationRule::Same("prune.tools_kept")),
    of("kaged", "PruneConfig.minimumSavings", TranslationRule::Same("prune.saving_min")),
    of("kaged", "maxInputTokens", TranslationRule::Same("window.tokens")),
    of("omp", "thresholdTokens", TranslationRule::TokensOrOff("trigger.absolute")),
    of("omp", "thresholdPercent", TranslationRule::ThresholdPercent),
    of("operator-use", "reserve_tokens", TranslationRule::Reserve),
    of("operator-use", "keep_recent_tokens", TranslationRule::KeepTokens),
    of("operator-use", "retain_recent_tokens", TranslationRule::KeepTokens),
    of("operator-use", "triggerPercent", TranslationRule::Fraction("trigger.at")),
    of("claude-code", "CLAUDE_CODE_AUTO_COMPACT_WINDOW", TranslationRule::ClaudeWindow),
    of("claude-code", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", TranslationRule::Percent("trigger.only_lower")),
    of("claude-code", "autoCompactWindow", TranslationRule::Same("window.most")),
    of("claude-code", "autoCompactEnabled", TranslationRule::Enabled),
    of("claude-code", "CLAUDE_CODE_MAX_CONTEXT_TOKENS", TranslationRule::ClaudeContext),
    of("claude-code", "DISABLE_AUTO_COMPACT", TranslationRule::Disable { by_hand_too: false }),
    of("claude-code", "DISABLE_COMPACT", TranslationRule::Disable { by_hand_too: true }),
];

/// Those of them that are variables of the environment, with the preset whose family minds them.
pub(in super::super) const VARIABLES: (&str, &[&str]) = (
    "claude-code",
    &[
        "CLAUDE_CODE_AUTO_COMPACT_WINDOW",
        "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE",
        "CLAUDE_CODE_MAX_CONTEXT_TOKENS",
        "DISABLE_AUTO_COMPACT",
        "DISABLE_COMPACT",
    ],
);
