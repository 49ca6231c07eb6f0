//! How a summary says its originals can be read: the command it names is run, and shows one.

use crate::sandbox::{Sandbox, talk};

/// What stands in a summary after "to read one: ".
fn recall_command(summary: &str) -> Option<&str> {
    let line = summary.lines().nth(1).expect("a frame has a second line");
    line.split_once("; to read one: ").map(|(_, command)| command)
}

fn compacted(sandbox: &Sandbox, args: &[&str]) -> String {
    let shared = ["compact", "session", "--window", "16000", "--json"];
    sandbox.json(&[&shared[..], args].concat())["summary"].as_str().expect("there is a summary").to_owned()
}

/// Runs a command that a summary names, for another id, as a shell does.
fn run(sandbox: &Sandbox, command: &str, id: &str) -> String {
    let words = command.replace("m0123", id);
    let words: Vec<String> = shlex(&words);
    let args: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let ran = sandbox.run(&args);
    assert_eq!((words[0].as_str(), ran.code), ("epitome", Some(0)), "{command}: {}", ran.err);
    ran.out
}

/// The words of a command line, by a real shell.
fn shlex(line: &str) -> Vec<String> {
    let script = format!("for word in {line}; do printf '%s\\n' \"$word\"; done");
    let output = std::process::Command::new("sh").args(["-c", &script]).output().expect("there is a shell");
    String::from_utf8(output.stdout).expect("words are UTF-8").lines().map(str::to_owned).collect()
}

#[test]
fn the_command_in_a_summary_shows_an_original_of_the_file_that_keeps_it() {
    let sandbox = Sandbox::with(talk("gpt-5", 20));
    let said = sandbox.run(&["recall", "session", "m0003"]).out;
    for (to, out, keeper) in [
        ("native", "it's out", "it's out"),
        ("openai-chat", "body.json", "session"),
        ("native", "out", "out"),
    ] {
        let summary = compacted(&sandbox, &["--to", to, "-o", out]);
        let command = recall_command(&summary).expect("it says how").to_owned();
        assert!(command.ends_with(" m0123") && command.contains(&keeper[..2]), "{command}");
        assert_eq!(run(&sandbox, &command, "m0003"), said);
    }
}

#[test]
fn a_summary_that_goes_to_a_pipe_names_no_command() {
    let sandbox = Sandbox::with(talk("gpt-5", 20));
    let summary = compacted(&sandbox, &["--to", "native"]);
    assert_eq!(recall_command(&summary), None);
    assert!(
        summary.lines().nth(1).is_some_and(|line| line.ends_with("name stored originals.")),
        "{summary:.300}"
    );
}
