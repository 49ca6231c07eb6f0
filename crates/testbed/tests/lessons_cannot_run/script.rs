//! A server on loopback that gives the answers it was told to, one for each request, and keeps what it
//! was asked.

use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A server and what it was asked.
pub(crate) struct Server {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// A server that gives these answers, head and body, and then none.
    pub(crate) async fn start(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port is free");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let log = asked.clone();
        tokio::spawn(async move {
            for answer in answers {
                let Ok((mut stream, _)) = listener.accept().await else { return };
                let body = read(&mut stream).await;
                log.lock().unwrap_or_else(PoisonError::into_inner).push(body);
                // A client that has gone away is not waited for.
                drop(stream.write_all(answer.as_bytes()).await);
            }
        });
        Self { url, asked }
    }

    /// The bodies of all requests so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The body of one request.
async fn read(stream: &mut TcpStream) -> String {
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return body.to_owned();
            }
        }
        match stream.read(&mut piece).await {
            Ok(count @ 1..) => bytes.extend_from_slice(&piece[..count]),
            Ok(_) | Err(_) => return text,
        }
    }
}

/// An answer of this status in one piece.
pub(crate) fn whole(status: u16, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// The first events of a stream that was to be longer.
pub(crate) fn half(events: &[&str]) -> String {
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 100000\r\nconnection: close\r\n\r\n{body}"
    )
}
