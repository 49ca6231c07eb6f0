//! Usage that a transcript records: `inspect`, `compact` and `replay` count by it, for the model it is of, and tell all
//! figures of a record in that count.

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

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn the_figures_of_a_record_add_up() {
    let folder = counted_more();
    let args = ["compact", "s.jsonl", "--window", "60000", "--target", "15000", "-o", "out.jsonl", "--json"];
    let record = run(&folder, &args);
    // In the provider's tokens, as it was set; from its count to ours and back, a token may be lost.
    assert!((14_998..=15_000).contains(&number(&record["target"])), "{record}");
    let scale = number(&record["scale"]);
    std::fs::write(folder.path().join("summary"), record["summary"].as_str().expect("text"))
        .expect("written");
    let summary = number(&run(&folder, &["tokens", "summary", "--model", MODEL, "--json"])["tokens"]);
    let told = number(&record["summary_tokens"]);
    assert!(told.abs_diff(summary * scale / 1_000) <= 10, "{told} for {summary} of ours: {record}");
    let survey = run(&folder, &["inspect", "out.jsonl", "--json"]);
    let found = &survey["compactions"][0];
    assert_eq!(record["tokens_before"], found["tokens_before"]);
    assert_eq!(found["tokens_after"], survey["request"], "nothing was said since");
    // Claude Code puts a sentence of its own in front of a summary.
    let after = number(&record["tokens_after"]);
    assert!(after.abs_diff(number(&survey["request"])) <= after / 20, "{survey}");
    assert!(told + number(&record["fixed"]) < after, "and messages stand beside it");
}

/// The lines of a replay, and its page.
fn replayed(folder: &TempDir, args: &[&str]) -> (Vec<Value>, String) {
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_epitome"));
        let ran = command.current_dir(folder.path()).env_remove("EPITOME_MODEL").args(args).output();
        let ran = ran.expect("it runs");
        assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).expect("text")
    };
    let args = [&["replay", "s.jsonl"], args].concat();
    let lines = run(&[&args[..], &["--json"]].concat());
    (lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect(), run(&args))
}

#[test]
fn what_a_transcript_does_not_record_is_an_amount_and_no_share_of_the_history() {
    let (calls, page) = replayed(&counted_more(), &["--window", "24000"]);
    let made: Vec<&Value> = calls.iter().filter(|call| !call["compaction"].is_null()).collect();
    assert!(made.len() > 2, "{page}");
    for call in made {
        let (record, begun) = (&call["compaction"], &call["events"][0]);
        assert_eq!(begun["event"], "compaction.triggered", "{call}");
        let (told, measured) = (number(&record["tokens_before"]), number(&begun["tokens"]));
        assert!(told.abs_diff(measured) <= told / 10, "{told} in the record, {measured} as measured");
        assert_eq!((&call["fixed"], &record["fixed"]), (&json!(0), &json!(0)));
    }
    let unrecorded = number(&calls[TURNS - 1]["unrecorded"]);
    assert!(unrecorded.abs_diff(UNTOLD) <= UNTOLD / 10, "{unrecorded}");
    assert!(page.contains(" tokens (summarize); ") && page.contains(" as measured, due at "), "{page}");
}

#[test]
fn where_money_is_compared_what_is_not_recorded_is_counted_in_while_the_window_can_be_that_agents() {
    let folder = counted_more();
    let words = |page: String| page.split_whitespace().collect::<Vec<_>>().join(" ");
    let of = |args: &[&str]| {
        let (calls, page) = replayed(&folder, args);
        (number(&calls[TURNS - 1]["unrecorded"]), page.matches(" tokens (summarize)").count(), words(page))
    };
    let (_, compactions, page) = of(&["--window", "24000"]);
    assert!(page.contains("prompt and tools: they are counted in, `--fixed 0` leaves them out"), "{page}");
    let (_, without, page) = of(&["--window", "24000", "--fixed", "0"]);
    assert!(compactions > without && !page.contains("counted in"), "{compactions} and {without}: {page}");
    let (unrecorded, _, page) = of(&["--window", "7000"]);
    let told = format!(
        "too much for this window, so that it is another agent's; `--fixed {unrecorded}` counts them in"
    );
    assert!(page.contains(&told), "{page}");
}

#[test]
fn what_is_stated_of_the_fixed_part_is_what_every_figure_has() {
    let (calls, page) = replayed(&counted_more(), &["--window", "40000", "--fixed", "12000"]);
    let fixed = |value: &Value| value["fixed"].as_u64();
    assert!(calls.iter().all(|call| fixed(call) == Some(12_000)), "{page}");
    let records: Vec<&Value> =
        calls.iter().map(|call| &call["compaction"]).filter(|record| !record.is_null()).collect();
    assert!(!records.is_empty() && records.iter().all(|record| fixed(record) == Some(12_000)), "{page}");
    assert!(!page.contains("counts them in"), "{page}");
    let impossible = replayed(&counted_more(), &["--window", "12000", "--fixed", "12000"]).1;
    assert!(impossible.contains("system prompt and tools take 12,000"), "{impossible}");
}

#[test]
fn what_one_model_counts_says_nothing_of_another() {
    let folder = counted_more();
    let survey = run(&folder, &["inspect", "s.jsonl", "--model", "claude-haiku-4-5", "--json"]);
    assert_eq!(survey["scale"], Value::Null);
}
