//! The program as people meet it: names that are nearly right, amounts as they are written, terminals of any width, and
//! what shells and bug reports want.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A small session of pi's.
const SESSION: &str = "pi/pi-dev-962b10-v3.jsonl.zst";

fn command(home: &TempDir, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_epitome"));
    command.current_dir(home.path()).args(args).env("HOME", home.path()).env("XDG_CONFIG_HOME", home.path());
    command.env("XDG_DATA_HOME", home.path().join("data"));
    for name in ["EPITOME_MODEL", "EPITOME_MODELS", "EPITOME_LISTEN", "EPITOME_STORE", "COLUMNS"] {
        command.env_remove(name);
    }
    command
}

fn home() -> TempDir {
    tempfile::tempdir().expect("there is room")
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("the program writes UTF-8")
}

/// What a command prints; it must succeed.
fn printed(home: &TempDir, args: &[&str]) -> String {
    let output = command(home, args).output().expect("the program runs");
    assert!(output.status.success(), "{args:?}: {}", text(output.stderr));
    text(output.stdout)
}

/// How a command fails: its status, and the first line that it says.
fn refused(home: &TempDir, args: &[&str]) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = command(home, args).output().expect("the program runs");
    (status.code(), text(stderr).lines().next().unwrap_or_default().to_owned())
}

fn session() -> Vec<u8> {
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(SESSION);
    zstd::decode_all(&*fs::read(packed).expect("it is of the corpus")).expect("it unpacks")
}

#[test]
fn a_transcript_on_a_pipe_needs_no_name() {
    let home = home();
    for args in [
        &["compact", "--dry-run", "--json"][..],
        &["replay", "--json"],
        &["replay"],
        &["replay", "--compare", "default,pi", "--json"],
        &["context"],
    ] {
        let mut command = command(&home, args);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("the program runs");
        let mut input = child.stdin.take().expect("it is piped");
        let writing = std::thread::spawn(move || std::io::Write::write_all(&mut input, &session()));
        let output = child.wait_with_output().expect("it ends");
        drop(writing.join());
        assert!(output.status.success() && !output.stdout.is_empty(), "{args:?}: {}", text(output.stderr));
    }
}

#[test]
fn whoever_asks_for_nothing_gets_the_help() {
    let Output { status, stderr, .. } = command(&home(), &[]).output().expect("the program runs");
    assert_eq!(status.code(), Some(2));
    assert!(text(stderr).starts_with("Owns the moment an agent's context window is full"));
}

#[test]
fn a_beginning_of_a_presets_name_is_understood() {
    let (code, said) = refused(&home(), &["presets", "claude"]);
    assert_eq!(code, Some(1));
    assert!(said.starts_with("epitome: there is no preset `claude`; did you mean `claude-code`? "), "{said}");
}

#[test]
fn an_address_that_is_none_is_told_with_one_that_is() {
    let home = home();
    let told = "epitome: invalid value 'example.org:80' for '--listen <ADDRESS>': `example.org:80` is no address; write 127.0.0.1:7117, or a port alone";
    assert_eq!(refused(&home, &["serve", "--listen", "example.org:80"]), (Some(2), told.to_owned()));
    let mut by_environment = command(&home, &["serve"]);
    let Output { status, stderr, .. } =
        by_environment.env("EPITOME_LISTEN", "99999").output().expect("the program runs");
    assert_eq!(status.code(), Some(2));
    assert!(text(stderr).contains("`99999` is no port; ports end at 65535"));
}

#[test]
fn a_port_wins_over_the_address_of_the_environment() {
    let home = home();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let port = taken.local_addr().expect("it has an address").port().to_string();
    let mut serve = command(&home, &["serve", "--port", &port]);
    let Output { status, stderr, .. } = serve.env("EPITOME_LISTEN", "0").output().expect("the program runs");
    let told = text(stderr);
    assert!(status.code() == Some(1) && told.contains(&format!("127.0.0.1:{port}")), "{told}");
}

#[test]
fn config_shows_what_differs_and_the_rest_where_it_is_asked_for() {
    let home = home();
    let keys = |args: &[&str]| -> Vec<String> {
        let shown = printed(&home, args);
        let (_, settings) = shown.split_once("\n\n").expect("settings stand below the window");
        let rows = settings.lines().filter(|line| line.contains('.') && !line.starts_with("note"));
        rows.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
    };
    let own = keys(&["config", "--set", "trigger.at=60%", "--set", "window.most=90k"]);
    assert_eq!(own, ["trigger.at", "window.most"]);
    let all = keys(&["config", "--all", "--set", "trigger.at=60%"]);
    assert!(all.len() > 50 && all.contains(&"trigger.target".to_owned()), "{all:?}");
    let none = printed(&home, &["config"]);
    assert!(none.contains("every setting is the preset's; --all lists them"), "{none}");
    let (code, said) = refused(&home, &["config", "--set", "summary.by=fast"]);
    assert_eq!(code, Some(1));
    assert!(said.starts_with("epitome: there is no model alias `fast`"), "{said}");
}

#[test]
fn lists_fit_the_terminal() {
    let home = home();
    for args in [&["models"][..], &["presets"], &["config", "--all"], &["demo"]] {
        for columns in [60, 80, 140] {
            let output = command(&home, args).env("COLUMNS", columns.to_string()).output().expect("it runs");
            let shown = text(output.stdout);
            let wide: Vec<&str> = shown.lines().filter(|line| line.chars().count() > columns).collect();
            assert_eq!(wide, Vec::<&str>::new(), "{args:?} in {columns}");
        }
    }
}

#[test]
fn what_another_program_reads_is_a_row_for_each() {
    let presets = printed(&home(), &["presets"]);
    assert!(presets.lines().all(|line| !line.starts_with(' ')), "{presets}");
}

#[test]
fn completions_know_names_and_those_of_whoever_asks() {
    let home = home();
    let folder = home.path().join("epitome");
    fs::create_dir_all(folder.join("presets")).expect("there is room");
    fs::write(folder.join("presets/ours.toml"), "base = \"pi\"\n").expect("there is room");
    let alias = "[alias.quick]\nprovider = \"anthropic\"\nmodel = \"claude-haiku-4-5\"\n";
    fs::write(folder.join("epitome.toml"), alias).expect("there is room");
    let script = printed(&home, &["completions", "bash"]);
    for name in
        ["claude-code@2.1", "ours", "embedded quick", "openai-responses", "claude-opus-5", "checkpoint"]
    {
        assert!(script.contains(name), "{name}");
    }
    let written = "claude-code codex pi qwen-code native anthropic";
    assert!(script.contains(written), "{written}");
}

#[test]
fn a_version_says_what_a_report_of_a_bug_needs() {
    let home = home();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(printed(&home, &["version"]), format!("epitome {version}\n"));
    let verbose = printed(&home, &["version", "--verbose"]);
    for label in ["\n  commit    ", "\n  build     ", "\n  compiler  rustc ", "\n  MIT OR Apache-2.0: "] {
        assert!(verbose.contains(label), "{label}: {verbose}");
    }
    let json: Value = serde_json::from_str(&printed(&home, &["version", "--json"])).expect("one document");
    assert_eq!(json["version"], version);
    assert!(json["licences"]["MIT"].as_array().is_some_and(|crates| crates.len() > 5), "{json}");
}
