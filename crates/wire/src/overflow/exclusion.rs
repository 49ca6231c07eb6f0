//! What must not be taken for an overflow, checked before any message of the table is.

use super::class::OverflowClass;
use super::pattern::is_in;
use super::walk::ErrorText;

/// Words of quotas and of servers that have too much to do.
const BUSY: [&str; 9] = [
    "rate limit",
    "too many requests",
    "quota",
    "overloaded",
    "service unavailable",
    "serviceunavailableexception",
    "usage limit",
    "resource exhausted",
    "slow down",
];
/// What follows "too many tokens" where it means too many over time.
const OVER_TIME: [&str; 6] = ["please wait", "per day", "per minute", "per hour", "per second", "processed"];
const TRANSIENT: [&str; 3] = ["deadline exceeded", "timed out", "timeout"];
const OUTPUT_SETTING: [&str; 2] =
    ["maximum allowed number of output tokens", "supports at most {n} completion tokens"];
const MEDIUM: [&str; 4] = ["image", "document", "pdf", "pages"];
const MEDIUM_LIMIT: [&str; 6] = [
    "pixels",
    "dimension",
    "exceeds {n} mb",
    "too many images",
    "maximum of {n} pdf pages",
    "too many pages",
];
const PAIRING: [&str; 12] = [
    "tool_use",
    "tool_result",
    "tool_call_id",
    "function_call",
    "required following item",
    "required 'reasoning' item",
    "no tool call found",
    "no tool output found",
    "'tool_calls' must be followed",
    "preceeding message with 'tool_calls'",
    "preceding message with 'tool_calls'",
    "insufficient tool messages",
];
const CACHE_MARKS: [&str; 2] = ["cache_control", "maximum of 4 blocks"];
const TOO_LONG: [&str; 2] = ["array too long", "string too long"];
/// How the prompt's own fields are written where a field is said to be too long.
const PROMPT_FIELDS: [&str; 4] = ["].content", "'input'", "'prompt'", "'instructions'"];
const ACCESS: [&str; 6] =
    ["expired", "invalid api key", "incorrect api key", "unauthorized", "permission", "authentication"];

/// The exclusion that fits, if any: its number and what the error is instead.
pub(super) fn find(told: &ErrorText, status: Option<u16>) -> Option<(u8, OverflowClass)> {
    let has = |words: &[&str]| told.any(|text| words.iter().any(|word| is_in(word, text)));
    let is_too_much =
        |text: &str| OVER_TIME.iter().any(|rest| is_in(&format!("too many tokens…{rest}"), text));
    let is_media = |text: &str| {
        MEDIUM.iter().any(|word| text.contains(word)) && MEDIUM_LIMIT.iter().any(|limit| is_in(limit, text))
    };
    let is_other_field = |text: &str| {
        TOO_LONG.iter().any(|words| text.contains(words))
            && !PROMPT_FIELDS.iter().any(|field| text.contains(field))
    };
    let checks: [(u8, OverflowClass, &dyn Fn() -> bool); 12] = [
        (1, OverflowClass::Throttle, &|| status == Some(429)),
        (2, OverflowClass::Throttle, &|| told.any(|text| text.contains("throttl"))),
        (3, OverflowClass::Throttle, &|| told.any(is_too_much)),
        (4, OverflowClass::Throttle, &|| has(&BUSY) || status == Some(OVERLOADED)),
        (5, OverflowClass::Other, &|| has(&TRANSIENT)),
        (6, OverflowClass::ThinkingBinding, &|| has(&["bound to a different conversation"])),
        (7, OverflowClass::Other, &|| has(&OUTPUT_SETTING)),
        (8, OverflowClass::Media, &|| told.any(is_media)),
        (9, OverflowClass::Pairing, &|| {
            told.texts.iter().any(|text| PAIRING.iter().any(|it| text.contains(it)))
        }),
        (10, OverflowClass::Other, &|| has(&CACHE_MARKS)),
        (11, OverflowClass::Other, &|| told.any(is_other_field)),
        (12, OverflowClass::Other, &|| has(&ACCESS)),
    ];
    checks.into_iter().find(|(_, _, fits)| fits()).map(|(number, class, _)| (number, class))
}

/// Anthropic's own status for having too much to do.
pub(super) const OVERLOADED: u16 = 529;
