//! A server that is restarted in the middle of conversations, by itself or by a kill: on the same store, nobody notices.

use crate::stage::{Proxy, Speech, Stage, Talk, words};
use epitome_testbed::TestStore;
use serde_json::Value;

const MODEL: &str = "claude-haiku-4-5";
/// Enough for three compactions of a window of 20,000 tokens.
const TURNS: usize = 60;

/// How a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Asked,
    Killed,
}

fn serve<'s>(stage: &'s Stage, place: &TestStore) -> Proxy<'s> {
    stage.serve(&["--window", "20000", "--store", place.address()])
}

fn restart<'s>(stage: &'s Stage, proxy: Proxy<'s>, end: End, place: &TestStore) -> Proxy<'s> {
    match end {
        End::Asked => assert!(proxy.interrupt(), "it ends well"),
        // Killed when it is dropped.
        End::Killed => drop(proxy),
    }
    serve(stage, place)
}

/// What the provider was sent in a conversation of so many turns, with the server restarted before each of `restarts`, and how
/// many compactions there were.
fn sent(place: &TestStore, restarts: &[usize], end: End) -> (Vec<Vec<Value>>, usize) {
    let stage = Stage::new("");
    let mut proxy = serve(&stage, place);
    let mut talk = Talk::new(Speech::Anthropic, MODEL).with("x-api-key", "a-clients-key");
    for turn in 0..TURNS {
        if restarts.contains(&turn) {
            proxy = restart(&stage, proxy, end, place);
        }
        talk.say(&proxy, &words(turn));
    }
    let compactions = proxy.compactions().iter().filter(|record| record["outcome"] == "compacted").count();
    (stage.arrived(), compactions)
}

#[test]
fn a_server_restarted_again_and_again_sends_what_one_that_never_was_sends() {
    let (unbroken, compactions) = sent(&TestStore::sqlite(), &[], End::Asked);
    assert!(compactions >= 3, "{compactions}");
    let [file, database] = TestStore::of_each_kind();
    // What a killed server held in a database is had when its lease is over, after ten seconds: once is enough.
    let ends: [(&TestStore, End, &[usize]); 4] = [
        (&file, End::Asked, &[7, 20, 21, 40, 59]),
        (&file.another(), End::Killed, &[7, 20, 21, 40, 59]),
        (&database, End::Asked, &[7, 20, 21, 40, 59]),
        (&database.another(), End::Killed, &[40]),
    ];
    for (place, end, restarts) in ends {
        let place_name = place.address();
        let (restarted, made) = sent(place, restarts, end);
        assert_eq!(made, compactions, "{end:?} {place_name}");
        for (turn, (with, without)) in restarted.iter().zip(&unbroken).enumerate() {
            assert_eq!(with.len(), without.len(), "{end:?} {place_name}, request {turn}");
        }
        let changes = restarted.windows(2).filter(|pair| !pair[1].starts_with(&pair[0])).count();
        assert_eq!(
            changes, compactions,
            "{end:?} {place_name}: each request extends the last, but at a compaction"
        );
    }
}
