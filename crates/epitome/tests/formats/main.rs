//! Sessions as their tools keep them, through the program: looked at, shown as a request, compacted and taken back.

mod opencode_database;
#[path = "../program/mod.rs"]
mod program;
mod swe_agent_demo;

use epitome_core::{Author, Compaction, EntryId, Mark, Message, Record, Role, Tail};
use epitome_wire::{Format, native};
use program::{epitome, parsed, printed};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What the program said as it failed.
fn refusal(args: &[&str]) -> String {
    let output = epitome(args);
    assert_eq!(output.status.code(), Some(1), "{args:?}");
    String::from_utf8_lossy(&output.stderr).trim_end().to_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A session that its own tool changed; the readers' tests have them too.
fn changed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/tests/mutations/changes").join(name)
}

/// The texts of a chat request, with who says them. What is compacted comes back byte for byte.
fn context(path: &Path) -> Vec<(String, String)> {
    let body = parsed(&["context", text(path), "--to", "openai-chat"]);
    let messages = body["messages"].as_array().expect("a body has messages").iter();
    let said = |message: &Value| match &message["content"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    messages.map(|message| (message["role"].as_str().unwrap_or_default().to_owned(), said(message))).collect()
}

fn check_round_trip(path: &Path) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let [out, undone] = ["out", "undone"].map(|name| folder.path().join(name));
    let record = parsed(&["compact", text(path), "--window", "20000", "--json", "-o", text(&out)]);
    let outcomes: Vec<Value> = record.as_array().cloned().unwrap_or_else(|| vec![record.clone()]);
    assert!(outcomes.iter().all(|record| record["outcome"].is_string()), "{record}");
    if outcomes.iter().all(|record| record["outcome"] == "noop") {
        std::fs::copy(&out, &undone).expect("there is room");
    } else {
        printed(&["undo", text(&out), "-o", text(&undone)]);
    }
    let [before, after] = [path, &undone].map(|path| std::fs::read(path).expect("it can be read"));
    assert!(before == after, "{}: undo gives other bytes", path.display());
}

fn said(messages: &[(String, String)]) -> Vec<(&str, &str)> {
    messages.iter().map(|(role, text)| (role.as_str(), text.as_str())).collect()
}

#[test]
fn gemini_clis_log_of_changes() {
    let path = changed("gemini-cli.jsonl");
    let survey = parsed(&["inspect", text(&path), "--json"]);
    assert_eq!((&survey["format"], &survey["problems"]), (&json!("gemini-cli"), &json!([])));
    assert_eq!(survey["compactions"].as_array().map(Vec::len), Some(1));
    let context = context(&path);
    let [("user", summary), ("assistant", "Got it."), ("tool", "no"), ("user", "third")] = said(&context)[..]
    else {
        panic!("{context:?}")
    };
    assert_eq!(summary, "<state_snapshot>all of it</state_snapshot>");
    check_round_trip(&path);
}

#[test]
fn qwen_codes_tree_is_told_by_its_name() {
    let path = changed("qwen-code.jsonl");
    let survey = parsed(&["inspect", text(&path), "--json"]);
    assert_eq!((&survey["format"], &survey["window"]["tokens"]), (&json!("qwen-code"), &json!(262_144)));
    let context = context(&path);
    assert_eq!(
        said(&context).first(),
        Some(&("user", "read a")),
        "the compression is on the branch left behind"
    );
    assert_eq!(said(&context).last(), Some(&("user", "go on")));
    check_round_trip(&path);
}

#[test]
fn copilot_clis_compactions_and_subagents() {
    let path = changed("copilot-cli.jsonl");
    let surveys = parsed(&["inspect", text(&path), "--json"]);
    let formats: Vec<&Value> =
        surveys.as_array().expect("a subagent is another").iter().map(|one| &one["format"]).collect();
    assert_eq!(formats, [&json!("copilot-cli"), &json!("copilot-cli")]);
    let context = context(&path);
    assert_eq!(said(&context), [("user", "so far"), ("assistant", "on it"), ("tool", "a")]);
    check_round_trip(&path);
}

#[test]
fn opencodes_cleared_results_and_reverts() {
    let path = changed("opencode.json");
    let context = context(&path);
    let [("user", "Goal: a"), ("assistant", _), ("tool", shown), ("assistant", "part one"), ..] =
        said(&context)[..]
    else {
        panic!("{context:?}")
    };
    assert_eq!(shown, "[Old tool result content cleared]");
    let original = printed(&["recall", text(&path), "m0002"]);
    assert!(
        String::from_utf8_lossy(&original).contains("long text"),
        "{}",
        String::from_utf8_lossy(&original)
    );
    check_round_trip(&path);
}

#[test]
fn a_demonstration_is_nothing_the_agent_did() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("run.traj");
    let call = |id: &str, file: &str| json!({"id": id, "type": "function", "function": {"name": "bash", "arguments": json!({"command": format!("cat {file}")}).to_string()}});
    let run = json!({"history": [
        {"role": "system", "content": "s"},
        {"role": "assistant", "content": "look", "is_demo": true, "tool_calls": [call("d", "/demo.py")]},
        {"role": "tool", "content": "x", "is_demo": true, "tool_call_ids": ["d"]},
        {"role": "user", "content": "task"},
        {"role": "assistant", "content": "look", "tool_calls": [call("a", "/real.py")]},
        {"role": "tool", "content": "y", "tool_call_ids": ["a"]},
    ]});
    std::fs::write(&path, run.to_string()).expect("it can be written");
    let survey = parsed(&["inspect", text(&path), "--json"]);
    let files: Vec<&Value> =
        survey["ledger"]["files"].as_array().expect("a list").iter().map(|file| &file["path"]).collect();
    assert_eq!((files, &survey["replies"]), (vec![&json!("/real.py")], &json!(1)));
}

#[test]
fn a_compaction_that_a_session_took_back_is_said_to_be_undone() {
    let message = |number: u32| {
        let (role, author) = match number % 2 {
            0 => (Role::User, Author::Person),
            _ => (Role::Assistant, Author::Model),
        };
        Message::text(role, author, format!("{number} {}", "of many words ".repeat(60)))
    };
    let last = Some(EntryId(7));
    let compaction = Compaction {
        summary: Some("all of it".into()),
        tail: Tail::After { anchor: EntryId(7), kept: Vec::new() },
        ..Compaction::default()
    };
    let compacted = Mark::Compaction { compaction: compaction.into(), record: Record::default().into() };
    let mut file = native::wrap(Format::Native, 0, 1);
    file.push(b'\n');
    for number in 0..8u32 {
        let parent = number.checked_sub(1).map(EntryId);
        file.extend(native::message_line(0, parent, &message(number)));
    }
    file.extend(native::mark_line(1, 0, last, &compacted));
    let mut found = Vec::new();
    for more in [Vec::new(), native::mark_line(2, 0, last, &Mark::Undo { of: EntryId(8) })] {
        file.extend(more);
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join("a.session");
        std::fs::write(&path, &file).expect("there is room");
        let survey = parsed(&["inspect", text(&path), "--json"]);
        assert_eq!(survey["problems"], json!([]));
        let shown = String::from_utf8(printed(&["inspect", text(&path)])).expect("UTF-8");
        let line = shown.lines().find(|line| line.contains("compacted at")).unwrap_or_default().to_owned();
        found.push((survey["compactions"][0].clone(), line));
    }
    let [(kept, line), (undone, undone_line)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((&kept["undone"], &undone["undone"]), (&Value::Null, &json!(true)));
    assert_eq!(undone["tokens_after"], kept["tokens_after"], "what it came down to while it counted");
    assert_eq!(undone_line, &format!("{line}, and undone"));
}
