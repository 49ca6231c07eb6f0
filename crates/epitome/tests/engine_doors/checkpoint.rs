//! A checkpoint waits for the person at the terminal; elsewhere there is nobody to ask, and the record says so.

use crate::sandbox::{Sandbox, talk};
use serde_json::{Value, json};
use std::process::Command;

/// Runs a program at a terminal of its own and types an answer whenever it is asked: `answer`, or nothing.
const TERMINAL: &str = "
import os, pty, sys
answer, program = sys.argv[1].encode(), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.execv(program[0], program)
seen, asked = b'', 0
while True:
    try:
        data = os.read(terminal, 4096)
    except OSError:
        break
    if not data:
        break
    seen += data
    if seen.count(b'[r]eject?') > asked:
        asked += 1
        os.write(terminal, answer)
sys.stdout.buffer.write(seen)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
";

const COMPACT: [&str; 10] =
    ["compact", "session", "--to", "native", "-o", "out", "--window", "16000", "--strategy", "checkpoint"];

/// What is shown at a terminal where someone types `answer`, and the record that was written, if one was.
fn at_terminal(sandbox: &Sandbox, answer: &str, more: &[&str]) -> (String, Option<Value>) {
    let (shown, ran) = run_at_terminal(sandbox, &[&COMPACT[..], more].concat(), answer);
    assert!(ran, "{shown}");
    let mark =
        sandbox.text("out").lines().find(|line| line.contains("\"mark\":\"compaction\"")).map(str::to_owned);
    let record =
        mark.map(|line| serde_json::from_str::<Value>(&line).expect("JSON")["mark"]["record"].take());
    (shown, record)
}

/// What is shown at a terminal where someone types `answer`, and whether the program succeeds.
fn run_at_terminal(sandbox: &Sandbox, args: &[&str], answer: &str) -> (String, bool) {
    sandbox.put("terminal.py", TERMINAL);
    let program = sandbox.command(args);
    let mut command = Command::new("python3");
    command.arg("terminal.py").arg(answer).arg(program.get_program()).args(program.get_args());
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = program.get_current_dir() {
        command.current_dir(folder);
    }
    command.env("EDITOR", format!("python3 {}", sandbox.path("editor.py").display())).env_remove("VISUAL");
    let ran = command.output().expect("python3 runs");
    (String::from_utf8_lossy(&ran.stdout).into_owned(), ran.status.success())
}

#[test]
fn without_a_terminal_a_checkpoint_is_passed_over_and_that_is_recorded() {
    let sandbox = Sandbox::with(talk("gpt-5", 20));
    let record = sandbox.json(&[&COMPACT[..], &["--json"]].concat());
    let passed = json!([{"strategy": "checkpoint", "why": "there is no operator to ask here"}]);
    assert_eq!((&record["strategy"], &record["fallbacks"]), (&json!("summarize"), &passed));
}

// door: compact
#[test]
fn k20_a_person_who_approves_gets_what_was_planned() {
    let (shown, record) = at_terminal(&Sandbox::with(talk("gpt-5", 20)), "a\n", &[]);
    assert!(shown.contains("a compaction waits for you: of "), "{shown}");
    let record = record.expect("it was compacted");
    assert_eq!((&record["strategy"], &record["fallbacks"]), (&json!("summarize"), &json!([])));
}

// door: compact
#[test]
fn k20_a_person_who_rejects_keeps_the_file_as_it_is() {
    let sandbox = Sandbox::with(talk("gpt-5", 20));
    let (shown, record) = at_terminal(&sandbox, "perhaps\nr\n", &[]);
    assert!(shown.contains("left as it is (the operator said no: rejected at the checkpoint)"), "{shown}");
    assert_eq!((record, sandbox.text("out")), (None, sandbox.text("session")));
}

#[test]
fn a_person_may_write_the_summary_in_their_editor_beginning_with_a_draft() {
    let sandbox = Sandbox::with(talk("gpt-5", 20));
    let editor = "import sys\ntext = open(sys.argv[1]).read()\nopen('draft', 'w').write(text)\nopen(sys.argv[1], 'w').write('We agreed on blue.')\n";
    sandbox.put("editor.py", editor);
    let (_, record) = at_terminal(&sandbox, "edit\n", &[]);
    let record = record.expect("it was compacted");
    assert_eq!(record["summarizer"], "the operator");
    assert!(record["summary"].as_str().expect("a text").contains("We agreed on blue."));
    let draft = sandbox.text("draft");
    assert!(draft.contains("the plan") && !draft.contains("<epitome-summary"), "{draft}");
}

#[test]
fn nobody_in_time_is_as_nobody_at_all() {
    let sandbox = Sandbox::with(talk("gpt-5", 20));
    let (_, record) = at_terminal(&sandbox, "", &["--set", "guard.checkpoint_seconds_max=1"]);
    let record = record.expect("it was compacted");
    let passed = json!([{"strategy": "checkpoint", "why": "nobody decided in time"}]);
    assert_eq!((&record["strategy"], &record["fallbacks"]), (&json!("summarize"), &passed));
}

#[test]
fn a_replay_that_asks_waits_for_the_person_at_the_terminal() {
    let sandbox = Sandbox::with(talk("gpt-5", 40));
    let command = ["replay", "session", "--window", "8000", "--set", "mode=ask"];
    let (shown, ran) = run_at_terminal(&sandbox, &command, "a\n");
    assert!(ran && shown.contains("a compaction waits for you: of "), "{shown}");
    assert!(shown.contains("(summarize)"), "{shown}");
    let (shown, ran) = run_at_terminal(&sandbox, &command, "r\n");
    assert!(ran && shown.contains("the operator said no: rejected at the checkpoint"), "{shown}");
}
