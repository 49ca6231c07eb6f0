//! The stage: the scripted upstream, the server in front of it, and a client that sends bytes.

use bytes::Bytes;
use epitome_core::{Policy, Tokens};
use epitome_engine::{Clock, FrozenClock};
use epitome_server::{
    OperatorNotice, Rules, SILENCE_TIME_MAX, Server, ServerSettings, ServerStore, SessionRule, Upstreams,
};
use epitome_tokens::Catalog;
use epitome_upstream::{Handle, Keep, Script, Upstream};
use reqwest::{Client, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Everything that runs during a test.
pub(crate) struct Stage {
    pub(crate) upstream: Handle,
    pub(crate) url: String,
    client: Client,
    /// Dropped at the end of the test, which stops the server.
    _running: oneshot::Sender<()>,
}

impl Stage {
    /// An upstream by this script, and a server that believes in this window.
    pub(crate) async fn new(script: Script, window: u64) -> Self {
        let upstream = Upstream::start(Script { keep: Keep::Bodies, ..script }).await.expect("a free port");
        let base = upstream.base_url.clone();
        let (url, running) = serve(&base, window).await;
        Self { upstream, url, client: Client::new(), _running: running }
    }

    /// The same with a server that believes what the catalog says.
    pub(crate) async fn with_windows_of_the_catalog(script: Script) -> Self {
        let upstream = Upstream::start(Script { keep: Keep::Bodies, ..script }).await.expect("a free port");
        let (url, running) = serve_as(&upstream.base_url, SessionRule::alone(Policy::default()), None).await;
        Self { upstream, url, client: Client::new(), _running: running }
    }

    /// The same with a server by these rules, which believes what they and the catalog say.
    pub(crate) async fn with_rules(script: Script, rules: impl Rules + 'static) -> Self {
        let upstream = Upstream::start(Script { keep: Keep::Bodies, ..script }).await.expect("a free port");
        let alone = SessionRule::alone(Policy::default());
        let settings = ServerSettings { rules: Arc::new(rules), ..settings(&upstream.base_url, alone, None) };
        let (url, running) = run(settings).await;
        Self { upstream, url, client: Client::new(), _running: running }
    }

    /// The same with a server by this rule and clock, which hands what it tells to `tell`.
    pub(crate) async fn by(
        rule: SessionRule,
        window: u64,
        clock: Arc<dyn Clock>,
        tell: impl Fn(&OperatorNotice) + Send + Sync + 'static,
    ) -> Self {
        let script = Script { keep: Keep::Bodies, tool_rounds: 0, ..Script::default() };
        let upstream = Upstream::start(script).await.expect("a free port");
        let settings = ServerSettings {
            clock,
            tell: Arc::new(tell),
            ..settings(&upstream.base_url, rule, Some(Tokens(window)))
        };
        let (url, running) = run(settings).await;
        Self { upstream, url, client: Client::new(), _running: running }
    }

    /// The same with a server that only observes, by this rule, which hands what it tells to `tell`.
    pub(crate) async fn observing(
        script: Script,
        rule: SessionRule,
        window: u64,
        tell: impl Fn(&OperatorNotice) + Send + Sync + 'static,
    ) -> Self {
        let upstream = Upstream::start(Script { keep: Keep::Bodies, ..script }).await.expect("a free port");
        let settings = ServerSettings {
            is_observing: true,
            tell: Arc::new(tell),
            ..settings(&upstream.base_url, rule, Some(Tokens(window)))
        };
        let (url, running) = run(settings).await;
        Self { upstream, url, client: Client::new(), _running: running }
    }

    /// What a path of the API answers.
    pub(crate) async fn json(&self, path: &str) -> Value {
        let (_, body) = answer(self.get(path)).await;
        serde_json::from_slice(&body).expect("JSON")
    }

    /// A request to the server.
    pub(crate) fn request(&self, method: reqwest::Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url)).header("x-api-key", "a key")
    }

    /// A POST to the server.
    pub(crate) fn post(&self, path: &str, body: impl Into<reqwest::Body>) -> RequestBuilder {
        self.client.post(format!("{}{path}", self.url)).header("x-api-key", "a key").body(body)
    }

    /// A GET from the server.
    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.url))
    }

    /// The sessions, as the server lists them.
    pub(crate) async fn sessions(&self) -> Vec<Value> {
        self.json("/api/v1/sessions").await.as_array().expect("a list").clone()
    }

    /// The bodies that reached the upstream, with the status each was answered with.
    pub(crate) fn arrived(&self) -> Vec<(u16, String)> {
        self.upstream.report().recorded.into_iter().map(|one| (one.status, one.body)).collect()
    }
}

/// A server in front of `base` that believes in a window.
pub(crate) async fn serve(base: &str, window: u64) -> (String, oneshot::Sender<()>) {
    serve_as(base, SessionRule::alone(Policy::default()), Some(Tokens(window))).await
}

/// The same, with what it tells handed to `tell`.
pub(crate) async fn serve_telling(
    base: &str,
    window: u64,
    tell: impl Fn(&OperatorNotice) + Send + Sync + 'static,
) -> (String, oneshot::Sender<()>) {
    let alone = SessionRule::alone(Policy::default());
    run(ServerSettings { tell: Arc::new(tell), ..settings(base, alone, Some(Tokens(window))) }).await
}

/// A server in front of `base` that gives a provider up when it says nothing for so long.
pub(crate) async fn serve_silent(
    base: &str,
    window: u64,
    silence_max: Duration,
) -> (String, oneshot::Sender<()>) {
    let alone = SessionRule::alone(Policy::default());
    run(ServerSettings { silence_max, ..settings(base, alone, Some(Tokens(window))) }).await
}

/// A server in front of `base` whose sessions are kept.
pub(crate) async fn serve_stored(base: &str, window: u64, store: ServerStore) -> (String, StoredServer) {
    let alone = SessionRule::alone(Policy::default());
    let settings = ServerSettings { store: Some(store), ..settings(base, alone, Some(Tokens(window))) };
    let server = Server::bind(([127, 0, 0, 1], 0).into(), settings).await.expect("a free port");
    let url = format!("http://{}", server.address());
    let (running, stopped) = oneshot::channel::<()>();
    let work = tokio::spawn(async move { drop(server.run(async { drop(stopped.await) }).await) });
    (url, StoredServer { running, work })
}

/// A server by a rule and a clock; who stops it says so twice at once.
#[expect(clippy::async_yields_async, reason = "what the first word ends in is the second")]
pub(crate) async fn serve_for(
    base: &str,
    rule: SessionRule,
    window: u64,
    clock: Arc<dyn Clock>,
) -> (String, oneshot::Sender<()>, tokio::task::JoinHandle<()>) {
    let settings = ServerSettings { clock, ..settings(base, rule, Some(Tokens(window))) };
    let server = Server::bind(([127, 0, 0, 1], 0).into(), settings).await.expect("a free port");
    let url = format!("http://{}", server.address());
    let (running, stopped) = oneshot::channel::<()>();
    let stop = async {
        drop(stopped.await);
        std::future::ready(())
    };
    let served = tokio::spawn(async move { drop(server.run_until(stop).await) });
    (url, running, served)
}

/// A server whose end is waited for.
pub(crate) struct StoredServer {
    running: oneshot::Sender<()>,
    work: tokio::task::JoinHandle<()>,
}

impl StoredServer {
    /// Stops it, and waits until it has given back what it worked on.
    pub(crate) async fn stop(self) {
        drop(self.running);
        self.work.await.expect("it ends well");
    }
}

/// The sessions of a server.
pub(crate) async fn sessions_at(url: &str) -> Vec<Value> {
    let (_, body) = answer(Client::new().get(format!("{url}/api/v1/sessions"))).await;
    serde_json::from_slice(&body).expect("a list")
}

/// A server in front of `base` by a rule.
pub(crate) async fn serve_as(
    base: &str,
    rule: SessionRule,
    window: Option<Tokens>,
) -> (String, oneshot::Sender<()>) {
    run(settings(base, rule, window)).await
}

fn settings(base: &str, rule: SessionRule, window: Option<Tokens>) -> ServerSettings {
    let base: epitome_server::Upstream = base.parse().expect("a base URL");
    ServerSettings {
        upstreams: Upstreams { anthropic: base.clone(), openai: base, routes: Vec::new() },
        rules: Arc::new(rule),
        window,
        catalog: Arc::new(Catalog::built_in().clone()),
        clock: Arc::new(FrozenClock),
        tell: Arc::new(|_| {}),
        store: None,
        is_observing: false,
        silence_max: SILENCE_TIME_MAX,
        api_token: None,
    }
}

/// A server with these upstreams.
pub(crate) async fn serve_by(
    upstreams: Upstreams,
    window: Option<Tokens>,
    tell: impl Fn(&OperatorNotice) + Send + Sync + 'static,
) -> (String, oneshot::Sender<()>) {
    let alone = SessionRule::alone(Policy::default());
    let base = upstreams.anthropic.to_string();
    run(ServerSettings { upstreams, tell: Arc::new(tell), ..settings(&base, alone, window) }).await
}

/// The same, at this address.
pub(crate) async fn serve_at(
    address: SocketAddr,
    upstreams: Upstreams,
    tell: impl Fn(&OperatorNotice) + Send + Sync + 'static,
) -> oneshot::Sender<()> {
    let alone = SessionRule::alone(Policy::default());
    let base = upstreams.anthropic.to_string();
    run_at(address, ServerSettings { upstreams, tell: Arc::new(tell), ..settings(&base, alone, None) })
        .await
        .1
}

async fn run(settings: ServerSettings) -> (String, oneshot::Sender<()>) {
    run_at(([127, 0, 0, 1], 0).into(), settings).await
}

async fn run_at(address: SocketAddr, settings: ServerSettings) -> (String, oneshot::Sender<()>) {
    let server = Server::bind(address, settings).await.expect("a free port");
    let url = format!("http://{}", server.address());
    let (running, stopped) = oneshot::channel();
    tokio::spawn(server.run(async { drop(stopped.await) }));
    (url, running)
}

/// Sends a request and takes the whole answer.
pub(crate) async fn answer(request: RequestBuilder) -> (StatusCode, Bytes) {
    let response = request.send().await.expect("the server answers");
    (response.status(), response.bytes().await.expect("the answer is whole"))
}

/// A history of so many turns, each with a call and its result, that ends with the user.
pub(crate) fn history(turns: usize, words: &str) -> Vec<Value> {
    let turn = |number: usize| {
        let id = format!("toolu_{number}");
        let found = format!("{words} {number}: ").repeat(40);
        [
            json!({"role": "user", "content": format!("task {number} about {words}")}),
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "read", "input": {}}]}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": found}]}),
            json!({"role": "assistant", "content": format!("done with task {number}")}),
        ]
    };
    let mut all: Vec<Value> = (0..turns).flat_map(turn).collect();
    all.push(json!({"role": "user", "content": "and now?"}));
    all
}

/// A request body with these messages.
pub(crate) fn body(messages: &[Value], is_streamed: bool) -> String {
    let tool = json!({"name": "read", "input_schema": {"type": "object"}});
    json!({"model": "claude-sonnet-4-5", "max_tokens": 500, "stream": is_streamed, "tools": [tool], "messages": messages})
        .to_string()
}
