//! Errors that mean a request is too large, told apart from those that only look like it.
//!
//! [`classify`] looks at a failed call, [`notice`] at one that succeeded; both are pure, and say by which
//! rule they decided. [`LearnedWindows`] keeps what they learn of limits. The rows, exclusions and look-alikes
//! they follow are listed in `docs/reference/overflow.md`. What to do about a class is the caller's.

mod class;
mod exclusion;
mod pattern;
mod rows;
mod silent;
mod walk;
mod windows;

pub use class::{OverflowClass, OverflowFigures, OverflowRule, OverflowVerdict, RequestFacts};
pub use silent::notice;
pub use windows::{Endpoint, LEARNED_FOR, LearnedLimit, LearnedLimits, LearnedWindows};

use epitome_core::Tokens;
use walk::ErrorText;

/// Where an error was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorPlace {
    /// As the answer itself, with this HTTP status.
    Status(u16),
    /// Inside a stream that had begun well.
    InStream,
}

impl ErrorPlace {
    /// Whether an error met here that is about nothing in the request passes by itself: the same request may be answered
    /// later.
    pub fn is_passing(self) -> bool {
        match self {
            Self::Status(status) => matches!(status, 408 | 425 | 429 | 500..=599),
            // A stream that had begun well was no bad request.
            Self::InStream => true,
        }
    }
}

/// What a failed call means for the size of its request.
///
/// ```
/// use epitome_core::Tokens;
/// use epitome_wire::overflow::{OverflowClass, RequestFacts, ErrorPlace, classify};
///
/// let body = br#"{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#;
/// let verdict = classify(ErrorPlace::Status(400), body, &RequestFacts::default());
/// assert_eq!((verdict.class, verdict.numbers.gap()), (OverflowClass::TokenOverflow, Some(Tokens(10_000))));
/// ```
pub fn classify(seen: ErrorPlace, body: &[u8], known: &RequestFacts) -> OverflowVerdict {
    let told = ErrorText::of(body);
    let status = match seen {
        ErrorPlace::Status(status) => Some(status),
        ErrorPlace::InStream => told.status,
    };
    if !is_classified(status) {
        return OverflowVerdict::new(OverflowClass::Other, OverflowRule::Status);
    }
    let mut verdict = decide(&told, status, known);
    verdict.numbers = without_stale(verdict.numbers, known);
    verdict
}

/// The statuses errors of size and of rate come with. Others are about something else.
fn is_classified(status: Option<u16>) -> bool {
    status.is_none_or(|status| matches!(status, 400 | 413 | 422 | 429 | 500 | 503 | exclusion::OVERLOADED))
}

fn decide(told: &ErrorText, status: Option<u16>, known: &RequestFacts) -> OverflowVerdict {
    if told.is_empty && matches!(status, Some(400 | 413)) {
        return without_body(status, known);
    }
    let verdict = by_rate(told, known)
        .or_else(|| by_code(told))
        .or_else(|| by_exclusion(told, status))
        .or_else(|| by_text(told))
        .unwrap_or_else(|| match status {
            Some(413) => OverflowVerdict::new(OverflowClass::PayloadBytes, OverflowRule::Status),
            Some(_) | None => OverflowVerdict::new(OverflowClass::Other, OverflowRule::Nothing),
        });
    if status == Some(413) { with_proof(verdict, told, known) } else { verdict }
}

/// An answer that says nothing: perhaps an overflow, unless we know that the request was small.
fn without_body(status: Option<u16>, known: &RequestFacts) -> OverflowVerdict {
    match (known.is_near(), status) {
        (Some(false), Some(413)) => OverflowVerdict::new(OverflowClass::PayloadBytes, OverflowRule::Status),
        (Some(false), Some(_) | None) => OverflowVerdict::new(OverflowClass::Other, OverflowRule::Estimate),
        (Some(true) | None, _) => OverflowVerdict::new(OverflowClass::Suspect, OverflowRule::Row(31)),
    }
}

/// One request over an allowance by the minute: by the text's own numbers, or by our estimate.
fn by_rate(told: &ErrorText, known: &RequestFacts) -> Option<OverflowVerdict> {
    if let Some((row, numbers)) = rows::look(&rows::BY_RATE, told) {
        let fits = numbers.rate.zip(numbers.requested).is_some_and(|(rate, requested)| requested <= rate);
        let class = if fits { OverflowClass::Throttle } else { row.class };
        return Some(OverflowVerdict { class, numbers, rule: OverflowRule::Row(row.number) });
    }
    let numbers = told.texts.iter().find_map(|text| pattern::find(rows::ALLOWANCE, text))?;
    let is_over = known.estimate > numbers.rate;
    is_over.then_some(OverflowVerdict {
        class: OverflowClass::SizeRate,
        numbers,
        rule: OverflowRule::Estimate,
    })
}

/// What the contract for gateways has them say, in the text, for want of a code.
const GATEWAY_REFUSAL: &str = "capability_rejected: prompt_too_long";

/// The codes that settle it. Numbers come from the text all the same, and may contradict the code.
fn by_code(told: &ErrorText) -> Option<OverflowVerdict> {
    let is_told = told.texts.iter().any(|text| text.contains(GATEWAY_REFUSAL));
    let contract = is_told.then_some(OverflowClass::TokenOverflow);
    let class = contract.or_else(|| told.codes.iter().find_map(|code| class_of_code(code)))?;
    let found = rows::look(&rows::ROWS, told).map(|(_, numbers)| numbers).unwrap_or_default();
    let numbers = counted(found, told);
    Some(contradicted(OverflowVerdict { class, numbers, rule: OverflowRule::Code }))
}

fn class_of_code(code: &str) -> Option<OverflowClass> {
    let name = code.rsplit(['#', '.']).next().unwrap_or(code);
    match name {
        "context_length_exceeded"
        | "exceed_context_size_error"
        | "model_context_window_exceeded"
        | "model_max_prompt_tokens_exceeded" => Some(OverflowClass::TokenOverflow),
        "request_too_large" => Some(OverflowClass::PayloadBytes),
        "rate_limit_exceeded" | "throttlingexception" => Some(OverflowClass::Throttle),
        "invalid_encrypted_content" => Some(OverflowClass::Undecryptable),
        _ => None,
    }
}

fn by_exclusion(told: &ErrorText, status: Option<u16>) -> Option<OverflowVerdict> {
    let (number, class) = exclusion::find(told, status)?;
    let numbers =
        if class == OverflowClass::Media { rows::picture_limit(told) } else { OverflowFigures::default() };
    Some(OverflowVerdict { class, numbers, rule: OverflowRule::Exclusion(number) })
}

fn by_text(told: &ErrorText) -> Option<OverflowVerdict> {
    let (row, numbers) = rows::look(&rows::ROWS, told)?;
    let numbers = counted(numbers, told);
    Some(contradicted(OverflowVerdict { class: row.class, numbers, rule: OverflowRule::Row(row.number) }))
}

/// With the counts a server gives in fields of their own.
fn counted(numbers: OverflowFigures, told: &ErrorText) -> OverflowFigures {
    OverflowFigures {
        requested: told.prompt_tokens.map(Tokens).or(numbers.requested),
        window: told.window_tokens.map(Tokens).or(numbers.window),
        ..numbers
    }
}

/// A prompt within its limit is not too long: either its output was, or the text means something else.
fn contradicted(verdict: OverflowVerdict) -> OverflowVerdict {
    let numbers = verdict.numbers;
    let (OverflowClass::TokenOverflow, Some((requested, limit))) =
        (verdict.class, numbers.requested.zip(numbers.limit()))
    else {
        return verdict;
    };
    if requested > limit {
        return verdict;
    }
    match numbers.output {
        // vLLM counts no further than the limit: a prompt at it does not fit.
        Some(_) if requested == limit => verdict,
        Some(output) if requested + output > limit => {
            OverflowVerdict { class: OverflowClass::OutputReserve, ..verdict }
        }
        Some(_) | None => {
            OverflowVerdict { class: OverflowClass::Other, numbers, rule: OverflowRule::Numbers }
        }
    }
}

/// Too many bytes, unless tokens are spoken of or our own count says that they were too many.
fn with_proof(verdict: OverflowVerdict, told: &ErrorText, known: &RequestFacts) -> OverflowVerdict {
    if verdict.class != OverflowClass::PayloadBytes {
        return verdict;
    }
    let speaks_of_tokens = told.texts.iter().any(|text| is_count_of_tokens(text));
    match (speaks_of_tokens, known.is_near()) {
        (true, _) => {
            OverflowVerdict { class: OverflowClass::TokenOverflow, rule: OverflowRule::Numbers, ..verdict }
        }
        (false, Some(true)) => {
            OverflowVerdict { class: OverflowClass::TokenOverflow, rule: OverflowRule::Estimate, ..verdict }
        }
        (false, Some(false) | None) => verdict,
    }
}

fn is_count_of_tokens(text: &str) -> bool {
    let before = text.match_indices(" tokens").map(|(at, _)| text[..at].bytes().next_back());
    before.take(16).any(|byte| byte.is_some_and(|byte| byte.is_ascii_digit()))
}

/// A limit below a prompt that has succeeded is out of date.
fn without_stale(numbers: OverflowFigures, known: &RequestFacts) -> OverflowFigures {
    let believed = |limit: Option<Tokens>| limit.filter(|&limit| known.largest.is_none_or(|it| limit >= it));
    OverflowFigures { window: believed(numbers.window), input_max: believed(numbers.input_max), ..numbers }
}
