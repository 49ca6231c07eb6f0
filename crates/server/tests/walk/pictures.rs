//! Pictures that a provider does not take: with one of them in the history no call would ever succeed again.

use crate::stage::{body, serve_telling};
use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;
use reqwest::Client;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

/// The window that the server believes in.
const WINDOW: u64 = 200_000;
/// What the provider takes of one picture, in bytes of base64.
const BYTES_MAX: usize = 5 << 20;
const REFUSAL: &str =
    "messages.4.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes";

/// The first bytes of a PNG of 2,400 by 1,800, in base64.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAACWAAAAcI";

fn picture(bytes: usize) -> Value {
    let data = format!("{PNG}{}", "A".repeat(bytes - PNG.len()));
    json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}})
}

fn show(text: &str, picture: Value) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": text}, picture]})
}

fn answer(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

fn has_large_picture(body: &str) -> bool {
    let body: Value = serde_json::from_str(body).expect("JSON");
    let messages = body["messages"].as_array().expect("a list").iter();
    let blocks = messages.filter_map(|message| message["content"].as_array()).flatten();
    let data = blocks.filter_map(|block| block["source"]["data"].as_str());
    data.into_iter().any(|data| data.len() > BYTES_MAX)
}

/// What came to a provider and what the operator was told.
#[derive(Clone, Default)]
struct Seen {
    bodies: Arc<Mutex<Vec<String>>>,
    told: Arc<Mutex<Vec<String>>>,
}

impl Seen {
    fn bodies(&self) -> Vec<Value> {
        let bodies = self.bodies.lock().expect("nobody fails with it");
        bodies.iter().map(|body| serde_json::from_str(body).expect("JSON")).collect()
    }

    fn told(&self) -> Vec<String> {
        self.told.lock().expect("nobody fails with it").clone()
    }
}

/// A provider that refuses what `is_refused`, with the server before it.
async fn before(
    seen: &Seen,
    is_refused: fn(&str) -> Option<(StatusCode, &'static str)>,
) -> (String, tokio::sync::oneshot::Sender<()>) {
    let bodies = seen.bodies.clone();
    let take = move |body: String| async move {
        let refused = is_refused(&body);
        bodies.lock().expect("nobody fails with it").push(body);
        match refused {
            Some((status, why)) => {
                let error =
                    json!({"type": "error", "error": {"type": "invalid_request_error", "message": why}});
                (status, error.to_string())
            }
            None => {
                let usage = json!({"input_tokens": 100, "output_tokens": 5});
                let said = json!([{"type": "text", "text": "a chart"}]);
                let reply = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": said, "stop_reason": "end_turn", "usage": usage});
                (StatusCode::OK, reply.to_string())
            }
        }
    };
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    let paths =
        Router::new().route("/v1/messages", post(take)).layer(axum::extract::DefaultBodyLimit::disable());
    tokio::spawn(async { axum::serve(listener, paths).await });
    let told = seen.told.clone();
    serve_telling(&base, WINDOW, move |notice| {
        told.lock().expect("nobody fails with it").push(notice.to_string());
    })
    .await
}

async fn send(url: &str, messages: &[Value]) -> u16 {
    let request = Client::new().post(format!("{url}/v1/messages")).header("x-api-key", "a key");
    request.body(body(messages, false)).send().await.expect("the server answers").status().as_u16()
}

#[tokio::test]
async fn l83_a_picture_that_the_provider_refuses_gives_way_to_a_label_and_no_other_does() {
    let seen = Seen::default();
    let refuse = |body: &str| has_large_picture(body).then_some((StatusCode::BAD_REQUEST, REFUSAL));
    let (url, _running) = before(&seen, refuse).await;
    let mut messages = vec![
        json!({"role": "user", "content": "compare the charts"}),
        answer("show me"),
        show("the first", picture(1_000)),
        answer("and the second?"),
        show("the second", picture(6 << 20)),
        answer("and the third?"),
        show("the third", picture(2_000)),
    ];
    assert_eq!(send(&url, &messages).await, 200);
    let bodies = seen.bodies();
    assert_eq!(bodies.len(), 2, "refused once, and sent once more");
    let sent = bodies[1]["messages"].as_array().expect("a list");
    let label = json!({"type": "text", "text": "[image image/png]"});
    let mut expected = messages.clone();
    expected[4]["content"][1] = label;
    assert_eq!(sent, &expected);
    messages.extend([answer("a chart"), json!({"role": "user", "content": "go on"})]);
    assert_eq!((send(&url, &messages).await, seen.bodies().len()), (200, 3), "never refused for it again");
}

#[tokio::test]
async fn l83_where_there_is_no_picture_the_refusal_goes_back_and_the_operator_is_told_once() {
    let seen = Seen::default();
    let refuse = |_: &str| Some((StatusCode::PAYLOAD_TOO_LARGE, "Request exceeds the maximum size"));
    let (url, _running) = before(&seen, refuse).await;
    let messages = [json!({"role": "user", "content": "x".repeat(40_000)})];
    for _ in 0..2 {
        assert_eq!(send(&url, &messages).await, 413);
    }
    assert_eq!(seen.bodies().len(), 2, "neither is sent again");
    let held = "s0001: held: the provider finds the body too large in bytes, not in tokens; compact it by hand, take large attachments and results out of it, or begin a new session";
    assert_eq!(seen.told(), [held]);
}
