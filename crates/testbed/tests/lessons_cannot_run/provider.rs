//! Summaries by a provider on loopback: reasoning, options it does not take, streams that end early.

use crate::script::{Server, half, whole};
use crate::{WINDOW, due};
use epitome_core::{Record, Strategy};
use epitome_engine::{FrozenClock, SummaryModel};
use epitome_provider::{Aliases, World};
use epitome_testbed::{Maker, change};
use epitome_tokens::Catalog;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

const GOOD: &str = r###"{"content":[{"type":"text","text":"## Goal\nship it"}],"stop_reason":"end_turn","usage":{"input_tokens":900,"output_tokens":9}}"###;
const ONLY_REASONING: &str = r#"{"content":[{"type":"thinking","thinking":"hm","signature":"c2ln"}],"stop_reason":"max_tokens","usage":{"input_tokens":900,"output_tokens":2000}}"#;
const NO_REASONING: &str = r#"{"type":"error","error":{"type":"invalid_request_error","message":"thinking is not supported by this model"}}"#;
const STARTED: &str =
    r#"{"type":"message_start","message":{"content":[],"usage":{"input_tokens":900,"output_tokens":1}}}"#;

/// A compaction by a provider that gives these answers: what came of it, and what it was asked.
async fn compacted(answers: Vec<String>) -> (Arc<Record>, Vec<Value>) {
    let server = Server::start(answers).await;
    let table = format!(
        "[m]\nprovider = \"compatible\"\nprotocol = \"anthropic\"\nbase_url = \"{}\"\nmodel = \"claude-opus-4-5\"\nkey_env = \"KEY\"\nreasoning = \"medium\"",
        server.url
    );
    let aliases: Aliases = toml::from_str(&table).expect("the test wrote it");
    let mut world = World::new(Arc::new(FrozenClock)).expect("a client can be made");
    world.limits.wait = Duration::ZERO;
    let key = |_: &str| Some("a key".to_owned());
    let provider = aliases.provider("m", Catalog::built_in(), &key, &world).expect("it is in the table");
    let mut bed = due(Maker::new("default", WINDOW));
    bed.driver.ports_mut().model = Some(SummaryModel::apart(Arc::new(provider)));
    let step = bed.driver.prepare(&mut bed.session).await.expect("all is in memory");
    let record = step.record.expect("it is due");
    let asked = server.asked();
    (record, asked.iter().map(|body| serde_json::from_str(body).expect("a body is JSON")).collect())
}

fn strategy(record: &Record) -> Option<Strategy> {
    record.change().map(|made| made.strategy)
}

/// The tokens a request sets aside for reasoning.
fn thinking(body: &Value) -> Option<u64> {
    body["thinking"]["budget_tokens"].as_u64()
}

#[tokio::test]
async fn l17_reasoning_has_a_budget_of_its_own_and_the_second_try_reasons_less() {
    let (record, asked) = compacted(vec![whole(200, ONLY_REASONING), whole(200, GOOD)]).await;
    assert_eq!(strategy(&record), Some(Strategy::Summarize));
    assert_eq!(asked.iter().map(thinking).collect::<Vec<_>>(), [Some(4_096), Some(1_024)]);
    let limits: Vec<u64> = asked.iter().filter_map(|body| body["max_tokens"].as_u64()).collect();
    assert_eq!(limits[0] - 4_096, limits[1] - 1_024);
}

#[tokio::test]
async fn l18_a_provider_that_takes_no_reasoning_is_asked_without() {
    let (record, asked) = compacted(vec![whole(400, NO_REASONING), whole(200, GOOD)]).await;
    assert_eq!(strategy(&record), Some(Strategy::Summarize));
    assert_eq!(asked.iter().map(thinking).collect::<Vec<_>>(), [Some(4_096), None]);
}

#[tokio::test]
async fn l27_a_stream_that_dies_half_way_is_asked_for_again_by_whoever_made_the_call() {
    let (record, asked) = compacted(vec![half(&[STARTED]), whole(200, GOOD)]).await;
    let made = change(Some(record.clone()));
    assert_eq!((made.strategy, &record.fallbacks), (Strategy::Summarize, &vec![]));
    assert_eq!((asked.len(), &asked[0], record.spent.calls), (2, &asked[1], 2));
}
