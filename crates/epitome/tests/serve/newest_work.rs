//! The newest exchange of a request that is compacted: it reaches the model with all it says, whatever a harness puts
//! behind its result in the same message.

use crate::stage::{Speech, Stage, Talk, words};
use serde_json::{Value, json};

/// Some 8,000 tokens in short lines, as a file that an agent reads.
fn listing() -> String {
    (0..1_000).map(|line| format!("{line}: let a = {line};\n")).collect()
}

/// Sends a history of most of the window whose newest message is this one; what arrives of it.
fn last_arrived(newest: Value) -> Value {
    let stage = Stage::new("");
    let proxy = stage.serve(&["--window", "32000"]);
    let mut talk = Talk::new(Speech::Anthropic, "claude-sonnet-4-5").with("x-api-key", "a-clients-key");
    for turn in 0..50 {
        let said = json!({"role": "user", "content": words(turn)});
        talk.messages.extend([said, json!({"role": "assistant", "content": "done"})]);
    }
    let call = json!({"type": "tool_use", "id": "call-1", "name": "read", "input": {"path": "a.rs"}});
    talk.messages.push(json!({"role": "user", "content": "Read a.rs."}));
    talk.messages.push(json!({"role": "assistant", "content": [call]}));
    talk.messages.push(newest);
    stage.block_on(talk.ask(&proxy));
    let compactions = proxy.compactions();
    assert_eq!(compactions.last().map(|record| record["outcome"].clone()), Some(json!("compacted")));
    let mut arrived = stage.arrived().pop().expect("it arrived");
    arrived.pop().expect("it has messages")
}

#[test]
fn a_result_that_fits_stands_whole_after_a_compaction() {
    let result = json!({"type": "tool_result", "tool_use_id": "call-1", "content": listing()});
    let newest = json!({"role": "user", "content": [result]});
    assert_eq!(last_arrived(newest.clone()), newest);
}

#[test]
fn a_result_and_the_reminder_behind_it_stay_together() {
    let result = json!({"type": "tool_result", "tool_use_id": "call-1", "content": listing()});
    let reminder = json!({"type": "text", "text": "<system-reminder>\nMind the style.\n</system-reminder>"});
    let newest = json!({"role": "user", "content": [result, reminder]});
    assert_eq!(last_arrived(newest.clone()), newest);
}
