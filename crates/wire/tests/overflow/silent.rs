//! Replies that succeed, and what they tell all the same.

use epitome_core::Tokens;
use epitome_wire::Protocol;
use epitome_wire::overflow::{OverflowClass, OverflowRule, RequestFacts, notice};
use epitome_wire::protocol::reply;

/// The class, the detector and the window learned from a reply of Chat Completions.
fn noticed(
    content: &str,
    finish: &str,
    prompt: u64,
    output: u64,
    known: RequestFacts,
) -> Option<(OverflowClass, u8, Option<u64>)> {
    let body = format!(
        r#"{{"choices":[{{"message":{{"content":{content}}},"finish_reason":{finish}}}],"usage":{{"prompt_tokens":{prompt},"completion_tokens":{output}}}}}"#
    );
    let verdict = notice(&reply(Protocol::OpenaiChat, body.as_bytes()), &known)?;
    let OverflowRule::Detector(detector) = verdict.rule else { panic!("a detector decides: {verdict:?}") };
    Some((verdict.class, detector, verdict.numbers.window.map(|window| window.0)))
}

fn known(estimate: u64, window: u64) -> RequestFacts {
    RequestFacts { estimate: Some(Tokens(estimate)), window: Some(Tokens(window)), largest: None }
}

#[test]
fn d1_a_prompt_beyond_the_window_says_the_window_is_wrong() {
    let found = noticed(r#""ok""#, r#""stop""#, 210_000, 5, known(205_000, 200_000));
    assert_eq!(found, Some((OverflowClass::SilentTruncation, 1, None)));
}

#[test]
fn d2_row_37_nothing_written_at_a_full_window() {
    let found = noticed(r#""""#, r#""length""#, 199_000, 0, known(199_000, 200_000));
    assert_eq!(found, Some((OverflowClass::SilentTruncation, 2, Some(199_000))));
    assert_eq!(noticed(r#""""#, r#""length""#, 19_000, 0, known(19_000, 200_000)), None);
}

#[test]
fn d3_row_44_a_prompt_cut_to_a_round_window() {
    let found = noticed(r#""ok""#, r#""stop""#, 4_090, 9, known(30_000, 128_000));
    assert_eq!(found, Some((OverflowClass::SilentTruncation, 3, Some(4_096))));
    assert_eq!(noticed(r#""ok""#, r#""stop""#, 4_090, 9, known(4_500, 128_000)), None);
    assert_eq!(noticed(r#""ok""#, r#""stop""#, 5_000, 9, known(30_000, 128_000)), None);
}

#[test]
fn d4_row_46_a_stream_without_a_word_or_a_reason_is_suspect() {
    let answer = epitome_wire::sse::Assembler::new(Protocol::OpenaiChat).finish();
    let verdict = notice(&answer, &known(150_000, 160_000)).expect("it is noticed");
    assert_eq!((verdict.class, verdict.rule), (OverflowClass::Suspect, OverflowRule::Detector(4)));
    assert!(
        verdict.needs_compaction(&known(150_000, 160_000)) && !verdict.needs_compaction(&known(9, 160_000))
    );
}

#[test]
fn d5_rows_4_16_24_36_a_stop_at_a_full_window_is_soft() {
    let full = ["\"model_context_window_exceeded\"", "\"model_length\""];
    let found = full.map(|stop| noticed(r#""so far""#, stop, 199_000, 900, RequestFacts::default()));
    assert_eq!(found, [Some((OverflowClass::SoftStop, 5, Some(199_900))); 2]);
    let anthropic = br#"{"content":[],"stop_reason":"model_context_window_exceeded","usage":{"input_tokens":9,"output_tokens":1}}"#;
    let verdict = notice(&reply(Protocol::Anthropic, anthropic), &RequestFacts::default());
    assert_eq!(verdict.map(|verdict| verdict.class), Some(OverflowClass::SoftStop));
}

#[test]
fn l19_l20_an_output_cap_is_no_overflow() {
    let found =
        [4_000, 16].map(|output| noticed(r#""text""#, r#""length""#, 20_000, output, known(20_000, 200_000)));
    assert_eq!(found, [None, None]);
}

#[test]
fn l21_l22_the_words_of_an_answer_are_no_error() {
    let words = r#""the prompt is too long: context_length_exceeded""#;
    assert_eq!(noticed(words, r#""stop""#, 100, 9, known(100, 200_000)), None);
}

#[test]
fn usage_beyond_all_measure_is_no_reason_to_stop() {
    let found = ["\"length\"", "\"model_length\""]
        .map(|stop| noticed(r#""text""#, stop, u64::MAX, u64::MAX, RequestFacts::default()));
    assert_eq!(found, [None, Some((OverflowClass::SoftStop, 5, Some(u64::MAX)))]);
}
