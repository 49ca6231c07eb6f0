//! Models that fail, are not there, or take too long for whoever waits.

use crate::stage::{MIDDLE, Ran, SMALL, Stage};
use serde_json::{Value, json};
use std::process::Stdio;

/// The record of a compaction under `preset` by a model that goes by this plan.
fn record(plan: &str, preset: &str) -> Value {
    let stage = Stage::new(MIDDLE, plan);
    let args = ["compact", "session", "--preset", preset, "--summarizer", "fast", "--window", "64000"];
    let record = stage.json(&[&args[..], &["-o", "out", "--json"]].concat());
    assert_eq!(record["outcome"], "compacted", "{plan} under {preset}: {record}");
    record
}

/// Why the model's summaries were given up, and who wrote one in the end.
fn fate(plan: &str, preset: &str) -> (String, Value) {
    let record = record(plan, preset);
    let why = record["fallbacks"][0]["why"].as_str().unwrap_or_default().to_owned();
    (why, record["summarizer"].clone())
}

#[test]
fn a_model_that_always_fails_leaves_the_summary_to_the_embedded_summariser() {
    let embedded = || json!("the embedded summariser");
    for preset in ["pi", "kaged"] {
        let down = "the summariser failed: HTTP 500: Internal server error".to_owned();
        assert_eq!(fate("summary:*=500", preset), (down, embedded()), "{preset}");
    }
    for preset in ["aura", "pi", "claude-code", "kaged", "operator-use"] {
        for order in ["empty", "truncate", "tool-call"] {
            let (why, by) = fate(&format!("summary:*={order}"), preset);
            assert!(!why.is_empty() && by == embedded(), "{order} under {preset}: {why}");
        }
    }
}

#[test]
fn a_model_that_fails_once_is_asked_again_and_paid_for() {
    for order in ["500", "empty", "tool-call"] {
        let record = record(&format!("summary:1={order}"), "default");
        assert_eq!(record["summarizer"], "fast", "{order}");
        assert!(record["spent"]["calls"].as_u64().expect("a number") > 1, "{order}: {record}");
    }
}

/// A run that is refused: one line on standard error, nothing written, nobody asked.
fn refused(args: &[&str]) -> String {
    let stage = Stage::new(SMALL, "");
    let before = stage.files();
    let ran = stage.run(&[&["compact", "session", "-o", "out", "--summarizer"], args].concat());
    assert_eq!((ran.code, stage.report().requests, stage.files()), (Some(1), 0, before));
    ran.err
}

#[test]
fn an_alias_that_is_not_there_is_told_with_the_nearest() {
    let hint = "name one of yours, or write provider/model, such as anthropic/claude-opus-4-5";
    assert_eq!(
        refused(&["fsat"]),
        format!("epitome: there is no model alias `fsat` (did you mean `fast`?); {hint}\n")
    );
}

#[test]
fn a_missing_key_is_told_by_its_variable() {
    assert_eq!(
        refused(&["anthropic/claude-haiku-4-5"]),
        "epitome: the key for `anthropic/claude-haiku-4-5` is not set; put it in the environment variable ANTHROPIC_API_KEY\n"
    );
}

/// The program reacts to ctrl-c only once it waits: when the provider has the request.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_it_with_nothing_written() {
    let stage = Stage::new(SMALL, "summary:*=timeout");
    let before = stage.files();
    let args = ["compact", "session", "--preset", "pi", "--summarizer", "fast", "-o", "out"];
    let child = stage.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("the program runs");
    while stage.report().requests == 0 {
        assert_eq!(child.try_wait().expect("it can be asked"), None, "it ended without asking");
        std::thread::yield_now();
    }
    let id = child.id().to_string();
    std::process::Command::new("kill").args(["-INT", &id]).status().expect("signals can be sent");
    let ran = Ran::of(child.wait_with_output().expect("it ends"));
    let said = "epitome: cannot compact session: cancelled; nothing was written\n".to_owned();
    assert_eq!(ran, Ran { code: Some(1), out: String::new(), err: said });
    assert_eq!(stage.files(), before);
}
