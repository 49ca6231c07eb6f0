//! Part of a conversation compacted, and files brought back from the project.

use crate::stage::{MIDDLE, SMALL, Stage};
use epitome_wire::{Protocol, validate};
use serde_json::{Value, json};
use std::fs;

fn ids(list: &Value) -> Vec<String> {
    let list = list.as_array().expect("a list");
    list.iter().map(|id| serde_json::from_value(id.clone()).expect("a pointer")).collect()
}

/// The record of compacting a range of the small session by the model.
fn range(stage: &Stage, flag: &str, id: &str) -> Value {
    let args = ["compact", "session", "--summarizer", "fast", "--window", "64000", "-o", "out", "--json"];
    stage.json(&[&args[..], &[flag, id]].concat())
}

#[test]
fn what_lies_before_a_message_is_summarised_and_the_rest_stays() {
    let stage = Stage::new(SMALL, "");
    let record = range(&stage, "--up-to", "m0030");
    let (left, kept) = (ids(&record["superseded"]), ids(&record["kept"]));
    assert_eq!(record["summarizer"], "fast");
    assert!(left.iter().all(|id| id.as_str() < "m0030"), "{left:?}");
    assert!(kept.contains(&"m0030".to_owned()) && kept.contains(&"m0052".to_owned()), "{kept:?}");
}

#[test]
fn what_lies_from_a_message_on_is_summarised_and_the_front_stays() {
    let stage = Stage::new(SMALL, "");
    let record = range(&stage, "--from-message", "m0030");
    let (left, kept) = (ids(&record["superseded"]), ids(&record["kept"]));
    assert_eq!(record["summarizer"], "fast");
    assert!(!left.is_empty() && kept.len() >= 28, "{left:?}");
    assert!(left.iter().all(|id| id.as_str() >= "m0028"), "{left:?}");
}

#[test]
fn wherever_a_range_ends_no_exchange_is_split() {
    let stage = Stage::new(SMALL, "");
    for (flag, ends) in [("--up-to", 30..36), ("--from-message", 30..36)] {
        for end in ends {
            let id = format!("m{end:04}");
            stage.json(&["compact", "session", "--window", "64000", "-o", "out", "--json", flag, &id]);
            let body = stage.json(&["context", "out", "--to", "anthropic"]);
            assert_eq!(validate::body(Protocol::Anthropic, &body), [], "{flag} {id}");
        }
    }
}

#[test]
fn a_range_that_cannot_be_written_or_ends_nowhere_is_refused() {
    let pi = Stage::new(MIDDLE, "");
    let said = |stage: &Stage, args: &[&str]| {
        let ran = stage.run(&[&["compact", "session", "-o", "out"], args].concat());
        (ran.code, ran.err)
    };
    let front = "epitome: pi files cannot say that messages stay in front of a summary; use --to native\n";
    assert_eq!(said(&pi, &["--from-message", "m0230"]), (Some(1), front.to_owned()));
    let gone = "epitome: cannot compact session: m9999 is no message in view; `epitome context` shows those that are\n";
    assert_eq!(said(&pi, &["--up-to", "m9999"]), (Some(1), gone.to_owned()));
    assert_eq!(said(&pi, &["--up-to", "m1", "--from-message", "m2"]).0, Some(2));
}

/// A session of pi's that read one file of its project.
fn session(folder: &str) -> String {
    let said = |id: &str, parent: &str, message: Value| json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:01.000Z", "message": message});
    let call = json!([{"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "notes.txt"}}]);
    let filler = "what was said about the plan and its many parts ".repeat(200);
    let lines = [
        json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": folder}),
        said("a", "", json!({"role": "user", "content": filler, "timestamp": 1})),
        said(
            "b",
            "a",
            json!({"role": "assistant", "content": call, "provider": "anthropic", "model": "claude-sonnet-4-5", "stopReason": "toolUse", "timestamp": 2}),
        ),
        said(
            "c",
            "b",
            json!({"role": "toolResult", "toolCallId": "c1", "toolName": "read", "content": [{"type": "text", "text": "old notes"}], "timestamp": 3}),
        ),
        said(
            "d",
            "c",
            json!({"role": "assistant", "content": [{"type": "text", "text": filler}], "provider": "anthropic", "model": "claude-sonnet-4-5", "stopReason": "stop", "timestamp": 4}),
        ),
        said("e", "d", json!({"role": "user", "content": "go on", "timestamp": 5})),
    ];
    lines.map(|line| line.to_string()).join("\n") + "\n"
}

#[test]
fn a_preset_that_restores_reads_the_projects_files_as_they_are_now() {
    let stage = Stage::new(SMALL, "");
    let project = stage.path().join("project");
    fs::create_dir(&project).expect("there is room");
    fs::write(stage.path().join("s.jsonl"), session("/no/such/folder")).expect("there is room");
    let compact = |more: &[&str]| {
        let args = ["compact", "s.jsonl", "--preset", "claude-code", "--window", "64000", "--json"];
        stage.json(&[&args[..], more].concat())
    };
    assert_eq!(compact(&[])["restored"], Value::Null);
    fs::write(project.join("notes.txt"), "the newest notes").expect("there is room");
    let record = compact(&["--project", "project", "-o", "out"]);
    assert_eq!(record["restored"]["files"], json!(["notes.txt"]));
    let written = fs::read_to_string(stage.path().join("out")).expect("it was written");
    assert!(written.contains("the newest notes") && written.contains("changed since it was last read here"));
}
