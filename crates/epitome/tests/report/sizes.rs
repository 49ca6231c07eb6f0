//! One context has one size, whichever command tells it, before a compaction and after it.

use super::{command, folder, told};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

/// A session of Claude Code's, whose agent adds about as much as the file holds.
const LADEN: &str = "claude-code/entire-cli-25730c.jsonl.zst";
/// One that holds little more than the summary of a compaction of its own.
const SMALL: &str = "claude-code/repiq-01c581-ja.jsonl.zst";

fn json(folder: &TempDir, args: &[&str]) -> Value {
    let output = command(folder, args).output().expect("the program runs");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is a number"))
}

/// A summary written into a file is counted again with what its tool puts around it.
const ROUNDING: u64 = 40;

/// The table tells of the newest call; what was said since is counted by who reads the whole file.
const SAID_SINCE: u64 = 300;

#[test]
fn a_session_has_one_size_in_every_command() {
    let folder = folder(LADEN);
    let survey = json(&folder, &["inspect", "s.jsonl", "--json"]);
    let record = json(&folder, &["compact", "s.jsonl", "-o", "small.jsonl", "--json"]);
    let [before, after] = ["tokens_before", "tokens_after"].map(|name| number(&record["by_model"][name]));
    let added = number(&record["unrecorded"]);
    assert!(number(&survey["fill"]["tokens"]).abs_diff(before + added) <= ROUNDING, "{before} and {added}");

    let compacted = json(&folder, &["inspect", "small.jsonl", "--json"]);
    let shown = number(&compacted["fill"]["tokens"]);
    assert!(shown.abs_diff(after + added) <= ROUNDING, "{shown} for {after} and {added}");
    assert_eq!(number(&compacted["fill"]["unrecorded"]), added);

    let undone = told(&folder, &["undo", "small.jsonl", "-o", "back.jsonl"]);
    assert!(undone.contains(&format!("→ {} tokens", grouped(before))), "{undone}");

    let home = folder.path().join(".claude/projects/-p");
    fs::create_dir_all(&home).expect("there is room");
    for (name, file) in [
        ("00000000-0000-4000-8000-000000000001", "s.jsonl"),
        ("00000000-0000-4000-8000-000000000002", "small.jsonl"),
    ] {
        fs::copy(folder.path().join(file), home.join(name).with_extension("jsonl")).expect("there is room");
    }
    let listed = json(&folder, &["sessions", "--json"]);
    let listed = listed["sessions"].as_array().or(listed.as_array()).expect("a list").clone();
    let in_view = |id: &str| {
        let row = listed.iter().find(|row| row["id"].as_str().is_some_and(|found| found.ends_with(id)));
        number(&row.expect("it is listed")["in_view"]["tokens"])
    };
    assert!(in_view("2").abs_diff(shown) <= SAID_SINCE, "{} for {shown}", in_view("2"));
}

#[test]
fn what_an_agent_adds_is_the_same_under_every_preset() {
    let folder = folder(LADEN);
    let added = ["default", "pi", "aura", "kaged"].map(|preset| {
        number(
            &json(&folder, &["compact", "s.jsonl", "--dry-run", "--json", "--preset", preset])["unrecorded"],
        )
    });
    assert_eq!(added, [added[0]; 4]);
}

#[test]
fn a_small_context_is_not_halved_at_the_price_of_the_summary_it_is() {
    let folder = folder(SMALL);
    let record = json(&folder, &["compact", "s.jsonl", "--dry-run", "--json"]);
    assert_eq!(record["outcome"], "noop");
    let why = record["why"].as_str().expect("it says why");
    assert!(
        why.starts_with("no message would leave view, only the summary of an earlier compaction"),
        "{why}"
    );
    let asked = json(&folder, &["compact", "s.jsonl", "--dry-run", "--json", "--target", "1500"]);
    assert_eq!(asked["outcome"], "compacted", "being asked to");
}

fn grouped(tokens: u64) -> String {
    format!("{},{:03}", tokens / 1_000, tokens % 1_000)
}
