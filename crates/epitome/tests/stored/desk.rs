//! A home with a store in it, transcripts to put into it, and the program run there.

use epitome_testbed::{TestPostgres, TestStore};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Where the program is run.
pub(crate) struct Desk {
    home: TempDir,
    /// Its store, where that is not the default.
    database: Option<TestStore>,
}

/// What became of a run.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A session of Claude Code's, 352 entries with side branches.
pub(crate) const CLAUDE_CODE: &str = "claude-code/chkit-98b664.jsonl.zst";
/// A session of pi's with a compaction of its own.
pub(crate) const PI: &str = "pi/pi-dev-962b10-v3.jsonl.zst";

/// A session of Gemini CLI's, 84 entries.
pub(crate) const GEMINI_CLI: &str = "gemini-cli/session-bridge-e94f17.json.zst";
/// A session of opencode's, 147 entries.
pub(crate) const OPENCODE: &str = "opencode/session-bridge-13dddd.json.zst";

impl Desk {
    /// With the default store, which is a file.
    pub(crate) fn new() -> Self {
        Self { home: tempfile::tempdir().expect("there is room"), database: None }
    }

    /// With each kind of store.
    pub(crate) fn of_each_kind() -> [Self; 2] {
        [Self::new(), Self { database: Some(TestStore::postgres()), ..Self::new() }]
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// The default store of this home.
    pub(crate) fn store(&self) -> PathBuf {
        self.path("data/epitome/epitome.db")
    }

    /// The address of the store, as the program shows it.
    pub(crate) fn address(&self) -> String {
        match &self.database {
            Some(database) => database.address().to_owned(),
            None => format!("sqlite:{}", self.store().display()),
        }
    }

    /// Runs a statement on the store's tables.
    pub(crate) fn sql(&self, statement: &str) {
        match &self.database {
            Some(database) => {
                let statement = format!("SET search_path = epitome; {statement}");
                TestPostgres::shared().run(database.address(), &statement);
            }
            None => {
                let tables = Connection::open(self.store()).expect("it is a database");
                tables.execute_batch(statement).expect("it is run");
            }
        }
    }

    pub(crate) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).expect("there is room");
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("it was written")
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_epitome"));
        command.current_dir(self.home.path()).args(args).env("NO_COLOR", "1").env("COLUMNS", "100");
        command.env("HOME", self.home.path()).env("XDG_CONFIG_HOME", self.path("config"));
        command.env("XDG_DATA_HOME", self.path("data")).env("XDG_CACHE_HOME", self.path("cache"));
        for variable in ["EPITOME_MODEL", "EPITOME_MODELS", "EPITOME_STORE"] {
            command.env_remove(variable);
        }
        if let Some(database) = &self.database {
            command.env("EPITOME_STORE", database.address());
        }
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        let output = self.command(args).output().expect("the program runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the program writes UTF-8");
        Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// What a run prints; it must succeed.
    pub(crate) fn printed(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
        ran.out
    }

    /// The one JSON document a run prints; it must succeed.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let out = self.printed(args);
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{args:?}: {error}: {out}"))
    }

    /// What a run that fails says.
    pub(crate) fn refusal(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!((ran.code, &*ran.out), (Some(1), ""), "{args:?}: {}", ran.err);
        ran.err
    }

    /// Imports bytes under a name; the session.
    pub(crate) fn import(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        self.put(name, bytes);
        self.json(&["import", name, "--json"])["session"].as_str().expect("a session").to_owned()
    }

    /// What the model would see of a session now.
    pub(crate) fn context(&self, session: &str) -> String {
        self.printed(&["context", "--session", session, "--to", "anthropic", "--max-tokens", "1000"])
    }
}

/// The bytes of a transcript of the corpus.
pub(crate) fn corpus(name: &str) -> Vec<u8> {
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(name);
    zstd::decode_all(&*fs::read(packed).expect("it is of the corpus")).expect("it unpacks")
}

/// A request body of `turns` questions and answers, some hundred tokens each.
pub(crate) fn talk(turns: usize) -> String {
    let text =
        |at: usize| format!("point {at} of the plan: {}", "something that matters a little ".repeat(60));
    let role = |at: usize| if at.is_multiple_of(2) { "user" } else { "assistant" };
    let said = |at: usize| json!({"role": role(at), "content": text(at)});
    let messages: Vec<Value> =
        (0..turns * 2).map(said).chain([json!({"role": "user", "content": "go on"})]).collect();
    json!({"model": "gpt-5", "max_tokens": 500, "messages": messages}).to_string()
}
