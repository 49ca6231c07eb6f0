//! What `inspect` names can be recalled: by any spelling of its pointer, in ranges, and the summaries of compactions.

use crate::session::SessionLines;
use serde_json::json;

fn compacted() -> SessionLines {
    let mut lines = SessionLines::of("claude-opus-4-5");
    lines.ask("please begin");
    lines.reply("2026-03-01", 9_000, &json!([{"type": "text", "text": "it is begun"}]));
    lines.compact("auto", 167_000, "what was said until now");
    lines.ask("please go on");
    lines
}

#[test]
fn a_pointer_is_taken_as_people_type_it() {
    let folder = compacted().saved();
    for id in ["m0001", "M0001", "1", "m1"] {
        assert_eq!(folder.shown(80, &["recall", "s.jsonl", id]), "it is begun\n", "{id}");
    }
    let refused = folder.refused(&["recall", "s.jsonl", "m0009"]);
    assert_eq!(refused, "epitome: m0009 names no message of s.jsonl; pointers there run up to m0003");
}

#[test]
fn the_summary_of_a_compaction_is_recalled_by_the_entry_that_inspect_names() {
    let folder = compacted().saved();
    let survey = folder.json(&["inspect", "s.jsonl", "--json"]);
    let id = survey["compactions"][0]["id"].as_str().expect("it has one").to_owned();
    assert_eq!(folder.shown(80, &["recall", "s.jsonl", &id]), "what was said until now\n");
    let recalled = folder.json(&["recall", "s.jsonl", &id, "--json"]);
    assert_eq!((&recalled["id"], &recalled["message"]["role"]), (&json!(id), &json!("user")));
}

#[test]
fn a_range_is_all_that_lies_in_it() {
    let folder = compacted().saved();
    let shown = folder.shown(80, &["recall", "s.jsonl", "m0001-m0003"]);
    let told = "--- m0001 (reply)\nit is begun\n--- m0002 (user)\nwhat was said until now\n--- m0003 (user)\nplease go on\n";
    assert_eq!(shown, told);
    assert_eq!(folder.shown(80, &["recall", "s.jsonl", "1-99"]), told, "as far as there is any");
    let recalled = folder.json(&["recall", "s.jsonl", "0", "3", "--json"]);
    assert_eq!((&recalled[0]["id"], &recalled[1]["id"]), (&json!("m0000"), &json!("m0003")));
    assert!(folder.refused(&["recall", "s.jsonl", "3-1"]).contains("runs backwards; write m0001-m0003"));
}
