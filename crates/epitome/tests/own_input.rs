//! Writing onto the file that is read: `-o` may be FILE itself. What is written takes the file's place at the end, so that
//! whatever happens in between, a full disk or a killed process, leaves the transcript as it was.

use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// More than the program may write in the runs that are cut off.
const TURNS: usize = 400;

/// A session of Claude Code's, some 300 kB.
fn transcript() -> String {
    let lines = (0..TURNS).map(|at| {
        let (kind, uuid) = (if at % 2 == 0 { "user" } else { "assistant" }, format!("u{at:04}"));
        let parent = at.checked_sub(1).map(|before| format!("u{before:04}"));
        let text = format!("point {at}: {}", "something that matters a little ".repeat(16));
        let content = if at % 2 == 0 { json!(text) } else { json!([{"type": "text", "text": text}]) };
        json!({
            "type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "cwd": "/", "version": "2.0.0",
            "timestamp": "2026-01-01T00:00:00.000Z", "isSidechain": false, "userType": "external",
            "message": {"role": kind, "content": content},
        })
    });
    lines.map(|line| format!("{line}\n")).collect()
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("there is room");
    fs::write(folder.path().join("s.jsonl"), transcript()).expect("there is room");
    folder
}

fn run(folder: &Path, mut command: Command) -> Output {
    command.current_dir(folder).env("NO_COLOR", "1").env_remove("EPITOME_MODEL").env("HOME", folder);
    command.env("XDG_CONFIG_HOME", folder).output().expect("the program runs")
}

fn epitome(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_epitome"));
    command.args(args);
    run(folder, command)
}

/// The names of the files in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("it can be listed");
    let mut names: Vec<String> =
        entries.map(|one| one.expect("it is there").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_file_compacted_onto_itself_holds_what_another_would() {
    let folder = folder();
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("it is there");
    for out in ["other.jsonl", "s.jsonl"] {
        let made = epitome(folder.path(), &["compact", "s.jsonl", "--window", "40000", "-o", out]);
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
    let own = read("s.jsonl");
    assert!(own.starts_with(&transcript()), "the original is not all there: {} bytes", own.len());
    // Ids and times of what was appended are of their run.
    let appended = |text: &str| text[transcript().len()..].lines().count();
    assert_eq!(appended(&own), appended(&read("other.jsonl")));
    let undone = epitome(folder.path(), &["undo", "s.jsonl", "-o", "s.jsonl"]);
    assert!(undone.status.success(), "{}", String::from_utf8_lossy(&undone.stderr));
    assert_eq!(read("s.jsonl"), transcript());
}

#[cfg(unix)]
#[test]
fn a_run_that_is_cut_off_while_it_writes_leaves_the_file_as_it_was() {
    let folder = folder();
    for args in
        ["compact s.jsonl --window 40000 -o s.jsonl", "compact s.jsonl --window 40000 --to native -o s.jsonl"]
    {
        // No file may grow beyond 64 blocks: the system ends whoever writes more.
        let mut command = Command::new("sh");
        let program = env!("CARGO_BIN_EXE_epitome");
        command.args(["-c", &format!("ulimit -f 64; exec {program} {args}")]);
        let cut = run(folder.path(), command);
        assert!(!cut.status.success(), "it was to fail: {args}");
        assert_eq!(
            fs::read_to_string(folder.path().join("s.jsonl")).expect("it is there"),
            transcript(),
            "{args}"
        );
    }
    assert!(names(folder.path()).contains(&"s.jsonl".to_owned()));
}
