//! Runs: the program behind one of its doors, with settings from the environment, in a folder of its own, before a
//! scripted provider.

use crate::observed::{Observed, normal, renumbered};
use crate::scenario::{After, Scenario, Setup};
use crate::talk;
use epitome_settings::Door;
use epitome_upstream::{Handle, Keep, Kind, Report, Script, Strictness, Upstream};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// One run, told apart from all others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Run {
    pub(crate) door: Door,
    pub(crate) scenario: Scenario,
    /// The window that is stated, where it is not the scenario's.
    pub(crate) window: Option<u64>,
    /// What goes wrong at the provider.
    pub(crate) plan: &'static str,
    /// Settings, by key.
    pub(crate) settings: BTreeMap<String, String>,
}

/// Serves the providers of all runs.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime can be made"));

/// Longer than anything takes that is waited for; what does not happen takes this long.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// Who is asked takes so long to say yes: longer than a deadline of no time at all.
const THINKING_TIME: Duration = Duration::from_millis(250);
/// A provider that hears nothing for so long is asked nothing more.
const QUIET_TIME: Duration = Duration::from_millis(300);
/// Between two looks at something that is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(10);
const TRANSCRIPT: &str = "session.jsonl";
const HOOK_LOG: &str = "hook.jsonl";

/// Writes down what it is asked, and has something to add.
const HOOK: &str = "cat >> hook.jsonl; echo >> hook.jsonl; cat verdict.json";

/// The environment variable of a setting.
pub(crate) fn variable(key: &str) -> String {
    format!("EPITOME_{}", key.replace('.', "__").to_uppercase())
}

/// The program, at home in `folder`.
pub(crate) fn program(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_epitome"));
    command.current_dir(folder).args(args).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", folder).env("XDG_CONFIG_HOME", folder.join("config"));
    command.env("STAGE_KEY", "a-key").env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

impl Run {
    /// Runs it and looks at everything there is to see.
    pub(crate) fn observe(&self) -> Observed {
        let stage = Stage::new(self);
        match self.door {
            Door::Compact => stage.compact(),
            Door::Replay => stage.replay(),
            Door::Serve => stage.serve(),
        }
    }
}

/// A folder of its own. A summary names it, so that its name must not take more or fewer tokens than another's.
fn folder() -> TempDir {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let (process, number) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let name = format!("doors-{process:08}-{number:06}");
    tempfile::Builder::new().prefix(&name).rand_bytes(0).tempdir().expect("there is room")
}

struct Stage<'r> {
    run: &'r Run,
    setup: Setup,
    folder: TempDir,
    upstream: Handle,
}

impl<'r> Stage<'r> {
    fn new(run: &'r Run) -> Self {
        let mut setup = run.scenario.setup();
        setup.window = run.window.or(setup.window);
        let script = Script {
            window_tokens: setup.provider_window,
            reply_tokens: 20,
            tool_rounds: 0,
            plan: run.plan.parse().expect("a plan"),
            // Clients send what a harness adds as messages of its own.
            strictness: Strictness::Lenient,
            keep: Keep::Bodies,
            ..Script::default()
        };
        let upstream = RUNTIME.block_on(Upstream::start(script)).expect("a port is free");
        let stage = Self { run, setup, folder: folder(), upstream };
        stage.furnish();
        stage
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("there is room");
        fs::write(path, text).expect("there is room");
    }

    fn furnish(&self) {
        let Setup { messages, model, is_resumed, has_files, has_hook, .. } = &self.setup;
        let text =
            if *is_resumed { talk::resumed_lines(messages, model) } else { talk::lines(messages, model) };
        self.write(TRANSCRIPT, &text);
        let alias = |name: &str, more: &str| {
            format!(
                "[alias.{name}]\nprovider = \"compatible\"\nprotocol = \"anthropic\"\nbase_url = \"{}\"\nmodel = \"{}\"\nkey_env = \"STAGE_KEY\"\n{more}\n",
                self.upstream.base_url,
                talk::MODEL
            )
        };
        let aliases =
            alias("fast", "") + &alias("pair", "parallel = true") + &alias("small", "window = 6000");
        let hook = if *has_hook {
            format!("[hook.watch]\ncommand = [\"sh\", \"-c\", \"{HOOK}\"]\n")
        } else {
            String::new()
        };
        self.write("config/epitome/epitome.toml", &(aliases + &hook));
        let inject = json!({"verdict": "proceed", "inject": talk::prose(3, 900)});
        self.write("verdict.json", &inject.to_string());
        self.write(HOOK_LOG, "");
        for number in (0..5).filter(|_| *has_files) {
            self.write(&format!("project/src/part_{number}.rs"), &talk::prose(number + 60, 900));
        }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        args.extend(self.setup.window.into_iter().flat_map(|window| ["--window".into(), window.to_string()]));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut command = program(self.folder.path(), &args);
        command.envs(self.run.settings.iter().map(|(key, value)| (variable(key), value)));
        command
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    fn compact(&self) -> Observed {
        let mut args = vec!["compact", TRANSCRIPT, "-o", "out.json", "--json"];
        args.extend((!self.setup.keeps_format).then_some(["--to", "anthropic"]).into_iter().flatten());
        args.extend(self.setup.has_files.then_some(["--project", "project"]).into_iter().flatten());
        let (out, told) = match self.setup.after {
            After::Approve => self.printed_at_terminal(&args),
            After::Nothing | After::Idle | After::Settle | After::Navigate => self.printed(&args),
        };
        let records = out.lines().map(json_of).collect();
        let context = self.read("out.json");
        let contexts = match context.is_empty() {
            true => Vec::new(),
            false if self.setup.keeps_format => context.lines().map(json_of).collect(),
            false => vec![json_of(&context)],
        };
        self.observed(contexts, records, told)
    }

    fn replay(&self) -> Observed {
        let (out, told) = self.printed(&["replay", TRANSCRIPT, "--json", "--contexts"]);
        let mut calls: Vec<Value> = out.lines().map(json_of).collect();
        let records = calls.iter_mut().map(|call| call["compaction"].take()).filter(|one| !one.is_null());
        let records = records.collect();
        let contexts = calls.iter_mut().map(|call| call["context"].take()).collect();
        self.observed(contexts, records, told)
    }

    /// What a run prints, and what it told beside that: its failure, where it failed.
    fn printed(&self, args: &[&str]) -> (String, Result<String, String>) {
        let output = self.command(args).output().expect("the program runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the program writes UTF-8");
        let (out, err) = (text(output.stdout), text(output.stderr));
        (out, if output.status.success() { Ok(err) } else { Err(err) })
    }

    /// The same with a person at a terminal, who approves whatever they are asked. What they see is left out: it goes by
    /// the clock.
    fn printed_at_terminal(&self, args: &[&str]) -> (String, Result<String, String>) {
        let command = self.command(args);
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<String> = words.map(|word| format!("'{}'", word.to_string_lossy())).collect();
        let line = format!("{} > printed", words.join(" "));
        let mut terminal = Command::new("script");
        terminal.args(["-qec", &line, "/dev/null"]).current_dir(self.folder.path()).env_clear();
        terminal.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let terminal = terminal.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut terminal = terminal.expect("util-linux is installed");
        let mut screen = BufReader::new(terminal.stdout.take().expect("it is piped"));
        let mut shown = Vec::new();
        screen.read_until(b'?', &mut shown).expect("it can be read");
        std::thread::sleep(THINKING_TIME);
        // Where nobody waits any more, nobody reads it.
        drop(terminal.stdin.take().expect("it is piped").write_all(b"a\n"));
        screen.read_to_end(&mut shown).expect("it can be read");
        let told = String::from_utf8_lossy(&shown).into_owned();
        let is_well = terminal.wait().expect("it ends").success();
        (self.read("printed"), if is_well { Ok(String::new()) } else { Err(told) })
    }

    fn observed(&self, contexts: Vec<Value>, records: Vec<Value>, told: Result<String, String>) -> Observed {
        let Report { recorded, .. } = self.upstream.report();
        let summaries = recorded.into_iter().filter(|one| one.kind == Kind::Summary);
        let mut requests: Vec<String> = summaries.map(|one| renumbered(&one.body)).collect();
        requests.sort_unstable();
        let (events, failure) = match told {
            Ok(text) => (text, None),
            Err(text) => (String::new(), Some(text)),
        };
        // What the settings themselves are noted for is nothing that they do, and figures are the record's.
        let is_news = |line: &&str| !line.starts_with("note: ") && !line.contains(": compacted from ");
        let events = events.lines().filter(is_news).map(renumbered);
        // A hook that is too slow is stopped in the middle of a line.
        let hooks = self.read(HOOK_LOG);
        let hooks = serde_json::Deserializer::from_str(&hooks).into_iter::<Value>().map_while(Result::ok);
        Observed {
            contexts: contexts.into_iter().map(normal).collect(),
            requests,
            records: records.into_iter().map(normal).collect(),
            events: events.chain(hooks.map(normal)).collect(),
            failure,
        }
    }

    fn serve(&self) -> Observed {
        let proxy = match Proxy::start(self) {
            Ok(proxy) => proxy,
            Err(told) => return self.observed(Vec::new(), Vec::new(), Err(told)),
        };
        RUNTIME.block_on(async {
            let operates = self.setup.after == After::Approve;
            let operator = operates.then(|| tokio::spawn(approve(proxy.address.clone())));
            for end in self.calls() {
                self.send(&proxy, &self.setup.messages[..end]).await;
                if self.setup.after == After::Settle {
                    self.settle().await;
                }
            }
            operator.inspect(tokio::task::JoinHandle::abort);
            if self.setup.after == After::Navigate {
                let url = format!("{}/api/v1/sessions/s0001/navigate", proxy.address);
                let reply = client().post(url).json(&json!({"to": "m0000", "summary": true})).send().await;
                assert!(reply.expect("the proxy answers").status().is_success(), "{:?}", self.run);
            }
        });
        let sessions = RUNTIME.block_on(self.sessions(&proxy));
        drop(proxy);
        let listed = sessions.as_array().expect("a list").iter();
        let records =
            listed.flat_map(|session| session["compactions"].as_array().cloned().unwrap_or_default());
        let records = records.collect();
        let Report { recorded, violations, .. } = self.upstream.report();
        assert_eq!(violations, [], "{:?}", self.run);
        let chats = recorded.iter().filter(|one| one.kind == Kind::Chat);
        let contexts = chats.map(|one| json_of(&one.body)).collect();
        let told = self.read("told");
        // When something was said, and how much it matters, is the log's.
        let said = |line: &str| line.splitn(3, ' ').nth(2).unwrap_or_default().trim_start().to_owned() + "\n";
        self.observed(contexts, records, Ok(told.lines().map(said).collect()))
    }

    /// Where each call ends that is sent.
    fn calls(&self) -> impl Iterator<Item = usize> {
        let messages = &self.setup.messages;
        let calls = (0..messages.len()).filter(|&at| messages[at]["role"] == "assistant");
        calls.skip(self.setup.skipped_calls)
    }

    async fn send(&self, proxy: &Proxy, messages: &[Value]) {
        let mut body = json!({"model": self.setup.model, "max_tokens": 500, "messages": messages});
        if self.setup.has_tools {
            body["tools"] = talk::tools().into();
        }
        let request = client().post(format!("{}/v1/messages", proxy.address)).json(&body);
        let request = request.header("anthropic-version", "2023-06-01").header("x-api-key", "a-key");
        let reply = request.send().await.expect("the proxy answers");
        reply.bytes().await.expect("the answer is whole");
    }

    /// Waits until the provider has heard nothing for a while.
    async fn settle(&self) {
        let (mut heard, mut since) = (self.upstream.report().requests, Instant::now());
        while since.elapsed() < QUIET_TIME {
            tokio::time::sleep(LOOK_EVERY).await;
            let now = self.upstream.report().requests;
            if now != heard {
                (heard, since) = (now, Instant::now());
            }
        }
    }

    /// The sessions as they are listed, once what is waited for has happened.
    async fn sessions(&self, proxy: &Proxy) -> Value {
        let begun = Instant::now();
        loop {
            let listed = get(&format!("{}/api/v1/sessions", proxy.address)).await.expect("the proxy answers");
            let is_there = listed[0]["compactions"].as_array().is_some_and(|all| !all.is_empty());
            if self.setup.after != After::Idle || is_there || begun.elapsed() > WAIT_MAX {
                return listed;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// Approves whatever waits for a word, for as long as it is let.
async fn approve(address: String) {
    let waiting = async || get(&format!("{address}/api/v1/checkpoints")).await.unwrap_or_default();
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if waiting().await.as_array().is_none_or(Vec::is_empty) {
            continue;
        }
        tokio::time::sleep(THINKING_TIME).await;
        let still = waiting().await;
        for checkpoint in still.as_array().into_iter().flatten().filter_map(|one| one["checkpoint"].as_str())
        {
            let url = format!("{address}/api/v1/checkpoints/{checkpoint}");
            drop(client().post(url).json(&json!({"decision": "approve"})).send().await);
        }
    }
}

async fn get(url: &str) -> Option<Value> {
    client().get(url).send().await.ok()?.json().await.ok()
}

fn client() -> &'static reqwest::Client {
    static CLIENT: LazyLock<reqwest::Client> =
        LazyLock::new(|| reqwest::Client::builder().no_proxy().build().expect("a client can be made"));
    &CLIENT
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text:.200}"))
}

/// A proxy under way; it ends with its run.
struct Proxy {
    child: Child,
    address: String,
    /// Held open, so that nothing the proxy says breaks it.
    _out: BufReader<ChildStdout>,
}

impl Proxy {
    /// Starts one; what it says where it will not start.
    fn start(stage: &Stage<'_>) -> Result<Self, String> {
        let args = ["serve", "--listen", "127.0.0.1:0", "--upstream", &stage.upstream.base_url];
        let told = File::create(stage.folder.path().join("told")).expect("there is room");
        let child = stage.command(&args).stdout(Stdio::piped()).stderr(told).spawn();
        let mut child = child.expect("the program runs");
        let mut out = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        out.read_line(&mut line).expect("it can be read");
        let Some(address) = line.trim().strip_prefix("listening on ").map(str::to_owned) else {
            child.wait().expect("it has ended");
            return Err(stage.read("told"));
        };
        Ok(Self { child, address, _out: out })
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // It may have ended by itself, which is as well.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
