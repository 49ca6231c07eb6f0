//! A summary that is made before it is needed: the request at which the compaction is due does not ask for one.

use crate::stage::{Proxy, Speech, Stage, Talk, words};
use epitome_upstream::Kind;
use serde_json::{Value, json};

/// A summary takes one call: once the provider was asked for it, nothing more is asked.
const ONE_CALL: &str =
    "[summary]\nby = \"session\"\noversize = \"send\"\nretries = 0\n[keep]\nwithin_turn = false\n";
const TURNS_MAX: usize = 120;

/// A conversation, and what the provider was asked for at each of its turns.
struct Turns<'s> {
    proxy: Proxy<'s>,
    talk: Talk,
    asked: Vec<Vec<Kind>>,
}

impl<'s> Turns<'s> {
    fn new(stage: &'s Stage) -> Self {
        let talk = Talk::new(Speech::Anthropic, "claude-haiku-4-5").with("x-api-key", "a-clients-key");
        Self { proxy: stage.serve(&["--window", "32000"]), talk, asked: Vec::new() }
    }

    fn say(&mut self, text: &str) {
        let seen = self.asked.iter().map(Vec::len).sum();
        self.talk.say(&self.proxy, text);
        let recorded = self.proxy.stage.report().recorded;
        self.asked.push(recorded[seen..].iter().map(|request| request.kind).collect());
    }

    /// Talks on until a compaction; what came of it.
    fn talk_until_compacted(&mut self) -> Value {
        for turn in self.asked.len()..TURNS_MAX {
            self.say(&words(turn));
            if let Some(record) = self.proxy.compactions().pop() {
                return record;
            }
        }
        panic!("nothing was compacted: {}", self.proxy.stage.told());
    }
}

fn without() -> Vec<Vec<Kind>> {
    let stage = Stage::new("");
    stage.settings(ONE_CALL);
    let mut turns = Turns::new(&stage);
    assert_eq!(turns.talk_until_compacted()["summarizer"], "claude-haiku-4-5");
    turns.asked
}

#[test]
fn the_request_that_is_due_finds_its_summary_made_and_asks_for_none() {
    let without = without();
    assert_eq!(without.last(), Some(&vec![Kind::Summary, Kind::Chat]), "else it is asked for when it is due");
    let stage = Stage::new("");
    stage.settings(&format!("{ONE_CALL}[speculate]\nenabled = true\n"));
    let mut turns = Turns::new(&stage);
    // Past the mark, and a turn before it is due.
    (0..without.len() - 2).for_each(|turn| turns.say(&words(turn)));
    // Words that take next to nothing: it is asked for sooner than it comes due.
    while stage.summaries().is_empty() && turns.asked.len() < TURNS_MAX {
        turns.say("go on");
    }
    assert_eq!((stage.summaries().len(), turns.proxy.compactions().len()), (1, 0), "{}", stage.told());
    let record = turns.talk_until_compacted();
    assert_eq!(
        (&record["outcome"], &record["summarizer"]),
        (&json!("compacted"), &json!("claude-haiku-4-5"))
    );
    assert!(record["time_ms"].is_u64() && record["duration_ms"].is_u64(), "{record}");
    assert_eq!((turns.asked.last(), stage.summaries().len()), (Some(&vec![Kind::Chat]), 1));
}
