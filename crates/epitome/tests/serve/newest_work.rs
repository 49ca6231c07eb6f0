//! The newest exchange of a request that is compacted: it reaches the model with all it says, whatever a harness puts
//! behind its result in the same message.

use crate::stage::{Speech, Stage, Talk, words};
use serde_json::{Value, json};

/// So many short lines, as of a file that an agent reads; a thousand are some 8,000 tokens.
fn listing(lines: usize) -> String {
    (0..lines).map(|line| format!("{line}: let a = {line};\n")).collect()
}

/// The call that the newest message answers.
fn call() -> Value {
    let call = json!({"type": "tool_use", "id": "call-1", "name": "read", "input": {"path": "a.rs"}});
    json!({"role": "assistant", "content": [call]})
}

/// Sends a history of most of the window whose newest message is this one, an answer to [`call`]; what arrives of both.
fn last_arrived(newest: Value) -> [Value; 2] {
    let stage = Stage::new("");
    let proxy = stage.serve(&["--window", "32000"]);
    let mut talk = Talk::new(Speech::Anthropic, "claude-sonnet-4-5").with("x-api-key", "a-clients-key");
    for turn in 0..50 {
        let said = json!({"role": "user", "content": words(turn)});
        talk.messages.extend([said, json!({"role": "assistant", "content": "done"})]);
    }
    talk.messages.push(json!({"role": "user", "content": "Read a.rs."}));
    talk.messages.extend([call(), newest]);
    stage.block_on(talk.ask(&proxy));
    let compactions = proxy.compactions();
    assert_eq!(compactions.last().map(|record| record["outcome"].clone()), Some(json!("compacted")));
    let arrived = stage.arrived().pop().expect("it arrived");
    arrived.last_chunk().expect("it has messages").clone()
}

#[test]
fn a_result_that_fits_stands_whole_after_a_compaction() {
    let result = json!({"type": "tool_result", "tool_use_id": "call-1", "content": listing(1_000)});
    let newest = json!({"role": "user", "content": [result]});
    assert_eq!(last_arrived(newest.clone()), [call(), newest]);
}

#[test]
fn a_result_and_the_reminder_behind_it_stay_together() {
    let result = json!({"type": "tool_result", "tool_use_id": "call-1", "content": listing(1_000)});
    let reminder = json!({"type": "text", "text": "<system-reminder>\nMind the style.\n</system-reminder>"});
    let newest = json!({"role": "user", "content": [result, reminder]});
    assert_eq!(last_arrived(newest.clone()), [call(), newest]);
}

#[test]
fn of_a_result_that_is_more_than_half_of_the_window_head_and_tail_stand_between_its_call_and_the_reminder() {
    let whole = listing(3_000);
    let result = json!({"type": "tool_result", "tool_use_id": "call-1", "content": whole});
    let reminder = json!({"type": "text", "text": "<system-reminder>\nMind the style.\n</system-reminder>"});
    let [called, newest] = last_arrived(json!({"role": "user", "content": [result, reminder]}));
    let shown = newest["content"][0]["content"].as_str().expect("a text").to_owned();
    let (head, rest) = shown.split_once("\n[… ").expect("what is left out is told");
    let (_, tail) = rest.split_once(" …]\n").expect("what is left out is told");
    assert!(whole.starts_with(head) && whole.ends_with(tail), "{head}\n…\n{tail}");
    assert!(head.len() > 4_000 && tail.len() > 4_000, "{} and {} bytes", head.len(), tail.len());
    let left = json!({"type": "tool_result", "tool_use_id": "call-1", "content": shown});
    assert_eq!([called, newest], [call(), json!({"role": "user", "content": [left, reminder]})]);
}
