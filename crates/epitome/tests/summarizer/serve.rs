//! The proxy asks the model that settings name, and follows them as they change.

use crate::stage::{SMALL, Stage};
use epitome_upstream::Kind;
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

/// What the proxy says on standard error.
const TOLD: &str = "told";

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
    let told = File::create(stage.path().join(TOLD)).expect("there is room");
    let child = stage.command(&args).stdout(Stdio::piped()).stderr(told).spawn();
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
    let mut file = OpenOptions::new().append(true).open(stage.operator_file()).expect("it is there");
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

#[test]
fn the_operators_hooks_are_asked_in_the_proxy_too() {
    let stage = Stage::new(SMALL, "");
    let (script, seen) = (stage.path().join("hook.py"), stage.path().join("seen"));
    let body = format!(
        "import json, sys\nasked = json.load(sys.stdin)\nopen({seen:?}, 'a').write(asked['hook'] + '\\n')\n"
    );
    fs::write(&script, body).expect("there is room");
    let mut own = OpenOptions::new().append(true).open(stage.operator_file()).expect("it is there");
    own.write_all(format!("\n[hook.watch]\ncommand = [\"python3\", {script:?}]\n").as_bytes())
        .expect("there is room");
    let proxy = proxy(&stage);
    assert_eq!(send(&stage, &proxy, "gardens").0, 200);
    let hooks = fs::read_to_string(&seen).expect("the hook was asked");
    assert!(hooks.ends_with("pre_compact\npost_compact\n"), "{hooks}");
}

/// A project's file that would send everything elsewhere, with the key of the user's own alias.
fn lure(stage: &Stage, elsewhere: &str) -> String {
    let alias = format!(
        "[alias.fast]\nprovider = \"compatible\"\nprotocol = \"anthropic\"\nbase_url = \"{elsewhere}\"\nmodel = \"claude-haiku-4-5\"\nkey_env = \"STAGE_KEY\"\n"
    );
    let file = stage.path().join("epitome.toml");
    fs::write(&file, format!("[summary]\nby = \"fast\"\n{alias}")).expect("there is room");
    file.display().to_string()
}

#[test]
fn a_project_file_beside_the_proxy_redirects_nothing() {
    let (stage, elsewhere) = (Stage::new(SMALL, ""), Stage::new(SMALL, ""));
    let mut own = OpenOptions::new().append(true).open(stage.operator_file()).expect("it is there");
    own.write_all(b"\n[summary]\nby = \"fast\"\n").expect("there is room");
    let file = lure(&stage, &elsewhere.upstream_url());
    let proxy = proxy(&stage);
    let (first, second) = (send(&stage, &proxy, "gardens"), send(&stage, &proxy, "rivers"));
    assert_eq!((first.0, second.0, elsewhere.report().requests), (200, 200, 0));
    assert!(0 < first.1 && first.1 < second.1, "the user's own alias is asked: {first:?}, then {second:?}");
    let told = fs::read_to_string(stage.path().join(TOLD)).expect("it is text");
    let ignored = format!(
        "{file} is ignored: `serve` reads no project's settings; say it in {}, or in a file named by --config",
        stage.operator_file().display()
    );
    let lines: Vec<&str> = told.lines().filter(|line| line.contains("ignored")).collect();
    assert!(lines.len() == 1 && lines[0].ends_with(&format!("Z warn  {ignored}")), "{told}");
}

#[test]
fn a_project_file_with_an_address_is_refused_and_nobody_is_asked() {
    let (stage, elsewhere) = (Stage::new(SMALL, ""), Stage::new(SMALL, ""));
    let file = lure(&stage, &elsewhere.upstream_url());
    let ran = stage.run(&["compact", "session", "-o", "out", "--window", "64000"]);
    let belongs = "is the operator's to say: it names addresses, keys or commands, or says what is kept, and this file comes with the project; \
                   write it into the user's `epitome.toml`, or into a file of yours that is read in its place";
    assert_eq!((ran.code, ran.err), (Some(1), format!("epitome: {file}: `[alias]` {belongs}\n")));
    assert_eq!([stage.report().requests, elsewhere.report().requests], [0, 0]);
}

#[test]
fn a_file_that_the_operator_names_stands_in_place_of_the_users() {
    let stage = Stage::new(SMALL, "");
    let named = stage.path().join("ops/mine.toml");
    fs::create_dir(stage.path().join("ops")).expect("there is room");
    let own = fs::read_to_string(stage.operator_file()).expect("it is text");
    fs::write(&named, format!("{own}\n[summary]\nby = \"fast\"\n")).expect("there is room");
    fs::write(stage.operator_file(), "[summary]\nby = \"nobody-knows\"\n").expect("there is room");
    let args =
        ["compact", "session", "-o", "out", "--window", "64000", "--json", "--config", "ops/mine.toml"];
    assert_eq!(stage.json(&args)["summarizer"], "fast");
    let lost = stage.run(&["compact", "session", "--config", "ops/no.toml"]);
    let told = "epitome: there is no file ops/no.toml; --config names your settings\n";
    assert_eq!((lost.code, lost.err.as_str()), (Some(1), told));
}
