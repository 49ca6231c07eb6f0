//! Which conversations are kept in memory: one that is worked on, whatever comes beside it.

use crate::stage::{Stage, answer, body, history};
use epitome_upstream::Script;
use reqwest::StatusCode;
use serde_json::{Value, json};

const SMALL: u64 = 8_000;
/// More than are kept of either kind.
const TITLES: usize = 260;

async fn send(stage: &Stage, messages: &[Value]) -> Vec<Value> {
    let (status, _) = answer(stage.post("/v1/messages", body(messages, false))).await;
    assert_eq!(status, StatusCode::OK);
    let (_, arrived) = stage.arrived().pop().expect("it arrived");
    let mut arrived: Value = serde_json::from_str(&arrived).expect("JSON");
    arrived["messages"].as_array_mut().map(std::mem::take).expect("messages")
}

#[tokio::test]
async fn requests_of_one_message_leave_a_working_session_where_it_is() {
    let stage = Stage::new(Script { tool_rounds: 0, ..Script::default() }, SMALL).await;
    let work = history(60, "the parser");
    let before = send(&stage, &work[..work.len() - 4]).await;
    assert!(before[0].to_string().contains("<epitome-summary"), "it was compacted");
    for number in 0..TITLES {
        send(&stage, &[json!({"role": "user", "content": format!("a title for talk {number}")})]).await;
    }
    let after = send(&stage, &work).await;
    assert!(after.starts_with(&before), "it goes on from the head that it has");
    assert_eq!(stage.sessions().await[0]["requests"], 2);
}
