//! Upstreams that stall, reset, trickle, break off or send rubbish: the client sees through the proxy what it would have seen directly,
//! nothing hangs beyond its time-out, and streams that are given up leave nothing behind.

use crate::stage::{serve, serve_silent};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::join_all;
use reqwest::Client;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const LARGE: u64 = 64_000;
/// A client that waits no longer for the next bytes.
const CLIENT_PATIENCE: Duration = Duration::from_millis(1_500);

/// How an upstream misbehaves.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// Half a stream, then nothing.
    Stall,
    /// Not even a status.
    StallAtOnce,
    /// Half of an error's body, then nothing: it is held for a moment, and seen when the provider is given up at the latest.
    StalledError,
    /// Half a stream, then a reset.
    Reset,
    /// A stream of single bytes.
    Trickle,
    /// A stream that ends inside an event, as if that were its end.
    HalfEvent,
    /// A chunked stream that ends inside an event.
    BrokenChunk,
    /// An error that ends inside its body.
    BrokenError,
    /// A body shorter than it says.
    ShortBody,
    /// A body longer than it says.
    LongBody,
    /// Bytes that are packed, as it says, and are not.
    FalseGzip,
    /// Two words to go on, then a reply.
    Continue,
    /// Headers of 60 KB.
    LongHeaders,
    /// A reply that is no JSON.
    Rubbish,
}

const FAULTS: [Fault; 13] = [
    Fault::Stall,
    Fault::StallAtOnce,
    Fault::Reset,
    Fault::Trickle,
    Fault::HalfEvent,
    Fault::BrokenChunk,
    Fault::BrokenError,
    Fault::ShortBody,
    Fault::LongBody,
    Fault::FalseGzip,
    Fault::Continue,
    Fault::LongHeaders,
    Fault::Rubbish,
];

/// What is said in one protocol.
#[derive(Debug)]
struct ProtocolSample {
    path: &'static str,
    /// A request's fields, but for `stream`.
    asked: &'static str,
    events: [&'static str; 4],
    whole: &'static str,
    error: &'static str,
}

const CHAT: ProtocolSample = ProtocolSample {
    path: "/v1/chat/completions",
    asked: r#""model":"local","messages":[{"role":"user","content":"TALK"}]"#,
    events: [
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"so\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" it is\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        "data: [DONE]\n\n",
    ],
    whole: r#"{"id":"c","object":"chat.completion","model":"local","choices":[{"index":0,"message":{"role":"assistant","content":"so"},"finish_reason":"stop"}]}"#,
    error: r#"{"error":{"message":"Internal server error","type":"server_error","param":null,"code":null}}"#,
};

const ANTHROPIC: ProtocolSample = ProtocolSample {
    path: "/v1/messages",
    asked: r#""model":"claude-haiku-4-5","max_tokens":100,"messages":[{"role":"user","content":"TALK"}]"#,
    events: [
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[]}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"so\"}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" it is\"}}\n\n",
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":3}}\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    ],
    whole: r#"{"id":"m","type":"message","role":"assistant","model":"claude-haiku-4-5","content":[{"type":"text","text":"so"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":1}}"#,
    error: r#"{"type":"error","error":{"type":"api_error","message":"Internal server error, see the status page for more of it"}}"#,
};

const RESPONSES: ProtocolSample = ProtocolSample {
    path: "/v1/responses",
    asked: r#""model":"local","input":[{"type":"message","role":"user","content":"TALK"}]"#,
    events: [
        "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"m\",\"role\":\"assistant\",\"content\":[]}}\n\n",
        "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"so it is\"}\n\n",
        "event: response.output_text.done\ndata: {\"type\":\"response.output_text.done\",\"output_index\":0,\"text\":\"so it is\"}\n\n",
        "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\",\"output\":[{\"type\":\"message\",\"id\":\"m\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"so it is\"}]}]}}\n\n",
    ],
    whole: r#"{"id":"r","object":"response","status":"completed","model":"local","output":[{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"so"}]}]}"#,
    error: r#"{"error":{"message":"Internal server error","type":"server_error","param":null,"code":null}}"#,
};

const SAMPLES: [&ProtocolSample; 3] = [&CHAT, &ANTHROPIC, &RESPONSES];

impl ProtocolSample {
    /// The one that a request's head asks for.
    fn at(head: &str) -> &'static Self {
        SAMPLES.into_iter().find(|sample| head.contains(sample.path)).expect("somebody asks for one of them")
    }

    /// A streamed request of somebody who says this.
    fn body(&self, said: &str) -> String {
        format!("{{\"stream\":true,{}}}", self.asked.replace("TALK", said))
    }
}

const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// Reads one request; the sample it asks for, where it came.
async fn read_request(socket: &mut TcpStream) -> Option<&'static ProtocolSample> {
    let mut read = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return Some(ProtocolSample::at(head));
            }
        }
        match socket.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(bytes) => read.extend_from_slice(&piece[..bytes]),
        }
    }
}

/// Holds a connection until the other side has had enough.
async fn hold(mut socket: TcpStream) {
    let mut piece = [0; 64];
    while matches!(socket.read(&mut piece).await, Ok(bytes) if bytes > 0) {}
}

async fn misbehave(mut socket: TcpStream, fault: Fault) {
    let Some(sample) = read_request(&mut socket).await else { return };
    let ProtocolSample { events, whole, error, .. } = sample;
    let mut say = async |text: String| drop(socket.write_all(text.as_bytes()).await);
    let half = &events[1][..20];
    let begun = || format!("{STREAM}{}", chunk(events[0]));
    let sized = |status: &str, length: usize, body: &str| {
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
    };
    match fault {
        Fault::Stall => say(begun()).await,
        Fault::StallAtOnce => {}
        Fault::StalledError => say(sized("500 Internal Server Error", error.len(), &error[..20])).await,
        Fault::Reset => say(begun()).await,
        Fault::Trickle => {
            say(STREAM.to_owned()).await;
            for byte in events.concat().chars() {
                say(chunk(&byte.to_string())).await;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            say("0\r\n\r\n".to_owned()).await;
        }
        Fault::HalfEvent => {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            say(format!("{head}{}{half}", events[0])).await;
        }
        Fault::BrokenChunk => say(format!("{}{}", begun(), chunk(half))).await,
        Fault::BrokenError => say(sized("500 Internal Server Error", error.len(), &error[..20])).await,
        Fault::ShortBody => say(sized("200 OK", whole.len() + 50, whole)).await,
        Fault::LongBody => say(sized("200 OK", whole.len() - 50, whole)).await,
        Fault::FalseGzip => {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\n";
            say(format!("{head}content-length: {}\r\n\r\n{whole}", whole.len())).await;
        }
        Fault::Continue => {
            let go_on = "HTTP/1.1 100 Continue\r\n\r\n";
            say(format!("{go_on}{go_on}{}", sized("200 OK", whole.len(), whole))).await;
        }
        Fault::LongHeaders => {
            let long: String = (0..60).map(|at| format!("x-long-{at}: {}\r\n", "y".repeat(1_000))).collect();
            let head = format!("HTTP/1.1 200 OK\r\n{long}content-length: {}\r\n\r\n", whole.len());
            say(format!("{head}{whole}")).await;
        }
        Fault::Rubbish => say(sized("200 OK", 9, "<rubbish>")).await,
    }
    match fault {
        Fault::Stall | Fault::StallAtOnce | Fault::StalledError => hold(socket).await,
        Fault::Reset => {
            // What was said is to arrive before the connection is gone.
            tokio::time::sleep(Duration::from_millis(100)).await;
            drop(socket.set_zero_linger());
        }
        Fault::Trickle
        | Fault::HalfEvent
        | Fault::BrokenChunk
        | Fault::BrokenError
        | Fault::ShortBody
        | Fault::LongBody
        | Fault::FalseGzip
        | Fault::Continue
        | Fault::LongHeaders
        | Fault::Rubbish => {
            drop(socket.shutdown().await);
        }
    }
}

/// An upstream that misbehaves.
async fn upstream(fault: Fault) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(misbehave(socket, fault));
        }
    });
    base
}

/// What a client has seen: the status, the length of its headers but for those that are the way's own, the bytes, and how it ended.
#[derive(Debug, PartialEq)]
struct Seen {
    status: Option<u16>,
    headers: Vec<(String, usize)>,
    bytes: String,
    end: &'static str,
}

/// Headers that a server of ours may add or change.
fn is_of_the_way(name: &str) -> bool {
    name.starts_with("x-epitome-") || ["date", "transfer-encoding", "connection"].contains(&name)
}

async fn look(client: &Client, url: &str, sample: &ProtocolSample) -> Seen {
    let nothing = |end| Seen { status: None, headers: Vec::new(), bytes: String::new(), end };
    let response = match client.post(format!("{url}{}", sample.path)).body(sample.body("go on")).send().await
    {
        Ok(response) => response,
        Err(error) if error.is_timeout() => return nothing("silence"),
        Err(_) => return nothing("broken"),
    };
    let headers = response.headers().iter().filter(|(name, _)| !is_of_the_way(name.as_str()));
    let mut headers: Vec<(String, usize)> =
        headers.map(|(name, value)| (name.to_string(), value.len())).collect();
    headers.sort();
    let mut seen =
        Seen { status: Some(response.status().as_u16()), headers, bytes: String::new(), end: "whole" };
    let mut stream = response.bytes_stream();
    while let Some(piece) = stream.next().await {
        match piece {
            Ok(piece) => seen.bytes.push_str(&String::from_utf8_lossy(&piece)),
            Err(error) => {
                seen.end = if error.is_timeout() { "silence" } else { "broken" };
                break;
            }
        }
    }
    seen
}

fn client(patience: Duration) -> Client {
    let client = Client::builder().no_gzip().read_timeout(patience).pool_max_idle_per_host(0);
    client.build().expect("a client")
}

#[tokio::test]
async fn the_client_sees_what_it_would_have_seen_directly() {
    join_all(SAMPLES.map(compare)).await;
}

async fn compare(sample: &ProtocolSample) {
    let client = client(CLIENT_PATIENCE);
    for fault in FAULTS {
        let base = upstream(fault).await;
        let (url, _running) = serve(&base, LARGE).await;
        let direct = look(&client, &base, sample).await;
        let begun = Instant::now();
        let through = look(&client, &url, sample).await;
        assert_eq!(through, direct, "{fault:?} at {}", sample.path);
        assert!(begun.elapsed() < CLIENT_PATIENCE * 4, "{fault:?} took {:?}", begun.elapsed());
    }
}

/// What is seen of a provider that is given up: the status, and the end.
const GIVEN_UP: [(Fault, (Option<u16>, &str)); 3] = [
    (Fault::Stall, (Some(200), "broken")),
    (Fault::StallAtOnce, (Some(502), "whole")),
    (Fault::StalledError, (Some(500), "broken")),
];

#[tokio::test]
async fn a_provider_that_says_nothing_is_given_up_in_time() {
    let patient = Client::new();
    for (sample, (fault, expected)) in
        SAMPLES.into_iter().flat_map(|sample| GIVEN_UP.map(|row| (sample, row)))
    {
        let base = upstream(fault).await;
        let (url, _running) = serve_silent(&base, LARGE, Duration::from_millis(300)).await;
        let begun = Instant::now();
        let seen = look(&patient, &url, sample).await;
        assert_eq!((seen.status, seen.end), expected, "{fault:?}: {seen:?}");
        assert!(begun.elapsed() < Duration::from_secs(3), "{fault:?} took {:?}", begun.elapsed());
    }
}

/// How many streams are given up; `make test-faults` has it be 10,000.
fn streams() -> usize {
    std::env::var("EPITOME_FAULT_STREAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(300)
}

/// As many at once.
const AT_ONCE: usize = 16;

/// What this process holds: memory in KB, and open files.
fn held() -> (u64, usize) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    let files = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    (memory.and_then(|memory| memory.trim().parse().ok()).unwrap_or(0), files)
}

/// Streams without end, and counts those that somebody still listens to.
async fn endless(listener: TcpListener, open: Arc<AtomicUsize>) {
    while let Ok((mut socket, _)) = listener.accept().await {
        let open = open.clone();
        tokio::spawn(async move {
            open.fetch_add(1, Ordering::SeqCst);
            if let Some(sample) = read_request(&mut socket).await {
                let begun = format!("{STREAM}{}", chunk(sample.events[0]));
                let mut is_heard = socket.write_all(begun.as_bytes()).await.is_ok();
                while is_heard {
                    is_heard = socket.write_all(chunk(sample.events[1]).as_bytes()).await.is_ok();
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
            open.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

/// Opens a stream, hears its first word, and hangs up.
async fn give_up(client: &Client, url: &str, number: usize) -> Result<Bytes, String> {
    let sample = SAMPLES[number % SAMPLES.len()];
    let (url, body) = (format!("{url}{}", sample.path), sample.body(&format!("talk {}", number % 7)));
    let told = |error: reqwest::Error| format!("{error:?}");
    let response = client.post(url).body(body).send().await.map_err(told)?;
    let first = response.bytes_stream().next().await;
    first.ok_or("it ended without a word")?.map_err(told)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_that_are_given_up_leave_nothing_behind() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    let open = Arc::new(AtomicUsize::new(0));
    tokio::spawn(endless(listener, open.clone()));
    let (url, _running) = serve(&base, LARGE).await;
    let client = client(BUSY_PATIENCE);
    let (mut before, mut unheard) = (held(), Vec::new());
    let all = streams();
    for first in (0..all).step_by(AT_ONCE) {
        let numbers = first..(first + AT_ONCE).min(all);
        let given_up = join_all(numbers.map(|number| give_up(&client, &url, number)));
        unheard.extend(given_up.await.into_iter().filter_map(Result::err));
        // What is made once, such as threads and tables, is there by then.
        if first == AT_ONCE * 8 {
            settle(&open).await;
            before = held();
        }
    }
    settle(&open).await;
    assert_eq!(unheard, [""; 0], "each was heard");
    assert_eq!(open.load(Ordering::SeqCst), 0, "none is listened to");
    let (memory_before, files_before) = before;
    let (mut memory_after, mut files_after) = held();
    let is_more = |files: usize, memory: u64| {
        files > files_before + STRAY_MAX || memory > memory_before + MEMORY_KB_MAX
    };
    // Other tests of this process hold files and memory of their own for a while; what is left behind stays.
    let until = Instant::now() + OTHERS_TIME_MAX;
    while is_more(files_after, memory_after) && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(100)).await;
        (memory_after, files_after) = held();
    }
    assert!(files_after <= files_before + STRAY_MAX, "{files_before} files, then {files_after}");
    assert!(memory_after <= memory_before + MEMORY_KB_MAX, "{memory_before} KB, then {memory_after}");
}

/// What is said here is not how long something takes: on a machine with other work a first word may take seconds.
const BUSY_PATIENCE: Duration = Duration::from_secs(60);

/// What a few connections that are on their way out hold, of hundreds.
const STRAY_MAX: usize = 8;

/// No other test of this process takes longer.
const OTHERS_TIME_MAX: Duration = Duration::from_secs(60);

/// What an allocator may keep for itself, and the sessions that were talked in.
const MEMORY_KB_MAX: u64 = 24 << 10;

/// Waits until nobody is listened to any more, for a few seconds at most.
async fn settle(open: &AtomicUsize) {
    for _ in 0..100 {
        if open.load(Ordering::SeqCst) == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // Tasks that have seen it end with the next turn of their thread.
    tokio::time::sleep(Duration::from_millis(100)).await;
}
