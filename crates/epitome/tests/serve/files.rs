//! Files in a request: documents, recordings, files by id and screenshots are counted by rules of their own, and what a
//! person has just sent reaches the model whole, whatever we take it to be.

use crate::stage::{Speech, Stage, Talk};
use serde_json::{Value, json};

const MODEL: &str = "claude-sonnet-4-5";
const QUESTION: &str = "What does the contract say about termination?";
/// 450,000 bytes in base64.
const PDF_CHARS: usize = 600_000;

fn talk(speech: Speech, model: &str) -> Talk {
    Talk::new(speech, model).with("x-api-key", "a-clients-key")
}

/// Asks once with these blocks before the question; whether they arrived as they were sent, and what was counted.
fn arrive(talk: &mut Talk, args: &[&str], blocks: Vec<Value>) -> (bool, u64) {
    let stage = Stage::new("");
    let proxy = stage.serve(args);
    let asked = json!({"type": "text", "text": QUESTION});
    let content: Vec<Value> = blocks.into_iter().chain([asked]).collect();
    talk.messages.push(json!({"role": "user", "content": content}));
    let reply = stage.block_on(talk.ask(&proxy));
    let arrived = stage.arrived().pop().expect("it arrived");
    let is_rebuilt = |record: &Value| record["outcome"] != "impossible";
    assert!(!proxy.compactions().iter().any(is_rebuilt), "{}", stage.told());
    let is_whole = arrived == talk.messages;
    talk.messages.push(reply);
    (is_whole, proxy.sessions()[0]["tokens"].as_u64().expect("a number"))
}

fn pdf(chars: usize) -> Value {
    // `%PDF-1.7`, and nothing of it can be read.
    let data = format!("JVBERi0xLjcK{}", "pQ7x".repeat(chars / 4));
    json!({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": data}})
}

/// A PNG of 2,000 by 1,500 whose base64 takes so many characters.
fn screenshot(chars: usize) -> Value {
    let data = format!("iVBORw0KGgoAAAANSUhEUgAAB9AAAAXc{}", "A".repeat(chars));
    json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}})
}

#[test]
fn a_document_reaches_the_model_whole_and_is_counted_by_its_pages() {
    let (is_whole, tokens) = arrive(&mut talk(Speech::Anthropic, MODEL), &[], vec![pdf(PDF_CHARS)]);
    assert!(is_whole);
    assert!((10_000..60_000).contains(&tokens), "{tokens}");
}

#[test]
fn a_document_we_take_to_be_larger_than_the_window_is_the_providers_to_judge() {
    let (is_whole, tokens) =
        arrive(&mut talk(Speech::Anthropic, MODEL), &["--window", "20000"], vec![pdf(PDF_CHARS)]);
    assert!(is_whole);
    assert!(tokens > 20_000, "{tokens}");
}

#[test]
fn a_file_a_recording_and_a_file_by_its_id_reach_a_chat_model_whole() {
    let Value::String(data) = pdf(PDF_CHARS)["source"]["data"].take() else { panic!("text") };
    let file = json!({"type": "file", "file": {"filename": "a.pdf", "file_data": format!("data:application/pdf;base64,{data}")}});
    // 30 seconds of 16,000 samples.
    let wav = format!("UklGRgAAAABXQVZFZm10IBAAAAABAAEAgD4AAAB9AAACABAA{}", "A".repeat(1_280_000));
    let audio = json!({"type": "input_audio", "input_audio": {"data": wav, "format": "wav"}});
    let by_id = json!({"type": "file", "file": {"file_id": "file-abc"}});
    for (block, expected) in [(file, 10_000..60_000), (audio, 300..500), (by_id, 10_000..60_000)] {
        let (is_whole, tokens) = arrive(&mut talk(Speech::Chat, "gpt-4o"), &[], vec![block]);
        assert!(is_whole);
        assert!(expected.contains(&tokens), "{tokens}, not in {expected:?}");
    }
}

#[test]
fn twenty_screenshots_are_counted_by_their_sides() {
    let blocks = (0..20).map(|_| screenshot(60_000)).collect();
    let (is_whole, tokens) = arrive(&mut talk(Speech::Anthropic, MODEL), &[], blocks);
    assert!(is_whole);
    assert!((20 * 1_400..20 * 1_600).contains(&tokens), "{tokens}");
}

#[test]
fn a_pasted_screenshot_is_no_reason_to_compact_under_any_preset() {
    for preset in ["pi", "aura", "default"] {
        let mut talk = talk(Speech::Anthropic, MODEL);
        for turn in 0..100 {
            let said = crate::stage::words(turn);
            talk.messages.extend([
                json!({"role": "user", "content": said}),
                json!({"role": "assistant", "content": "done"}),
            ]);
        }
        let (is_whole, tokens) = arrive(&mut talk, &["--preset", preset], vec![screenshot(600_000)]);
        assert!(is_whole && (30_000..80_000).contains(&tokens), "{preset}: {tokens}");
    }
}
