//! Paths through one conversation, under every system's preset: last messages that change, requests at once, models with
//! other windows, and a project's file beside the proxy.

use crate::stage::{PRESETS, Proxy, Speech, Stage, Talk, words};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const MODEL: &str = "claude-haiku-4-5";
const WINDOW: &str = "48000";
/// Enough to fill the window twice over, and few enough for every record to be kept.
const TURNS: usize = 150;

fn talk() -> Talk {
    Talk::new(Speech::Anthropic, MODEL).with("x-api-key", "a-clients-key")
}

fn serve<'s>(stage: &'s Stage, preset: &str) -> Proxy<'s> {
    stage.serve(&["--window", WINDOW, "--preset", preset])
}

fn is_summary(message: &Value) -> bool {
    message.to_string().contains("<epitome-summary")
}

/// How many compactions ended how.
fn outcomes(proxy: &Proxy<'_>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for record in proxy.compactions() {
        *counts.entry(record["outcome"].as_str().expect("a word").to_owned()).or_default() += 1;
    }
    counts
}

/// Whether a request begins as the one before did, but for its volatile last message.
fn extends(before: &[Value], after: &[Value]) -> bool {
    after.starts_with(&before[..before.len() - 1])
}

#[test]
fn a_last_message_that_changes_every_turn_leaves_one_compaction_for_each_trigger() {
    for preset in PRESETS {
        let stage = Stage::new("");
        let proxy = serve(&stage, preset);
        let mut talk = talk();
        talk.say(&proxy, &words(0));
        for turn in 1..TURNS {
            let mut now = talk.clone();
            now.messages
                .push(json!({"role": "user", "content": format!("It is {turn} o'clock. {}", words(turn))}));
            let reply = stage.block_on(now.ask(&proxy));
            talk.messages.extend([json!({"role": "user", "content": words(turn)}), reply]);
        }
        let arrived = stage.arrived();
        let resets: Vec<usize> = (1..TURNS).filter(|at| !extends(&arrived[at - 1], &arrived[*at])).collect();
        let made = made(&proxy);
        assert!(made.len() >= 2, "{preset}: the window is filled twice: {made:?}");
        assert_eq!(resets.len(), made.len(), "{preset}: {made:?}");
        assert_explained(preset, resets[0], &made);
        let calls = stage.summaries().len();
        assert_eq!(calls, made.iter().map(|one| one.calls).sum::<usize>(), "{preset}: {made:?}");
    }
}

/// A compaction that was made: the request before and after, and the calls it took.
#[derive(Debug)]
struct CompactionFigures {
    before: f64,
    after: f64,
    calls: usize,
}

/// The compactions that were made, oldest first.
fn made(proxy: &Proxy<'_>) -> Vec<CompactionFigures> {
    let records = proxy.compactions().into_iter().filter(|record| record["outcome"] == "compacted");
    let made = records.map(|record| CompactionFigures {
        before: record["tokens_before"].as_f64().expect("a number"),
        after: record["tokens_after"].as_f64().expect("a number"),
        calls: record["spent"]["calls"].as_u64().expect("a number") as usize,
    });
    made.collect()
}

/// Presets that have what a turn began with summarised in a call of its own, where they cut within it.
const TWO_CALLS: [&str; 2] = ["pi", "operator-use"];

/// Requests at which one trigger fires differ by part of a turn, and by what was learned of the provider's count.
const TRIGGER_SPREAD: f64 = 0.99;

/// Asserts that there are no more compactions, and no more calls for each, than the trigger that fired first, in the turn `first`, explains.
fn assert_explained(preset: &str, first: usize, made: &[CompactionFigures]) {
    let (trigger, least) = (made[0].before, made[0].before * TRIGGER_SPREAD);
    assert!(made.iter().all(|one| one.before > least), "{preset}: {made:?}");
    // Every turn says as much, and so many are said behind each compaction until the trigger fires again.
    let turn = trigger / first as f64;
    let said: f64 = made[1..].iter().zip(made).map(|(_, before)| (least - before.after) / turn).sum();
    assert!(said <= (TURNS - first) as f64, "{preset}: {said} turns for {made:?}");
    let calls_max = if TWO_CALLS.contains(&preset) { 2 } else { 1 };
    assert!(made.iter().all(|one| (1..=calls_max).contains(&one.calls)), "{preset}: {made:?}");
}

#[test]
fn presets_that_look_between_turns_compact_there_and_not_at_the_windows_end() {
    for preset in ["pi", "pi@0.58", "operator-use", "operator-use@2", "omp@18"] {
        let stage = Stage::new("");
        let proxy = serve(&stage, preset);
        let record = talk().until_compacted(&proxy);
        assert_eq!(
            (&record["trigger"], &record["source"]),
            (&json!("threshold"), &json!("policy")),
            "{preset}"
        );
    }
}

/// Presets that go by what the provider said of the call before, and not by what is asked now.
const BY_USAGE: [&str; 3] = ["aura", "pi", "operator-use"];

/// Turns after which the next request of a conversation is compacted under a preset.
fn turns_until_compacted(preset: &str) -> usize {
    let stage = Stage::new("");
    let proxy = serve(&stage, preset);
    let mut talk = talk();
    talk.until_compacted(&proxy);
    talk.messages.len() / 2 - 1
}

#[test]
fn four_requests_at_once_over_one_history_make_one_compaction() {
    for preset in PRESETS {
        let turns = turns_until_compacted(preset);
        let stage = Stage::new("");
        let proxy = serve(&stage, preset);
        let mut talk = talk();
        let is_by_usage = BY_USAGE.contains(&preset);
        for turn in 0..turns - 1 {
            talk.say(&proxy, &words(turn));
        }
        talk.say(&proxy, &words(turns - 1).repeat(if is_by_usage { 6 } else { 1 }));
        let ask = |number: usize| {
            let mut now = talk.clone();
            let text = format!("Question {number}: {}", words(turns).repeat(6));
            now.messages.push(json!({"role": "user", "content": text}));
            let proxy = &proxy;
            async move { now.ask(proxy).await }
        };
        stage.block_on(async { tokio::join!(ask(0), ask(1), ask(2), ask(3)) });
        // And the last question once more, edited.
        stage.block_on(ask(4));
        let outcomes = outcomes(&proxy);
        assert_eq!(outcomes.get("compacted"), Some(&1), "{preset}: {outcomes:?}");
        let arrived = stage.arrived();
        let heads: Vec<&[Value]> = arrived[turns..].iter().map(|sent| &sent[..sent.len() - 1]).collect();
        assert!(heads.iter().all(|head| *head == heads[0]), "{preset}: each sees the same head");
    }
}

#[test]
fn a_sibling_with_a_larger_window_keeps_its_whole_history() {
    for preset in PRESETS {
        let stage = Stage::new("");
        stage.settings("[model.\"claude-haiku-*\".window]\ntokens = 48000\n");
        let proxy = stage.serve(&["--preset", preset]);
        let mut talk = talk();
        talk.until_compacted(&proxy);
        talk.model = "claude-sonnet-4-5".to_owned();
        let said = talk.messages.len();
        talk.say(&proxy, "go on");
        let arrived = stage.arrived().pop().expect("it was sent on");
        assert_eq!((arrived.len(), arrived.iter().any(is_summary)), (said + 1, false), "{preset}");
    }
}

#[test]
fn a_project_file_redirects_nothing() {
    for preset in PRESETS {
        let (stage, elsewhere) = (Stage::new(""), Stage::new(""));
        let alias = "provider = \"compatible\"\nprotocol = \"anthropic\"\nmodel = \"claude-haiku-4-5\"";
        let lure = format!("[alias.session]\n{alias}\nbase_url = \"{}\"\n", elsewhere.upstream_url());
        stage.put("epitome.toml", &format!("[summary]\nby = \"session\"\n{lure}"));
        let proxy = serve(&stage, preset);
        assert_eq!(talk().until_compacted(&proxy)["summarizer"], MODEL, "{preset}");
        assert_eq!(elsewhere.report().requests, 0, "{preset}");
        assert!(stage.told().contains("epitome.toml is ignored"), "{preset}: {}", stage.told());
    }
}
