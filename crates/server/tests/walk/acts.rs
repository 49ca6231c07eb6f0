//! What people ask of a session through the API: what they name must be there, and what they write has a limit.

use crate::stage::{Stage, answer, body, history};
use epitome_core::{Policy, Settings, Threshold};
use epitome_engine::{BoxFuture, Clock, FrozenClock};
use epitome_server::{OperatorNotice, SessionRule};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// A window that these histories outgrow.
const SMALL: u64 = 8_000;
/// One that they do not.
const LARGE: u64 = 64_000;

async fn stage(window: u64, change: impl FnOnce(&mut Settings)) -> Stage {
    let mut settings = Policy::default().settings().clone();
    change(&mut settings);
    let rule = SessionRule::alone(Policy::try_from(settings).expect("a policy"));
    Stage::by(rule, window, Arc::new(FrozenClock), |_| {}).await
}

/// A session of 41 messages, with room for all of them.
async fn short_session() -> Stage {
    let stage = stage(LARGE, |_| {}).await;
    send(&stage, body(&history(10, "the parser"), false)).await;
    stage
}

async fn send(stage: &Stage, body: String) {
    assert_eq!(answer(stage.post("/v1/messages", body)).await.0, StatusCode::OK);
}

/// The status of an act on the first session, and why it was refused.
async fn act(stage: &Stage, method: Method, path: &str, json: Value) -> (u16, String) {
    let request = stage.request(method, &format!("/api/v1/sessions/s0001/{path}")).json(&json);
    told(answer(request).await)
}

fn told((status, body): (StatusCode, bytes::Bytes)) -> (u16, String) {
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    (status.as_u16(), body["error"].as_str().unwrap_or_default().to_owned())
}

/// Outcome and entry of each compaction of the first session.
async fn listed(stage: &Stage) -> Vec<(Value, Value)> {
    let all = stage.json("/api/v1/sessions/s0001/compactions").await;
    let all = all.as_array().expect("a list");
    all.iter().map(|one| (one["outcome"].clone(), one["entry"].clone())).collect()
}

#[tokio::test]
async fn a_compaction_is_listed_with_its_own_mark_whatever_was_marked_behind_it() {
    let stage = stage(SMALL, |settings| settings.guard.progress = Some(Threshold::Share(100))).await;
    let mut messages = history(60, "the parser");
    send(&stage, body(&messages, false)).await;
    messages.last_mut().expect("it is not empty")["content"] = json!("and what now?");
    send(&stage, body(&messages, false)).await;
    let listed = listed(&stage).await;
    let [(made, entry), (applied, of)] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!((made, applied, of), (&json!("compacted"), &json!("applied"), entry));
    let completed = stage.json("/api/v1/sessions/s0001/events").await;
    let completed = completed.as_array().expect("a list").iter();
    let told: Vec<&Value> =
        completed.filter_map(|one| one["event"].get("entry").or(one.get("entry"))).collect();
    assert_eq!(told, [entry, entry], "events name it alike");
    let path = format!("compactions/{}/undo", entry.as_str().expect("an entry"));
    assert_eq!(act(&stage, Method::POST, &path, json!({})).await, (200, String::new()));
}

#[tokio::test]
async fn what_cannot_be_taken_is_refused_in_one_shape() {
    let stage = short_session().await;
    let path = |rest: &str| format!("/api/v1/sessions/s0001/{rest}");
    let cases = [
        (
            Method::POST,
            path("compact"),
            json!({"foo": 1}),
            400,
            "the body cannot be used: foo: unknown field `foo`, expected one of `focus`, `up_to`, `from`, `dry_run`, `at_turn_end`, `set`",
        ),
        (
            Method::PATCH,
            path("compactions/m0004"),
            json!({"notes": "n"}),
            400,
            "the body cannot be used: missing field `flag`",
        ),
        (Method::POST, path("rollback"), json!({}), 400, "the body cannot be used: missing field `to`"),
        (
            Method::POST,
            path("labels"),
            json!({"text": " "}),
            400,
            "`text` is empty; write the name that the place is to have",
        ),
        (
            Method::GET,
            path("events?since=abc"),
            json!({}),
            400,
            "`abc` is no position; one looks like 12.1, and 0 is before all",
        ),
        (
            Method::POST,
            "/api/v1/checkpoints/c0001".into(),
            json!({"decision": "timed-out"}),
            400,
            "the body cannot be used: decision: unknown variant `timed-out`, expected one of `approve`, `edit`, `reject`",
        ),
        (
            Method::DELETE,
            path("compact"),
            json!({}),
            405,
            "this path takes other methods; see docs/reference/proxy.md",
        ),
        (
            Method::POST,
            "/api/v1/nowhere".into(),
            json!({}),
            404,
            "there is no such path; see docs/reference/proxy.md",
        ),
    ];
    for (method, path, json, status, why) in cases {
        let (refused, sentence) = told(answer(stage.request(method, &path).json(&json)).await);
        // Where in the body it stands is serde's to say.
        let sentence = sentence.split(" at line ").next().unwrap_or_default();
        assert_eq!((refused, sentence), (status, why), "{path}");
    }
    let request = stage.request(Method::POST, &path("labels")).body("{\"text\": \"a\"}");
    let untyped = "the body is not said to be JSON; send it with `content-type: application/json`";
    assert_eq!(told(answer(request).await), (400, untyped.to_owned()));
    let request =
        stage.request(Method::POST, &path("labels")).header("content-type", "application/json").body("{");
    assert!(told(answer(request).await).1.starts_with("the body is no JSON: EOF while parsing"));
}

#[tokio::test]
async fn the_operator_is_told_apart_what_was_made_and_what_was_put_to_use() {
    let notices: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = notices.clone();
    let rule = SessionRule::alone(Policy::default());
    let tell = move |notice: &OperatorNotice| kept.lock().expect("no panic").push(notice.to_string());
    let stage = Stage::by(rule, SMALL, Arc::new(FrozenClock), tell).await;
    let mut messages = history(60, "the parser");
    send(&stage, body(&messages, false)).await;
    messages.last_mut().expect("it is not empty")["content"] = json!("and what now?");
    send(&stage, body(&messages, false)).await;
    let listed = listed(&stage).await;
    let entry = listed[0].1.as_str().expect("an entry");
    let told: Vec<String> = notices.lock().expect("no panic").clone();
    let began = |of: &str| told.iter().filter(|line| line.starts_with(of)).count();
    let (made, used) = ("s0001: compacted from ", format!("s0001: {entry} put to use again, from "));
    assert_eq!((began(made), began(&used)), (1, 1), "{told:?}");
}

#[tokio::test]
async fn what_came_to_nothing_has_no_entry() {
    let stage = stage(SMALL, |_| {}).await;
    let mut huge: Value = serde_json::from_str(&body(&history(5, "the parser"), false)).expect("JSON");
    huge["system"] = json!("a rule to keep. ".repeat(4_000));
    send(&stage, huge.to_string()).await;
    assert_eq!(listed(&stage).await, [(json!("impossible"), Value::Null)]);
}

#[tokio::test]
async fn a_range_ends_at_a_message_in_view() {
    let stage = short_session().await;
    let gone = (404, "m9999 is no message in view; name one that the model still sees".to_owned());
    for end in ["up_to", "from"] {
        for dry_run in [false, true] {
            let asked = json!({end: "m9999", "dry_run": dry_run});
            assert_eq!(act(&stage, Method::POST, "compact", asked).await, gone, "{end}");
        }
    }
    assert_eq!(listed(&stage).await, []);
    assert_eq!(act(&stage, Method::POST, "compact", json!({"up_to": "m0020"})).await.0, 200);
    let compacted = (404, "m0002 is no message in view; name one that the model still sees".to_owned());
    assert_eq!(act(&stage, Method::POST, "compact", json!({"up_to": "m0002"})).await, compacted);
}

#[tokio::test]
async fn wishes_that_contradict_each_other_are_refused() {
    let stage = short_session().await;
    let both = "`up_to` and `from` are two ranges; name one of them";
    let later = "`at_turn_end` asks for a compaction by the policy alone; leave out `focus`, `up_to`, `from`, `set` and `dry_run`";
    let cases = [
        (json!({"up_to": "m0010", "from": "m0004"}), both),
        (json!({"at_turn_end": true, "focus": "the parser"}), later),
        (json!({"at_turn_end": true, "up_to": "m0010"}), later),
        (json!({"at_turn_end": true, "from": "m0010"}), later),
        (json!({"at_turn_end": true, "dry_run": true}), later),
        (json!({"at_turn_end": true, "set": {"strategy": "drop"}}), later),
    ];
    for (asked, why) in cases {
        let refused = act(&stage, Method::POST, "compact", asked.clone()).await;
        assert_eq!(refused, (400, why.to_owned()), "{asked}");
    }
    assert_eq!(listed(&stage).await, []);
}

#[tokio::test]
async fn what_is_not_there_cannot_be_recalled() {
    let stage = short_session().await;
    let recall = async |path: &str| told(answer(stage.get(&format!("/api/v1/sessions/{path}"))).await);
    assert_eq!(recall("s0001/messages/m0004").await, (200, String::new()));
    assert_eq!(recall("s0001/messages/m9999").await, (404, "s0001 holds no message m9999".to_owned()));
    let gone = "there is no session `s0009`; GET /api/v1/sessions lists them";
    assert_eq!(recall("s0009/messages/m0004").await, (404, gone.to_owned()));
}

#[tokio::test]
async fn every_text_has_a_limit() {
    let stage = short_session().await;
    assert_eq!(act(&stage, Method::POST, "compact", json!({"up_to": "m0020"})).await.0, 200);
    let entry = listed(&stage).await[0].1.as_str().expect("an entry").to_owned();
    let judgement = format!("compactions/{entry}");
    let cases = [
        (Method::POST, "labels", json!({}), "text", 200),
        (Method::PATCH, &judgement, json!({"flag": "bad"}), "notes", 4_000),
        (Method::POST, "compact", json!({"dry_run": true}), "focus", 4_000),
        (Method::POST, "navigate", json!({"to": "m0008", "summary": true}), "focus", 4_000),
    ];
    for (method, path, mut asked, field, most) in cases {
        asked[field] = json!("ö".repeat(most + 1));
        let why = format!("`{field}` has more than {most} characters; write less");
        assert_eq!(act(&stage, method.clone(), path, asked.clone()).await, (400, why), "{path}");
        asked[field] = json!("ö".repeat(most));
        assert_eq!(act(&stage, method, path, asked).await, (200, String::new()), "{path}");
    }
}

/// A clock that notes which threads ask it.
#[derive(Default)]
struct ThreadClock(Mutex<Vec<ThreadId>>);

impl Clock for ThreadClock {
    fn now(&self) -> Duration {
        self.0.lock().expect("nobody failed").push(thread::current().id());
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    fn unix_ms(&self) -> Option<u64> {
        self.now();
        None
    }
}

#[tokio::test]
async fn acts_are_done_beside_the_thread_that_serves() {
    let clock = Arc::<ThreadClock>::default();
    let rule = SessionRule::alone(Policy::default());
    let stage = Stage::by(rule, LARGE, clock.clone(), |_| {}).await;
    send(&stage, body(&history(10, "the parser"), false)).await;
    let acts = [
        ("compact", json!({"dry_run": true})),
        ("compact", json!({})),
        ("navigate", json!({"to": "m0008", "summary": true})),
    ];
    for (path, asked) in acts {
        clock.0.lock().expect("nobody failed").clear();
        assert_eq!(act(&stage, Method::POST, path, asked).await, (200, String::new()));
        let asked = clock.0.lock().expect("nobody failed").clone();
        // Everything else in this test has but one thread.
        assert!(!asked.is_empty() && !asked.contains(&thread::current().id()), "{path}: {asked:?}");
    }
}
