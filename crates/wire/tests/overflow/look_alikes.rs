//! Errors that look like an overflow and are something else.

use crate::{IntoNumber, cases};
use epitome_core::Tokens;
use epitome_wire::overflow::{
    ErrorPlace, OverflowClass, OverflowRule, OverflowVerdict, RequestFacts, classify,
};

cases! {
    l1_bedrock_throttles: 400 r#"{"message":"ThrottlingException: Too many tokens, please wait before trying again."}"#
        => Throttle {};
    l1_bedrock_throttles_by_type: 400 r#"{"__type":"com.amazon.coral.service#ThrottlingException","message":"Too many tokens, please wait before trying again."}"#
        => Throttle {};
    l2_relays_drop_the_exception: 400 r#"{"message":"Too many tokens, please wait before trying again."}"#
        => Throttle {};
    l3_a_quota_by_the_day: 400 r#"{"message":"Too many tokens per day, please wait before trying again."}"#
        => Throttle {};
    l4_cerebras_processed: 400 r#"{"message":"Too many tokens processed"}"#
        => Throttle {};
    l5_a_rate_is_no_window: 413 r#"{"error":{"message":"Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 8120","type":"tokens","code":"rate_limit_exceeded"}}"#
        => SizeRate { rate: 6_000, requested: 8_120 };
    l5_a_request_within_the_rate_can_wait: 429 r#"{"error":{"message":"Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 5900","type":"tokens","code":"rate_limit_exceeded"}}"#
        => Throttle { rate: 6_000, requested: 5_900 };
    l6_an_organizations_rate: 429 r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 40,000 input tokens per minute"}}"#
        => Throttle {};
    l7_a_deadline_is_no_context: 500 r#"{"error":"context deadline exceeded"}"#
        => Other {};
    l8_thinking_bound_elsewhere: 400 r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.3.content.1: thinking block is bound to a different conversation"}}"#
        => ThinkingBinding {};
    l9_too_much_output_asked_for: 400 r#"{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 128001 > 64000, which is the maximum allowed number of output tokens for claude-x"}}"#
        => Other {};
    l9_too_many_completion_tokens: 400 r#"{"error":{"message":"max_tokens is too large: 50000. This model supports at most 16384 completion tokens, whereas you provided 50000.","param":"max_tokens","code":"invalid_value"}}"#
        => Other {};
    l10_many_images: 400 r#"{"error":{"message":"messages.5.content.1: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"}}"#
        => Media { pixels_max: 2_000 };
    l10_a_heavy_image: 400 r#"{"error":{"message":"messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes"}}"#
        => Media { megabytes_max: 5 };
    l11_bytes_are_not_tokens: 413 r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum allowed number of bytes."}}"#
        => PayloadBytes {};
    l12_a_call_without_its_result: 400 r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.6: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01"}}"#
        => Pairing {};
    l13_an_output_without_its_call: 400 r#"{"error":{"message":"No tool call found for function call output with call_id call_1.","type":"invalid_request_error","param":"input"}}"#
        => Pairing {};
    l14_reasoning_without_what_it_led_to: 400 r#"{"error":{"message":"Item 'rs_1' of type 'reasoning' was provided without its required following item.","type":"invalid_request_error","param":"input"}}"#
        => Pairing {};
    l15_too_many_tools: 400 r#"{"error":{"message":"Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 130 instead.","code":"array_above_max_length"}}"#
        => Other {};
    l16_an_id_too_long: 400 r#"{"error":{"message":"Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 53 instead.","code":"string_above_max_length"}}"#
        => Other {};
    l17_too_many_cache_marks: 400 r#"{"type":"error","error":{"type":"invalid_request_error","message":"A maximum of 4 blocks with cache_control may be provided. Found 5."}}"#
        => Other {};
    l18_a_quota: 429 r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}"#
        => Throttle {};
    l18_a_usage_limit: 400 r#"{"error":{"message":"Claude AI usage limit reached|1700000000"}}"#
        => Throttle {};
    l23_overloaded_in_a_stream: 529 r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#
        => Throttle {};
    l24_an_echoed_request: 429 r#"{"error":{"type":"rate_limit_error","message":"Number of requests has exceeded your rate limit"},"request":{"messages":[{"role":"user","content":"prompt is too long: 5 tokens > 4 maximum"}]}}"#
        => Throttle {};
    x12_a_wrong_key: 400 r#"{"error":{"message":"Invalid API key provided: the maximum context length is 10 tokens","code":"invalid_api_key"}}"#
        => Other {};
    statuses_of_access_are_not_looked_at: 403 r#"{"error":{"code":403,"message":"prompt is too long: 5 tokens > 4 maximum"}}"#
        => Other {};
}

fn taken_for(status: u16, body: &str, estimate: u64, window: u64) -> OverflowClass {
    let known =
        RequestFacts { estimate: Some(Tokens(estimate)), window: Some(Tokens(window)), largest: None };
    classify(ErrorPlace::Status(status), body.as_bytes(), &known).class
}

#[test]
fn l6_a_request_over_the_whole_minutes_allowance_is_too_large() {
    let body = r#"{"error":{"message":"This request would exceed your organization's rate limit of 40,000 input tokens per minute"}}"#;
    assert_eq!(
        [39_000, 41_000].map(|size| taken_for(429, body, size, 200_000)),
        [OverflowClass::Throttle, OverflowClass::SizeRate]
    );
}

#[test]
fn l11_a_413_is_an_overflow_only_with_proof() {
    let body = r#"{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#;
    let by_estimate = [40_000, 180_000].map(|size| taken_for(413, body, size, 200_000));
    assert_eq!(by_estimate, [OverflowClass::PayloadBytes, OverflowClass::TokenOverflow]);
    assert_eq!(taken_for(413, "too large: 250000 tokens", 40_000, 200_000), OverflowClass::TokenOverflow);
}

#[test]
fn l25_row_31_an_empty_answer_is_suspect_only_near_the_window() {
    let near = [20_000, 180_000].map(|size| taken_for(400, "", size, 200_000));
    assert_eq!(near, [OverflowClass::Other, OverflowClass::Suspect]);
    assert_eq!(taken_for(413, " \n", 20_000, 200_000), OverflowClass::PayloadBytes);
    let verdict = classify(ErrorPlace::Status(400), b"", &RequestFacts::default());
    assert_eq!((verdict.class, verdict.rule), (OverflowClass::Suspect, OverflowRule::Row(31)));
}

#[test]
fn a_limit_below_what_has_succeeded_is_not_believed() {
    let body = br#"{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#;
    let known = RequestFacts { largest: Some(Tokens(300_000)), ..RequestFacts::default() };
    let OverflowVerdict { class, numbers, rule } = classify(ErrorPlace::Status(400), body, &known);
    assert_eq!((class, rule, numbers.window), (OverflowClass::TokenOverflow, OverflowRule::Row(1), None));
}

#[test]
fn an_error_that_contradicts_itself_is_something_else() {
    let body = br#"{"error":{"code":"context_length_exceeded","message":"prompt is too long: 100 tokens > 200000 maximum"}}"#;
    let verdict = classify(ErrorPlace::Status(400), body, &RequestFacts::default());
    assert_eq!((verdict.class, verdict.rule), (OverflowClass::Other, OverflowRule::Numbers));
}
