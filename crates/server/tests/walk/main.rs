//! Requests through the server to the scripted upstream and back, over real sockets.

mod acts;
mod books;
mod checkpoints;
mod client_compaction;
mod closed_connections;
mod doors;
mod edges;
mod endpoints;
mod faults;
mod heads;
mod instructions;
mod kept_replies;
mod neighbours;
mod observing;
mod odd_bodies;
mod overflow_rows;
mod paths;
mod pictures;
mod prefixes;
mod refusals;
mod response_headers;
mod responses;
mod responses_agent;
mod stage;
mod told_once;
mod unreported;
mod waiting;
mod whole_request;
mod windows;

use epitome_upstream::{Place, Script};
use reqwest::StatusCode;
use serde_json::{Value, json};
use stage::{Stage, answer, body, history, serve};

/// The most the upstream takes where a test wants it to refuse.
const SMALL: u64 = 8_000;
/// What the server believes in these tests.
const LARGE: u64 = 64_000;

fn small(place: Place) -> Script {
    Script { window_tokens: Some(SMALL), overflow_place: place, tool_rounds: 0, ..Script::default() }
}

#[tokio::test]
async fn without_a_compaction_the_bytes_arrive_as_they_were_sent() {
    let stage = Stage::new(Script::default(), LARGE).await;
    let odd = "{ \"model\":\"claude-sonnet-4-5\",\"x_unknown\" : 1.50,\n \"messages\":[ {\"content\":\"h\\u00e9\",\"role\":\"user\"} ] , \"max_tokens\": 64}";
    let (status, reply) = answer(stage.post("/anthropic/v1/messages?beta=true", odd)).await;
    let reply: Value = serde_json::from_slice(&reply).expect("a message");
    assert_eq!((status, reply["type"].as_str()), (StatusCode::OK, Some("message")));
    assert_eq!(stage.arrived(), [(200, odd.to_owned())]);
    let [session] = &stage.sessions().await[..] else { panic!("one conversation is one session") };
    assert_eq!(
        (&session["requests"], &session["replies"], &session["messages"]),
        (&json!(1), &json!(1), &json!(1))
    );
    assert_eq!(session["prompt_tokens"], reply["usage"]["input_tokens"]);
}

#[tokio::test]
async fn a_long_history_is_compacted_before_it_is_sent() {
    let stage = Stage::new(small(Place::Status), SMALL).await;
    let messages = history(60, "the parser");
    let (status, _) = answer(stage.post("/v1/messages", body(&messages, true))).await;
    let arrived = stage.arrived();
    assert_eq!((status, arrived.len(), stage.upstream.report().violations), (StatusCode::OK, 1, vec![]));
    let sent: Value = serde_json::from_str(&arrived[0].1).expect("JSON");
    let sent = sent["messages"].as_array().expect("messages");
    assert_eq!(sent[0]["content"][0], json!({"type": "text", "text": "task 0 about the parser"}));
    assert!(sent[0]["content"][1]["text"].as_str().is_some_and(|text| text.contains("<epitome-summary")));
    let newest = &messages[messages.len() - sent.len() + 1..];
    assert_eq!(without_results(&sent[1..]), without_results(newest));
    assert_eq!(sent.last(), messages.last());
}

/// Messages with nothing in their tool results: old ones give way to pointers, which name entries of the session's log.
fn without_results(messages: &[Value]) -> Vec<Value> {
    let mut messages = messages.to_vec();
    for block in messages.iter_mut().filter_map(|message| message["content"].as_array_mut()).flatten() {
        if block["type"] == "tool_result" {
            block["content"] = Value::Null;
        }
    }
    messages
}

/// A history whose texts are blocks, the newest of them marked as the end of what is to be cached.
fn marked(messages: &[Value]) -> Vec<Value> {
    let mut messages = messages.to_vec();
    for message in &mut messages {
        if let Some(text) = message["content"].as_str() {
            message["content"] = json!([{"type": "text", "text": text}]);
        }
    }
    if let Some(newest) = messages.last_mut() {
        newest["content"][0]["cache_control"] = json!({"type": "ephemeral"});
    }
    messages
}

/// The messages of a body that arrived, each as it is without the client's marks.
fn unmarked(body: &str) -> Vec<String> {
    let mut body: Value = serde_json::from_str(body).expect("JSON");
    let messages = body["messages"].as_array_mut().expect("messages");
    for block in messages.iter_mut().filter_map(|message| message["content"].as_array_mut()).flatten() {
        block.as_object_mut().map(|fields| fields.remove("cache_control"));
    }
    messages.iter().map(Value::to_string).collect()
}

#[tokio::test]
async fn l92_where_a_clients_marks_move_what_stands_before_them_stays() {
    let stage = Stage::new(Script { tool_rounds: 0, ..Script::default() }, SMALL).await;
    let all = history(60, "the parser");
    for end in (1..=all.len()).step_by(4) {
        let (status, _) = answer(stage.post("/v1/messages", body(&marked(&all[..end]), false))).await;
        assert_eq!(status, StatusCode::OK);
    }
    let arrived: Vec<Vec<String>> = stage.arrived().iter().map(|(_, body)| unmarked(body)).collect();
    let summary =
        |sent: &Vec<String>| sent.iter().find(|message| message.contains("<epitome-summary")).cloned();
    let resets = arrived.windows(2).filter(|pair| !pair[1].starts_with(&pair[0])).count();
    let compactions = arrived.windows(2).filter(|pair| summary(&pair[0]) != summary(&pair[1])).count();
    assert!((1..=10).contains(&compactions), "{compactions} of {}", arrived.len());
    assert_eq!(resets, compactions);
}

#[tokio::test]
async fn an_overflow_is_recovered_without_the_client_seeing_it() {
    for (place, is_streamed) in [(Place::Status, false), (Place::Status, true), (Place::Stream, true)] {
        let stage = Stage::new(small(place), LARGE).await;
        let (status, reply) = answer(stage.post("/v1/messages", body(&history(60, "x"), is_streamed))).await;
        let report = stage.upstream.report();
        assert_eq!((status, report.requests, report.overflows, report.refused), (StatusCode::OK, 2, 1, 0));
        assert!(!String::from_utf8_lossy(&reply).contains("too long"));
        assert_eq!(stage.sessions().await[0]["recoveries"], 1);
    }
}

#[tokio::test]
async fn a_second_overflow_goes_back_as_the_provider_wrote_it() {
    let stage = Stage::new(Script::default(), LARGE).await;
    stage.upstream.plan("chat:*=overflow".parse().expect("a plan"));
    let request = body(&history(60, "x"), false);
    let through = answer(stage.post("/v1/messages", request)).await;
    assert_eq!((stage.upstream.report().requests, through.0), (2, StatusCode::BAD_REQUEST));
    let last = stage.arrived().pop().map(|(_, body)| body).expect("two requests arrived");
    let direct = reqwest::Client::new().post(format!("{}/v1/messages", stage.upstream.base_url)).body(last);
    let direct = answer(direct.header("x-api-key", "a key")).await;
    let without_id = |body: &[u8]| {
        let mut body: Value = serde_json::from_slice(body).expect("an error");
        body.as_object_mut().map(|fields| fields.remove("request_id"));
        body
    };
    assert_eq!(without_id(&through.1), without_id(&direct.1));
}

#[tokio::test]
async fn an_error_that_is_no_overflow_is_passed_on() {
    let stage = Stage::new(Script::default(), LARGE).await;
    stage.upstream.plan("chat:1=529".parse().expect("a plan"));
    let (status, reply) = answer(stage.post("/v1/messages", body(&history(1, "x"), false))).await;
    let reply: Value = serde_json::from_slice(&reply).expect("an error");
    assert_eq!((status.as_u16(), &reply["error"]["type"]), (529, &json!("overloaded_error")));
    assert_eq!(stage.upstream.report().requests, 1);
}

#[tokio::test]
async fn a_conversation_that_goes_back_branches_and_the_trunk_goes_on() {
    let stage = Stage::new(Script { tool_rounds: 0, ..Script::default() }, LARGE).await;
    let (trunk, other) = (history(3, "trunk"), history(3, "other"));
    let branch: Vec<Value> = trunk[..4].iter().chain(&other[4..]).cloned().collect();
    for messages in [&trunk[..9], &branch[..], &trunk[..], &branch[..]] {
        let (status, _) = answer(stage.post("/v1/messages", body(messages, false))).await;
        assert_eq!(status, StatusCode::OK);
    }
    // What they share is one tree, and each request was answered on its own path of it.
    let told: Vec<Value> = stage.sessions().await;
    let told: Vec<_> = told.iter().map(|it| [&it["session"], &it["requests"], &it["messages"]]).collect();
    assert_eq!(told, [[&json!("s0001"), &json!(4), &json!(branch.len())]]);
    let sent: Vec<Value> = stage.arrived().iter().map(|(_, body)| messages_of(body)).collect();
    assert_eq!(sent, [&trunk[..9], &branch[..], &trunk[..], &branch[..]].map(|messages| json!(messages)));
}

fn messages_of(body: &str) -> Value {
    serde_json::from_str::<Value>(body).expect("JSON")["messages"].take()
}

#[tokio::test]
async fn a_body_nobody_understands_passes_through_untouched() {
    let stage = Stage::new(Script::default(), LARGE).await;
    for odd in ["no json", "{}", r#"{"model":"m","messages":[{"role":"martian","content":"b"}]}"#] {
        let (status, _) = answer(stage.post("/v1/messages", odd)).await;
        assert_eq!(
            (status, stage.arrived().pop().map(|(_, body)| body)),
            (StatusCode::BAD_REQUEST, Some(odd.to_owned()))
        );
    }
    assert_eq!(stage.sessions().await, Vec::<Value>::new());
}

#[tokio::test]
async fn other_paths_pass_through_with_their_queries() {
    let stage = Stage::new(Script::default(), LARGE).await;
    let (status, models) = answer(stage.get("/openai/v1/models?limit=3")).await;
    let direct =
        answer(reqwest::Client::new().get(format!("{}/v1/models?limit=3", stage.upstream.base_url))).await;
    assert_eq!((status, models), direct);
    let (status, count) =
        answer(stage.post("/v1/messages/count_tokens", body(&history(1, "x"), false))).await;
    let count: Value = serde_json::from_slice(&count).expect("a count");
    assert!(status == StatusCode::OK && count["input_tokens"].is_u64());
    assert_eq!(stage.sessions().await, Vec::<Value>::new());
}

#[tokio::test]
async fn only_this_machine_may_ask() {
    let stage = Stage::new(Script::default(), LARGE).await;
    let status = |name: &'static str, value: &'static str| {
        let request = stage.get("/healthz").header(name, value);
        async { answer(request).await.0.as_u16() }
    };
    assert_eq!(status("x-nothing", "").await, 200);
    assert_eq!(status("host", "evil.example").await, 403);
    assert_eq!(status("origin", "https://evil.example").await, 403);
    assert_eq!(status("origin", "http://localhost:5173").await, 200);
}

#[tokio::test]
async fn a_server_is_ready_unless_a_provider_was_out_of_reach_and_is_still() {
    // An address at which nobody listens until a provider comes back to it.
    let address = tokio::net::TcpListener::bind("127.0.0.1:0").await.and_then(|l| l.local_addr());
    let address = address.expect("there is a port");
    let (url, _running) = serve(&format!("http://{address}"), LARGE).await;
    let ready = || async {
        let (status, reply) = answer(reqwest::Client::new().get(format!("{url}/readyz"))).await;
        (status.as_u16(), serde_json::from_slice::<Value>(&reply).expect("it is JSON"))
    };
    let fine = (200, json!({"status": "ready", "unreachable": []}));
    assert_eq!(ready().await, fine, "nobody was asked yet");
    let post = reqwest::Client::new().post(format!("{url}/v1/messages"));
    answer(post.body(body(&history(1, "x"), false))).await;
    let unreachable = json!([format!("http://{address}")]);
    assert_eq!(ready().await, (503, json!({"status": "unreachable", "unreachable": unreachable})));
    let provider = tokio::net::TcpListener::bind(address).await.expect("it is free again");
    let app = axum::Router::new().fallback(|| async { StatusCode::NOT_FOUND });
    tokio::spawn(async { axum::serve(provider, app).await });
    assert_eq!(ready().await, fine, "and no request had to be lost to find out");
}

#[tokio::test]
async fn a_provider_that_cannot_be_reached_is_told_in_the_providers_shape() {
    // Port 9 of this machine discards what it is sent, where anyone listens there at all.
    let (url, _running) = serve("http://127.0.0.1:9", LARGE).await;
    let post =
        |path: &str| reqwest::Client::new().post(format!("{url}{path}")).body(body(&history(1, "x"), false));
    let (status, reply) = answer(post("/v1/messages")).await;
    let reply: Value = serde_json::from_slice(&reply).expect("an error");
    let told = reply["error"]["message"].as_str().unwrap_or_default();
    assert_eq!((status, &reply["type"]), (StatusCode::BAD_GATEWAY, &json!("error")));
    assert!(told.starts_with("epitome: cannot reach the provider at http://127.0.0.1:9: "), "{told}");
    let (status, reply) = answer(post("/v1/chat/completions")).await;
    let reply: Value = serde_json::from_slice(&reply).expect("an error");
    assert_eq!((status, &reply["error"]["type"]), (StatusCode::BAD_GATEWAY, &json!("api_error")));
}
