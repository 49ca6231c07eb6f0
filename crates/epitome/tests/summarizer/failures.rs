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

/// A compaction by the alias `fast` that ends in an error: what it says; nothing may be written.
fn failed(stage: &Stage) -> String {
    let before = stage.files();
    let ran = stage.run(&["compact", "session", "--window", "64000", "--summarizer", "fast", "-o", "out"]);
    assert_eq!((ran.code, ran.out.as_str(), stage.files()), (Some(1), "", before), "{}", ran.err);
    ran.err
}

#[test]
fn a_key_that_is_refused_ends_it_at_the_first_call_with_nothing_written() {
    let stage = Stage::new(MIDDLE, "summary:*=401");
    let told = format!(
        "epitome: cannot compact session: the summariser refuses the key or the model: HTTP 401: Incorrect API key provided. (at {})\n",
        stage.upstream_url()
    );
    assert_eq!((failed(&stage), stage.report().requests), (told, 1));
}

#[test]
fn a_summariser_that_is_not_there_is_told_by_its_address_and_nothing_is_written() {
    let stage = Stage::new(MIDDLE, "");
    let settings = std::fs::read_to_string(stage.operator_file()).expect("it is text");
    // A port that was free a moment ago, and that nobody listens on.
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let nowhere = format!("http://{}", free.local_addr().expect("it has an address"));
    drop(free);
    let settings = settings.replace(&stage.upstream_url(), &nowhere);
    std::fs::write(stage.operator_file(), settings).expect("there is room");
    let told = failed(&stage);
    let begins = format!(
        "epitome: cannot compact session: the summariser cannot be reached: nothing answers at {nowhere}: "
    );
    assert!(told.starts_with(&begins) && told.lines().count() == 1, "{told}");
}

#[test]
fn an_alias_that_is_not_there_is_told_with_the_nearest() {
    let hint = "name one of yours, or write provider/model, such as anthropic/claude-opus-4-5";
    assert_eq!(
        refused(&["fsat"]),
        format!("epitome: there is no model alias `fsat` (did you mean `fast`?); {hint}\n")
    );
    let named =
        "epitome: there is no model alias `claude-haiku-4-5` (did you mean `anthropic/claude-haiku-4-5`?); ";
    assert_eq!(refused(&["claude-haiku-4-5"]), format!("{named}{hint}\n"));
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
