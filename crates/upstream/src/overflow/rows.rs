//! The errors of providers by the numbers they have in `docs/reference/overflow.md`: a status and a body with places for the figures of
//! the request. Rows of one number are told apart by a letter behind it; those that only look like an overflow begin with `L`.

use super::{ErrorBody, Overflow, Refusal};
use serde_json::Value;

/// An error of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct ErrorRow {
    /// Its number, as orders and styles name it.
    pub name: &'static str,
    /// The status it comes with.
    pub status: u16,
    /// Whether the output that is asked for needs its room beside the prompt.
    pub counts_output: bool,
    /// Its body, with `{prompt}`, `{output}`, `{total}`, `{window}` and `{over}` for figures.
    body: &'static str,
}

const fn row(name: &'static str, status: u16, body: &'static str) -> ErrorRow {
    ErrorRow { name, status, counts_output: false, body }
}

const fn reserve(name: &'static str, status: u16, body: &'static str) -> ErrorRow {
    ErrorRow { name, status, counts_output: true, body }
}

/// Every row that is an error; those of replies that succeed are styles.
pub const ERROR_ROWS: &[ErrorRow] = &[
    row(
        "1",
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: {prompt} tokens > {window} maximum"}}"#,
    ),
    reserve(
        "2",
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: {prompt} + {output} > {window}, decrease input length or `max_tokens` and try again"}}"#,
    ),
    row(
        "3",
        413,
        r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
    ),
    row(
        "5",
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.0.image.source.base64: At least one of the image dimensions exceed max allowed size: 8000 pixels"}}"#,
    ),
    row(
        "6",
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"}}"#,
    ),
    row(
        "7",
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid signature in thinking block: it is bound to a different conversation"}}"#,
    ),
    row(
        "8",
        400,
        r#"{"error":{"message":"This model's maximum context length is {window} tokens. However, your messages resulted in {prompt} tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
    ),
    reserve(
        "8b",
        400,
        r#"{"error":{"message":"This model's maximum context length is {window} tokens. However, you requested {total} tokens ({prompt} in the messages, {output} in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
    ),
    row(
        "9",
        400,
        r#"{"error":{"message":"Input tokens exceed the configured limit of {window} tokens. Your messages resulted in {prompt} tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
    ),
    row(
        "10",
        400,
        r#"{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}"#,
    ),
    row(
        "11",
        429,
        r#"{"error":{"message":"Request too large for gpt-x in organization org-1 on tokens per min (TPM): Limit {window}, Requested {prompt}. The input or output tokens must be reduced in order to run successfully.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#,
    ),
    row(
        "12",
        400,
        r#"{"error":{"message":"This model's maximum context length is {window} tokens. However, your messages resulted in {prompt} tokens.","type":"model_error"}}"#,
    ),
    row(
        "12b",
        400,
        r#"{"object":"error","message":"This model's maximum context length is {window} tokens.","code":40303}"#,
    ),
    row("13", 400, r#"{"__type":"ValidationException","message":"Input is too long for requested model."}"#),
    row(
        "14",
        400,
        r#"{"message":"The model returned the following errors: prompt is too long: {prompt} tokens > {window} maximum","__type":"ValidationException"}"#,
    ),
    row(
        "15",
        400,
        r#"{"__type":"ValidationException","message":"Too many input tokens. Max input tokens exceeded."}"#,
    ),
    row("15b", 400, r#"{"__type":"ValidationException","message":"Too many total text bytes: 30000000"}"#),
    row(
        "15c",
        400,
        r#"{"__type":"ValidationException","message":"Malformed input request: expected maxLength: 20000, actual: 30000, please reformat your input and try again."}"#,
    ),
    row(
        "17",
        400,
        r#"[{"error":{"code":400,"message":"The input token count ({prompt}) exceeds the maximum number of tokens allowed ({window}).","status":"INVALID_ARGUMENT"}}]"#,
    ),
    row(
        "17b",
        400,
        r#"{"error":{"code":400,"message":"The input token count exceeds the maximum number of tokens allowed ({window}).","status":"INVALID_ARGUMENT"}}"#,
    ),
    row(
        "18",
        400,
        r#"{"error":{"code":400,"message":"Request payload size exceeds the limit: 524288000 bytes.","status":"INVALID_ARGUMENT"}}"#,
    ),
    row(
        "19",
        400,
        r#"{"error":{"message":"This endpoint's maximum context length is {window} tokens. However, you requested about {prompt} tokens ({prompt} of text input). Please reduce the length of either one.","code":400,"metadata":{"provider_name":"x"}}}"#,
    ),
    reserve(
        "19b",
        400,
        r#"{"error":{"message":"This endpoint's maximum context length is {window} tokens. However, you requested about {total} tokens ({prompt} of text input, {output} in the output). Please reduce the length of either one.","code":400,"metadata":{"provider_name":"x"}}}"#,
    ),
    row(
        "20",
        400,
        r#"{"error":{"message":"The request exceeds the maximum allowed input length of {window}"}}"#,
    ),
    row(
        "21",
        400,
        r#"{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
    ),
    row(
        "22",
        413,
        r#"{"error":{"message":"Request too large for model `llama-x` in organization `org_1` service tier `on_demand` on tokens per minute (TPM): Limit {window}, Requested {prompt}, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}"#,
    ),
    row(
        "23",
        400,
        r#"{"object":"error","message":"Prompt contains {prompt} tokens and 0 draft tokens, too large for model with {window} maximum context length","type":"invalid_request_message_order","code":null}"#,
    ),
    row("23b", 400, r#"{"message":"input too large"}"#),
    row(
        "25",
        400,
        r#"{"code":"invalid-argument","error":"This model's maximum prompt length is {window} but the request contains {prompt} tokens."}"#,
    ),
    row(
        "26",
        400,
        r#"{"code":"INVALID_ARGUMENT","message":"[input_too_large] the rendered prompt ({prompt} tokens) exceeds budget ({window} tokens)"}"#,
    ),
    row(
        "27",
        400,
        r#"{"error":{"message":"This model's maximum context length is {window} tokens. However, you requested {prompt} tokens ({prompt} in the messages, 0 in the completion).","type":"invalid_request_error"}}"#,
    ),
    row(
        "28",
        400,
        r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: {window} (requested: {prompt})"}}"#,
    ),
    row(
        "29",
        400,
        r#"{"error":{"message":"Connection error: invalid params, context window exceeds limit (2013)"}}"#,
    ),
    row(
        "30",
        413,
        r#"{"message":"Please reduce the length of the messages or input. Current length is {prompt} while limit is {window}","type":"invalid_request_error","param":"messages"}"#,
    ),
    row("31", 400, ""),
    row("31b", 413, ""),
    row(
        "32",
        422,
        r#"{"error":{"message":"Input validation error: the prompt ({prompt} tokens) is longer than the model's context length ({window} tokens)."}}"#,
    ),
    reserve(
        "33",
        422,
        r#"{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= {window}. Given: {prompt} `inputs` tokens and {output} `max_new_tokens`","error_type":"validation"}"#,
    ),
    row(
        "34",
        400,
        r#"{"error":{"code":"invalid_parameter_error","message":"Range of input length should be [1, {window}]"}}"#,
    ),
    row(
        "35",
        400,
        r#"{"error":{"message":"prompt token count of {prompt} exceeds the limit of {window}","code":"model_max_prompt_tokens_exceeded"}}"#,
    ),
    reserve(
        "38",
        400,
        r#"{"error":{"message":"This model's maximum context length is {window} tokens. However, you requested {output} output tokens and your prompt contains {prompt} input tokens, for a total of {total} tokens.","type":"BadRequestError","param":"input_tokens","code":400}}"#,
    ),
    row(
        "38b",
        400,
        r#"{"error":{"message":"This model's maximum context length is {window} tokens. However, you requested 0 output tokens and your prompt contains at least {prompt} input tokens, for a total of at least {prompt} tokens.","type":"BadRequestError","param":"input_tokens","code":400}}"#,
    ),
    row(
        "39",
        400,
        r#"{"object":"error","message":"The decoder prompt (length {prompt}) is longer than the maximum model length of {window}.","type":"BadRequestError","param":"input_text","code":400}"#,
    ),
    row(
        "40",
        400,
        r#"{"object":"error","message":"Requested token count exceeds the model's maximum context length of {window} tokens. You requested a total of {prompt} tokens: {prompt} tokens from the input messages and 0 tokens for the completion.","type":"BadRequestError","code":400}"#,
    ),
    row(
        "41",
        400,
        r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":{prompt},"n_ctx":{window}}}"#,
    ),
    row(
        "41b",
        500,
        r#"{"error":{"code":500,"message":"the request ({prompt} tokens) exceeds the available context size ({window} tokens), try increasing it","type":"server_error"}}"#,
    ),
    row(
        "41c",
        500,
        r#"{"error":{"code":500,"message":"input ({prompt} tokens) is larger than the max context size ({window} tokens). skipping","type":"server_error"}}"#,
    ),
    row(
        "42",
        400,
        r#"{"error":{"message":"prompt has {prompt} tokens but the configured context size is {window}"}}"#,
    ),
    row("43", 400, r#"{"error":"prompt too long; exceeded max context length by {over} tokens"}"#),
    row("43b", 400, r#"{"error":"the input length exceeds the context length"}"#),
    row("43c", 400, r#"{"error":"prompt is longer than the context length"}"#),
    row("43d", 400, r#"{"error":"prompt filled the context window"}"#),
    row(
        "45",
        400,
        r#"{"error":"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: {prompt} >= n_ctx: {window}). Try to load the model with a larger context length, or provide a shorter input."}"#,
    ),
    row(
        "45b",
        400,
        r#"{"error":"Trying to keep the first {prompt} tokens when context the overflows. However, the model is loaded with context length of only {window} tokens, which is not enough."}"#,
    ),
    row("46", 400, r#"{"error":{"message":"Context size has been exceeded."}}"#),
    row(
        "47",
        503,
        r#"{"error":{"message":"litellm.ContextWindowExceededError: litellm.BadRequestError: AnthropicException - {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: {prompt} tokens > {window} maximum\"}}. Received Model Group=claude","type":null,"param":null,"code":"400"}}"#,
    ),
    row(
        "47b",
        400,
        r#"{"error":{"message":"litellm.ContextWindowExceededError: the request did not fit","type":null,"param":null,"code":"400"}}"#,
    ),
    row(
        "48",
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"capability_rejected: prompt_too_long"}}"#,
    ),
    row(
        "49",
        413,
        "<html><head><title>413 Request Entity Too Large</title></head><body><center><h1>413 Request Entity Too Large</h1></center></body></html>",
    ),
    row("49b", 413, "Payload Too Large"),
    row("50", 413, r#"{"error":{"message":"Request exceeds the maximum size of 4 MB"}}"#),
    row(
        "51",
        413,
        r#"{"error":{"code":"tokens_limit_reached","message":"Request body too large for gpt-x model. Max size: {window} tokens.","details":"Request body too large for gpt-x model. Max size: {window} tokens."}}"#,
    ),
    row(
        "51b",
        429,
        r#"{"error":{"message":"Request body too large for gpt-x model. Max size: {window} tokens."}}"#,
    ),
    row("52", 400, r#"{"error":{"code":"context_length_exceeded","message":"no"}}"#),
    row("52b", 422, r#"{"error":{"code":"model_max_prompt_tokens_exceeded","message":"no"}}"#),
    row("52c", 400, r#"{"detail":"Token limit exceeded"}"#),
    row(
        "52d",
        400,
        r#"{"error":{"message":"Requested tokens ({prompt}) exceed context window of {window}"}}"#,
    ),
    row("52e", 422, r#"{"detail":[{"loc":["body"],"msg":"prompt too long for this context"}]}"#),
    row(
        "53",
        400,
        r#"{"error":{"message":"The encrypted content for item rs_1 could not be verified. Reason: Encrypted content could not be decrypted or parsed.","type":"invalid_request_error","code":"invalid_encrypted_content"}}"#,
    ),
    row("L1", 400, r#"{"message":"ThrottlingException: Too many tokens, please wait before trying again."}"#),
    row("L2", 400, r#"{"message":"Too many tokens, please wait before trying again."}"#),
    row("L3", 400, r#"{"message":"Too many tokens per day, please wait before trying again."}"#),
    row("L4", 400, r#"{"message":"Too many tokens processed"}"#),
    row(
        "L5",
        413,
        r#"{"error":{"message":"Request too large for model `x` on tokens per minute (TPM): Limit {window}, Requested {prompt}","type":"tokens","code":"rate_limit_exceeded"}}"#,
    ),
    row(
        "L5b",
        429,
        r#"{"error":{"message":"Request too large for model `x` on tokens per minute (TPM): Limit 600000, Requested 5900","type":"tokens","code":"rate_limit_exceeded"}}"#,
    ),
    row(
        "L6",
        429,
        r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 400,000 input tokens per minute"}}"#,
    ),
    row("L7", 500, r#"{"error":"context deadline exceeded"}"#),
    row(
        "L8",
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: thinking block is bound to a different conversation"}}"#,
    ),
    row(
        "L9",
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 128001 > 64000, which is the maximum allowed number of output tokens for claude-x"}}"#,
    ),
    row(
        "L10",
        400,
        r#"{"error":{"message":"messages.0.content.0: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"}}"#,
    ),
    row(
        "L11",
        413,
        r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum allowed number of bytes."}}"#,
    ),
    row(
        "L12",
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.6: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01"}}"#,
    ),
    row(
        "L13",
        400,
        r#"{"error":{"message":"No tool call found for function call output with call_id call_1.","type":"invalid_request_error","param":"input"}}"#,
    ),
    row(
        "L14",
        400,
        r#"{"error":{"message":"Item 'rs_1' of type 'reasoning' was provided without its required following item.","type":"invalid_request_error","param":"input"}}"#,
    ),
    row(
        "L15",
        400,
        r#"{"error":{"message":"Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 130 instead.","code":"array_above_max_length"}}"#,
    ),
    row(
        "L16",
        400,
        r#"{"error":{"message":"Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 53 instead.","code":"string_above_max_length"}}"#,
    ),
    row(
        "L17",
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"A maximum of 4 blocks with cache_control may be provided. Found 5."}}"#,
    ),
    row(
        "L18",
        429,
        r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}"#,
    ),
    row("L18b", 400, r#"{"error":{"message":"Claude AI usage limit reached|1700000000"}}"#),
    row(
        "L24",
        429,
        r#"{"error":{"type":"rate_limit_error","message":"Number of requests has exceeded your rate limit"},"request":{"messages":[{"role":"user","content":"prompt is too long: 5 tokens > 4 maximum"}]}}"#,
    ),
    row("L25", 400, ""),
];

/// The row of a name.
pub(crate) fn find(name: &str) -> Option<&'static ErrorRow> {
    ERROR_ROWS.iter().find(|row| row.name == name)
}

impl ErrorRow {
    /// The error with the figures of a request.
    pub(crate) fn refusal(&self, overflow: &Overflow<'_>) -> Refusal {
        let Overflow { prompt, window, output, .. } = overflow;
        let figures = [
            ("{prompt}", *prompt),
            ("{window}", *window),
            ("{output}", *output),
            ("{total}", prompt + output),
            ("{over}", prompt.saturating_sub(*window)),
        ];
        let text = figures
            .iter()
            .fold(self.body.to_owned(), |text, (place, figure)| text.replace(place, &figure.to_string()));
        let body = match serde_json::from_str::<Value>(&text) {
            Ok(json) => ErrorBody::Json(json),
            Err(_) if text.is_empty() => ErrorBody::Nothing,
            // A page or a plain text, which has no figures.
            Err(_) => ErrorBody::Html(self.body),
        };
        Refusal { status: self.status, body }
    }
}

#[cfg(test)]
mod tests {
    use super::{ERROR_ROWS, ErrorBody, Overflow};

    #[test]
    fn every_row_has_its_own_name_and_a_body_that_can_be_read() {
        let figures = Overflow { model: "m", prompt: 9, window: 8, output: 7, is_streamed: false };
        let mut names: Vec<&str> = ERROR_ROWS.iter().map(|row| row.name).collect();
        let unread: Vec<&str> = ERROR_ROWS
            .iter()
            .filter(|row| matches!(row.refusal(&figures).body, ErrorBody::Html(text) if text.starts_with(['{', '['])))
            .map(|row| row.name)
            .collect();
        assert_eq!(unread, Vec::<&str>::new());
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ERROR_ROWS.len());
    }
}
