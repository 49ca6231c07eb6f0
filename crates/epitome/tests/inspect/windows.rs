//! Whose window and whose count: what a transcript shows of its window, what is not current any more, and the model that is
//! counted for.

use crate::session::{Folder, SessionLines, corpus};
use crate::{grouped, number, worked};
use serde_json::{Value, json};

/// A session of a model that the catalog knows with a million tokens, compacted once.
fn compacted(trigger: &str, tokens: u64) -> SessionLines {
    let mut lines = SessionLines::of("claude-opus-4-6");
    lines.ask("please begin");
    lines.reply("2026-03-01", 160_000, &json!([{"type": "text", "text": "it is begun"}]));
    lines.compact(trigger, tokens, "what was said until now");
    lines.ask("please go on");
    lines.reply("2026-03-01", 24_000, &json!([{"type": "text", "text": "it goes on"}]));
    lines
}

#[test]
fn a_compaction_that_came_by_itself_shows_the_window() {
    let window =
        |lines: &SessionLines| lines.saved().json(&["inspect", "s.jsonl", "--json"])["window"].clone();
    let shown = json!({"tokens": 200_000, "from": "evidence"});
    let catalog = json!({"tokens": 1_000_000, "from": "catalog"});
    assert_eq!(window(&compacted("auto", 167_442)), shown);
    assert_eq!(window(&compacted("manual", 167_442)), catalog, "somebody asked for it");
    assert_eq!(window(&compacted("auto", 60_000)), catalog, "it was set to come early");
    let page = compacted("auto", 167_442).saved().shown(120, &["inspect", "s.jsonl"]);
    assert!(
        page.contains("a window of 200,000, shown by the file: its tool compacted by itself at 167,442"),
        "{page}"
    );
    assert!(page.contains("compacted at m0002: 167,442 → 24,000 tokens, by its tool itself"), "{page}");
    let stated =
        compacted("auto", 167_442).saved().json(&["inspect", "s.jsonl", "--window", "500000", "--json"]);
    assert_eq!(stated["window"], json!({"tokens": 500_000, "from": "explicit"}));
}

#[test]
fn a_prompt_that_was_answered_shows_a_larger_window() {
    let mut lines = SessionLines::of("claude-sonnet-4-20250514");
    lines.ask("please begin");
    lines.reply("2026-03-01", 534_859, &json!([{"type": "text", "text": "it is begun"}]));
    let survey = lines.saved().json(&["inspect", "s.jsonl", "--json"]);
    assert_eq!(survey["window"], json!({"tokens": 1_000_000, "from": "evidence"}));
}

#[test]
fn after_a_compaction_the_count_before_it_is_not_the_count_now() {
    let folder = worked().saved();
    folder.json(&["compact", "s.jsonl", "-o", "small.jsonl", "--window", "20000", "--json"]);
    let survey = folder.json(&["inspect", "small.jsonl", "--json"]);
    let fill = &survey["fill"];
    assert_eq!(
        (&survey["usage"], &fill["from"], &fill["measured"]),
        (&Value::Null, &json!("estimate"), &Value::Null)
    );
    let unrecorded = number(&fill["unrecorded"]);
    assert!((9_000..12_000).contains(&unrecorded), "the shortest prompt says it: {fill}");
    assert_eq!(number(&fill["tokens"]), number(&survey["request"]) + unrecorded);
    let shown = folder.shown(200, &["inspect", "small.jsonl"]);
    let about = format!("  about {} of 200,000 tokens", grouped(number(&fill["tokens"])));
    assert!(!shown.contains("the provider counted") && shown.contains(&about), "{shown}");
    assert!(shown.contains("no call has been counted since the last compaction"), "{shown}");
    assert!(shown.contains(&format!(" → {} tokens\n", grouped(number(&fill["tokens"])))), "{shown}");
}

#[test]
fn the_header_names_the_model_that_counts() {
    let folder = worked().saved();
    let args = ["inspect", "s.jsonl", "--model", "gpt-99"];
    let shown = folder.shown(80, &args);
    let title = shown.lines().nth(1).unwrap_or_default();
    assert_eq!(title, "claude-code, counted for gpt-99 (the file names claude-opus-4-5)");
    let survey = folder.json(&[&args[..], &["--json"]].concat());
    assert_eq!((&survey["counted_as"], &survey["model"]), (&json!("gpt-99"), &json!("claude-opus-4-5")));
    assert_eq!(survey["fill"]["from"], json!("count"), "another model's provider says nothing of it");
    let plain = folder.shown(80, &["inspect", "s.jsonl"]);
    assert_eq!(plain.lines().nth(1), Some("claude-code, claude-opus-4-5"), "and no conversation 0");
}

#[test]
fn a_model_is_the_one_that_replies_and_not_the_one_named_most() {
    let folder = Folder::new();
    let file = corpus("claude-code/agent-stuff-6ce966-ko.jsonl.zst");
    let survey = folder.json(&["inspect", &file, "--json"]);
    assert_eq!(
        (&survey["counted_as"], &survey["model"]),
        (&json!("claude-opus-4-6"), &json!("claude-opus-4-6"))
    );
}

#[test]
fn a_model_that_only_the_formats_reader_finds_is_in_the_catalog_as_well() {
    let folder = Folder::new();
    let replay = json!({"agent": {"model": {"name": "openai/deepseek-chat"}}}).to_string();
    let history = json!([{"role": "system", "content": "you help"}, {"role": "user", "content": "go"},
        {"role": "assistant", "content": "ls", "thought": "", "action": "ls"}]);
    let run = json!({"history": history, "trajectory": [], "info": {}, "replay_config": replay, "environment": "e"});
    std::fs::write(folder.path("run.traj"), run.to_string()).expect("there is room");
    let survey = folder.json(&["inspect", "run.traj", "--json"]);
    let stated = folder.json(&["inspect", "run.traj", "--model", "openai/deepseek-chat", "--json"]);
    assert_eq!(survey["window"]["from"], json!("catalog"), "{survey}");
    assert_eq!((&survey["window"], &survey["count_method"]), (&stated["window"], &stated["count_method"]));
}
