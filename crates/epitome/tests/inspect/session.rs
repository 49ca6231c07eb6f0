//! A small session of Claude Code's, written line by line, and the program run beside it.

use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// A session in the making.
#[derive(Default)]
pub(crate) struct SessionLines {
    lines: Vec<Value>,
    parent: Option<String>,
    pub(crate) model: &'static str,
}

/// Where the program is run.
pub(crate) struct Folder(TempDir);

impl SessionLines {
    pub(crate) fn of(model: &'static str) -> Self {
        Self { model, ..Self::default() }
    }

    fn push(&mut self, mut line: Value) {
        let uuid = format!("u{}", self.lines.len());
        line["uuid"] = json!(uuid);
        line["sessionId"] = json!("s");
        line["parentUuid"] = json!(self.parent);
        self.parent = Some(uuid);
        self.lines.push(line);
    }

    pub(crate) fn ask(&mut self, text: &str) {
        self.push(json!({"type": "user", "message": {"role": "user", "content": text}}));
    }

    /// A reply on a day, for a prompt of so many tokens.
    pub(crate) fn reply(&mut self, day: &str, prompt: u64, content: &Value) {
        let id = format!("msg_{}", self.lines.len());
        let usage = json!({"input_tokens": prompt, "output_tokens": 100});
        let message =
            json!({"id": id, "role": "assistant", "model": self.model, "content": content, "usage": usage});
        self.push(
            json!({"type": "assistant", "timestamp": format!("{day}T10:00:00.000Z"), "message": message}),
        );
    }

    /// A call with its result.
    pub(crate) fn run(&mut self, prompt: u64, tool: &str, input: &Value, result: &str) {
        let id = format!("c{}", self.lines.len());
        self.reply(
            "2026-03-01",
            prompt,
            &json!([{"type": "tool_use", "id": id, "name": tool, "input": input}]),
        );
        let result = json!([{"type": "tool_result", "tool_use_id": id, "content": result}]);
        self.push(json!({"type": "user", "message": {"role": "user", "content": result}}));
    }

    /// A compaction of Claude Code's own.
    pub(crate) fn compact(&mut self, trigger: &str, tokens: u64, summary: &str) {
        let metadata = json!({"trigger": trigger, "preTokens": tokens});
        let follows = self.parent.take();
        self.push(json!({"type": "system", "subtype": "compact_boundary", "logicalParentUuid": follows, "compactMetadata": metadata}));
        let message = json!({"role": "user", "content": summary});
        self.push(json!({"type": "user", "isCompactSummary": true, "message": message}));
    }

    pub(crate) fn saved(&self) -> Folder {
        let folder = Folder::new();
        let text: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(folder.path("s.jsonl"), text).expect("there is room");
        folder
    }
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("there is room"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_epitome"));
        command.current_dir(self.0.path()).args(args).env("NO_COLOR", "1").env("HOME", self.0.path());
        command
            .env("XDG_CONFIG_HOME", self.0.path())
            .env_remove("EPITOME_MODEL")
            .env_remove("EPITOME_MODELS");
        command
    }

    /// What a run prints in a terminal of so many columns; it must succeed.
    pub(crate) fn shown(&self, columns: usize, args: &[&str]) -> String {
        let ran = self.command(args).env("COLUMNS", columns.to_string()).output().expect("the program runs");
        assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).expect("the program writes UTF-8")
    }

    /// What a run says on standard error; it must succeed.
    pub(crate) fn told(&self, args: &[&str]) -> String {
        let ran = self.command(args).output().expect("the program runs");
        let told = String::from_utf8(ran.stderr).expect("the program writes UTF-8");
        assert!(ran.status.success(), "{args:?}: {told}");
        told
    }

    /// The JSON a run prints; it must succeed.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let out = self.shown(80, args);
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{args:?}: {error}: {out}"))
    }

    /// What a run says as it fails.
    pub(crate) fn refused(&self, args: &[&str]) -> String {
        let ran = self.command(args).output().expect("the program runs");
        assert!(!ran.status.success(), "{args:?}");
        String::from_utf8(ran.stderr).expect("the program writes UTF-8").trim_end().to_owned()
    }
}

/// The path of a transcript of the corpus.
pub(crate) fn corpus(name: &str) -> String {
    format!("{}/../../corpus/{name}", env!("CARGO_MANIFEST_DIR"))
}
