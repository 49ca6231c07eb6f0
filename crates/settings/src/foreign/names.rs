//! Which names are taken, whose they are, and what each does.

use super::translate::Rule;

/// A setting of another system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// Its name there.
    pub name: &'static str,
    /// Whose it is.
    pub system: &'static str,
    pub(super) rule: Rule,
}

const fn of(system: &'static str, name: &'static str, rule: Rule) -> Foreign {
    Foreign { name, system, rule }
}

/// The settings of other systems that are taken by their own names.
pub const FOREIGN: &[Foreign] = &[
    of("aura", "threshold", Rule::Percent("trigger.at")),
    of("aura", "max_tokens", Rule::TokensOrOff("trigger.absolute")),
    of("aura", "trim_threshold", Rule::Percent("trim.at")),
    of("aura", "trim_max_tokens", Rule::TokensOrOff("trim.absolute")),
    of("aura", "keep_last_messages", Rule::KeepMessages),
    of("aura", "chunks", Rule::Same("summary.chunks")),
    of("aura", "agent", Rule::Agent),
    of("aura", "prompt", Rule::Prompt),
    of("aura", "tool_result_max_length", Rule::Same("summary.result_chars_max")),
    of("aura", "prune.mode", Rule::PruneMode),
    of("aura", "prune.protect_percent", Rule::Percent("prune.protect")),
    of("aura", "prune.arg_threshold", Rule::Same("prune.size_min")),
    of("aura", "context", Rule::Same("window.tokens")),
    of("pi", "enabled", Rule::Enabled),
    of("pi", "reserveTokens", Rule::Reserve),
    of("pi", "keepRecentTokens", Rule::KeepTokens),
    of("pi", "branchSummary.reserveTokens", Rule::Remaining("branch.at")),
    of(
        "pi",
        "branchSummary.skipPrompt",
        Rule::Idle("nobody is asked here; the caller says whether to summarise"),
    ),
    of("kaged", "strategy", Rule::Strategy),
    of("kaged", "upper_threshold", Rule::Fraction("trigger.at")),
    of("kaged", "lower_threshold", Rule::Fraction("trigger.target")),
    of("kaged", "summarize", Rule::SummarizeFirst),
    of("kaged", "summarize.window_messages", Rule::Same("summary.span_messages")),
    of("kaged", "summarize.preserve_recent", Rule::KeepMessages),
    of("kaged", "summarize.max_summary_tokens", Rule::Same("summary.output_max")),
    of("kaged", "summarize.model", Rule::Same("summary.by")),
    of("kaged", "summarize.prompt", Rule::Same("summary.prompt")),
    of("kaged", "maxInputTokens", Rule::Same("window.tokens")),
    of("omp", "thresholdTokens", Rule::TokensOrOff("trigger.absolute")),
    of("omp", "thresholdPercent", Rule::ThresholdPercent),
    of("operator-use", "reserve_tokens", Rule::Reserve),
    of("operator-use", "keep_recent_tokens", Rule::KeepTokens),
    of("operator-use", "retain_recent_tokens", Rule::KeepTokens),
    of("operator-use", "triggerPercent", Rule::Fraction("trigger.at")),
    of("claude-code", "CLAUDE_CODE_AUTO_COMPACT_WINDOW", Rule::ClaudeWindow),
    of("claude-code", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", Rule::Percent("trigger.only_lower")),
    of("claude-code", "DISABLE_AUTO_COMPACT", Rule::Disable { by_hand_too: false }),
    of("claude-code", "DISABLE_COMPACT", Rule::Disable { by_hand_too: true }),
];

/// Those of them that are variables of the environment, with the preset whose family minds them.
pub(in super::super) const VARIABLES: (&str, &[&str]) = (
    "claude-code",
    &[
        "CLAUDE_CODE_AUTO_COMPACT_WINDOW",
        "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE",
        "DISABLE_AUTO_COMPACT",
        "DISABLE_COMPACT",
    ],
);
