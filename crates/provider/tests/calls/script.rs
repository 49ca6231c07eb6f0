//! A server that does what a test tells it, on a loopback socket: one act for each request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// What the server does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Writes this and closes.
    Send(String),
    /// Writes this and says nothing more, until the client goes away.
    Hang(String),
}

/// A request as it came in.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) head: String,
    pub(crate) body: String,
}

pub(crate) struct Server {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<Received>>>,
    /// Tells of each hanging connection that the client closed.
    pub(crate) closed: UnboundedReceiver<()>,
    /// Tells of each request that was read.
    pub(crate) read: UnboundedReceiver<()>,
}

impl Server {
    pub(crate) async fn start(acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port is free");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let received = Arc::new(Mutex::new(Vec::new()));
        let ((tell_closed, closed), (tell_read, read)) = (unbounded_channel(), unbounded_channel());
        let log = received.clone();
        tokio::spawn(async move {
            let mut acts = VecDeque::from(acts);
            while let Ok((stream, _)) = listener.accept().await {
                let Some(act) = acts.pop_front() else { return };
                tokio::spawn(serve(stream, act, log.clone(), tell_read.clone(), tell_closed.clone()));
            }
        });
        Self { url, received, closed, read }
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().expect("no test panics while it holds it").clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    act: Act,
    log: Arc<Mutex<Vec<Received>>>,
    read: UnboundedSender<()>,
    closed: UnboundedSender<()>,
) {
    let Some(request) = read_request(&mut stream).await else { return };
    log.lock().expect("no test panics while it holds it").push(request);
    let _ = read.send(());
    match act {
        Act::Send(text) => {
            let _ = stream.write_all(text.as_bytes()).await;
        }
        Act::Hang(text) => {
            let _ = stream.write_all(text.as_bytes()).await;
            let mut rest = [0; 64];
            // Nothing more is sent to us: what ends this is the client's going away.
            while stream.read(&mut rest).await.is_ok_and(|count| count > 0) {}
            let _ = closed.send(());
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some(Received { head, body: body.to_owned() });
            }
        }
        let count = stream.read(&mut piece).await.ok().filter(|&count| count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
    }
}

/// A stream of events that ends well.
pub(crate) fn stream(events: &[&str]) -> String {
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{body}")
}

/// The same, cut off before its end.
pub(crate) fn cut(events: &[&str]) -> String {
    stream(events).replace("connection: close", "content-length: 1000000\r\nconnection: close")
}

/// An answer in one piece, with more header lines where `headers` has some.
pub(crate) fn whole(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}connection: close\r\n\r\n{body}"
    )
}
