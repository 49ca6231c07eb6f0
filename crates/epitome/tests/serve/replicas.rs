//! Several servers on one database, and a model that takes its time: what one of them has it write the others wait for and use, and
//! where that one dies another takes over.

use crate::stage::{Proxy, Speech, Stage, Talk, words};
use epitome_testbed::TestStore;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const MODEL: &str = "claude-haiku-4-5";
/// Longer than others are waited for who only hold a session.
const WRITING: Duration = Duration::from_secs(16);
/// Between the events of a stream of some twenty-five: as much as that, a while, for ever.
const PAUSES_MS: [u64; 3] = [680, 100, 60_000];
/// Nothing that a test waits for takes longer.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// A provider whose first part of a summary comes with such pauses.
fn slow_stage(pause_ms: u64) -> Stage {
    let stage = Stage::new(&format!("summary:1=slow={pause_ms}"));
    stage.settings("[summary]\nby = \"session\"\n");
    stage
}

fn serve<'s>(stage: &'s Stage, place: &TestStore) -> Proxy<'s> {
    stage.serve(&["--window", "20000", "--store", place.address()])
}

fn talk() -> Talk {
    Talk::new(Speech::Anthropic, MODEL).with("x-api-key", "a-clients-key")
}

/// Goes on with a talk to where its window is too small.
fn outgrow(talk: &mut Talk) {
    for turn in 0..30 {
        let said = [("user", words(turn)), ("assistant", format!("part {turn} is as it was"))];
        talk.messages.extend(said.map(|(role, text)| json!({"role": role, "content": text})));
    }
    talk.messages.push(json!({"role": "user", "content": "and now?"}));
}

/// Waits until so many summaries were asked for.
async fn until_asked(stage: &Stage, count: usize) {
    let until = Instant::now() + WAIT_MAX;
    while stage.summaries().len() < count {
        assert!(Instant::now() < until, "nobody asks: {}", stage.told());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// What came of the compactions of the sessions that a server has: who wrote the summary, in how many calls.
fn written(proxy: &Proxy<'_>) -> Vec<(Value, Value)> {
    let sessions = proxy.sessions();
    let records = sessions.iter().flat_map(|one| one["compactions"].as_array().expect("a list"));
    records.map(|one| (one["summarizer"].clone(), one["spent"]["calls"].clone())).collect()
}

/// How many sessions there are in a store.
fn sessions(stage: &Stage, place: &TestStore) -> Value {
    let args = ["sessions", "--stored", "--json", "--store", place.address()];
    let output = stage.command(&args).output().expect("the program runs");
    let listed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    listed["stored"]["found"].clone()
}

#[test]
fn a_request_that_comes_to_two_servers_at_once_is_summarised_once() {
    let (stage, place) = (slow_stage(PAUSES_MS[0]), TestStore::postgres());
    let servers = [serve(&stage, &place), serve(&stage, &place)];
    let mut talk = talk();
    talk.say(&servers[0], "hello");
    outgrow(&mut talk);
    let begun = Instant::now();
    let replies = stage.block_on(async { tokio::join!(talk.answer(&servers[0]), talk.answer(&servers[1])) });
    assert_eq!([replies.0.0, replies.1.0], [200; 2]);
    assert!(begun.elapsed() >= WRITING, "nobody waited");
    let sent = stage.arrived();
    assert!(sent[1] == sent[2] && sent[1].len() < talk.messages.len(), "the second is what the first was");
    let once = vec![(json!(MODEL), json!(stage.summaries().len()))];
    assert_eq!(
        servers.each_ref().map(written),
        [once.clone(), once],
        "all that was asked for is of one summary"
    );
    assert_eq!(sessions(&stage, &place), 1);
}

#[test]
fn a_client_that_comes_back_to_another_server_with_all_it_has_said_finds_the_work_under_way() {
    let (stage, place) = (slow_stage(PAUSES_MS[1]), TestStore::postgres());
    let servers = [serve(&stage, &place), serve(&stage, &place)];
    let mut talk = talk();
    outgrow(&mut talk);
    let replies = stage.block_on(async {
        let again = async {
            until_asked(&stage, 1).await;
            talk.answer(&servers[1]).await
        };
        tokio::join!(talk.answer(&servers[0]), again)
    });
    assert_eq!([replies.0.0, replies.1.0], [200; 2]);
    assert_eq!(written(&servers[1]), [(json!(MODEL), json!(stage.summaries().len()))]);
    assert_eq!(sessions(&stage, &place), 1);
}

#[test]
fn what_a_server_died_at_is_done_once_more_by_another_and_the_record_tells_it() {
    let (stage, place) = (slow_stage(PAUSES_MS[2]), TestStore::postgres());
    let (first, second) = (serve(&stage, &place), serve(&stage, &place));
    let mut talk = talk();
    talk.say(&first, "hello");
    outgrow(&mut talk);
    stage.block_on(async {
        let again = async {
            until_asked(&stage, 1).await;
            let answer = tokio::join!(talk.answer(&second), async { first.kill() }).0;
            answer.0
        };
        let (is_answered, again) = tokio::join!(talk.is_answered(&first), again);
        assert_eq!((is_answered, again), (false, 200));
    });
    // One call is lost with the server that made it.
    assert_eq!(written(&second), [(json!(MODEL), json!(stage.summaries().len() - 1))]);
    assert_eq!(sessions(&stage, &place), 1);
}
