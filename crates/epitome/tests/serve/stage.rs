//! A provider, a proxy in front of it, and conversations that go through both.

use epitome_upstream::{Handle, Keep, Kind, Recorded, Report, Script, Upstream};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// The presets of the systems that epitome reproduces.
pub(crate) const PRESETS: [&str; 5] = ["aura", "pi", "claude-code", "kaged", "operator-use"];
/// What summary calls say: in their system prompt, or behind the session's own request.
const MARKERS: [&str; 3] =
    ["You write summaries of work", "Your task now is a summary", "Write the prose of a summary"];
/// What the proxy says on standard error.
const TOLD: &str = "told";
/// A conversation that is not compacted in so many turns never is.
const TURNS_MAX: usize = 120;

/// A folder to be at home in, and a provider.
pub(crate) struct Stage {
    folder: TempDir,
    upstream: Handle,
    client: reqwest::Client,
    /// Serves while the program runs.
    runtime: Runtime,
}

/// A proxy under way; it ends with the test.
pub(crate) struct Proxy<'s> {
    pub(crate) stage: &'s Stage,
    child: Child,
    address: String,
    /// Where it says that sessions are kept.
    pub(crate) kept: String,
}

impl Drop for Proxy<'_> {
    fn drop(&mut self) {
        // It may have ended by itself, which is as well.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Stage {
    /// With a provider that goes by this plan and keeps what it is asked.
    pub(crate) fn new(plan: &str) -> Self {
        Self::with(Script { plan: plan.parse().expect("a plan"), ..Script::default() })
    }

    /// With a provider that answers like this in words alone, and keeps what it is asked.
    pub(crate) fn with(script: Script) -> Self {
        let script = Script {
            summary_markers: MARKERS.map(Into::into).to_vec(),
            tool_rounds: 0,
            keep: Keep::Bodies,
            ..script
        };
        let runtime = Runtime::new().expect("a runtime can be made");
        let upstream = runtime.block_on(Upstream::start(script)).expect("a port is free");
        let folder = tempfile::tempdir().expect("there is room");
        fs::create_dir_all(folder.path().join("config/epitome")).expect("there is room");
        let client = reqwest::Client::builder().no_proxy().build().expect("a client can be made");
        Self { folder, upstream, client, runtime }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, text: &str) {
        let file = self.path(name);
        fs::create_dir_all(file.parent().expect("it lies in a folder")).expect("there is room");
        fs::write(file, text).expect("there is room");
    }

    /// The operator's own settings.
    pub(crate) fn settings(&self, toml: &str) {
        self.put("config/epitome/epitome.toml", toml);
    }

    pub(crate) fn upstream_url(&self) -> &str {
        &self.upstream.base_url
    }

    pub(crate) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// The messages that the provider was sent, request by request, summaries aside.
    pub(crate) fn arrived(&self) -> Vec<Vec<Value>> {
        let chats = self.report().recorded.into_iter().filter(|request| request.kind == Kind::Chat);
        let messages = |request: Recorded| {
            let body: Value = serde_json::from_str(&request.body).expect("JSON");
            body["messages"].as_array().expect("a list").clone()
        };
        chats.map(messages).collect()
    }

    /// Has the provider go by another plan from now on.
    pub(crate) fn plan(&self, plan: &str) {
        self.upstream.plan(plan.parse().expect("a plan"));
    }

    /// What the provider has seen.
    pub(crate) fn report(&self) -> Report {
        self.upstream.report()
    }

    /// The summaries that the provider was asked for.
    pub(crate) fn summaries(&self) -> Vec<Recorded> {
        let recorded = self.report().recorded.into_iter();
        recorded.filter(|request| request.kind == Kind::Summary).collect()
    }

    /// The program, at home in this folder, with no key of its own.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_epitome"));
        command.current_dir(self.folder.path()).args(args).env("NO_COLOR", "1");
        command.env("HOME", self.folder.path()).env("XDG_CONFIG_HOME", self.path("config"));
        command.env("XDG_DATA_HOME", self.path("data"));
        let unset = [
            "EPITOME_MODEL",
            "EPITOME_MODELS",
            "EPITOME_STORE",
            "EPITOME_API_TOKEN",
            "http_proxy",
            "HTTP_PROXY",
        ];
        for name in unset.into_iter().chain(["ANTHROPIC_API_KEY", "OPENAI_API_KEY"]) {
            command.env_remove(name);
        }
        command
    }

    /// The proxy, with these arguments.
    pub(crate) fn serve(&self, args: &[&str]) -> Proxy<'_> {
        let mut command =
            self.command(&["serve", "--listen", "127.0.0.1:0", "--upstream", self.upstream_url()]);
        let told = File::create(self.path(TOLD)).expect("there is room");
        let child = command.args(args).stdout(Stdio::piped()).stderr(told).spawn();
        let mut child = child.expect("the program runs");
        let mut out = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = || {
            let mut line = String::new();
            out.read_line(&mut line).expect("it says where");
            line.trim().to_owned()
        };
        let address = line().strip_prefix("listening on ").map(str::to_owned);
        let address = address.unwrap_or_else(|| panic!("{}", self.told()));
        Proxy { stage: self, child, address, kept: line() }
    }

    /// What the proxy has said on standard error, line by line, without when and how much it matters.
    pub(crate) fn told(&self) -> String {
        let said = |line: &str| {
            let (time, rest) = line.split_once(' ').unwrap_or_default();
            let is_time = time.ends_with('Z') && time.contains('T');
            let rest = if is_time { rest.split_once(' ').unwrap_or_default().1.trim_start() } else { line };
            format!("{rest}\n")
        };
        self.log().lines().map(said).collect()
    }

    /// The same as it was written.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.path(TOLD)).expect("it is text")
    }
}

impl Proxy<'_> {
    /// Asks it to stop, as ctrl-c does, and waits until it has.
    pub(crate) fn interrupt(mut self) -> bool {
        self.signal();
        self.child.wait().expect("it ends").success()
    }

    /// Asks it to stop, as ctrl-c does.
    pub(crate) fn signal(&self) {
        self.send("-INT");
    }

    /// Ends it as a machine does that loses its power.
    pub(crate) fn kill(&self) {
        self.send("-KILL");
    }

    fn send(&self, signal: &str) {
        let id = self.child.id().to_string();
        Command::new("kill").args([signal, &id]).status().expect("signals can be sent");
    }

    /// Whether it still runs.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("it can be asked").is_none()
    }

    /// Its number.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Where it is.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The sessions, as the API lists them.
    pub(crate) fn sessions(&self) -> Vec<Value> {
        self.get("/api/v1/sessions").as_array().expect("a list").clone()
    }

    /// What came of the compactions of its only session.
    pub(crate) fn compactions(&self) -> Vec<Value> {
        let sessions = self.sessions();
        let [session] = &sessions[..] else { panic!("{} sessions", sessions.len()) };
        session["compactions"].as_array().expect("a list").clone()
    }

    /// Compacts its only session by hand; what came of it.
    pub(crate) fn compact(&self) -> Value {
        let path =
            format!("/api/v1/sessions/{}/compact", self.sessions()[0]["session"].as_str().expect("an id"));
        self.act(Method::POST, &path, &json!({}))["record"].clone()
    }

    /// What the API shows at a path.
    pub(crate) fn get(&self, path: &str) -> Value {
        self.stage.block_on(self.look(path))
    }

    /// The same while something else is under way.
    pub(crate) async fn look(&self, path: &str) -> Value {
        let url = format!("{}{path}", self.address);
        self.stage.client.get(url).send().await.expect("it answers").json().await.expect("JSON")
    }

    /// What comes of an act of the API's; it must succeed.
    pub(crate) fn act(&self, method: Method, path: &str, body: &Value) -> Value {
        let (status, done) = self.try_act(method, path, body);
        assert_eq!(status, 200, "{done}");
        done
    }

    /// The same, whatever comes of it.
    pub(crate) fn try_act(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let request = self.stage.client.request(method, format!("{}{path}", self.address)).json(body);
        self.stage.block_on(async {
            let response = request.send().await.expect("it answers");
            (response.status().as_u16(), response.json::<Value>().await.unwrap_or_default())
        })
    }

    fn request(&self, path: &str, headers: &HeaderMap, body: &Value) -> RequestBuilder {
        self.stage.client.post(format!("{}{path}", self.address)).headers(headers.clone()).json(body)
    }

    async fn post(&self, path: &str, headers: &HeaderMap, body: &Value) -> (u16, Value) {
        let response = self.request(path, headers, body).send().await.expect("the proxy answers");
        let status = response.status().as_u16();
        (status, response.json().await.unwrap_or_default())
    }
}

/// How a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speech {
    Anthropic,
    Chat,
}

/// A conversation of one client.
#[derive(Clone)]
pub(crate) struct Talk {
    pub(crate) speech: Speech,
    pub(crate) model: String,
    pub(crate) headers: HeaderMap,
    pub(crate) messages: Vec<Value>,
    pub(crate) system: Option<&'static str>,
    pub(crate) max_tokens: u64,
    /// Whether Anthropic is asked to keep the prompt in its cache; the others do so unasked.
    is_cached: bool,
}

impl Talk {
    pub(crate) fn new(speech: Speech, model: &str) -> Self {
        let talk = Self {
            speech,
            model: model.to_owned(),
            headers: HeaderMap::new(),
            messages: Vec::new(),
            system: None,
            max_tokens: 400,
            is_cached: false,
        };
        match speech {
            Speech::Anthropic => talk.with("anthropic-version", "2023-06-01"),
            Speech::Chat => talk,
        }
    }

    /// The same with its prompts kept in the provider's cache.
    pub(crate) fn cached(self) -> Self {
        Self { is_cached: true, ..self }
    }

    /// The same with one more header.
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        let value = HeaderValue::from_str(value).expect("it can be sent");
        self.headers.insert(HeaderName::from_static(name), value);
        self
    }

    pub(crate) fn body(&self) -> Value {
        let mut body = json!({"model": self.model, "max_tokens": self.max_tokens, "messages": self.messages});
        if let Some(system) = self.system {
            body["system"] = json!(system);
        }
        if self.is_cached && self.speech == Speech::Anthropic {
            body["cache_control"] = json!({"type": "ephemeral"});
        }
        body
    }

    /// Says something, and takes up the answer.
    pub(crate) fn say(&mut self, proxy: &Proxy<'_>, text: &str) {
        self.messages.push(json!({"role": "user", "content": text}));
        let reply = proxy.stage.block_on(self.ask(proxy));
        self.messages.push(reply);
    }

    /// Sends it as it stands; the provider's answer, whatever it is.
    pub(crate) async fn answer(&self, proxy: &Proxy<'_>) -> (u16, Value) {
        proxy.post(self.path(), &self.headers, &self.body()).await
    }

    /// The same to a proxy that may end meanwhile; whether there is an answer.
    pub(crate) async fn is_answered(&self, proxy: &Proxy<'_>) -> bool {
        proxy.request(self.path(), &self.headers, &self.body()).send().await.is_ok()
    }

    fn path(&self) -> &'static str {
        match self.speech {
            Speech::Anthropic => "/v1/messages",
            Speech::Chat => "/v1/chat/completions",
        }
    }

    /// The same, which must succeed; what the model says.
    pub(crate) async fn ask(&self, proxy: &Proxy<'_>) -> Value {
        let (status, reply) = self.answer(proxy).await;
        assert_eq!(status, 200, "{reply}");
        match self.speech {
            Speech::Anthropic => json!({"role": "assistant", "content": reply["content"]}),
            Speech::Chat => reply["choices"][0]["message"].clone(),
        }
    }

    /// Talks on until something was compacted; what came of it.
    pub(crate) fn until_compacted(&mut self, proxy: &Proxy<'_>) -> Value {
        self.until(proxy, |record| record["outcome"] == "compacted")
    }

    /// Talks on until there is such a record.
    pub(crate) fn until(&mut self, proxy: &Proxy<'_>, is_meant: impl Fn(&Value) -> bool) -> Value {
        for turn in 0..TURNS_MAX {
            self.say(proxy, &words(turn));
            if let Some(record) = proxy.compactions().into_iter().find(&is_meant) {
                return record;
            }
        }
        panic!("nothing of the kind was compacted in {TURNS_MAX} turns: {}", proxy.stage.told());
    }
}

/// What is said in a turn: some 500 tokens.
pub(crate) fn words(turn: usize) -> String {
    let line = |at: usize| format!("Point {at} of part {turn}: keep src/part_{turn}.rs as it is. ");
    (0..30).map(line).collect()
}
