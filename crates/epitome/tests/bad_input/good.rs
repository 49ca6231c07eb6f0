//! What holds whatever the input: one JSON document, help that teaches, no panic where a reader leaves.

use super::{BODY, PI, Ran, Sandbox};
use std::process::{Command, Stdio};

/// Every command, as `epitome --help` lists them.
fn commands() -> Vec<String> {
    let help = Sandbox::new().run(&["--help"]).out;
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = listed.take_while(|line| line.starts_with("  ")).filter(|line| !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn the_help_of_each_command_shows_examples() {
    let sandbox = Sandbox::new();
    for command in commands().iter().filter(|command| *command != "help") {
        let ran = sandbox.run(&[command, "--help"]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{command}");
        assert!(
            ran.out.contains(&format!("\n  epitome {command}")) || ran.out.contains("| epitome"),
            "{}",
            ran.out
        );
    }
}

#[test]
fn json_is_one_document() {
    let sandbox = Sandbox::with("s.jsonl", PI);
    sandbox.put("body.json", BODY);
    for args in [
        &["inspect", "s.jsonl", "--json"][..],
        &["inspect", "s.jsonl", "body.json", "--json"],
        &["compact", "s.jsonl", "--json"],
        &["compact", "s.jsonl", "body.json", "--json"],
        &["compact", "s.jsonl", "--json", "-o", "out.jsonl"],
        &["compact", "s.jsonl", "--json", "--dry-run"],
        &["undo", "s.jsonl", "--json"],
        &["context", "s.jsonl", "--json"],
        &["replay", "s.jsonl", "--json"],
        &["recall", "s.jsonl", "m0000", "--json"],
        &["tokens", "s.jsonl", "--json"],
        &["models", "--json"],
        &["models", "gpt-5", "--json"],
        &["presets", "--json"],
        &["presets", "default", "--json"],
        &["demo", "--json"],
    ] {
        let ran = sandbox.run(args);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{args:?}");
        serde_json::from_str::<serde_json::Value>(&ran.out).expect("it is one document");
        assert!(ran.out.ends_with('\n'), "{args:?} leaves its line open");
    }
}

#[test]
fn a_file_with_nothing_to_compact_is_a_noop_and_comes_back_as_it_is() {
    let sandbox = Sandbox::with("s.jsonl", PI);
    let ran = sandbox.run(&["compact", "s.jsonl", "-o", "out.jsonl", "--json"]);
    let record: serde_json::Value = serde_json::from_str(&ran.out).expect("--json prints JSON");
    assert_eq!((ran.code, &record["outcome"]), (Some(0), &serde_json::json!("noop")));
    assert_eq!(sandbox.get("out.jsonl"), PI.as_bytes());
}

/// The reader is gone before the first byte.
#[test]
fn output_that_nobody_reads_is_no_failure() {
    let sandbox = Sandbox::with("s.jsonl", PI);
    for args in [
        &["inspect", "s.jsonl"][..],
        &["inspect", "s.jsonl", "--json"],
        &["context", "s.jsonl"],
        &["compact", "s.jsonl"],
        &["compact", "s.jsonl", "--json"],
        &["replay", "s.jsonl"],
        &["replay", "s.jsonl", "--json", "--contexts"],
        &["recall", "s.jsonl", "m0000"],
        &["undo", "s.jsonl"],
        &["tokens", "s.jsonl"],
        &["models"],
        &["models", "--json"],
        &["presets"],
        &["presets", "default"],
        &["demo"],
        &["completions", "bash"],
        &["man"],
        &["--help"],
    ] {
        let (reader, writer) = std::io::pipe().expect("the system has pipes");
        drop(reader);
        let output = sandbox.command().args(args).stdout(writer).output().expect("the program runs");
        let ran = Ran::of(output);
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
        assert!(!ran.err.contains("panicked"), "{args:?}: {}", ran.err);
    }
}

/// Nobody reads standard error either.
#[test]
fn a_message_that_nobody_reads_is_no_panic() {
    let sandbox = Sandbox::with("s.jsonl", PI);
    for (args, code) in [(&["compact", "s.jsonl", "-o", "out"][..], 0), (&["inspect", "nowhere"], 1)] {
        let (reader, writer) = std::io::pipe().expect("the system has pipes");
        drop(reader);
        let mut command = sandbox.command();
        let status = command.args(args).stdout(Stdio::null()).stderr(writer).status();
        assert_eq!(status.expect("the program runs").code(), Some(code), "{args:?}");
    }
}

/// On a terminal there is paint; where it is refused, or there is none, there is not.
#[test]
fn paint_is_for_terminals_that_want_it() {
    let sandbox = Sandbox::with("s.jsonl", PI);
    let piped = sandbox.command().env_remove("NO_COLOR").args(["inspect", "s.jsonl"]).output();
    assert!(!Ran::of(piped.expect("the program runs")).out.contains('\u{1b}'));
    let Some(refused) = on_a_terminal(&sandbox, "NO_COLOR=1") else { return };
    assert!(!refused.contains('\u{1b}'), "{refused}");
    assert!(on_a_terminal(&sandbox, "NO_COLOR=").is_some_and(|out| out.contains('\u{1b}')));
}

/// What `inspect` shows on a terminal that `script` makes; none where there is no such program.
fn on_a_terminal(sandbox: &Sandbox, setting: &str) -> Option<String> {
    let line = format!("{setting} {} inspect s.jsonl", env!("CARGO_BIN_EXE_epitome"));
    let mut command = Command::new("script");
    let output = command.current_dir(sandbox.path()).args(["-qec", &line, "/dev/null"]).output().ok()?;
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    shown.contains("tokens in view").then_some(shown)
}
