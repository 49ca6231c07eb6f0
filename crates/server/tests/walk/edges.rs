//! What must come through exactly as it is: packed replies, errors, the end of a connection; and what is held apart.

use crate::stage::{Stage, answer, body, history, serve};
use axum::Router;
use axum::body::Body;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{any, get, post};
use bytes::Bytes;
use epitome_upstream::Script;
use futures_util::stream::{self, StreamExt};
use reqwest::Client;
use serde_json::Value;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// What the server believes in these tests.
const LARGE: u64 = 64_000;
/// No JSON and no text: nothing may read meaning into it.
const ODD_BYTES: &[u8] = b"\x1f\x8b\x08 packed \xff\x00";

/// An upstream of these paths with the server before it.
async fn before(paths: Router) -> (String, oneshot::Sender<()>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async { axum::serve(listener, paths).await });
    serve(&base, LARGE).await
}

#[tokio::test]
async fn what_only_passes_may_be_packed_and_what_is_read_is_not() {
    let asked = |headers: HeaderMap| async move {
        let encodings = headers.get(ACCEPT_ENCODING).cloned();
        ([(CONTENT_ENCODING, "gzip")], [("x-asked", encodings.expect("it is named"))], ODD_BYTES)
    };
    let paths = Router::new().route("/v1/files", get(asked)).route("/v1/messages", post(asked));
    let (url, _running) = before(paths).await;
    let client = Client::builder().no_gzip().build().expect("a client can be made");
    let requests = [
        client.get(format!("{url}/v1/files")),
        client.post(format!("{url}/v1/messages")).body(body(&history(1, "x"), false)),
    ];
    let mut told = Vec::new();
    for request in requests {
        let reply = request.header(ACCEPT_ENCODING, "gzip, br").send().await.expect("the server answers");
        let headers = ["x-asked", "content-encoding"].map(|name| reply.headers()[name].clone());
        told.push((headers, reply.bytes().await.expect("the answer is whole")));
    }
    let expected = ["gzip, br", "identity"];
    let expected =
        expected.map(|asked| ([asked, "gzip"].map(|it| it.parse().expect("a value")), ODD_BYTES.into()));
    assert_eq!(told, expected);
}

#[tokio::test]
async fn an_error_comes_back_byte_for_byte_with_its_headers() {
    let failing = || async { (StatusCode::IM_A_TEAPOT, [("x-why", "tea"), ("retry-after", "7")], ODD_BYTES) };
    let (url, _running) = before(Router::new().fallback(any(failing))).await;
    for path in ["/v1/messages", "/openai/v1/chat/completions", "/openai/v1/elsewhere"] {
        let request = Client::new().post(format!("{url}{path}")).body(body(&history(1, "x"), true));
        let reply = request.send().await.expect("the server answers");
        let headers = ["x-why", "retry-after"].map(|name| reply.headers()[name].clone());
        let told = (reply.status().as_u16(), headers, reply.bytes().await.expect("the answer is whole"));
        assert_eq!(
            told,
            (418, ["tea", "7"].map(|it| it.parse().expect("a value")), ODD_BYTES.into()),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_client_that_hangs_up_ends_the_providers_work() {
    let (working, is_over) = oneshot::channel::<()>();
    let working = Arc::new(Mutex::new(Some(working)));
    let endless = move || {
        let working = working.lock().expect("nobody fails with it").take();
        let said = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"on and \"}}]}\n\n";
        let first = stream::iter([Ok::<_, Infallible>(Bytes::from_static(said.as_bytes()))]);
        let rest = stream::once(async move {
            // Held for as long as somebody wants the rest, which never comes.
            let _working = working;
            std::future::pending().await
        });
        async { ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(first.chain(rest))) }
    };
    let (url, _running) = before(Router::new().route("/v1/chat/completions", post(endless))).await;
    let request = Client::new().post(format!("{url}/v1/chat/completions")).body(body(&history(1, "x"), true));
    let mut reply = request.send().await.expect("the server answers");
    assert!(reply.chunk().await.expect("the stream began").is_some());
    drop(reply);
    let over = timeout(Duration::from_secs(20), is_over).await;
    assert!(over.expect("the provider is let go").is_err(), "its work was dropped, and nothing sent");
}

#[tokio::test]
async fn a_body_no_provider_takes_is_refused_before_it_is_sent() {
    let stage = Stage::new(Script::default(), LARGE).await;
    let (status, reply) = answer(stage.post("/v1/messages", vec![b' '; (64 << 20) + 1])).await;
    let reply: Value = serde_json::from_slice(&reply).expect("an error");
    let told = "epitome: the request has more than 67108864 bytes, over what any provider takes; send less";
    assert_eq!((status, reply["error"]["message"].as_str()), (StatusCode::PAYLOAD_TOO_LARGE, Some(told)));
    assert_eq!(stage.upstream.report().requests, 0);
}

#[tokio::test]
async fn the_same_words_under_another_key_are_another_conversation() {
    let stage = Stage::new(Script::default(), LARGE).await;
    for key in ["one", "other", "one"] {
        let request = stage.post("/v1/messages", body(&history(1, "x"), false));
        assert_eq!(answer(request.bearer_auth(key)).await.0, StatusCode::OK);
    }
    let requests: Vec<Value> =
        stage.sessions().await.iter().map(|session| session["requests"].clone()).collect();
    assert_eq!(requests, [2, 1]);
}
