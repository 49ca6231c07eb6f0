//! Gemini CLI's logs of changes: messages written again, lists replaced, rewinds, compressions.

use crate::{logged, shown, transcript};
use epitome_wire::{Format, ReportedUsage};

const HEADER: &str = r#"{"sessionId":"s1","projectHash":"h","startTime":"2026-05-01T10:00:00Z","lastUpdated":"2026-05-01T10:00:00Z","kind":"main"}"#;

fn log(records: &[&str]) -> String {
    std::iter::once(HEADER).chain(records.iter().copied()).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_message_written_again_keeps_its_place_and_has_its_last_version() {
    let text = log(&[
        r#"{"$set":{"messages":[{"id":"e","type":"user","content":[{"text":"<session_context>Linux</session_context>"}]}]}}"#,
        r#"{"id":"u1","type":"user","content":[{"text":"list"},{"inlineData":{"mimeType":"application/pdf","data":"AA=="}}]}"#,
        r#"{"id":"g1","type":"gemini","content":"","thoughts":[{"subject":"Plan","description":"look"}]}"#,
        r#"{"id":"g1","type":"gemini","content":"","model":"gemini-3","toolCalls":[{"id":"c1","name":"ls","args":{"p":"."},"status":"executing"}]}"#,
        r#"{"$set":{"lastUpdated":"2026-05-01T10:01:00Z"}}"#,
        r#"{"id":"g1","type":"gemini","content":"","model":"gemini-3","tokens":{"input":9,"output":2,"cached":4,"thoughts":1},"toolCalls":[{"id":"c1","name":"ls","args":{"p":"."},"status":"success","result":[{"functionResponse":{"id":"c1","name":"ls","response":{"output":"a"}}}]}]}"#,
        r#"{"id":"i1","type":"info","content":"for the screen"}"#,
        r#"{"id":"g2","type":"gemini","content":[{"text":"hm","thought":true},{"text":"one file"}],"thoughts":[{"subject":"hm"}]}"#,
        r#"{"odd":1}"#,
    ]);
    insta::assert_snapshot!(shown(Format::GeminiCli, &text), @"
    harness: <session_context>Linux</session_context>
    person: list | opaque inlineData {\"inlineData\":{\"mimeType\":\"application/pdf\",\"data\":\"AA==\"}}
    model: calls c1=ls {\"p\":\".\"}
    tool: c1 -> a
    model: thinks \"hm\" - | one file
    ! 10 `record without an id` is no known kind of record; 1 of them passed over, this the first
    ");
    let read = transcript(Format::GeminiCli, &text);
    let conversation = &read.conversations[0];
    let usage = Some(ReportedUsage { prompt: 9, output: 3, cache_read: 4, cache_write: 0 });
    assert_eq!((conversation.replies.len(), conversation.replies[0].usage), (2, usage));
    assert_eq!(conversation.log.len(), 6, "each message once, and the note");
}

#[test]
fn a_rewind_takes_a_message_back_with_all_behind_it() {
    let records = [
        r#"{"id":"u1","type":"user","content":"keep"}"#,
        r#"{"id":"g1","type":"gemini","content":"kept"}"#,
        r#"{"id":"u2","type":"user","content":"wrong"}"#,
        r#"{"id":"g2","type":"gemini","content":"wrong too"}"#,
        r#"{"$rewindTo":"u2"}"#,
        r#"{"id":"u3","type":"user","content":"right"}"#,
    ];
    let text = log(&records);
    assert_eq!(shown(Format::GeminiCli, &text), "person: keep\nmodel: kept\nperson: right");
    assert_eq!(logged(Format::GeminiCli, &text).len(), 5, "what was taken back is in the log");
    let unknown = log(&[records[0], r#"{"$rewindTo":"z"}"#, records[5]]);
    insta::assert_snapshot!(shown(Format::GeminiCli, &unknown), @"
    person: right
    ! a rewind names z, which is not on the list; as in Gemini CLI, all goes
    ");
}

#[test]
fn a_compression_stands_for_what_it_replaces_and_an_edit_of_the_list_is_followed() {
    let text = log(&[
        r#"{"id":"u1","type":"user","content":"first"}"#,
        r#"{"id":"g1","type":"gemini","content":"answer","toolCalls":[{"id":"c1","name":"cat","args":{},"status":"success","result":[{"functionResponse":{"id":"c1","response":{"output":"long"}}}]}]}"#,
        // The same list once more, in the form the tool keeps it: nothing changes.
        r#"{"$set":{"messages":[{"id":"u1","type":"user","content":[{"text":"first"}]},{"id":"g1","type":"gemini","content":[{"text":"answer"}],"toolCalls":[{"id":"c1","name":"cat","args":{},"status":"success","result":[{"functionResponse":{"id":"c1","response":{"output":"long"}}}]}]}]}}"#,
        // A result is masked.
        r#"{"$set":{"messages":[{"id":"u1","type":"user","content":[{"text":"first"}]},{"id":"g1","type":"gemini","content":[{"text":"answer"}],"toolCalls":[{"id":"c1","name":"cat","args":{},"status":"success","result":[{"functionResponse":{"id":"c1","response":{"output":"<masked>"}}}]}]}]}}"#,
        r#"{"id":"u2","type":"user","content":"second"}"#,
    ]);
    insta::assert_snapshot!(shown(Format::GeminiCli, &text), @"
    person: first
    model: answer | calls c1=cat {}
    tool: c1 -> <masked>
    person: second
    ");
    assert_eq!(logged(Format::GeminiCli, &text).iter().filter(|line| line.contains("long")).count(), 1);
    let compressed = text
        + &[
            r#"{"$set":{"messages":[{"id":"x1","type":"user","content":[{"text":"<state_snapshot>all of it</state_snapshot>"}]},{"id":"x2","type":"gemini","content":[{"text":"Got it."}]},{"id":"x3","type":"gemini","content":[{"functionCall":{"id":"c1","name":"cat","args":{}}},{"functionCall":{"id":"c2","name":"ls","args":{}}}],"toolCalls":[{"id":"c1","name":"cat","status":"success","result":[{"functionResponse":{"id":"c1","response":{"output":"<masked>"}}},{"functionResponse":{"id":"c2","response":{"error":"no"}}}]}]},{"id":"x3_response","type":"user","content":[{"functionResponse":{"id":"c1","response":{"output":"<masked>"}}},{"functionResponse":{"id":"c2","response":{"error":"no"}}}]}]}}"#,
            r#"{"id":"u3","type":"user","content":"third"}"#,
        ]
        .map(|line| format!("{line}\n"))
        .concat();
    insta::assert_snapshot!(shown(Format::GeminiCli, &compressed), @"
    harness: <state_snapshot>all of it</state_snapshot>
    model: Got it.
    model: calls c1=cat {} | calls c2=ls {}
    tool: c1 -> <masked>
    tool: c2 -> no (error)
    person: third
    ");
}

#[test]
fn a_broken_line_and_a_lost_header_cost_only_themselves() {
    let text = "{\"sessionId\":\"s1\",\"proj\n{\"id\":\"u1\",\"type\":\"user\",\"content\":\"hi \\ud83d\"}\n{\"id\":\"g1\",\"type\":\"gemini\",\"content\":\"ho\"}\n{\"id\":\"g2\",\"ty";
    insta::assert_snapshot!(shown(Format::GeminiCli, text), @"
    person: hi \u{fffd}\u{fffd}\u{fffd}
    model: ho
    ! its JSON breaks: control character (\\u0000-\\u001F) found while parsing a string at line 1 column 23; lines left out: 2
    ");
}

/// Eighty thousand records, and a quadratic reader would be at it for minutes.
#[test]
fn reading_is_linear_in_the_size_of_the_file() {
    let record = |n: usize, version: usize| {
        format!("{{\"id\":\"g{n}\",\"type\":\"gemini\",\"content\":\"{version} {}\"}}", "x".repeat(50))
    };
    let lines: Vec<String> = (0..20_000).flat_map(|n| (0..4).map(move |v| record(n, v))).collect();
    let text = log(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(transcript(Format::GeminiCli, &text).conversations[0].log.len(), 20_000);
}
