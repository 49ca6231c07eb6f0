//! Codex: turns taken back, counts repeated, pieces and items nobody knows, letters between agents.

use super::{compacted, problems, read, seen};
use epitome_core::EntryId;
use epitome_wire::Format::Codex;
use serde_json::Value;

fn line(kind: &str, payload: &str) -> String {
    format!(r#"{{"timestamp":"t","type":"{kind}","payload":{payload}}}"#)
}

fn item(payload: &str) -> String {
    line("response_item", payload)
}

fn message(role: &str, text: &str) -> String {
    item(&bare(role, text))
}

fn bare(role: &str, text: &str) -> String {
    format!(r#"{{"type":"message","role":"{role}","content":[{{"type":"input_text","text":"{text}"}}]}}"#)
}

fn rolled_back(turns: u32) -> String {
    line("event_msg", &format!(r#"{{"type":"thread_rolled_back","num_turns":{turns}}}"#))
}

/// Three turns, the last two with what the harness says first.
fn three_turns() -> Vec<String> {
    vec![
        message("user", "<environment_context>here"),
        message("user", "one"),
        message("assistant", "1"),
        message("user", "<environment_context>there"),
        message("user", "two"),
        message("assistant", "2"),
        message("developer", "mind the gap"),
        message("user", "three"),
        item(r#"{"type":"function_call","name":"shell","arguments":"{}","call_id":"c1"}"#),
    ]
}

#[test]
fn turns_taken_back_are_out_of_the_context_with_what_opened_them() {
    let after = |turns: u32, rest: &[String]| {
        let lines = [three_turns(), vec![rolled_back(turns)], rest.to_vec()].concat();
        seen(&read(Codex, &lines))
    };
    let here = "<environment_context>here";
    let on = [message("user", "other"), message("assistant", "O")];
    assert_eq!(after(1, &[]), [here, "one", "1", "<environment_context>there", "two", "2"]);
    assert_eq!(after(1, &on), [here, "one", "1", "<environment_context>there", "two", "2", "other", "O"]);
    assert_eq!(after(2, &on), [here, "one", "1", "other", "O"]);
    assert_eq!(after(7, &on), [here, "other", "O"]);
    assert_eq!(after(0, &[]).len(), 9);
    let twice = [on.to_vec(), vec![rolled_back(2)]].concat();
    assert_eq!(after(1, &twice), [here, "one", "1"]);
}

#[test]
fn a_result_of_a_turn_taken_back_finds_no_call() {
    let output = item(r#"{"type":"function_call_output","call_id":"c1","output":"out"}"#);
    let lines = [three_turns(), vec![rolled_back(2), output]].concat();
    let transcript = read(Codex, &lines);
    assert_eq!(seen(&transcript).last().expect("it is read"), "[a tool's result, without its call c1]\nout");
    assert_eq!(problems(&transcript), ["11: answers c1, which waits for no answer; read as text"]);
}

#[test]
fn turns_taken_back_across_a_compaction_take_it_back_too() {
    let history = [bare("user", "one"), bare("user", "S")].join(",");
    let compaction = line("compacted", &format!(r#"{{"message":"S","replacement_history":[{history}]}}"#));
    let lines = [three_turns(), vec![compaction, message("user", "four")]].concat();
    assert_eq!(seen(&read(Codex, &lines)), ["one", "S", "four"]);
    let once = [lines.clone(), vec![rolled_back(1)]].concat();
    assert_eq!(seen(&read(Codex, &once)), ["one", "S"]);
    let twice = [lines, vec![rolled_back(2)]].concat();
    assert_eq!(seen(&read(Codex, &twice))[1..], ["one", "1", "<environment_context>there", "two", "2"]);
}

#[test]
fn a_compaction_writes_no_turn_that_was_taken_back() {
    let lines = [three_turns(), vec![rolled_back(2), message("user", "other")]].concat();
    let (after, added) = compacted(Codex, &lines, EntryId(1));
    assert_eq!(seen(&after), ["SUMMARY", "one", "1", "other"]);
    assert!(!added.contains("two") && !added.contains("three"), "{added}");
    // An old compaction names no history: Codex then keeps what the person said, as far as it still holds.
    let old = [lines, vec![line("compacted", r#"{"message":"S"}"#)]].concat();
    assert_eq!(seen(&read(Codex, &old)), ["one", "other", "S"]);
}

#[test]
fn a_count_that_is_repeated_counts_once_and_ends_no_reply() {
    let count = |last: u64, total: u64| {
        let info = format!(
            r#"{{"last_token_usage":{{"input_tokens":{last}}},"total_token_usage":{{"input_tokens":{total}}}}}"#
        );
        line("event_msg", &format!(r#"{{"type":"token_count","info":{info}}}"#))
    };
    let lines = [
        message("user", "go"),
        message("assistant", "1"),
        count(7, 7),
        message("user", "on"),
        item(r#"{"type":"reasoning","summary":[],"encrypted_content":"E"}"#),
        count(7, 7),
        message("assistant", "2"),
        count(9, 16),
        count(9, 16),
    ];
    let transcript = read(Codex, &lines);
    assert_eq!(seen(&transcript), ["go", "1", "on", "thinking +2"]);
    let prompts: Vec<u64> = transcript.conversations[0]
        .replies
        .iter()
        .filter_map(|reply| reply.usage)
        .map(|u| u.prompt)
        .collect();
    assert_eq!(prompts, [7, 9]);
}

#[test]
fn pieces_and_items_nobody_knows_are_carried_and_outputs_find_their_calls() {
    let content = r#"[{"type":"input_text","text":"see"},{"type":"input_file","file_id":"f"},7]"#;
    let clicked = r#"{"type":"computer_call","call_id":"c2","action":{"type":"click"}}"#;
    let screen = r#"{"type":"computer_call_output","call_id":"c2","output":{"type":"computer_screenshot"}}"#;
    let lines = [
        item(&format!(r#"{{"type":"message","role":"user","content":{content}}}"#)),
        item(r#"{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}"#),
        item(r#"{"type":"function_call","name":"f","arguments":"{}","call_id":"c1"}"#),
        item(
            r#"{"type":"function_call_output","call_id":"c1","output":[{"type":"encrypted_content","encrypted_content":"E"}]}"#,
        ),
        item(clicked),
        item(screen),
        item(r#"{"type":"thought_bubble","x":1}"#),
        message("user", "on"),
    ];
    let transcript = read(Codex, &lines);
    assert_eq!(
        seen(&transcript),
        [
            r#"see+opaque input_file {"type":"input_file","file_id":"f"}+opaque  7"#,
            r#"opaque refusal {"type":"refusal","refusal":"no"}+call c1 {}"#,
            r#"result c1 opaque encrypted_content {"type":"encrypted_content","encrypted_content":"E"}"#,
            &format!("opaque computer_call {clicked}"),
            &format!("opaque computer_call_output {screen}"),
            r#"opaque thought_bubble {"type":"thought_bubble","x":1}"#,
            "on",
        ]
    );
    let told = "is no known kind of record; 1 of them carried as they are, this the first";
    assert_eq!(
        problems(&transcript),
        [format!("5: `computer_call` {told}"), format!("7: `thought_bubble` {told}")]
    );
    let (after, added) = compacted(Codex, &lines, EntryId(0));
    assert_eq!(seen(&after)[1..], seen(&transcript));
    let written: Value = serde_json::from_str(&added).expect("it is JSON");
    let history = written["payload"]["replacement_history"].as_array().expect("it is a list");
    assert_eq!(
        history[5].to_string(),
        serde_json::from_str::<Value>(clicked).expect("it is JSON").to_string()
    );
}

#[test]
fn letters_between_agents_are_part_of_the_context_and_open_turns() {
    let letter = |text: &str, rest: &str| {
        let payload = format!(r#"{{"author":"/lead","recipient":"/lead/a","content":"{text}",{rest}}}"#);
        line("inter_agent_communication", &payload)
    };
    let plain = letter("look there", r#""trigger_turn":true"#);
    let sealed = letter("", r#""encrypted_content":"E","trigger_turn":false"#);
    let lines = [message("user", "go"), plain, message("assistant", "1"), sealed];
    let head = "Message Type: MESSAGE\nTask name: /lead/a\nSender: /lead\nPayload:\n";
    let carried = r#"opaque encrypted_content {"type":"encrypted_content","encrypted_content":"E"}"#;
    let expected = ["go", "look there", "1", &format!("{head}+{carried}")];
    assert_eq!(seen(&read(Codex, &lines)), expected);
    let (after, _) = compacted(Codex, &lines, EntryId(0));
    assert_eq!(seen(&after)[1..], expected);
    let back = [lines.to_vec(), vec![rolled_back(1)]].concat();
    assert_eq!(seen(&read(Codex, &back)), expected[..3]);
}

#[test]
fn what_is_appended_to_numbered_lines_has_the_next_number() {
    let numbered = |at: usize, line: String| line.replacen('{', &format!(r#"{{"ordinal":{at},"#), 1);
    let meta = line("session_meta", r#"{"id":"s","history_mode":"paginated"}"#);
    let completed = line("event_msg", r#"{"type":"item_completed","item":{"type":"UserMessage"}}"#);
    let state = line("world_state", r#"{"full":true}"#);
    let lines = [meta, message("user", "go"), completed, state, message("assistant", "1")];
    let (_, plain) = compacted(Codex, &lines, EntryId(1));
    assert!(!plain.contains("ordinal"), "{plain}");
    let lines: Vec<String> = lines.into_iter().enumerate().map(|(at, line)| numbered(at, line)).collect();
    let (after, added) = compacted(Codex, &lines, EntryId(1));
    let written: Value = serde_json::from_str(&added).expect("it is JSON");
    assert_eq!(written["ordinal"], 5);
    assert_eq!((seen(&after), problems(&after)), (vec!["SUMMARY".into(), "1".into()], vec![]));
}
