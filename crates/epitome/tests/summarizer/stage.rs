//! A folder with a transcript and settings in it, and a provider that its `[alias.fast]` leads to.

use epitome_upstream::{Handle, Keep, Report, Script, Upstream};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// What every summary request of ours says in its system prompt.
const MARKER: &str = "You write summaries of work";

/// Where the program is run.
pub(crate) struct Stage {
    folder: TempDir,
    upstream: Handle,
    /// Serves while the program runs.
    runtime: Runtime,
}

/// What became of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Stage {
    /// With this transcript of the corpus as `session`, and a provider that goes by this plan.
    pub(crate) fn new(transcript: &str, plan: &str) -> Self {
        let folder = tempfile::tempdir().expect("there is room");
        fs::write(folder.path().join("session"), original(transcript)).expect("there is room");
        let script = Script {
            summary_markers: vec![MARKER.into()],
            plan: plan.parse().expect("a plan"),
            keep: Keep::Bodies,
            ..Script::default()
        };
        let runtime = Runtime::new().expect("a runtime can be made");
        let upstream = runtime.block_on(Upstream::start(script)).expect("a port is free");
        let settings = format!(
            "[alias.fast]\nprovider = \"compatible\"\nprotocol = \"anthropic\"\nbase_url = \"{}\"\nmodel = \"claude-haiku-4-5\"\nkey_env = \"STAGE_KEY\"\n",
            upstream.base_url
        );
        let stage = Self { folder, upstream, runtime };
        fs::create_dir_all(stage.operator_file().parent().expect("it lies in a folder"))
            .expect("there is room");
        fs::write(stage.operator_file(), settings).expect("there is room");
        stage
    }

    /// The user's own settings.
    pub(crate) fn operator_file(&self) -> PathBuf {
        self.path().join("config/epitome/epitome.toml")
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn upstream_url(&self) -> String {
        self.upstream.base_url.clone()
    }

    pub(crate) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// What the provider has seen.
    pub(crate) fn report(&self) -> Report {
        self.upstream.report()
    }

    /// The texts of what it was asked for, request by request.
    pub(crate) fn bodies(&self) -> Vec<String> {
        let texts = |body: &Value| body["messages"][0]["content"].clone();
        let parsed = self.report().recorded.into_iter().map(|request| json_of(&request.body));
        parsed
            .map(|body| texts(&body).as_str().map_or_else(|| texts(&body).to_string(), str::to_owned))
            .collect()
    }

    /// The limits that its answers were held to, request by request.
    pub(crate) fn limits(&self) -> Vec<u64> {
        let parsed = self.report().recorded.into_iter().map(|request| json_of(&request.body));
        parsed.filter_map(|body| body["max_tokens"].as_u64()).collect()
    }

    /// The program, at home in this folder, with a key for the alias and none for anyone else.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_epitome"));
        command.current_dir(self.path()).args(args).env("STAGE_KEY", "a-key").env("NO_COLOR", "1");
        command.env("HOME", self.path()).env("XDG_CONFIG_HOME", self.path().join("config"));
        command.env("XDG_DATA_HOME", self.path().join("data")).env_remove("EPITOME_STORE");
        for name in ["EPITOME_MODEL", "EPITOME_MODELS", "http_proxy", "HTTP_PROXY", "ANTHROPIC_API_KEY"] {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().expect("the program runs"))
    }

    /// The one JSON document a run prints; it must succeed.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{args:?}: {error}: {}", ran.out))
    }

    /// Every file of the folder.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let (mut files, mut folders) = (BTreeMap::new(), vec![self.path().to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("it can be listed") {
                let path = entry.expect("it can be listed").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.insert(path.clone(), fs::read(path).expect("it can be read"));
                }
            }
        }
        files
    }
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the program writes UTF-8");
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

fn json_of(body: &str) -> Value {
    serde_json::from_str(body).expect("JSON")
}

/// The bytes of a transcript of the corpus.
pub(crate) fn original(transcript: &str) -> Vec<u8> {
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(transcript);
    zstd::decode_all(&*fs::read(packed).expect("it is of the corpus")).expect("it unpacks")
}

/// A small one: 53 messages of LangGraph's, which is read only.
pub(crate) const SMALL: &str = "langgraph/deer-flow-d3e5ad-research.json.zst";
/// One of pi's with a compaction in it, 233 messages.
pub(crate) const MIDDLE: &str = "pi/pi-dev-962b10-v3.jsonl.zst";
/// One of Codex's, 587 messages.
pub(crate) const CODEX: &str = "codex/session-bridge-64b5e5.jsonl.zst";
/// One of Claude Code's with more in view than the summariser's window holds.
pub(crate) const LARGE: &str = "claude-code/oh-my-posh-0254bf.jsonl.zst";
