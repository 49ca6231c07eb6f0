//! Which requests go where, and which go nowhere: several upstreams, paths that nobody serves, keys at the wrong door, base URLs that
//! are not quite right, loops.

use crate::stage::{answer, body, history, serve_by};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::Request;
use axum::{Router, body::Body};
use epitome_core::Tokens;
use epitome_server::Upstreams;
use reqwest::{Client, Method};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// What an upstream was asked: method and target, and the body.
type Asked = Arc<Mutex<Vec<(String, Bytes)>>>;

/// An upstream that answers everything alike and keeps what it was asked.
struct Witness {
    base: String,
    asked: Asked,
}

impl Witness {
    async fn start() -> Self {
        let asked = Asked::default();
        let heard = |State(asked): State<Asked>, request: Request<Body>| async move {
            let target = format!("{} {}", request.method(), request.uri());
            let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.expect("it is whole");
            asked.lock().expect("nobody failed").push((target, body));
            "{}"
        };
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let app = Router::new().fallback(heard).with_state(asked.clone());
        tokio::spawn(async { axum::serve(listener, app).await });
        Self { base, asked }
    }

    fn targets(&self) -> Vec<String> {
        self.asked.lock().expect("nobody failed").iter().map(|(target, _)| target.clone()).collect()
    }
}

/// A server with these upstreams, and what it tells.
struct Doors {
    url: String,
    told: Arc<Mutex<Vec<String>>>,
    _running: oneshot::Sender<()>,
}

impl Doors {
    async fn open(anthropic: &str, openai: &str, routes: &[String]) -> Self {
        let told = Arc::<Mutex<Vec<String>>>::default();
        let heard = told.clone();
        let routes = routes.iter().map(|route| route.parse().expect("a route")).collect();
        let base = |url: &str| url.parse().expect("a base URL");
        let upstreams = Upstreams { anthropic: base(anthropic), openai: base(openai), routes };
        let tell = move |notice: &epitome_server::OperatorNotice| {
            heard.lock().expect("nobody failed").push(notice.to_string());
        };
        let (url, running) = serve_by(upstreams, Some(Tokens(8_000)), tell).await;
        Self { url, told, _running: running }
    }

    /// The status and the message of the error, where there is one.
    async fn ask(&self, method: Method, path: &str, key: (&str, &str), body: String) -> (u16, String) {
        let request = Client::new().request(method, format!("{}{path}", self.url)).header(key.0, key.1);
        let (status, reply) = answer(request.body(body)).await;
        let reply: Value = serde_json::from_slice(&reply).unwrap_or_default();
        (status.as_u16(), reply["error"]["message"].as_str().unwrap_or_default().to_owned())
    }

    async fn post(&self, path: &str, key: &str) -> (u16, String) {
        self.ask(Method::POST, path, ("authorization", &format!("Bearer {key}")), "{}".to_owned()).await
    }

    fn told(&self) -> Vec<String> {
        self.told.lock().expect("nobody failed").clone()
    }
}

fn chat(model: Option<&str>, turns: usize) -> String {
    let text = "a line of the parser ".repeat(40);
    let mut messages: Vec<Value> = (0..turns)
        .flat_map(|turn| {
            [
                json!({"role": "user", "content": format!("task {turn}: {text}")}),
                json!({"role": "assistant", "content": format!("done {turn}: {text}")}),
            ]
        })
        .collect();
    messages.push(json!({"role": "user", "content": "and now?"}));
    let mut body = json!({"messages": messages});
    model.into_iter().for_each(|model| body["model"] = model.into());
    body.to_string()
}

#[tokio::test]
async fn each_request_goes_to_its_own_upstream() {
    let [anthropic, openai, local, team, cloud] = [
        Witness::start().await,
        Witness::start().await,
        Witness::start().await,
        Witness::start().await,
        Witness::start().await,
    ];
    let routes = [
        format!("model:gpt-oss={}", local.base),
        format!("/team={}/base", team.base),
        format!("azure={}", cloud.base),
        format!("bedrock={}", cloud.base),
        format!("vertex={}", cloud.base),
    ];
    let doors = Doors::open(&anthropic.base, &openai.base, &routes).await;
    let key = ("x-nothing", "");
    let deployment = "/openai/deployments/gpt-5/chat/completions?api-version=2024-10-21";
    let predict = "/v1/projects/p/locations/l/publishers/anthropic/models/m:rawPredict";
    let asked = [
        ("/v1/messages", body(&history(1, "x"), false)),
        ("/v1/chat/completions", chat(Some("gpt-5"), 1)),
        ("/v1/chat/completions", chat(Some("gpt-oss-20b"), 1)),
        ("/v1/embeddings", json!({"model": "gpt-oss-20b", "input": "x"}).to_string()),
        ("/team/v1/chat/completions", chat(Some("gpt-oss-20b"), 1)),
        ("/team/v1/rerank", "{}".to_owned()),
        (deployment, chat(None, 1)),
        ("/model/claude%3A0/invoke", "{}".to_owned()),
        (predict, "{}".to_owned()),
    ];
    for (path, body) in asked {
        assert_eq!(doors.ask(Method::POST, path, key, body).await, (200, String::new()), "{path}");
    }
    let paths = |paths: &[&str]| paths.iter().map(|path| format!("POST {path}")).collect::<Vec<_>>();
    assert_eq!(anthropic.targets(), paths(&["/v1/messages"]));
    assert_eq!(openai.targets(), paths(&["/v1/chat/completions"]));
    assert_eq!(local.targets(), paths(&["/v1/chat/completions", "/v1/embeddings"]));
    assert_eq!(team.targets(), paths(&["/base/v1/chat/completions", "/base/v1/rerank"]));
    assert_eq!(cloud.targets(), paths(&[deployment, "/model/claude%3A0/invoke", predict]));
    assert_eq!(doors.told(), Vec::<String>::new());
}

#[tokio::test]
async fn a_deployment_of_azures_is_a_conversation_that_is_compacted() {
    let cloud = Witness::start().await;
    let doors = Doors::open("http://127.0.0.1:9", &cloud.base, &[]).await;
    let path = "/openai/deployments/gpt-5/chat/completions?api-version=2024-10-21";
    let (status, _) = doors.ask(Method::POST, path, ("api-key", "k"), chat(None, 60)).await;
    assert_eq!((status, cloud.targets()), (200, vec![format!("POST {path}")]));
    let sent = cloud.asked.lock().expect("nobody failed")[0].1.clone();
    assert!(String::from_utf8_lossy(&sent).contains("<epitome-summary"));
    let (_, sessions) = answer(Client::new().get(format!("{}/api/v1/sessions", doors.url))).await;
    let sessions: Value = serde_json::from_slice(&sessions).expect("JSON");
    assert_eq!(sessions[0]["model"], "gpt-5");
}

#[tokio::test]
async fn what_nobody_serves_is_refused_with_what_is_served() {
    let upstream = Witness::start().await;
    let doors = Doors::open(&upstream.base, "https://api.openai.com", &[]).await;
    let served = "is no path that is served here; served are /v1/messages, /v1/chat/completions, /v1/responses and what goes with them, any path of a provider below /anthropic or /openai, and what --route names; see docs/reference/proxy.md";
    let cloud = |name: &str, flag: &str| {
        format!(
            "epitome: this is a path of {name}, and nobody said where that is; start the server with --route {flag}=URL"
        )
    };
    let asked = [
        ("/v1/other", format!("epitome: POST /v1/other {served}")),
        (
            "/v1beta/models/g:generateContent",
            format!("epitome: POST /v1beta/models/g:generateContent {served}"),
        ),
        ("/model/x/invoke", cloud("Amazon Bedrock", "bedrock")),
        ("/v1/projects/p/locations/l/publishers/anthropic/models/m:rawPredict", cloud("Vertex AI", "vertex")),
        ("/openai/deployments/d/chat/completions", cloud("Azure OpenAI", "azure")),
    ];
    for (path, why) in &asked {
        assert_eq!(doors.post(path, "k").await, (404, why.clone()));
        assert_eq!(doors.post(path, "k").await.0, 404);
    }
    assert_eq!(upstream.targets(), Vec::<String>::new());
    let told = asked.map(|(_, why)| why.replace("epitome: ", "refused: "));
    assert_eq!(doors.told(), told, "each is told once");
}

#[tokio::test]
async fn a_key_is_sent_to_no_other_companys_public_host() {
    let own = Witness::start().await;
    // Nothing is sent there: these are refused before.
    let doors = Doors::open("https://api.anthropic.com", "https://api.openai.com", &[]).await;
    let why = |owner: &str, upstream: &str| {
        format!(
            "epitome: the request has a key of {owner}'s, and its path goes to {upstream}; nothing was sent. Check the agent's base URL and key, or name an upstream of your own"
        )
    };
    let openai = "https://api.openai.com";
    assert_eq!(doors.post("/v1/chat/completions", "sk-ant-api03-x").await, (403, why("Anthropic", openai)));
    assert_eq!(doors.post("/v1/embeddings", "ya29.x").await, (403, why("Google", openai)));
    let body = chat(Some("gpt-5"), 1);
    let signed = ("authorization", "AWS4-HMAC-SHA256 Credential=x");
    assert_eq!(
        doors.ask(Method::POST, "/v1/chat/completions", signed, body.clone()).await,
        (403, why("Amazon", openai))
    );
    let key = ("x-api-key", "sk-proj-x");
    let asked = doors.ask(Method::POST, "/v1/messages", key, self::body(&history(1, "x"), false)).await;
    assert_eq!(asked, (403, why("OpenAI", "https://api.anthropic.com")));
    // A gateway of the operator's own takes what it is given.
    let doors = Doors::open("https://api.anthropic.com", &own.base, &[]).await;
    let key = ("authorization", "Bearer sk-ant-api03-x");
    assert_eq!(doors.ask(Method::POST, "/v1/chat/completions", key, body).await.0, 200);
    assert_eq!(own.targets(), ["POST /v1/chat/completions"]);
}

#[tokio::test]
async fn a_base_url_that_lacks_its_v1_or_has_two_is_put_right_and_told() {
    let upstream = Witness::start().await;
    let doors = Doors::open(&upstream.base, &upstream.base, &[]).await;
    let key = ("x-nothing", "");
    for path in ["/chat/completions", "/v1/v1/chat/completions", "/chat/completions"] {
        assert_eq!(doors.ask(Method::POST, path, key, chat(Some("gpt-5"), 60)).await.0, 200);
    }
    assert_eq!(doors.ask(Method::POST, "/messages", key, body(&history(1, "x"), false)).await.0, 200);
    assert_eq!(doors.ask(Method::GET, "/models", key, String::new()).await.0, 200);
    let chats = "POST /v1/chat/completions";
    assert_eq!(upstream.targets(), [chats, chats, chats, "POST /v1/messages", "GET /v1/models"]);
    let lines = doors.told();
    let told: Vec<&String> = lines.iter().filter(|line| line.contains("base URL")).collect();
    let line = |asked: &str, fault: &str, served: &str| {
        format!("{asked}: the base URL that the agent was given {fault}; served as {served}")
    };
    let expected = [
        line("POST /chat/completions", "lacks /v1", "/v1/chat/completions"),
        line("POST /v1/v1/chat/completions", "has /v1 twice", "/v1/chat/completions"),
        line("POST /messages", "lacks /v1", "/v1/messages"),
        line("GET /models", "lacks /v1", "/v1/models"),
    ];
    assert_eq!(told, expected.iter().collect::<Vec<_>>());
    let sent = upstream.asked.lock().expect("nobody failed")[0].1.clone();
    assert!(String::from_utf8_lossy(&sent).contains("<epitome-summary"), "it is compacted like any other");
}

#[tokio::test]
async fn no_path_leads_out_of_the_base_url() {
    let upstream = Witness::start().await;
    let doors = Doors::open(&format!("{}/team-a", upstream.base), &upstream.base, &[]).await;
    let address = doors.url.strip_prefix("http://").expect("it is plain");
    for path in
        ["/anthropic/v1/../../evil", "/anthropic/v1/%2e%2e/%2E%2e/evil", "/anthropic/v1/..%2f..%2fevil"]
    {
        // A client of ours would tidy the path up before it sends it.
        let mut socket = TcpStream::connect(address).await.expect("it listens");
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}"
        );
        socket.write_all(request.as_bytes()).await.expect("it is sent");
        let mut reply = String::new();
        socket.read_to_string(&mut reply).await.expect("it is answered");
        assert!(
            reply.starts_with("HTTP/1.1 400 ") && reply.contains("a part of the path is"),
            "{path}: {reply}"
        );
    }
    assert_eq!(upstream.targets(), Vec::<String>::new());
    let key = ("x-api-key", "k");
    assert_eq!(doors.ask(Method::POST, "/anthropic/v1/files/a..b", key, "{}".to_owned()).await.0, 200);
    assert_eq!(upstream.targets(), ["POST /team-a/v1/files/a..b"]);
}

#[tokio::test]
async fn a_server_that_is_its_own_upstream_is_found_out() {
    // The address that the server will have.
    let address = TcpListener::bind("127.0.0.1:0").await.and_then(|it| it.local_addr()).expect("a port");
    let base = format!("http://{address}");
    let told = Arc::<Mutex<Vec<String>>>::default();
    let heard = told.clone();
    let upstreams = Upstreams {
        anthropic: base.parse().expect("a base URL"),
        openai: base.parse().expect("a base URL"),
        routes: Vec::new(),
    };
    let tell = move |notice: &epitome_server::OperatorNotice| {
        heard.lock().expect("nobody failed").push(notice.to_string());
    };
    let _running = crate::stage::serve_at(address, upstreams, tell).await;
    for path in ["/v1/messages", "/v1/embeddings"] {
        let request = Client::new().post(format!("{base}{path}")).body(body(&history(1, "x"), false));
        let (status, reply) = answer(request).await;
        let reply: Value = serde_json::from_slice(&reply).expect("an error");
        let why = format!(
            "epitome: the request has come back to the proxy that sent it: {base} leads here; give --upstream the provider's own address"
        );
        assert_eq!((status.as_u16(), &reply["error"]["message"]), (508, &json!(why)), "{path}");
    }
    let told = told.lock().expect("nobody failed");
    let expected = format!(
        "refused: the request has come back to the proxy that sent it: {base} leads here; give --upstream the provider's own address"
    );
    assert_eq!(*told, [expected]);
}
