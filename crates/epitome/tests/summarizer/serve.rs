//! The proxy asks the model that settings name, and follows them as they change.

use crate::stage::{SMALL, Stage};
use epitome_upstream::Kind;
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

/// A proxy under way; it ends with the test.
struct Proxy {
    child: Child,
    address: String,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // It may have ended by itself, which is as well.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn proxy(stage: &Stage) -> Proxy {
    let upstream = stage.upstream_url();
    let args = ["serve", "--listen", "127.0.0.1:0", "--window", "16000", "--upstream", &upstream];
    let child = stage.command(&args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = child.expect("the program runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut line).expect("it says where");
    let address = line.trim().strip_prefix("listening on ").expect("it says where").to_owned();
    Proxy { child, address }
}

/// A conversation too long for the window, about `subject`.
fn conversation(subject: &str) -> Value {
    let text =
        |at: usize| format!("{subject}, point {at}: {}", "something that matters a little ".repeat(60));
    let role = |at: usize| if at.is_multiple_of(2) { "user" } else { "assistant" };
    let messages: Vec<Value> = (0..61).map(|at| json!({"role": role(at), "content": text(at)})).collect();
    json!({"model": "claude-haiku-4-5", "max_tokens": 200, "messages": messages})
}

/// Sends a conversation through the proxy: the status, and how many summaries have been asked for so far.
fn send(stage: &Stage, proxy: &Proxy, subject: &str) -> (u16, u64) {
    let url = format!("{}/v1/messages", proxy.address);
    let status = stage.block_on(async {
        let client = reqwest::Client::builder().no_proxy().build().expect("a client can be made");
        let request = client.post(url).header("anthropic-version", "2023-06-01").json(&conversation(subject));
        request.send().await.expect("the proxy answers").status().as_u16()
    });
    (status, stage.report().by_kind.get(&Kind::Summary).copied().unwrap_or_default())
}

#[test]
fn a_change_of_settings_counts_at_the_next_check() {
    let stage = Stage::new(SMALL, "");
    let proxy = proxy(&stage);
    let settings = stage.path().join("epitome.toml");
    let mut file = OpenOptions::new().append(true).open(settings).expect("it is there");
    let mut add = |text: &[u8]| file.write_all(text).expect("there is room");
    let embedded = send(&stage, &proxy, "gardens");
    add(b"\n[summary]\nby = \"fast\"\n");
    let asked = send(&stage, &proxy, "rivers");
    add(b"\nno settings\n");
    let still_asked = send(&stage, &proxy, "mountains");
    assert_eq!((embedded, asked.0, still_asked.0), ((200, 0), 200, 200));
    assert!(0 < asked.1 && asked.1 < still_asked.1, "{asked:?}, then {still_asked:?}");
    assert_eq!(stage.report().refused, 0);
}
