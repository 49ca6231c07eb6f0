//! An upstream that says it keeps a connection and closes it: llama.cpp does, right behind the last byte of a stream.

use crate::stage::{answer, body, history, serve};
use reqwest::{Client, StatusCode};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const LARGE: u64 = 64_000;
/// How many turns the fault was seen in.
const TURNS: usize = 400;

const EVENTS: [&str; 3] = [
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"so\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: [DONE]\n\n",
];

/// Reads one request; none where the other side has hung up.
async fn read_request(socket: &mut TcpStream) -> Option<String> {
    let mut read = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return Some(text);
            }
        }
        match socket.read(&mut chunk).await {
            Ok(0) | Err(_) => return None,
            Ok(bytes) => read.extend_from_slice(&chunk[..bytes]),
        }
    }
}

/// Streams a reply that promises to keep the connection, and closes it a little later.
async fn stream_and_close(mut socket: TcpStream) {
    if read_request(&mut socket).await.is_none() {
        return;
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nkeep-alive: timeout=5, max=100\r\n\r\n";
    let chunks = EVENTS.map(|event| format!("{:x}\r\n{event}\r\n", event.len())).concat();
    let sent = socket.write_all(format!("{head}{chunks}0\r\n\r\n").as_bytes()).await;
    if sent.is_ok() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn four_hundred_turns_with_an_upstream_that_closes_what_it_promised_to_keep() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(stream_and_close(socket));
        }
    });
    let (url, _running) = serve(&base, LARGE).await;
    let client = Client::new();
    let mut good = 0;
    for turn in 0..TURNS {
        let said = json!({"role": "user", "content": format!("turn {turn}")});
        let talk = json!({"model": "local", "stream": true, "messages": [said]}).to_string();
        let (status, reply) = answer(client.post(format!("{url}/v1/chat/completions")).body(talk)).await;
        good += usize::from(status == StatusCode::OK && reply.ends_with(b"data: [DONE]\n\n"));
    }
    assert_eq!(good, TURNS);
}

#[tokio::test]
async fn a_provider_that_takes_a_request_and_hangs_up_is_not_sent_it_again() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = taken.clone();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let request = read_request(&mut socket).await;
            counted.fetch_add(usize::from(request.is_some()), Ordering::SeqCst);
        }
    });
    let (url, _running) = serve(&base, LARGE).await;
    let request = Client::new().post(format!("{url}/v1/messages")).body(body(&history(1, "x"), false));
    let (status, reply) = answer(request).await;
    assert_eq!((status, taken.load(Ordering::SeqCst)), (StatusCode::BAD_GATEWAY, 1));
    assert!(String::from_utf8_lossy(&reply).contains("gave no answer"));
}

/// Answers the first request on a connection and says that it closes that; whatever comes later it takes, and hangs up.
async fn answer_first(mut socket: TcpStream, taken: Arc<AtomicUsize>) {
    let request = read_request(&mut socket).await;
    if request.is_some() && taken.fetch_add(1, Ordering::SeqCst) == 0 {
        let reply = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";
        socket.write_all(reply.as_bytes()).await.expect("it is read");
    }
}

#[tokio::test]
async fn a_new_connection_that_hangs_up_is_not_taken_for_a_kept_one_because_the_provider_has_answered_before()
{
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = taken.clone();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(answer_first(socket, counted.clone()));
        }
    });
    let (url, _running) = serve(&base, LARGE).await;
    let mut told = Vec::new();
    for turn in ["x", "y"] {
        let request = Client::new().post(format!("{url}/v1/messages")).body(body(&history(1, turn), false));
        told.push((answer(request).await.0, taken.load(Ordering::SeqCst)));
    }
    assert_eq!(told, [(StatusCode::OK, 1), (StatusCode::BAD_GATEWAY, 2)]);
}
