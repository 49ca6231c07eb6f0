//! A summary that is made before it is needed: the request at which the compaction is due does not wait for it.

use crate::stage::{Proxy, Speech, Stage, Talk, words};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Each piece of a summary comes so much later than the one before.
const SLOW: &str = "summary:*=slow=4";
const TURNS_MAX: usize = 120;

fn talk() -> Talk {
    Talk::new(Speech::Anthropic, "claude-haiku-4-5").with("x-api-key", "a-clients-key")
}

/// Talks on until a compaction: how long the request took at which it was made, and what came of it.
fn talk_until_compacted(talk: &mut Talk, proxy: &Proxy<'_>, first: usize) -> (Duration, Value) {
    for turn in first..TURNS_MAX {
        let begun = Instant::now();
        talk.say(proxy, &words(turn));
        let took = begun.elapsed();
        if let Some(record) = proxy.compactions().pop() {
            return (took, record);
        }
    }
    panic!("nothing was compacted: {}", proxy.stage.told());
}

/// Talks on until a summary is asked for; the next turn.
fn talk_until_asked(talk: &mut Talk, proxy: &Proxy<'_>) -> usize {
    for turn in 0..TURNS_MAX {
        talk.say(proxy, &words(turn));
        if !proxy.stage.summaries().is_empty() {
            return turn + 1;
        }
    }
    panic!("no summary was asked for: {}", proxy.stage.told());
}

/// How long a client waits for the request at which the compaction is due, without speculation.
fn wait_without() -> Duration {
    let stage = Stage::new(SLOW);
    stage.settings("[summary]\nby = \"session\"\n");
    let proxy = stage.serve(&["--window", "32000"]);
    let (took, record) = talk_until_compacted(&mut talk(), &proxy, 0);
    assert_eq!(record["summarizer"], "claude-haiku-4-5");
    took
}

#[test]
fn the_request_that_is_due_finds_its_summary_made_and_does_not_wait() {
    let without = wait_without();
    let stage = Stage::new(SLOW);
    stage.settings("[summary]\nby = \"session\"\n[speculate]\nenabled = true\n");
    let proxy = stage.serve(&["--window", "32000"]);
    let mut talk = talk();
    let begun = Instant::now();
    let turn = talk_until_asked(&mut talk, &proxy);
    assert_eq!(proxy.compactions().len(), 0, "it is not due yet");
    // A person reads and thinks meanwhile, for longer than a summary takes.
    std::thread::sleep((without * 2).saturating_sub(begun.elapsed()));
    let asked = stage.summaries().len();
    let (took, record) = talk_until_compacted(&mut talk, &proxy, turn);
    assert_eq!(
        (&record["outcome"], &record["summarizer"]),
        (&json!("compacted"), &json!("claude-haiku-4-5"))
    );
    assert_eq!(stage.summaries().len(), asked, "what was made beforehand is used");
    assert!(record["time_ms"].is_u64() && record["duration_ms"].as_u64() > Some(0), "{record}");
    assert!(took * 4 < without, "{took:?} with, {without:?} without");
}
