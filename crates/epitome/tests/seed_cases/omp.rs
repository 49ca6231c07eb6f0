//! oh-my-pi through the doors: a turn that failed and stays, bodies too large in bytes, and shaken results.

use crate::door::{compact, hook, written};
use crate::stage::{Proxy, Speech, Stage, Talk, words};
use crate::transcripts::text;
use serde_json::{Value, json};

const CLAUDE: &str = "claude-haiku-4-5";

fn talk() -> Talk {
    Talk::new(Speech::Anthropic, CLAUDE).with("x-api-key", "a-clients-key")
}

fn serve<'s>(stage: &'s Stage, preset: &str) -> Proxy<'s> {
    stage.serve(&["--window", "32000", "--preset", preset])
}

fn outcomes(proxy: &Proxy<'_>) -> Vec<Value> {
    proxy.compactions().iter().map(|record| record["outcome"].clone()).collect()
}

// door: serve
#[test]
fn m9_a_turn_that_was_refused_is_sent_whole_again_where_nothing_was_compacted() {
    let veto = "if asked['hook'] == 'pre_compact': print(json.dumps({'verdict': 'veto', 'why': 'not now'}))";
    for (turns, script, outcome) in [(6, Some(veto), "vetoed"), (0, None, "noop")] {
        let stage = Stage::new(&format!("chat:{}=overflow", turns + 1));
        if let Some(script) = script {
            stage.settings(&hook(&stage, script));
        }
        let proxy = serve(&stage, "omp@17");
        let mut talk = talk();
        for turn in 0..turns {
            talk.say(&proxy, &words(turn));
        }
        talk.messages.push(json!({"role": "user", "content": "the turn that is refused"}));
        let (status, error) = stage.block_on(talk.answer(&proxy));
        assert!(status == 400 && error.to_string().contains("too long"), "{status}: {error}");
        assert_eq!(outcomes(&proxy), [outcome]);
        // The client asks again: all of it is there.
        stage.block_on(talk.ask(&proxy));
        assert_eq!(stage.arrived().pop().expect("it was sent"), talk.messages, "{outcome}");
    }
}

// door: serve
#[test]
fn m15_a_body_too_large_in_bytes_is_not_compacted_and_the_work_is_held() {
    let stage = Stage::new("chat:9=413,10=413");
    let proxy = serve(&stage, "omp@18.x");
    let mut talk = talk();
    for turn in 0..8 {
        talk.say(&proxy, &words(turn));
    }
    talk.messages.push(json!({"role": "user", "content": "go on"}));
    for _ in 0..2 {
        assert_eq!(stage.block_on(talk.answer(&proxy)).0, 413, "as the provider said it");
    }
    assert_eq!((stage.arrived().len(), stage.summaries().len()), (10, 0), "nothing is sent again");
    assert!(!outcomes(&proxy).contains(&json!("compacted")), "{:?}", outcomes(&proxy));
    let held = "held: the provider finds the body too large in bytes, not in tokens";
    assert_eq!(stage.told().matches(held).count(), 1, "{}", stage.told());
    let id = proxy.sessions()[0]["session"].as_str().expect("an id").to_owned();
    let events = proxy.get(&format!("/api/v1/sessions/{id}/events"));
    let names: Vec<&Value> = events.as_array().expect("a list").iter().map(|one| &one["event"]).collect();
    assert_eq!(names.iter().filter(|name| **name == "compaction.held").count(), 1, "{events}");
    stage.block_on(talk.ask(&proxy));
    assert_eq!(stage.arrived().pop().expect("it was sent"), talk.messages, "nothing was lost by it");
}

// door: compact
#[test]
fn m18_shaking_leaves_a_pointer_by_which_the_file_gives_the_original_back() {
    let stage = Stage::new("");
    let call = |id: &str| json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "bash", "input": {}}]});
    let result = |id: &str, text: &str| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]});
    let original = text(7, 5_000);
    let messages = [
        json!({"role": "user", "content": "look around"}),
        call("c1"),
        result("c1", &original),
        call("c2"),
        result("c2", &text(8, 300)),
        json!({"role": "assistant", "content": "seen"}),
    ];
    stage.put("session", &json!({"model": CLAUDE, "max_tokens": 500, "messages": messages}).to_string());
    let shake = ["--preset", "omp@17", "--strategy", "prune", "--to", "native", "--window", "32000"];
    let limits = [
        "prune.protect_results=1000",
        "prune.saving_min=1000",
        "prune.cache_tokens_max=none",
        "count.text=chars/4",
    ];
    let set: Vec<&str> = limits.iter().flat_map(|one| ["--set", one]).collect();
    let record = compact(&stage, &[&shake[..], &set].concat());
    assert_eq!((&record["strategy"], &record["pruned"]), (&json!("prune"), &json!(["m0002"])), "{record}");
    let seen = run(&stage, &["context", "out", "--to", "anthropic"]);
    let seen: Value = serde_json::from_str(&seen).expect("JSON");
    let shown = seen["messages"][2]["content"][0]["content"].to_string();
    assert!(shown.contains("[Output truncated - ") && shown.contains(" tokens] [recall m0002]"), "{shown}");
    assert!(!seen.to_string().contains(&original));
    assert!(run(&stage, &["recall", "out", "m0002"]).contains(&original), "{}", written(&stage, "out"));
}

fn run(stage: &Stage, args: &[&str]) -> String {
    let output = stage.command(args).output().expect("the program runs");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}
