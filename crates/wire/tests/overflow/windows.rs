//! What is learned of windows, and for how long it is believed.

use epitome_core::Tokens;
use epitome_wire::overflow::{
    Endpoint, ErrorPlace, LEARNED_FOR, LearnedLimit, LearnedLimits, LearnedWindows, OverflowVerdict,
    RequestFacts, classify,
};
use std::time::Duration;

const NOW: Duration = Duration::from_secs(1_700_000_000);

fn endpoint(model: &str) -> Endpoint {
    Endpoint::new("x", "http://x", model)
}

fn told(text: &str) -> OverflowVerdict {
    let body = format!(r#"{{"error":{{"message":"{text}"}}}}"#);
    classify(ErrorPlace::Status(400), body.as_bytes(), &RequestFacts::default())
}

fn limit(tokens: u64) -> Option<LearnedLimit> {
    Some(LearnedLimit { tokens: Tokens(tokens), told_at: NOW })
}

#[test]
fn a_window_and_an_input_limit_are_two_numbers() {
    let mut windows = LearnedWindows::default();
    windows.learn(&endpoint("a"), &told("Input tokens exceed the configured limit of 272000 tokens."), NOW);
    windows.learn(&endpoint("a"), &told("This model's maximum context length is 400000 tokens."), NOW);
    let learned = LearnedLimits { window: limit(400_000), input_max: limit(272_000), largest: Tokens(0) };
    assert_eq!(
        (windows.of(&endpoint("a"), NOW), windows.of(&endpoint("b"), NOW)),
        (learned, LearnedLimits::default())
    );
    let json = serde_json::to_string(&windows).expect("a table can be written");
    assert_eq!(serde_json::from_str::<LearnedWindows>(&json).expect("and read again"), windows);
}

#[test]
fn rates_bytes_and_absurd_numbers_teach_nothing() {
    let mut windows = LearnedWindows::default();
    let texts = [
        "Request too large on tokens per min: Limit 30000, Requested 45120",
        "Request exceeds the maximum size of 4 MB",
        "prompt is too long: 200 tokens > 100 maximum",
        "prompt is too long: 99000000000 tokens > 20000000 maximum",
    ];
    let learned = texts.map(|text| windows.learn(&endpoint("a"), &told(text), NOW));
    assert_eq!((learned, windows), ([false; 4], LearnedWindows::default()));
}

#[test]
fn what_has_succeeded_is_believed_above_what_is_told() {
    let mut windows = LearnedWindows::default();
    windows.succeeded(&endpoint("a"), Tokens(150_000));
    let stale = told("This model's maximum context length is 128000 tokens.");
    assert!(!windows.learn(&endpoint("a"), &stale, NOW));
    assert!(windows.learn(
        &endpoint("a"),
        &told("This model's maximum context length is 200000 tokens."),
        NOW
    ));
    windows.succeeded(&endpoint("a"), Tokens(210_000));
    assert_eq!(
        windows.of(&endpoint("a"), NOW),
        LearnedLimits { largest: Tokens(210_000), ..LearnedLimits::default() }
    );
}

#[test]
fn what_was_learned_wears_out() {
    let mut windows = LearnedWindows::default();
    windows.learn(&endpoint("a"), &told("This model's maximum context length is 128000 tokens."), NOW);
    let almost = windows.of(&endpoint("a"), NOW + LEARNED_FOR - Duration::from_secs(1));
    let after = windows.of(&endpoint("a"), NOW + LEARNED_FOR);
    assert_eq!((almost.window, after.window), (limit(128_000), None));
}

#[test]
fn the_gap_is_what_the_provider_says_and_nothing_is_added() {
    let numbers = told("prompt is too long: 210000 tokens > 200000 maximum").numbers;
    assert_eq!(numbers.gap(), Some(Tokens(10_000)));
}
