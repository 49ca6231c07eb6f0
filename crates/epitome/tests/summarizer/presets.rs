//! Every preset on transcripts of several formats and sizes: compacted, valid, and accounted for.

use crate::stage::{CODEX, LARGE, MIDDLE, SMALL, Stage, original};
use epitome_wire::{Protocol, validate};
use serde_json::{Value, json};
use std::fs;

const PRESETS: [&str; 5] = ["aura", "pi", "claude-code", "kaged", "operator-use"];

/// Who wrote the summary and whether it cost something, for each preset.
fn writers(transcript: &str) -> Vec<(&'static str, Value, bool)> {
    let stage = Stage::new(transcript, "");
    let told = PRESETS.map(|preset| {
        let record = compact(&stage, preset);
        check_written(&stage, transcript, preset);
        (preset, record["summarizer"].clone(), record["cost"].as_f64().expect("a number") > 0.0)
    });
    let report = stage.report();
    assert_eq!((report.refused, report.violations), (0, Vec::new()), "{transcript}");
    told.to_vec()
}

/// Compacts under a preset, and holds the record to itself.
fn compact(stage: &Stage, preset: &str) -> Value {
    let asked = stage.report().requests;
    let args = ["compact", "session", "--preset", preset, "--summarizer", "fast", "--window", "64000"];
    let record = stage.json(&[&args[..], &["-o", "out", "--json"]].concat());
    let number = |value: &Value| value.as_u64().expect("a number");
    assert_eq!(record["outcome"], "compacted", "{preset}");
    assert!(number(&record["tokens_after"]) < number(&record["tokens_before"]), "{preset}: {record}");
    assert_eq!(record["cost"], record["spent"]["dollars"], "{preset}");
    assert_eq!(number(&record["spent"]["calls"]), stage.report().requests - asked, "{preset}");
    record
}

/// What was written is a valid context on every protocol, and gives the original back.
fn check_written(stage: &Stage, transcript: &str, preset: &str) {
    let protocols = [
        (Protocol::Anthropic, "anthropic"),
        (Protocol::OpenaiChat, "openai-chat"),
        (Protocol::OpenaiResponses, "openai-responses"),
    ];
    for (protocol, name) in protocols {
        let body = stage.json(&["context", "out", "--to", name]);
        assert_eq!(validate::body(protocol, &body), [], "{transcript} under {preset} as {name}");
    }
    stage.run(&["undo", "out", "-o", "undone"]);
    let undone = fs::read(stage.path().join("undone")).expect("it was written");
    assert!(undone == original(transcript), "{transcript} under {preset}: undo gives other bytes");
}

/// The model wrote every summary, and none was free.
fn all_by_model() -> Vec<(&'static str, Value, bool)> {
    PRESETS.map(|preset| (preset, json!("fast"), true)).to_vec()
}

#[test]
fn every_preset_summarises_a_small_session() {
    assert_eq!(writers(SMALL), all_by_model());
}

#[test]
fn every_preset_summarises_a_session_that_was_compacted_before() {
    assert_eq!(writers(MIDDLE), all_by_model());
}

#[test]
fn every_preset_summarises_a_session_of_codex() {
    assert_eq!(writers(CODEX), all_by_model());
}

#[test]
fn what_no_window_of_the_model_holds_the_embedded_summariser_takes_on() {
    let stage = Stage::new(LARGE, "");
    for preset in ["pi", "claude-code"] {
        let record = compact(&stage, preset);
        assert_eq!(
            (&record["strategy"], &record["summarizer"], &record["fallbacks"][0]["strategy"]),
            (&json!("summarize"), &json!("the embedded summariser"), &json!("summarize")),
            "{preset}"
        );
        check_written(&stage, LARGE, preset);
    }
}

#[test]
fn without_a_model_a_preset_that_wants_the_sessions_own_says_who_wrote() {
    let stage = Stage::new(MIDDLE, "");
    let record = stage.json(&["compact", "session", "--preset", "pi", "--window", "64000", "--json"]);
    let why = "the session's own model cannot be asked here; the embedded summariser writes in its place";
    assert_eq!(
        (&record["summarizer"], &record["cost"], &record["fallbacks"]),
        (&json!("the embedded summariser"), &json!(0.0), &json!([{"strategy": "summarize", "why": why}]))
    );
    assert_eq!(stage.report().requests, 0);
}

#[test]
fn the_operators_alias_stands_for_the_sessions_own_model() {
    let stage = Stage::new(MIDDLE, "");
    let settings = fs::read_to_string(stage.operator_file()).expect("it is text");
    let renamed = settings.replace("[alias.fast]", "[alias.session]");
    fs::write(stage.operator_file(), renamed).expect("there is room");
    for preset in ["aura", "pi", "claude-code", "kaged", "operator-use"] {
        let args = ["compact", "session", "--preset", preset, "--window", "64000", "--json"];
        let record = stage.json(&args);
        assert_eq!(
            (&record["summarizer"], &record["fallbacks"]),
            (&json!("session"), &json!([])),
            "{preset}"
        );
    }
    assert!(stage.report().requests >= 5);
}

#[test]
fn the_story_tells_what_the_summary_took() {
    let stage = Stage::new(SMALL, "");
    let told = |args: &[&str]| {
        let ran = stage.run(&[&["compact", "session", "-o", "out", "--window", "64000"], args].concat());
        let words = ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
        let (_, rest) = words.split_once(" tokens (").unwrap_or_default();
        rest.split(')').next().unwrap_or_default().to_owned()
    };
    let asked = told(&["--preset", "pi", "--summarizer", "fast"]);
    assert!(asked.starts_with("by fast; 1 call, ") && asked.contains(" tokens in, "), "{asked}");
    assert!(asked.contains(" out, $0.0"), "{asked}");
    assert_eq!(told(&["--preset", "pi"]), "by the embedded summariser, free");
}

#[test]
fn a_replay_asks_the_same_model() {
    let stage = Stage::new(SMALL, "");
    let args =
        ["replay", "session", "--preset", "kaged", "--summarizer", "fast", "--window", "24000", "--json"];
    let ran = stage.run(&args);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let lines = ran.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let by: Vec<Value> = lines
        .filter(|line| line["compaction"]["strategy"] == "summarize")
        .map(|line| line["compaction"]["summarizer"].clone())
        .collect();
    assert!(!by.is_empty() && by.iter().all(|by| by == "fast"), "{by:?}");
    assert_eq!(stage.report().requests, by.len() as u64);
}
