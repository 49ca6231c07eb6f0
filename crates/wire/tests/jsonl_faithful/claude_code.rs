//! Claude Code: parts of shapes nobody foresaw, results cleared from the prompt, prompts that waited.

use super::{compacted, problems, read, seen};
use epitome_core::EntryId;
use epitome_wire::Format::ClaudeCode;

fn record(kind: &str, uuid: &str, parent: &str, rest: &str) -> String {
    let parent = if parent.is_empty() { "null".into() } else { format!("\"{parent}\"") };
    format!(r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"sessionId":"s",{rest}}}"#)
}

fn user(uuid: &str, parent: &str, content: &str) -> String {
    record("user", uuid, parent, &format!(r#""message":{{"role":"user","content":{content}}}"#))
}

fn reply(uuid: &str, parent: &str, content: &str) -> String {
    record("assistant", uuid, parent, &format!(r#""message":{{"id":"{uuid}","content":[{content}]}}"#))
}

fn call(uuid: &str, parent: &str, id: &str) -> String {
    reply(uuid, parent, &format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{}}}}"#))
}

fn result(uuid: &str, parent: &str, id: &str, content: &str) -> String {
    user(uuid, parent, &format!(r#"[{{"type":"tool_result","tool_use_id":"{id}","content":{content}}}]"#))
}

#[test]
fn parts_of_any_shape_are_carried() {
    let found = r#"{"type":"search_result","source":"https://example.org","title":"T","content":[]}"#;
    let paper =
        r#"{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBE"}}"#;
    let upload = r#"{"type":"image","source":{"type":"file","file_id":"f"}}"#;
    let odd = r#"{"type":"text","text":{"of":"another kind"}}"#;
    let lines = [
        user("u1", "", &format!(r#"[{paper},{upload},{odd},3]"#)),
        call("a1", "u1", "c1"),
        result("r1", "a1", "c1", &format!(r#"[{{"type":"text","text":"see"}},{found},{paper}]"#)),
        call("a2", "r1", "c2"),
        result("r2", "a2", "c2", r#"{"stdout":"out"}"#),
        user("u2", "r2", r#"{"type":"text","text":"alone"}"#),
    ];
    let transcript = read(ClaudeCode, &lines);
    assert_eq!(
        seen(&transcript),
        [
            format!("opaque document {paper}+opaque image {upload}+opaque text {odd}+opaque  3"),
            "call c1 {}".into(),
            format!("result c1 see+opaque search_result {found}+opaque document {paper}"),
            "call c2 {}".into(),
            r#"result c2 opaque  {"stdout":"out"}"#.into(),
            r#"opaque  {"type":"text","text":"alone"}"#.into(),
        ]
    );
    assert_eq!(problems(&transcript), [""; 0]);
}

#[test]
fn fields_of_another_kind_lose_no_line() {
    let odd = r#""isMeta":"no","origin":"human","isSidechain":0,"toolUseResult":[],"attachment":null"#;
    let usage = r#"{"input_tokens":"many","output_tokens":1.5}"#;
    let lines = [
        record("user", "u1", "", &format!(r#"{odd},"message":{{"role":7,"content":"go"}}"#)),
        record(
            "assistant",
            "a1",
            "u1",
            &format!(
                r#""message":{{"id":[],"model":null,"usage":{usage},"content":[{{"type":"text","text":"1"}}]}}"#
            ),
        ),
    ];
    let transcript = read(ClaudeCode, &lines);
    assert_eq!((seen(&transcript), problems(&transcript)), (vec!["go".into(), "1".into()], vec![]));
}

fn long(text: &str) -> String {
    format!("\"{}\"", text.repeat(200))
}

fn cleared(uuid: &str, parent: &str, calls: &str, attachments: &str) -> String {
    let metadata = format!(r#"{{"compactedToolIds":[{calls}],"clearedAttachmentUUIDs":[{attachments}]}}"#);
    record(
        "system",
        uuid,
        parent,
        &format!(r#""subtype":"microcompact_boundary","microcompactMetadata":{metadata}"#),
    )
}

#[test]
fn results_cleared_from_the_prompt_are_cleared_here_and_can_be_had_again() {
    let file = r#""attachment":{"type":"file","filename":"a.rs","content":"fn a() {}"}"#;
    let lines = [
        user("u1", "", "\"go\""),
        record("attachment", "f1", "u1", file),
        call("a1", "f1", "c1"),
        result("r1", "a1", "c1", &long("a ")),
        call("a2", "r1", "c2"),
        result("r2", "a2", "c2", &long("b ")),
        cleared("m1", "r2", r#""c1","gone""#, r#""f1""#),
        user("u2", "m1", "\"on\""),
    ];
    let before = seen(&read(ClaudeCode, &lines[..6]));
    assert_eq!(before[1], "[file a.rs]\nfn a() {}");
    let transcript = read(ClaudeCode, &lines);
    let b = format!("result c2 {}", "b ".repeat(200));
    let begins = "a ".repeat(40);
    let pointer = format!(r#"result c1 [tool result m0003: 400 tokens, begins "{begins}"; recall m0003]"#);
    assert_eq!(seen(&transcript), ["go", "call c1 {}", &pointer, "call c2 {}", &b, "on"]);
    assert_eq!(problems(&transcript), ["7: clears 1 results that are not in the file"]);
    let (after, _) = compacted(ClaudeCode, &lines, EntryId(2));
    assert_eq!(seen(&after), ["SUMMARY", "call c1 {}", &pointer, "call c2 {}", &b, "on"]);
    // A branch that began before knows nothing of it.
    let rewound = [lines.to_vec(), vec![user("u3", "r1", "\"else\"")]].concat();
    let a = format!("result c1 {}", "a ".repeat(200));
    assert_eq!(seen(&read(ClaudeCode, &rewound)), ["go", "[file a.rs]\nfn a() {}", "call c1 {}", &a, "else"]);
}

fn queue(operation: &str, rest: &str) -> String {
    format!(r#"{{"type":"queue-operation","operation":"{operation}","sessionId":"s"{rest}}}"#)
}

fn enqueue(text: &str) -> String {
    queue("enqueue", &format!(r#","content":"{text}""#))
}

#[test]
fn a_prompt_given_to_the_model_between_two_tools_stands_where_it_was_given() {
    let lines = [
        user("u1", "", "\"go\""),
        enqueue("no verify"),
        call("a1", "u1", "c1"),
        queue("remove", ""),
        result("r1", "a1", "c1", "\"out\""),
        reply("a2", "r1", r#"{"type":"text","text":"done"}"#),
    ];
    let transcript = read(ClaudeCode, &lines);
    assert_eq!(seen(&transcript), ["go", "call c1 {}", "result c1 out", "no verify", "done"]);
    // Until the next reply begins, a record of it may come.
    assert_eq!(seen(&read(ClaudeCode, &lines[..5])), ["go", "call c1 {}", "result c1 out"]);
    // It has no id to name, and is kept all the same.
    let (after, _) = compacted(ClaudeCode, &lines, EntryId(1));
    assert_eq!(seen(&after), ["SUMMARY", "call c1 {}", "result c1 out", "no verify", "done"]);
    let (after, _) = compacted(ClaudeCode, &lines, EntryId(3));
    assert_eq!(seen(&after), ["SUMMARY", "no verify", "done"]);
}

#[test]
fn prompts_that_have_a_record_or_never_reached_the_model_are_not_said_twice() {
    let queued = r#""attachment":{"type":"queued_command","prompt":"and hurry","commandMode":"prompt"}"#;
    let lines = [
        user("u1", "", "\"go\""),
        enqueue("and hurry"),
        enqueue("/compact"),
        enqueue(r#"{\"task_id\":\"b1\"}"#),
        enqueue("later"),
        call("a1", "u1", "c1"),
        queue("remove", ""),
        queue("remove", ""),
        queue("remove", ""),
        result("r1", "a1", "c1", "\"out\""),
        record("attachment", "q1", "r1", queued),
        reply("a2", "q1", r#"{"type":"text","text":"done"}"#),
        queue("dequeue", ""),
        user("u2", "a2", "\"later\""),
        enqueue("never mind"),
        queue("popAll", ""),
        queue("remove", ""),
    ];
    let expected = ["go", "call c1 {}", "result c1 out", "and hurry", "done", "later"];
    assert_eq!(seen(&read(ClaudeCode, &lines)), expected);
}
