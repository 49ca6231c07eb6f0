//! The program: says where it listens, takes its flags, and stops with its input.

use std::io::{BufRead, BufReader};
use std::path::Path;
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

/// What the program writes to either stream.
fn told(args: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_scripted-upstream")).args(args).output();
    let output = output.expect("the program runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).expect("text"))
}

#[test]
fn a_recording_that_is_not_there_is_named() {
    let (is_well, told) = told(&["--replay", "nowhere.jsonl"]);
    assert!(!is_well && told.contains("cannot replay nowhere.jsonl"), "{told}");
}

#[test]
fn every_flag_and_style_is_on_its_page() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/scripted-upstream.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let (_, help) = told(&["--help"]);
    let flags = help.split_whitespace().filter(|word| word.starts_with("--"));
    let (_, listed) = told(&["--overflow-style", "nobody"]);
    let styles = listed.split_once("there are ").map(|(_, names)| names).unwrap_or_default();
    let (styles, rows) = styles.split_once(" and ").expect("the rows of a table, too");
    let styles: Vec<&str> = styles.split(", ").chain(rows.split(' ').next()).collect();
    assert_eq!(styles.len(), 24, "{styles:?}");
    let missing = flags.chain(styles).filter(|name| !["--help", "--version"].contains(name));
    let missing: Vec<&str> = missing.filter(|name| !page.contains(&format!("`{name}"))).collect();
    assert_eq!(missing, [""; 0]);
}
