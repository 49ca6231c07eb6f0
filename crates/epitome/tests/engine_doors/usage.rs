//! Usage that a transcript records: `inspect` and `compact` count by it, for the model it is of.

use serde_json::{Value, json};
use std::process::Command;
use tempfile::TempDir;

const TURNS: usize = 40;
const MODEL: &str = "claude-sonnet-4-5";
/// What a provider puts before the history that the file does not record.
const UNTOLD: u64 = 5_000;

/// A session of Claude Code, with the prompt of each of its calls where they are given.
fn session(prompts: Option<&[u64]>) -> TempDir {
    let said = "something that was said at some length and matters a little to what comes after. ".repeat(50);
    let mut lines = Vec::new();
    for turn in 0..TURNS {
        let before = turn.checked_sub(1).map(|before| format!("a{before}"));
        let asked = json!({"role": "user", "content": format!("point {turn}: {said}")});
        lines.push(json!({"type": "user", "uuid": format!("u{turn}"), "parentUuid": before, "sessionId": "s", "message": asked}));
        let mut reply = json!({"id": format!("msg_{turn}"), "role": "assistant", "model": MODEL, "content": [{"type": "text", "text": "seen"}]});
        if let Some(prompts) = prompts {
            reply["usage"] = json!({"input_tokens": prompts[turn], "output_tokens": 5});
        }
        lines.push(json!({"type": "assistant", "uuid": format!("a{turn}"), "parentUuid": format!("u{turn}"), "sessionId": "s", "message": reply}));
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(folder.path().join("s.jsonl"), text).expect("it can be written");
    folder
}

fn run(folder: &TempDir, args: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_epitome"));
    let ran =
        command.current_dir(folder.path()).env_remove("EPITOME_MODEL").args(args).output().expect("it runs");
    assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    serde_json::from_slice(&ran.stdout).expect("JSON")
}

/// A provider that counts a quarter more than we do.
fn counted_more() -> TempDir {
    let survey = run(&session(None), &["inspect", "s.jsonl", "--json"]);
    assert_eq!(survey["scale"], Value::Null, "nobody says that it counts otherwise");
    let before = survey["over_time"].as_array().expect("a list").iter().filter_map(Value::as_u64);
    let prompts: Vec<u64> = before.skip(1).step_by(2).map(|tokens| UNTOLD + tokens * 125 / 100).collect();
    session(Some(&prompts))
}

#[test]
fn a_transcript_is_counted_as_its_provider_counted_it() {
    let folder = counted_more();
    let survey = run(&folder, &["inspect", "s.jsonl", "--json"]);
    let scale = survey["scale"].as_u64().expect("it counts otherwise");
    assert!((1_150..=1_250).contains(&scale), "{scale}");
    let tokens = survey["context"]["tokens"].as_u64().expect("a number");
    assert_eq!(survey["request"], json!(tokens * scale / 1_000));
    let record = run(&folder, &["compact", "s.jsonl", "--window", "60000", "-o", "out.jsonl", "--json"]);
    assert_eq!(record["outcome"], "compacted");
    assert_eq!((&record["scale"], &record["tokens_before"]), (&json!(scale), &survey["request"]));
}

#[test]
fn what_one_model_counts_says_nothing_of_another() {
    let folder = counted_more();
    let survey = run(&folder, &["inspect", "s.jsonl", "--model", "claude-haiku-4-5", "--json"]);
    assert_eq!(survey["scale"], Value::Null);
}
