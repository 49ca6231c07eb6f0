//! `replay` comes to every point at which a live session is looked at.

use crate::sandbox::{PI, Sandbox, corpus, reading, talk};
use serde_json::{Value, json};

/// What rebuilt contexts, as outcome and who asked for it.
fn rebuilt(calls: &[Value]) -> Vec<(&str, &str)> {
    let records = calls.iter().map(|call| &call["compaction"]).filter(|record| !record.is_null());
    records.map(|record| (word(&record["outcome"]), word(&record["source"]))).collect()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[test]
fn presets_that_look_after_turns_and_before_input_compact() {
    let sandbox = Sandbox::with(corpus(PI));
    for preset in ["pi", "pi@0.58", "pi@0.83", "operator-use", "operator-use@2"] {
        let calls = sandbox.calls(&["--preset", preset, "--window", "32000"]);
        let ours = rebuilt(&calls).into_iter().filter(|told| *told == ("compacted", "policy")).count();
        assert!(ours > 0, "{preset} never compacts");
        check_window(&calls, preset);
    }
}

/// No call is over its window unless its record names why.
fn check_window(calls: &[Value], preset: &str) {
    for call in calls.iter().filter(|call| call["tokens"].as_u64() > call["window"].as_u64()) {
        let outcome = &call["compaction"]["outcome"];
        assert!(outcome == "abandoned" || outcome == "impossible", "{preset}: {call}");
        assert!(call["compaction"].get("why").is_some() || outcome == "impossible", "{preset}: {call}");
    }
}

// door: replay
#[test]
fn k32_passes_before_a_compaction_run_and_are_told_with_the_call_they_change() {
    let sandbox = Sandbox::with(reading("gpt-5", 60));
    let calls = sandbox.calls(&["--preset", "kaged", "--window", "120000", "--set", "prune.saving_min=5000"]);
    let passes: Vec<&Value> =
        calls.iter().map(|call| &call["compaction"]).filter(|record| record["outcome"] == "pruned").collect();
    assert!(!passes.is_empty(), "kaged prunes at each check");
    assert!(passes.iter().all(|record| record["strategy"] == "prune"), "{passes:?}");
}

/// A session of pi's whose provider counted `each` for every message of a prompt.
fn with_usage(each: u64) -> String {
    let mut lines = vec![
        json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/no/such/folder"}),
    ];
    for at in 0..20_u64 {
        let text = format!("point {at}: {}", "something that matters a little ".repeat(60));
        let tokens = each * at;
        let usage = json!({"input": tokens, "output": 10, "cacheRead": 0, "cacheWrite": 0, "totalTokens": tokens + 10});
        let message = if at % 2 == 0 {
            json!({"role": "user", "content": text, "timestamp": at})
        } else {
            json!({"role": "assistant", "content": [{"type": "text", "text": text}], "provider": "anthropic", "model": "claude-sonnet-4-5", "stopReason": "stop", "usage": usage, "timestamp": at})
        };
        let parent = if at == 0 { Value::Null } else { json!(format!("e{}", at - 1)) };
        lines.push(json!({"type": "message", "id": format!("e{at}"), "parentId": parent, "timestamp": "2026-01-01T00:00:01.000Z", "message": message}));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn what_the_provider_counted_counts_where_the_policy_measures_by_usage() {
    let compactions = |measure: &str| {
        let sandbox = Sandbox::with(with_usage(1_600));
        let set = format!("trigger.measure={measure}");
        rebuilt(&sandbox.calls(&["--window", "32000", "--set", &set])).len()
    };
    assert_eq!(compactions("count"), 0);
    assert!(compactions("usage") > 0 && compactions("hybrid") > 0);
}

#[test]
fn usage_of_a_context_that_was_compacted_here_says_no_more_than_its_share() {
    // The transcript's own prompts stay over the trigger to the end; ours do not, once they are compacted.
    let sandbox = Sandbox::with(with_usage(2_600));
    let calls = sandbox.calls(&["--window", "32000", "--set", "trigger.measure=usage"]);
    assert!(rebuilt(&calls).len() < calls.len() / 2, "{:?}", rebuilt(&calls));
}

#[test]
fn the_part_before_the_history_is_stated_by_its_size_or_its_text() {
    let sandbox = Sandbox::with(talk("gpt-5", 20));
    let fixed = |args: &[&str]| {
        let calls = sandbox.calls(args);
        let own: Vec<u64> = calls.iter().map(|call| call["fixed"].as_u64().expect("a number")).collect();
        let all = calls.iter().map(|call| call["tokens"].as_u64().expect("a number"));
        assert!(own.iter().zip(all).all(|(fixed, tokens)| *fixed <= tokens));
        (own[0], rebuilt(&calls).len())
    };
    assert_eq!(fixed(&["--window", "32000"]), (0, 0));
    let (stated, compactions) = fixed(&["--window", "32000", "--fixed", "22000"]);
    assert!(stated == 22_000 && compactions > 0, "{stated} before the history, {compactions} compactions");
    sandbox.put("system.md", "You are careful. ".repeat(500));
    let tokens = sandbox.json(&["tokens", "system.md", "--model", "gpt-5", "--json"])["tokens"].as_u64();
    assert_eq!(Some(fixed(&["--system", "system.md"]).0), tokens);
    let calls = sandbox.calls(&["--system", "system.md", "--contexts", "--to", "anthropic"]);
    let system = calls[0]["context"]["system"].to_string();
    assert!(system.contains("You are careful."), "{system}");
    assert_eq!(sandbox.run(&["replay", "session", "--fixed", "1", "--system", "system.md"]).code, Some(2));
}

#[test]
fn a_call_that_cannot_fit_says_what_takes_the_room() {
    let sandbox = Sandbox::with(talk("gpt-5", 10));
    let calls = sandbox.calls(&["--window", "8000", "--fixed", "8000"]);
    let records: Vec<&Value> = calls.iter().map(|call| &call["compaction"]).collect();
    assert!(records.iter().all(|record| record["outcome"] == "impossible"), "{records:?}");
    assert_eq!((&records[0]["fixed"], &records[0]["window"]), (&json!(8_000), &json!(8_000)));
}

#[test]
fn a_call_is_one_line_however_the_transcript_was_laid_out() {
    let body: Value = serde_json::from_str(&reading("gpt-5", 3)).expect("it is JSON");
    let laid_out = serde_json::to_string_pretty(&body).expect("it is JSON");
    let contexts = |transcript: &str| -> Vec<Value> {
        let mut calls = Sandbox::with(transcript).calls(&["--contexts"]);
        calls.iter_mut().map(|call| call["context"].take()).collect()
    };
    let expected = contexts(&body.to_string());
    assert_eq!(expected.len(), 4);
    assert_eq!(contexts(&laid_out), expected);
}
