//! The table of errors: what providers and servers say when a request is too large.
//!
//! Numbers are those of `docs/reference/overflow.md`. The order here is the order of looking: a wording
//! that contains another one stands before it.

use super::class::OverflowClass::{
    self, OutputReserve, PayloadBytes, SizeRate, TokenOverflow, Undecryptable,
};
use super::pattern::find;
use super::{OverflowFigures, walk::ErrorText};

/// One wording.
#[derive(Clone, Copy, Debug)]
pub(super) struct WordingRow {
    pub(super) number: u8,
    pub(super) class: OverflowClass,
    /// The same error with more of its numbers or fewer, richest first.
    patterns: &'static [&'static str],
}

const fn row(number: u8, class: OverflowClass, patterns: &'static [&'static str]) -> WordingRow {
    WordingRow { number, class, patterns }
}

/// Requests larger than an allowance by the minute, and a limit of tokens behind a status that says
/// something else: looked for before the exclusions.
pub(super) const BY_RATE: [WordingRow; 3] = [
    row(
        22,
        SizeRate,
        &["request too large for model…tokens per minute (tpm): limit {rate}, requested {requested}"],
    ),
    row(11, SizeRate, &["request too large…tokens per min…limit {rate}, requested {requested}"]),
    row(51, TokenOverflow, &["request body too large…max size: {input_max} tokens"]),
];

/// An allowance by the minute that names no size; ours is held against it.
pub(super) const ALLOWANCE: &str = "rate limit of {rate}…tokens per minute";

/// How a limit on pictures is told.
const PICTURES: [&str; 3] = [
    "max allowed size: {pixels} pixels",
    "many-image requests: {pixels} pixels",
    "image exceeds {megabytes} mb",
];

/// The limit on pictures, where a text tells it.
pub(super) fn picture_limit(told: &ErrorText) -> OverflowFigures {
    let mut found = told.texts.iter().flat_map(|text| PICTURES.iter().filter_map(|it| find(it, text)));
    found.next().unwrap_or_default()
}

/// The wordings, specific before generic.
pub(super) const ROWS: [WordingRow; 40] = [
    row(
        53,
        Undecryptable,
        &[
            "encrypted content…could not be",
            "encrypted content…cannot be",
            "encrypted_content…could not be",
            "encrypted_content…cannot be",
            "invalid_encrypted_content",
        ],
    ),
    row(1, TokenOverflow, &["prompt is too long: {requested} tokens > {window}"]),
    row(
        2,
        OutputReserve,
        &["input length and `max_tokens` exceed context limit: {requested} + {output} > {window}"],
    ),
    row(
        38,
        TokenOverflow,
        &[
            "maximum context length is {window} tokens…you requested {output} output tokens and your prompt contains at least {requested} input tokens",
            "maximum context length is {window} tokens…you requested {output} output tokens and your prompt contains {requested} input tokens",
        ],
    ),
    row(
        19,
        TokenOverflow,
        &[
            "endpoint's maximum context length is {window} tokens. however, you requested about {total} tokens ({n} of text input, {n} of tool input, {output} in the output",
            "endpoint's maximum context length is {window} tokens. however, you requested about {total} tokens ({n} of text input, {output} in the output",
            "endpoint's maximum context length is {window} tokens. however, you requested about {total}",
        ],
    ),
    row(
        8,
        TokenOverflow,
        &[
            "maximum context length is {window} tokens…you requested {n} tokens ({requested} in the messages, {output} in the completion",
            "maximum context length is {window} tokens…you requested {total} tokens",
            "maximum context length is {window} tokens…resulted in {total} tokens",
            "maximum context length is {window} tokens",
            "maximum context length is {window}",
        ],
    ),
    row(
        9,
        TokenOverflow,
        &[
            "input tokens exceed the configured limit of {input_max} tokens. your messages resulted in {requested} tokens",
            "input tokens exceed the configured limit of {input_max}",
        ],
    ),
    row(10, TokenOverflow, &["exceeds the context window of this model"]),
    row(13, TokenOverflow, &["input is too long for requested model"]),
    row(15, PayloadBytes, &["too many total text bytes"]),
    row(15, TokenOverflow, &["too many input tokens", "expected maxlength"]),
    row(
        17,
        TokenOverflow,
        &[
            "input token count ({requested}) exceeds the maximum number of tokens allowed ({window})",
            "input token count exceeds the maximum number of tokens allowed ({window})",
            "exceeds the maximum number of tokens allowed",
        ],
    ),
    row(18, PayloadBytes, &["request payload size exceeds", "size exceeds the limit"]),
    row(20, TokenOverflow, &["maximum allowed input length of {input_max}"]),
    row(21, TokenOverflow, &["reduce the length of the messages or completion"]),
    row(
        23,
        TokenOverflow,
        &[
            "prompt contains {requested} tokens…too large for model with {window} maximum context length",
            "too large for model with {window} maximum context length",
            "input too large",
        ],
    ),
    row(
        25,
        TokenOverflow,
        &["maximum prompt length is {window} but the request contains {requested} tokens"],
    ),
    row(
        26,
        TokenOverflow,
        &["[input_too_large]…({requested} tokens) exceeds budget ({window} tokens)", "[input_too_large]"],
    ),
    row(
        28,
        TokenOverflow,
        &[
            "exceeded model token limit: {window} (requested: {requested})",
            "exceeded model token limit: {window}",
        ],
    ),
    row(29, TokenOverflow, &["context window exceeds limit"]),
    row(30, TokenOverflow, &["current length is {requested} while limit is {window}"]),
    row(
        32,
        TokenOverflow,
        &[
            "({requested} tokens) is longer than the model's context length ({window} tokens)",
            "is longer than the model's context length",
        ],
    ),
    row(
        33,
        OutputReserve,
        &[
            "`inputs` tokens + `max_new_tokens` must be…{window}. given: {requested} `inputs` tokens and {output} `max_new_tokens`",
            "`inputs` tokens + `max_new_tokens` must be…{window}",
            "`inputs` tokens + `max_new_tokens` must be",
        ],
    ),
    row(34, TokenOverflow, &["range of input length should be [1, {input_max}]"]),
    row(35, TokenOverflow, &["prompt token count of {requested} exceeds the limit of {input_max}"]),
    row(
        39,
        TokenOverflow,
        &[
            "(length {requested}) is longer than the maximum model length of {window}",
            "longer than the maximum model length of {window}",
        ],
    ),
    row(
        41,
        TokenOverflow,
        &[
            "({requested} tokens) exceeds the available context size ({window} tokens)",
            "exceeds the available context size",
            "larger than the max context size ({window}",
            "larger than the max context size",
        ],
    ),
    row(42, TokenOverflow, &["prompt has {requested} tokens…configured context size is {window}"]),
    row(
        43,
        TokenOverflow,
        &[
            "exceeded max context length by {over} tokens",
            "prompt is longer than the context length",
            "input length exceeds the context length",
            "prompt filled the context window",
        ],
    ),
    row(
        45,
        TokenOverflow,
        &[
            "tokens to keep from the initial prompt is greater than the context length (n_keep: {requested} >= n_ctx: {window}",
            "tokens to keep from the initial prompt is greater than the context length",
            "context length of only {window} tokens",
        ],
    ),
    row(46, TokenOverflow, &["context size has been exceeded"]),
    row(
        40,
        TokenOverflow,
        &[
            "maximum context length of {window} tokens. you requested a total of {n} tokens: {requested} tokens from the input messages and {output} tokens for the completion",
            "context length of {window}",
            "context length ({window}",
            "context length: {window}",
            "context length is {window}",
        ],
    ),
    row(49, PayloadBytes, &["request entity too large", "payload too large"]),
    row(
        50,
        PayloadBytes,
        &["request exceeds the maximum size of {megabytes} mb", "request exceeds the maximum size"],
    ),
    row(3, PayloadBytes, &["exceeds the maximum size"]),
    row(50, PayloadBytes, &["request body too large"]),
    row(
        52,
        TokenOverflow,
        &[
            "requested tokens ({requested}) exceed context window of {window}",
            "token limit exceeded",
            "requested tokens exceed…n_ctx",
            "prompt too long…context",
            "prompt is too long",
        ],
    ),
    row(
        52,
        PayloadBytes,
        &["].content': string too long", "'input': string too long", "'prompt': string too long"],
    ),
    row(
        52,
        TokenOverflow,
        &["context_length_exceeded", "model_max_prompt_tokens_exceeded", "exceed_context_size_error"],
    ),
    row(47, TokenOverflow, &["contextwindowexceedederror"]),
];

/// The first of some wordings that one of the texts has, and its numbers.
pub(super) fn look(rows: &'static [WordingRow], told: &ErrorText) -> Option<(WordingRow, OverflowFigures)> {
    rows.iter().find_map(|row| {
        let in_texts = |pattern: &&str| told.texts.iter().find_map(|text| find(pattern, text));
        row.patterns.iter().find_map(in_texts).map(|numbers| (*row, numbers))
    })
}
