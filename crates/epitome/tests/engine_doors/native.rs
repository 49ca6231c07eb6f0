//! Our own form: version 2 is written, version 1 is upgraded by the next write, pins stay in the file.

use crate::sandbox::{Sandbox, corpus, talk};
use serde_json::{Value, json};

fn lines(sandbox: &Sandbox, name: &str) -> Vec<Value> {
    let text = sandbox.text(name);
    let added =
        text.lines().filter(|line| line.starts_with("{\"conversation\"") || line.starts_with("{\"epitome\""));
    added.map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

#[test]
fn a_compaction_is_a_mark_at_the_message_that_was_newest() {
    let sandbox = Sandbox::with(talk("gpt-5", 20));
    let record =
        sandbox.json(&["compact", "session", "--to", "native", "-o", "out", "--window", "16000", "--json"]);
    let written = lines(&sandbox, "out");
    assert_eq!((&written[0]["version"], written.len()), (&json!(2), 2));
    let mark = &written[1];
    assert_eq!(
        (&mark["at"], &mark["pass"], &mark["mark"]["mark"], &record["entry"]),
        (&json!("m0040"), &json!(1), &json!("compaction"), &json!("m0041"))
    );
    assert_eq!(mark["mark"]["record"]["tokens_after"], record["tokens_after"]);
    let survey = sandbox.json(&["inspect", "out", "--json", "--window", "16000"]);
    assert_eq!(survey["compactions"][0]["id"], record["entry"]);
}

/// A line of something that was said since, at the end of the path.
fn said(at: usize) -> Value {
    let (role, author) = if at.is_multiple_of(2) { ("assistant", "model") } else { ("user", "person") };
    let text = format!("later point {at}: {}", "something that matters a little ".repeat(60));
    json!({"conversation": 0, "message": {"role": role, "author": author, "blocks": [{"block": "text", "text": text}]}})
}

#[test]
fn pins_given_by_flag_are_marks_and_hold_for_the_next_compaction() {
    let sandbox = Sandbox::with(talk("gpt-5", 20));
    let compact = |from: &str, out: &str, more: &[&str]| {
        let args = ["compact", from, "--to", "native", "-o", out, "--json", "--window"];
        sandbox.json(&[&args[..], more].concat())
    };
    let first = compact("session", "once", &["24000", "--pin", "m0007"]);
    assert!(first["kept"].as_array().expect("a list").contains(&json!("m0007")), "{}", first["kept"]);
    let kinds: Vec<Value> =
        lines(&sandbox, "once")[1..].iter().map(|line| line["mark"]["mark"].clone()).collect();
    assert_eq!(kinds, [json!("pin"), json!("compaction")]);
    let more: String = (0..30).map(|at| format!("{}\n", said(at))).collect();
    sandbox.put("longer", sandbox.text("once") + &more);
    let second = compact("longer", "twice", &["8000"]);
    assert_eq!(second["outcome"], "compacted", "{second}");
    assert!(second["kept"].as_array().expect("a list").contains(&json!("m0007")), "{}", second["kept"]);
    sandbox.run(&["undo", "twice", "-o", "back"]);
    assert_eq!(sandbox.text("back"), sandbox.text("longer"));
    sandbox.run(&["undo", "once", "-o", "first"]);
    assert_eq!(sandbox.text("first"), sandbox.text("session"));
}

#[test]
fn a_pin_in_a_file_of_another_tool_holds_for_this_compaction() {
    let sandbox = Sandbox::with(corpus(crate::sandbox::PI));
    let args = ["compact", "session", "--window", "64000", "--json", "-o", "out", "--pin", "m0222"];
    let record = sandbox.json(&args);
    assert!(record["kept"].as_array().expect("a list").contains(&json!("m0222")), "{}", record["kept"]);
}

#[test]
fn a_file_of_version_1_is_version_2_once_something_is_added() {
    let body = talk("gpt-5", 20);
    let header = json!({"epitome": "native", "version": 1, "from": "openai-chat", "original_bytes": body.len(), "conversations": 1});
    let note = json!({"conversation": 0, "entry": {"entry": "note", "kind": "by hand"}});
    let sandbox = Sandbox::with(format!("{header}\n{body}\n{note}\n"));
    let record = sandbox.json(&["compact", "session", "-o", "out", "--window", "16000", "--json"]);
    assert_eq!(record["outcome"], "compacted");
    let written = lines(&sandbox, "out");
    assert_eq!((&written[0]["version"], &written[1], written.len()), (&json!(2), &note, 3));
    assert!(sandbox.text("out").contains(&body), "the original is inside");
    let again = sandbox.json(&["compact", "out", "-o", "again", "--window", "16000", "--json"]);
    assert_eq!(again["outcome"], "noop");
    assert_eq!(sandbox.text("again"), sandbox.text("out"));
}
