//! A home with sessions of agents in it, and the program run there.

use rusqlite::Connection;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

/// A home of nobody's, with a folder in which work was done.
pub(crate) struct Home {
    folder: tempfile::TempDir,
    /// Variables the program is given besides.
    variables: Vec<(&'static str, PathBuf)>,
}

/// The newest session is this old, in hours; the others are older by one each.
const AGE_HOURS: u64 = 3;

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self { folder: tempfile::tempdir().expect("there is room"), variables: Vec::new() };
        std::fs::create_dir(home.project()).expect("it is new");
        home
    }

    pub(crate) fn set(&mut self, variable: &'static str, value: PathBuf) {
        self.variables.push((variable, value));
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("it is there")
    }

    /// The folder the sessions were held in.
    pub(crate) fn project(&self) -> PathBuf {
        self.path().join("my_work.rs")
    }

    /// Writes lines below the home; the `nth` is older than those before.
    pub(crate) fn write(&self, name: &str, nth: u64, lines: &[Value]) -> PathBuf {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        self.write_bytes(name, nth, text.as_bytes())
    }

    pub(crate) fn write_bytes(&self, name: &str, nth: u64, bytes: &[u8]) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("it is below")).expect("there is room");
        std::fs::write(&path, bytes).expect("there is room");
        let age = Duration::from_secs((AGE_HOURS + nth) * 3_600 + 60);
        let file = std::fs::File::options().append(true).open(&path).expect("it is there");
        file.set_modified(SystemTime::now() - age).expect("the clock can be set back");
        path
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(env!("CARGO_BIN_EXE_epitome")).args(args).output().expect("the program runs")
    }

    /// A program in this home, with nothing of ours around it.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", self.path()).current_dir(self.project());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    pub(crate) fn printed(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("the program writes UTF-8")
    }

    pub(crate) fn parsed(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.printed(args)).unwrap_or_else(|error| panic!("{args:?}: {error}"))
    }

    /// What the program said as it failed, without its name.
    pub(crate) fn refusal(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {}", String::from_utf8_lossy(&output.stdout));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        said.trim_end().trim_start_matches("epitome: ").to_owned()
    }

    /// The ids of the sessions that are listed, in order.
    pub(crate) fn ids(&self, args: &[&str]) -> Vec<String> {
        let table = self.parsed(&[&["sessions", "--json"], args].concat());
        let sessions = table["sessions"].as_array().expect("a table has sessions").iter();
        sessions.map(|session| session["id"].as_str().expect("each has an id").to_owned()).collect()
    }
}

/// Ids of sessions, as the tools make them.
pub(crate) const CLAUDE: &str = "11111111-aaaa-4bbb-8ccc-000000000001";
pub(crate) const CODEX: &str = "22222222-aaaa-7bbb-8ccc-000000000002";
pub(crate) const PI: &str = "33333333-aaaa-7bbb-8ccc-000000000003";
pub(crate) const QWEN: &str = "44444444-aaaa-4bbb-8ccc-000000000004";
pub(crate) const GEMINI: &str = "55555555-aaaa-4bbb-8ccc-000000000005";
pub(crate) const COPILOT: &str = "66666666-aaaa-4bbb-8ccc-000000000006";

/// As long as something that is worth a summary.
const WORDS: &str = "the reader of session files counts every line twice because the cache of parsed headers is asked before ";

/// What is said in turn `at`: enough of it that a few turns are too many.
fn words(at: usize) -> String {
    format!("turn {at}: {}", WORDS.repeat(12))
}

/// How often something is asked in the sessions below.
pub(crate) const TURNS: usize = 12;

pub(crate) fn claude(project: &Path, id: &str, turns: usize) -> Vec<Value> {
    let record = |kind: &str, at: usize, message: Value| {
        let uuid = |at: usize| format!("{id}-{at}");
        let parent = if at == 0 { Value::Null } else { json!(uuid(at - 1)) };
        json!({"type": kind, "uuid": uuid(at), "parentUuid": parent, "sessionId": id, "cwd": project, "isSidechain": false,
            "timestamp": "2026-01-31T09:30:00.000Z", "version": "2.1.325", "message": message})
    };
    let usage = json!({"input_tokens": 1_000, "cache_read_input_tokens": 100_000, "cache_creation_input_tokens": 9_000, "output_tokens": 500});
    let mut lines = vec![json!({"type": "custom-title", "customTitle": "the parser", "sessionId": id})];
    for at in 0..turns {
        lines.push(record("user", 2 * at, json!({"role": "user", "content": words(at)})));
        let reply = json!({"id": format!("msg_{at}"), "role": "assistant", "model": "claude-sonnet-4-5",
            "content": [{"type": "text", "text": words(at)}], "usage": usage});
        lines.push(record("assistant", 2 * at + 1, reply));
    }
    lines
}

pub(crate) fn claude_name(project: &Path, id: &str) -> String {
    let dashed: String =
        project.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    format!(".claude/projects/{dashed}/{id}.jsonl")
}

pub(crate) fn codex(project: &Path, id: &str, turns: usize) -> Vec<Value> {
    let line = |kind: &str, payload: Value| json!({"timestamp": "2026-01-31T09:30:00.000Z", "type": kind, "payload": payload});
    let mut lines = vec![
        line("session_meta", json!({"id": id, "session_id": id, "cwd": project, "cli_version": "0.166.0"})),
        line("turn_context", json!({"cwd": project, "model": "gpt-5"})),
    ];
    let usage = json!({"input_tokens": 20_000, "cached_input_tokens": 10_000, "output_tokens": 1_000});
    for at in 0..turns {
        for (role, kind) in [("user", "input_text"), ("assistant", "output_text")] {
            let content = json!([{"type": kind, "text": words(at)}]);
            lines.push(line("response_item", json!({"type": "message", "role": role, "content": content})));
        }
        let info =
            json!({"total_token_usage": usage, "last_token_usage": usage, "model_context_window": 258_400});
        lines.push(line("event_msg", json!({"type": "token_count", "info": info})));
    }
    lines
}

pub(crate) fn codex_name(id: &str) -> String {
    format!(".codex/sessions/2026/01/31/rollout-2026-01-31T09-30-00-{id}.jsonl")
}

pub(crate) fn pi(project: &Path, id: &str, turns: usize) -> Vec<Value> {
    let mut lines = vec![
        json!({"type": "session", "version": 3, "id": id, "timestamp": "2026-01-31T09:30:00.000Z", "cwd": project}),
    ];
    let mut parent = Value::Null;
    let usage =
        json!({"input": 1_000, "output": 100, "cacheRead": 4_000, "cacheWrite": 0, "cost": {"total": 0.25}});
    for at in 0..turns {
        for role in ["user", "assistant"] {
            let entry = format!("{:08x}", lines.len());
            let mut message =
                json!({"role": role, "content": [{"type": "text", "text": words(at)}], "timestamp": at});
            if role == "assistant" {
                message["model"] = json!("gpt-5");
                message["usage"] = usage.clone();
            }
            lines.push(json!({"type": "message", "id": entry, "parentId": parent, "timestamp": "2026-01-31T09:30:00.000Z", "message": message}));
            parent = json!(entry);
        }
    }
    lines
}

pub(crate) fn pi_name(project: &Path, id: &str) -> String {
    let dashed = project.to_string_lossy().trim_start_matches('/').replace('/', "-");
    format!(".pi/agent/sessions/--{dashed}--/2026-01-31T09-30-00-000Z_{id}.jsonl")
}

pub(crate) fn qwen(project: &Path, id: &str, turns: usize) -> Vec<Value> {
    let mut lines: Vec<Value> = Vec::new();
    for at in 0..2 * turns {
        let parent = lines.last().map_or(Value::Null, |line| line["uuid"].clone());
        let (kind, role) = if at % 2 == 0 { ("user", "user") } else { ("assistant", "model") };
        let mut line = json!({"uuid": format!("{id}-{at}"), "parentUuid": parent, "sessionId": id, "type": kind, "cwd": project,
            "timestamp": "2026-01-31T09:30:00.000Z", "version": "0.24.4", "message": {"role": role, "parts": [{"text": words(at / 2)}]}});
        if kind == "assistant" {
            line["model"] = json!("gpt-5");
            line["contextWindowSize"] = json!(131_072);
            line["usageMetadata"] = json!({"promptTokenCount": 30_000, "candidatesTokenCount": 200});
        }
        lines.push(line);
    }
    lines
}

pub(crate) fn qwen_name(project: &Path, id: &str) -> String {
    let claude = claude_name(project, id);
    claude.replace(".claude/", ".qwen/").replace(&format!("/{id}"), &format!("/chats/{id}"))
}

pub(crate) fn gemini(id: &str) -> Vec<Value> {
    let reply = json!({"id": "m2", "timestamp": "t", "type": "gemini", "content": "in src", "model": "gemini-2.5-pro",
        "tokens": {"input": 7_000, "output": 40, "cached": 0, "thoughts": 10, "tool": 0, "total": 7_050}});
    vec![
        json!({"sessionId": id, "projectHash": "x", "startTime": "t", "lastUpdated": "t", "kind": "main"}),
        json!({"id": "m1", "timestamp": "t", "type": "user", "content": [{"text": "where is main?"}]}),
        reply,
    ]
}

pub(crate) fn copilot(project: &Path, id: &str) -> Vec<Value> {
    let event = |kind: &str, at: usize, data: Value| json!({"type": kind, "id": format!("e{at}"), "timestamp": "t", "parentId": null, "data": data});
    vec![
        event("session.start", 0, json!({"sessionId": id, "context": {"cwd": project}})),
        event("session.model_change", 1, json!({"newModel": "claude-opus-4.5"})),
        event("user.message", 2, json!({"content": "where is main?"})),
        event("assistant.message", 3, json!({"content": "in src"})),
        event("session.compaction_complete", 4, json!({"success": true, "postCompactionTokens": 4_000})),
        event("session.usage_info", 5, json!({"currentTokens": 5_000, "tokenLimit": 128_000})),
    ]
}

/// opencode's database with one session, and its sub-agent's.
pub(crate) fn opencode(home: &Home, updated_ms: i64) {
    let folder = home.path().join(".local/share/opencode");
    std::fs::create_dir_all(&folder).expect("there is room");
    let database = Connection::open(folder.join("opencode.db")).expect("it can be made");
    database
        .execute_batch(
            "CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, title TEXT, version TEXT, revert TEXT,
                time_created INTEGER, time_updated INTEGER);
            CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
            CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);",
        )
        .expect("the tables are new");
    let session = "INSERT INTO session VALUES (?1, ?2, ?3, 'a title', '1.2.10', NULL, 1, ?4)";
    let project = home.project().to_string_lossy().into_owned();
    database.execute(session, ("ses_one", None::<&str>, &project, updated_ms)).expect("it is new");
    database.execute(session, ("ses_sub", Some("ses_one"), &project, updated_ms)).expect("it is new");
    let tokens = json!({"input": 900, "output": 50, "reasoning": 10, "cache": {"read": 40, "write": 0}});
    let reply = json!({"role": "assistant", "modelID": "claude-sonnet-4-5", "tokens": tokens, "cost": 0.5});
    for (at, (id, data, text)) in
        [("msg_1", json!({"role": "user"}), "where is main?"), ("msg_2", reply, "in src")]
            .into_iter()
            .enumerate()
    {
        let message = "INSERT INTO message VALUES (?1, 'ses_one', ?2, ?2, ?3)";
        database.execute(message, (id, at as i64, data.to_string())).expect("it is new");
        let part = json!({"type": "text", "text": text}).to_string();
        let insert = "INSERT INTO part VALUES (?1, ?2, 'ses_one', 1, 1, ?3)";
        database.execute(insert, (format!("prt_{id}"), id, part)).expect("it is new");
    }
}
