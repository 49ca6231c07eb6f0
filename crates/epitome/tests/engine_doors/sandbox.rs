//! A folder with a project and an operator's own settings beside it, and small transcripts to put into it.

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Where the program is run.
pub(crate) struct Sandbox(TempDir);

/// What became of a run.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let sandbox = Self(tempfile::tempdir().expect("there is room"));
        fs::create_dir_all(sandbox.path("config/epitome")).expect("there is room");
        sandbox
    }

    /// One with this transcript as `session`.
    pub(crate) fn with(transcript: impl AsRef<[u8]>) -> Self {
        let sandbox = Self::new();
        sandbox.put("session", transcript);
        sandbox
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).expect("there is room");
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("it was written")
    }

    /// The operator's own settings.
    pub(crate) fn settings(&self, toml: &str) {
        self.put("config/epitome/epitome.toml", toml);
    }

    /// The program, at home in this folder.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_epitome"));
        command.current_dir(self.0.path()).args(args).env("NO_COLOR", "1");
        command.env("HOME", self.0.path()).env("XDG_CONFIG_HOME", self.path("config"));
        command.env_remove("EPITOME_MODEL").env_remove("EPITOME_MODELS");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        let output = self.command(args).output().expect("the program runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the program writes UTF-8");
        Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// The one JSON document a run prints; it must succeed.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{args:?}: {error}: {}", ran.out))
    }

    /// The lines of a replay; it must succeed.
    pub(crate) fn calls(&self, args: &[&str]) -> Vec<Value> {
        let ran = self.run(&[&["replay", "session", "--json"], args].concat());
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
        ran.out.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
    }
}

/// The bytes of a transcript of the corpus.
pub(crate) fn corpus(name: &str) -> Vec<u8> {
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(name);
    zstd::decode_all(&*fs::read(packed).expect("it is of the corpus")).expect("it unpacks")
}

/// A session of pi's, 233 messages with a compaction of its own.
pub(crate) const PI: &str = "pi/pi-dev-962b10-v3.jsonl.zst";
/// A session of Codex, with what its provider counted.
pub(crate) const CODEX: &str = "codex/session-bridge-64b5e5.jsonl.zst";

/// A request body of `turns` questions and answers, some hundred tokens each.
pub(crate) fn talk(model: &str, turns: usize) -> String {
    let text =
        |at: usize| format!("point {at} of the plan: {}", "something that matters a little ".repeat(60));
    let role = |at: usize| if at.is_multiple_of(2) { "user" } else { "assistant" };
    let said = |at: usize| json!({"role": role(at), "content": text(at)});
    let messages: Vec<Value> =
        (0..turns * 2).map(said).chain([json!({"role": "user", "content": "go on"})]).collect();
    json!({"model": model, "max_tokens": 500, "messages": messages}).to_string()
}

/// A request body in which a file was read `reads` times, each time at some length.
pub(crate) fn reading(model: &str, reads: usize) -> String {
    let mut messages = vec![json!({"role": "user", "content": "read the parts of the plan, one by one"})];
    for at in 0..reads {
        let input = json!({"path": format!("parts/{at}.txt")});
        let call = json!({"type": "tool_use", "id": format!("c{at}"), "name": "fetch", "input": input});
        let text = format!("part {at}: {}", "what stands in the plan ".repeat(200));
        let result = json!({"type": "tool_result", "tool_use_id": format!("c{at}"), "content": text});
        messages.push(
            json!({"role": "assistant", "content": [{"type": "text", "text": format!("part {at}")}, call]}),
        );
        messages.push(json!({"role": "user", "content": [result]}));
    }
    messages.push(json!({"role": "assistant", "content": "all parts are read"}));
    messages.push(json!({"role": "user", "content": "go on"}));
    json!({"model": model, "max_tokens": 500, "messages": messages}).to_string()
}
