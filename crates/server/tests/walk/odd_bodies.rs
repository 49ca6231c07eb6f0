//! Bodies with fields, parts and writing that nobody of ours knows: kept as they came, cut in place, or passed on and
//! said so.

use crate::stage::serve_telling;
use axum::Router;
use axum::routing::any;
use reqwest::Client;
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// What the server believes in these tests.
const SMALL: u64 = 8_000;

/// An upstream that takes everything, with the server before it.
struct OddStage {
    url: String,
    arrived: Arc<Mutex<Vec<String>>>,
    told: Arc<Mutex<Vec<String>>>,
    _running: oneshot::Sender<()>,
}

impl OddStage {
    async fn new() -> Self {
        let (arrived, told) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<Mutex<Vec<String>>>::default());
        let keep = arrived.clone();
        let paths = Router::new().fallback(any(async move |body: String| {
            keep.lock().expect("nobody panicked").push(body);
            axum::Json(json!({"type": "message", "role": "assistant", "content": []}))
        }));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        tokio::spawn(async { axum::serve(listener, paths).await });
        let hear = told.clone();
        let tell = move |notice: &epitome_server::OperatorNotice| {
            hear.lock().expect("nobody panicked").push(notice.to_string());
        };
        let (url, running) = serve_telling(&base, SMALL, tell).await;
        Self { url, arrived, told, _running: running }
    }

    /// Sends a body; what arrived of it.
    async fn send(&self, path: &str, body: &str) -> String {
        let request = Client::new().post(format!("{}{path}", self.url)).header("x-api-key", "a key");
        request.body(body.to_owned()).send().await.expect("the server answers");
        self.arrived.lock().expect("nobody panicked").pop().expect("it arrived")
    }

    fn told(&self) -> Vec<String> {
        self.told.lock().expect("nobody panicked").clone()
    }
}

/// The messages of a body, as they stand in it.
fn messages(body: &str) -> Vec<String> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(body).expect("a body");
    let list: Vec<&RawValue> = serde_json::from_str(fields["messages"].get()).expect("a list");
    list.into_iter().map(|message| message.get().to_owned()).collect()
}

fn body(messages: &[String]) -> String {
    format!("{{\"model\":\"m\", \"messages\":[{}]}}", messages.join(", "))
}

/// A chat in which every message has something that is not ours, with results far too long for the window.
fn chat(turns: usize) -> Vec<String> {
    let printed = "some words that were printed, ".repeat(40);
    let turn = |number: usize| {
        [
            format!(r#"{{ "role":"user", "name":"alice", "content":"task {number}" }}"#),
            format!(
                r#"{{"role":"assistant","content":null, "reasoning_content":"why {number}","tool_calls":[{{"id":"c{number}","type":"custom","custom":{{"name":"sh","input":"ls"}}}}]}}"#
            ),
            format!(
                r#"{{"role":"tool", "x_unknown":1.50, "tool_call_id":"c{number}","content":"{printed}"}}"#
            ),
            format!(
                r#"{{"role":"assistant", "reasoning_details":[{{"data":"sealed {number}"}}], "content":"done {number}"}}"#
            ),
        ]
    };
    (0..turns).flat_map(turn).collect()
}

#[tokio::test]
async fn a_message_is_sent_as_it_came_or_cut_where_it_is_cut() {
    let stage = OddStage::new().await;
    let mut sent = chat(40);
    sent.push(r#"{"role":"user","content":"and now?" , "x_unknown":2.50}"#.to_owned());
    let arrived = messages(&stage.send("/v1/chat/completions", &body(&sent)).await);
    assert!((8..60).contains(&arrived.len()), "{arrived:?}");
    let (mut whole, mut cut) = (0, 0);
    // The first has the summary behind it.
    for message in &arrived[1..] {
        let Some(edited) = message.strip_prefix(r#"{"role":"tool", "x_unknown":1.50, "tool_call_id":"#)
        else {
            // What is ours stands in one message with a plain one of the client's, or by itself.
            assert!(sent.contains(message) || message.contains("<epitome-summary"), "{message}");
            whole += 1;
            continue;
        };
        assert!(sent.contains(message) || edited.contains("\"content\":\"[tool result m"), "{message}");
        cut += usize::from(!sent.contains(message));
    }
    assert!(whole > 6 && cut > 0, "{whole} whole, {cut} cut: {arrived:?}");
    assert_eq!(arrived.last(), sent.last());
}

#[tokio::test]
async fn what_no_parser_takes_is_no_reason_not_to_compact() {
    let stage = OddStage::new().await;
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let odd = [
        r#"{"role":"user","content":"cut in an emoji \ud83d"}"#.to_owned(),
        r#"{"role":"assistant","content":"large","n":1e999}"#.to_owned(),
        format!(r#"{{"role":"user","content":"deep","x":{deep}}}"#),
        r#"{"role":"assistant","content":"first","content":"said twice"}"#.to_owned(),
        r#"{"role":"user","content":"and now \ud83d?"}"#.to_owned(),
    ];
    let sent: Vec<String> =
        odd[..2].iter().cloned().chain(chat(40)).chain(odd[2..].iter().cloned()).collect();
    let arrived = stage.send("/v1/chat/completions", &body(&sent)).await;
    let first = messages(&arrived);
    assert!(first.len() < 100 && first.ends_with(&odd[2..]), "{first:?}");
    // The same history again is the same session, and comes to the same bytes.
    assert_eq!(stage.send("/v1/chat/completions", &body(&sent)).await, arrived);
    let told = stage.told();
    assert!(told.iter().all(|line| line.starts_with("s0001: ")), "{told:?}");
}

#[tokio::test]
async fn a_body_nobody_can_read_is_passed_on_and_that_is_said_once() {
    let stage = OddStage::new().await;
    let twice = r#"{"model":"m","messages":[],"messages":[{"role":"user","content":"a"}]}"#;
    let martian = r#"{"model":"m","messages":[{"role":"martian","content":"a"}]}"#;
    let longer = twice.replace("\"a\"", "\"a longer one\"");
    for body in [twice, martian, &longer, martian] {
        assert_eq!(stage.send("/v1/messages", body).await, body);
    }
    assert_eq!(
        stage.told(),
        [
            "passed on untouched: a request body has no list of messages that can be read (duplicate field `messages`); compare it with its provider's reference",
            "passed on untouched: message 0 of the request is none we know; report it where its provider takes it",
        ]
    );
}
