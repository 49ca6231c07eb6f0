//! What people read of a compaction and of a replay, line by line, through the program.

mod compact;
mod monotony;
mod replay;
mod sizes;

use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A session of Claude Code's, 350 messages, never compacted.
const WHOLE: &str = "claude-code/episodic-memory-large-2025.jsonl.zst";

/// A folder with a transcript of the corpus in it as `s.jsonl`.
fn folder(transcript: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("there is room");
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(transcript);
    let bytes = zstd::decode_all(&*fs::read(packed).expect("it is of the corpus")).expect("it unpacks");
    fs::write(folder.path().join("s.jsonl"), bytes).expect("there is room");
    folder
}

/// The program with these arguments, without colours and settings.
fn command(folder: &TempDir, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_epitome"));
    command.current_dir(folder.path()).args(args).env("NO_COLOR", "1");
    command.env("HOME", folder.path()).env("XDG_CONFIG_HOME", folder.path());
    for name in ["EPITOME_MODEL", "EPITOME_MODELS", "COLUMNS"] {
        command.env_remove(name);
    }
    command
}

/// What the program says on standard error in `folder`, where it succeeds; the folder's own name is `DIR` in it.
fn told(folder: &TempDir, args: &[&str]) -> String {
    let output = command(folder, args).output().expect("the program runs");
    let text = String::from_utf8(output.stderr).expect("it writes UTF-8");
    assert!(output.status.success(), "{args:?}: {text}");
    let here = folder.path().canonicalize().expect("it is there");
    text.replace(&here.display().to_string(), "DIR")
}
