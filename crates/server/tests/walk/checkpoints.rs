//! Compactions that wait for an operator through the API: each by itself, and only as long as somebody waits for it.

use crate::stage::{Stage, answer, body, history};
use epitome_core::{Policy, Strategy};
use epitome_engine::{BoxFuture, Clock};
use epitome_server::SessionRule;
use reqwest::StatusCode;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// A window that these histories outgrow.
const SMALL: u64 = 8_000;

/// A clock whose waits end when a test says so.
#[derive(Default)]
struct HandClock(Notify);

impl Clock for HandClock {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'_, ()> {
        Box::pin(self.0.notified())
    }

    fn unix_ms(&self) -> Option<u64> {
        Some(1_700_000_000_000)
    }
}

/// A server that asks before it compacts, its clock, and what it has told.
struct Desk {
    stage: Arc<Stage>,
    clock: Arc<HandClock>,
    told: Arc<Mutex<Vec<String>>>,
}

impl Desk {
    async fn new() -> Self {
        let mut settings = Policy::default().settings().clone();
        settings.strategy = vec![Strategy::Checkpoint, Strategy::Summarize, Strategy::Drop];
        let rule = SessionRule::alone(Policy::try_from(settings).expect("a policy"));
        let (clock, told) = (Arc::<HandClock>::default(), Arc::<Mutex<Vec<String>>>::default());
        let heard = told.clone();
        let tell = move |notice: &epitome_server::OperatorNotice| {
            heard.lock().expect("nobody failed").push(notice.to_string());
        };
        Self { stage: Arc::new(Stage::by(rule, SMALL, clock.clone(), tell).await), clock, told }
    }

    /// A request that must be compacted and is waited for elsewhere: a fork of one history that ends in `last`.
    fn send(&self, last: &str) -> JoinHandle<StatusCode> {
        let mut messages = history(60, "the parser");
        let half = messages.len() / 2;
        messages[half] = json!({"role": "assistant", "content": format!("{last} begins here")});
        messages.last_mut().expect("it is not empty")["content"] = json!(last);
        let stage = self.stage.clone();
        tokio::spawn(async move { answer(stage.post("/v1/messages", body(&messages, false))).await.0 })
    }

    /// All that wait, once there are so many.
    async fn waiting(&self, count: usize) -> Vec<Value> {
        loop {
            let listed = self.stage.json("/api/v1/checkpoints").await;
            match listed.as_array() {
                Some(all) if all.len() == count => return all.clone(),
                _ => tokio::task::yield_now().await,
            }
        }
    }

    async fn decide(&self, one: &Value, decision: Value) -> u16 {
        let path = format!("/api/v1/checkpoints/{}", one["checkpoint"].as_str().expect("an id"));
        answer(self.stage.post(&path, decision.to_string()).header("content-type", "application/json"))
            .await
            .0
            .as_u16()
    }

    /// The names of the events of the first session since a position.
    async fn events(&self, since: &str) -> Vec<Value> {
        let listed = self.stage.json(&format!("/api/v1/sessions/s0001/events?since={since}")).await;
        listed.as_array().expect("a list").clone()
    }

    async fn outcomes(&self) -> Vec<(String, Value)> {
        let sessions = self.stage.sessions().await;
        let all = sessions.iter().flat_map(|one| one["compactions"].as_array().expect("a list"));
        all.map(|one| (one["outcome"].as_str().expect("a word").to_owned(), one["fallbacks"].clone()))
            .collect()
    }
}

fn names(events: &[Value]) -> Vec<&str> {
    events.iter().map(|one| one["event"].as_str().expect("a name")).collect()
}

#[tokio::test]
async fn two_forks_of_one_session_wait_each_by_itself() {
    let desk = Desk::new().await;
    let first = desk.send("fork one");
    let one = desk.waiting(1).await.remove(0);
    let second = desk.send("fork two");
    let both = desk.waiting(2).await;
    assert_eq!((&both[0], &both[0]["session"]), (&one, &both[1]["session"]), "one history, two that wait");
    assert_eq!(desk.decide(&both[1], json!({"decision": "approve"})).await, 200);
    assert_eq!(second.await.expect("it is answered"), StatusCode::OK);
    assert_eq!(desk.waiting(1).await[0], one, "the other still waits");
    assert_eq!(desk.decide(&one, json!({"decision": "edit", "summary": "they ported it"})).await, 200);
    assert_eq!(first.await.expect("it is answered"), StatusCode::OK);
    let none = json!([]);
    assert_eq!(desk.outcomes().await, [("compacted".into(), none.clone()), ("compacted".into(), none)]);
    assert_eq!(desk.decide(&one, json!({"decision": "approve"})).await, 404, "it was decided");
}

#[tokio::test]
async fn what_nobody_decided_in_time_is_no_longer_listed() {
    let desk = Desk::new().await;
    let sent = desk.send("go");
    let one = desk.waiting(1).await.remove(0);
    desk.clock.0.notify_waiters();
    assert_eq!(sent.await.expect("it is answered"), StatusCode::OK);
    assert_eq!(desk.waiting(0).await, Vec::<Value>::new());
    assert_eq!(desk.decide(&one, json!({"decision": "approve"})).await, 404);
    let passed = json!([{"strategy": "checkpoint", "why": "nobody decided in time"}]);
    assert_eq!(desk.outcomes().await, [("compacted".into(), passed)]);
}

#[tokio::test]
async fn a_client_who_hangs_up_leaves_nothing_that_waits_and_nothing_changed() {
    let desk = Desk::new().await;
    let sent = desk.send("go");
    desk.waiting(1).await;
    sent.abort();
    desk.waiting(0).await;
    assert_eq!(desk.outcomes().await, []);
    let again = desk.send("go");
    let one = desk.waiting(1).await.remove(0);
    assert_eq!(desk.decide(&one, json!({"decision": "approve"})).await, 200);
    assert_eq!(again.await.expect("it is answered"), StatusCode::OK);
    assert_eq!(desk.outcomes().await, [("compacted".into(), json!([]))]);
    let told = desk.told.lock().expect("nobody failed").join("\n");
    assert!(told.contains("s0001: c0001 waits no more: the client hung up"), "{told}");
}

#[tokio::test]
async fn a_wait_is_told_when_it_begins_and_listed_among_the_events() {
    let desk = Desk::new().await;
    let sent = desk.send("go");
    let one = desk.waiting(1).await.remove(0);
    let told = desk.told.lock().expect("nobody failed").join("\n");
    assert_eq!(told, "s0001: a compaction waits for your word at /api/v1/checkpoints/c0001");
    let begun = desk.events("0").await;
    let expected = ["compaction.approaching", "compaction.triggered", "compaction.pending"];
    assert_eq!(names(&begun), expected);
    let pending = &begun[2];
    assert_eq!((&pending["then"], &pending["leaving"]), (&json!("summarize"), &one["leaving"]));
    assert_eq!((&pending["time_ms"], &pending["session"]), (&json!(1_700_000_000_000_u64), &json!("s0001")));
    desk.decide(&one, json!({"decision": "approve"})).await;
    assert_eq!(sent.await.expect("it is answered"), StatusCode::OK);
    let since = pending["position"].as_str().expect("a position");
    let after = desk.events(since).await;
    assert_eq!(names(&after), ["compaction.completed"]);
    assert_eq!(after[0]["record"]["outcome"], "compacted");
    assert_eq!(desk.events("0").await[..3], begun[..]);
}

#[tokio::test]
async fn somebody_who_asks_for_a_compaction_and_hangs_up_leaves_nothing_that_waits() {
    let desk = Desk::new().await;
    let short = body(&history(4, "the parser"), false);
    assert_eq!(answer(desk.stage.post("/v1/messages", short)).await.0, StatusCode::OK);
    let stage = desk.stage.clone();
    let asked = tokio::spawn(async move { answer(stage.post("/api/v1/sessions/s0001/compact", "")).await });
    desk.waiting(1).await;
    asked.abort();
    desk.waiting(0).await;
    assert_eq!(desk.outcomes().await, []);
}
