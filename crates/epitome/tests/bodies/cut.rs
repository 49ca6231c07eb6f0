//! Bodies that are compacted: what is kept is the bytes it was, what is cut is cut in place.

use super::{BodyFile, elements, epitome, list_field};
use epitome_wire::Protocol;
use serde_json::{Value, json};

/// How many exchanges the conversations have: far too many for the window they are compacted for.
const EXCHANGES: usize = 30;
const WINDOW: &str = "12000";

/// An exchange of a conversation: what is asked, a call, its result, an answer. Each message has a field that nobody
/// knows and is written as nobody of ours writes.
fn exchange(protocol: Protocol, number: usize) -> Vec<String> {
    let (odd, id) = (format!("\"x_unknown\" : \"odd {number}\""), format!("call_{number}"));
    let printed = "a line of output that is not short\\n".repeat(60);
    match protocol {
        Protocol::Anthropic => vec![
            format!(r#"{{ "role":"user", {odd}, "content":"task {number}" }}"#),
            format!(
                r#"{{"role":"assistant", {odd}, "content":[ {{"type":"tool_use","id":"{id}","name":"read","input":{{"n": {number}.50}},"caller":{{"type":"direct"}}}} ]}}"#
            ),
            format!(
                r#"{{"role":"user", {odd}, "content":[{{"type":"tool_result","tool_use_id":"{id}","x_inner":{number}, "content":"{printed}"}}]}}"#
            ),
            format!(
                r#"{{"role":"assistant", {odd}, "content":[{{"type":"text","text":"done {number}","citations":null}}]}}"#
            ),
        ],
        Protocol::OpenaiChat => vec![
            format!(r#"{{ "role":"user", {odd}, "name":"alice", "content":"task {number}" }}"#),
            format!(
                r#"{{"role":"assistant", {odd}, "content":null,"reasoning_content":"why {number}","tool_calls":[ {{"id":"{id}","type":"function","function":{{"name":"read","arguments":"{{\"n\": {number}.50}}"}}}} ]}}"#
            ),
            format!(r#"{{"role":"tool", {odd}, "tool_call_id":"{id}", "content":"{printed}"}}"#),
            format!(
                r#"{{"role":"assistant", {odd}, "reasoning_details":[{{"data":"x"}}], "content":"done {number}"}}"#
            ),
        ],
        Protocol::OpenaiResponses => vec![
            format!(r#"{{ "role":"user", {odd}, "content":"task {number}" }}"#),
            format!(
                r#"{{"type":"local_shell_call", {odd}, "id":"lsh_{number}","call_id":"{id}","status":"completed","action":{{"type":"exec", "command":["read","{number}"]}}}}"#
            ),
            format!(r#"{{"type":"local_shell_call_output", {odd}, "call_id":"{id}", "output":"{printed}"}}"#),
            format!(
                r#"{{"type":"message", {odd}, "role":"assistant","content":[{{"type":"output_text","text":"done {number}","annotations":[]}}]}}"#
            ),
        ],
    }
}

fn body(protocol: Protocol) -> String {
    let elements: Vec<String> = (0..EXCHANGES).flat_map(|number| exchange(protocol, number)).collect();
    format!("{{\"{}\" : [ {} ], \"x\": 1.50}}", list_field(protocol), elements.join(" , "))
}

/// The places of the messages that a list of the record names: here each message is one element.
fn places(record: &Value, list: &str) -> Vec<usize> {
    let ids = record[list].as_array().unwrap_or_else(|| panic!("{list}: {record}"));
    ids.iter().filter_map(|id| id.as_str()?.strip_prefix('m')?.parse().ok()).collect()
}

#[test]
fn what_is_kept_is_its_own_bytes_and_what_is_cut_keeps_the_rest_of_them() {
    for protocol in Protocol::ALL {
        let source = body(protocol);
        let file = BodyFile::of(&source);
        let out = file.beside("out.json");
        let args =
            ["compact", &file.path(), "--from", protocol.name(), "--window", WINDOW, "-o", &out, "--json"];
        let record: Value = serde_json::from_slice(&epitome(&args).0).expect("a record");
        assert_eq!(record["outcome"], "compacted", "{protocol}: {record}");
        let written = std::fs::read_to_string(&out).expect("it was written");
        assert!(written.trim_end().ends_with(", \"x\": 1.50}"), "{protocol}");
        let (before, after) = (elements(protocol, &source), elements(protocol, &written));
        let cut: Vec<usize> = ["pruned", "reduced"].iter().flat_map(|list| places(&record, list)).collect();
        let kept = places(&record, "kept");
        assert!(kept.len() > 8 && kept.iter().any(|at| cut.contains(at)), "{protocol}: {record}");
        for at in kept {
            if !cut.contains(&at) {
                let is_there = after.contains(&before[at]);
                // The summary may stand in one message with what it stands before.
                assert!(is_there || at == 0, "{protocol}: {}\nis not in\n{written}", before[at]);
                continue;
            }
            let prefix = &before[at][..before[at].find("a line of output").expect("only results are cut")];
            let [edited] =
                &after.iter().filter(|element| element.starts_with(prefix)).collect::<Vec<_>>()[..]
            else {
                panic!("{protocol}: {prefix} is not in\n{written}")
            };
            assert!(edited.len() < before[at].len(), "{protocol}: {edited}");
        }
        assert_eq!(after.last(), before.last(), "{protocol}");
    }
}

#[test]
fn numbers_halves_of_letters_and_depths_that_no_parser_takes_are_kept_as_they_are() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for protocol in Protocol::ALL {
        let odd = format!(
            "{{\"role\":\"user\",\"content\":\"half \\ud83d\",\"n\":1e999,\"deep\":{deep},\"content\":\"half \\ud83d\"}}"
        );
        let body = format!("{{\"model\":\"m\",\"{}\":[{odd}]}}", list_field(protocol));
        let file = BodyFile::of(&body);
        let (written, _) =
            epitome(&["context", &file.path(), "--from", protocol.name(), "--to", protocol.name()]);
        assert_eq!(String::from_utf8_lossy(&written).trim_end(), body, "{protocol}");
    }
}

#[test]
fn a_body_that_lacks_what_was_asked_for_gets_it_and_stays_itself() {
    let body = r#"{ "messages":[ {"role":"user","content":"a"} ], "x":1.50 }"#;
    let file = BodyFile::of(body);
    let args =
        ["context", &file.path(), "--from", "anthropic", "--model", "claude-sonnet-4-5", "--max-tokens", "9"];
    let (written, _) = epitome(&args);
    let expected = r#"{"model":"claude-sonnet-4-5","max_tokens":9, "messages":[ {"role":"user","content":"a"} ], "x":1.50 }"#;
    assert_eq!(String::from_utf8_lossy(&written).trim_end(), expected);
    assert_eq!(serde_json::from_slice::<Value>(&written).expect("JSON")["max_tokens"], json!(9));
}
