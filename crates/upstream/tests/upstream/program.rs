//! The program: says where it listens, takes its flags, and stops with its input.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// The program, started, and what it said first.
fn start(args: &[&str]) -> (Child, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_scripted-upstream"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut line = String::new();
    let stdout = child.stdout.take().expect("a pipe");
    BufReader::new(stdout).read_line(&mut line).expect("a line");
    (child, line)
}

#[tokio::test]
async fn it_says_where_it_listens_and_stops_when_its_input_closes() {
    let (mut child, line) = start(&["--until-stdin-closes", "--window", "32000", "--fail", "models:1=503"]);
    let url = line.trim_end().strip_prefix("listening on ").expect("an address").to_owned();
    let http = reqwest::Client::builder().no_proxy().build().expect("a client");
    let status = |answer: reqwest::Response| answer.status().as_u16();
    let first = http.get(format!("{url}/v1/models")).send().await.map(status).expect("an answer");
    let second = http.get(format!("{url}/v1/models")).send().await.map(status).expect("an answer");
    assert_eq!((first, second), (503, 200));
    drop(http);
    drop(child.stdin.take());
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn a_recording_that_is_not_there_is_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_scripted-upstream"))
        .args(["--replay", "nowhere.jsonl"])
        .output()
        .expect("the program runs");
    let told = String::from_utf8(output.stderr).expect("text");
    assert!(!output.status.success() && told.contains("cannot replay nowhere.jsonl"), "{told}");
}
