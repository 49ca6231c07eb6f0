//! A server that is restarted in the middle of conversations, by itself or by a kill: on the same store, nobody notices.

use crate::stage::{Proxy, Speech, Stage, Talk, words};
use serde_json::Value;

const MODEL: &str = "claude-haiku-4-5";
/// Enough for three compactions of a window of 20,000 tokens.
const TURNS: usize = 60;
const ARGS: [&str; 4] = ["--window", "20000", "--store", "sqlite:epitome.db"];

/// How a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Asked,
    Killed,
}

fn restart<'s>(stage: &'s Stage, proxy: Proxy<'s>, end: End) -> Proxy<'s> {
    match end {
        End::Asked => assert!(proxy.interrupt(), "it ends well"),
        // Killed when it is dropped.
        End::Killed => drop(proxy),
    }
    stage.serve(&ARGS)
}

/// What the provider was sent in a conversation of so many turns, with the server restarted before each of `restarts`, and how
/// many compactions there were.
fn sent(restarts: &[usize], end: End) -> (Vec<Vec<Value>>, usize) {
    let stage = Stage::new("");
    let mut proxy = stage.serve(&ARGS);
    let mut talk = Talk::new(Speech::Anthropic, MODEL).with("x-api-key", "a-clients-key");
    for turn in 0..TURNS {
        if restarts.contains(&turn) {
            proxy = restart(&stage, proxy, end);
        }
        talk.say(&proxy, &words(turn));
    }
    let compactions = proxy.compactions().iter().filter(|record| record["outcome"] == "compacted").count();
    (stage.arrived(), compactions)
}

#[test]
fn a_server_restarted_again_and_again_sends_what_one_that_never_was_sends() {
    let (unbroken, compactions) = sent(&[], End::Asked);
    assert!(compactions >= 3, "{compactions}");
    for end in [End::Asked, End::Killed] {
        let (restarted, made) = sent(&[7, 20, 21, 40, 59], end);
        assert_eq!(made, compactions, "{end:?}");
        for (turn, (with, without)) in restarted.iter().zip(&unbroken).enumerate() {
            assert_eq!(with.len(), without.len(), "{end:?}, request {turn}");
        }
        let changes = restarted.windows(2).filter(|pair| !pair[1].starts_with(&pair[0])).count();
        assert_eq!(changes, compactions, "{end:?}: each request extends the last, but at a compaction");
    }
}
