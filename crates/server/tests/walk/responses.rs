//! OpenAI Responses through the server: items kept as they are, however a client says what went before.

use crate::responses_agent::{Agent, Way, items_of, question, text_item};
use crate::stage::{Stage, answer, serve_stored, sessions_at};
use epitome_core::{KeptBodies, Policy};
use epitome_engine::FrozenClock;
use epitome_engine::store::MemoryStore;
use epitome_server::{OperatorNotice, ServerStore, SessionRule};
use epitome_upstream::{Place, Script, Style};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

/// A window that these histories outgrow several times.
const SMALL: u64 = 8_000;
/// One that they do not.
const LARGE: u64 = 64_000;
const PATH: &str = "/v1/responses";

/// An upstream whose agent calls tools for as long as it is asked.
fn busy() -> Script {
    Script { tool_rounds: 1_000, ..Script::default() }
}

fn quiet() -> Script {
    Script { tool_rounds: 0, ..Script::default() }
}

async fn made(stage: &Stage, outcome: &str) -> usize {
    let sessions = stage.sessions().await;
    let records = sessions.iter().flat_map(|session| session["compactions"].as_array().expect("a list"));
    records.filter(|record| record["outcome"] == outcome).count()
}

#[tokio::test]
async fn without_a_compaction_the_bytes_arrive_as_they_were_sent() {
    let stage = Stage::new(quiet(), LARGE).await;
    let odd = "{ \"model\":\"gpt-5\",\"x_unknown\" : 1.50,\n \"input\": \"h\\u00e9llo\" , \"max_output_tokens\": 64}";
    let (status, reply) = answer(stage.post("/openai/v1/responses", odd)).await;
    let reply: Value = serde_json::from_slice(&reply).expect("a response");
    assert_eq!((status, reply["object"].as_str()), (StatusCode::OK, Some("response")));
    assert_eq!(stage.arrived(), [(200, odd.to_owned())]);
    // A client that sends the text as an item goes on with the same session.
    let more =
        [vec![text_item("user", "héllo")], vec![reply["output"][0].clone()], vec![text_item("user", "more")]];
    let body = json!({"model": "gpt-5", "input": more.concat()}).to_string();
    assert_eq!(answer(stage.post(PATH, body.clone())).await.0, StatusCode::OK);
    assert_eq!(stage.arrived()[1], (200, body));
    let told: Vec<Value> = stage.sessions().await;
    let told: Vec<_> = told.iter().map(|it| [&it["requests"], &it["replies"], &it["messages"]]).collect();
    assert_eq!(told, [[&json!(2), &json!(2), &json!(3)]]);
}

/// Every item of what was sent is one the client wrote, byte for byte, or has a word of ours in it; ours are few.
fn assert_own_bytes(sent: &[String], written: &[String]) {
    let ours: Vec<&String> = sent.iter().filter(|item| !written.contains(item)).collect();
    let is_told = |item: &&String| item.contains("<epitome-summary") || item.contains("recall m");
    assert!(ours.iter().all(is_told), "{ours:?}");
    assert!(ours.len() < sent.len(), "{sent:?}");
}

#[tokio::test]
async fn a_long_loop_of_calls_is_compacted_where_it_must_be_and_extended_otherwise() {
    for is_streamed in [false, true] {
        let stage = Stage::new(Script { window_tokens: Some(SMALL), ..busy() }, SMALL).await;
        let mut agent = Agent::new(&stage, Way::Whole, is_streamed);
        agent.work(60).await;
        let report = stage.upstream.report();
        assert_eq!((report.violations, report.refused, report.overflows), (vec![], 0, 0));
        let arrived: Vec<Vec<String>> = stage.arrived().iter().map(|(_, body)| items_of(body)).collect();
        let resets = arrived.windows(2).filter(|pair| !pair[1].starts_with(&pair[0])).count();
        let compactions = made(&stage, "compacted").await;
        assert!((2..=12).contains(&compactions), "{compactions} of {}", arrived.len());
        assert_eq!((arrived.len(), resets), (60, compactions));
        arrived.iter().for_each(|sent| assert_own_bytes(sent, &agent.written()));
        let last = arrived.last().expect("a request");
        assert_eq!(last[0], question(), "the task stands first");
        assert_eq!(last.last(), agent.sent().last(), "the newest result last");
        assert!(arrived.iter().flatten().any(|item| item.contains("encrypted_content")));
        let [session] = &stage.sessions().await[..] else { panic!("one loop is one session") };
        assert!(
            session["prompt_tokens"].as_u64() > Some(100_000),
            "usage is taken from either form of reply"
        );
    }
}

#[tokio::test]
async fn what_is_around_the_items_of_a_compacted_request_stays_as_it_came() {
    let stage = Stage::new(busy(), SMALL).await;
    let mut agent = Agent::new(&stage, Way::Whole, false);
    agent.work(30).await;
    assert!(made(&stage, "compacted").await > 0);
    let sent: Value = serde_json::from_str(&stage.arrived().pop().expect("a request").1).expect("JSON");
    let mut expected: Value = serde_json::from_str(&agent.body()).expect("JSON");
    expected["input"] = sent["input"].clone();
    assert_eq!(sent, expected);
}

#[tokio::test]
async fn a_chain_of_responses_is_counted_whole_and_sent_whole_once_it_is_compacted() {
    let stage = Stage::new(Script { window_tokens: Some(SMALL), ..busy() }, SMALL).await;
    let mut agent = Agent::new(&stage, Way::ById, true);
    agent.work(60).await;
    let report = stage.upstream.report();
    assert_eq!((report.violations, report.refused, report.overflows), (vec![], 0, 0));
    let arrived: Vec<String> = stage.arrived().into_iter().map(|(_, body)| body).collect();
    let is_short = |body: &String| body.contains("previous_response_id");
    let first_whole = arrived.iter().skip(1).position(|body| !is_short(body)).expect("it was compacted") + 1;
    assert_eq!(arrived[..first_whole], agent.bodies[..first_whole], "until then the bytes are the client's");
    let whole: Vec<Vec<String>> = arrived[first_whole..].iter().map(|body| items_of(body)).collect();
    assert!(arrived[first_whole..].iter().all(|body| !is_short(body)));
    let resets = whole.windows(2).filter(|pair| !pair[1].starts_with(&pair[0])).count();
    let compactions = made(&stage, "compacted").await;
    assert!(compactions >= 2, "{compactions}");
    assert_eq!((stage.sessions().await.len(), resets), (1, compactions - 1));
    whole.iter().for_each(|sent| assert_own_bytes(sent, &agent.written()));
}

#[tokio::test]
async fn items_that_are_only_named_are_counted_as_what_they_are() {
    let stage = Stage::new(Script { window_tokens: Some(SMALL), ..busy() }, SMALL).await;
    let mut agent = Agent::new(&stage, Way::Named, false);
    agent.work(60).await;
    let report = stage.upstream.report();
    assert_eq!((report.violations, report.refused, report.overflows), (vec![], 0, 0));
    assert!(made(&stage, "compacted").await >= 2);
    let last = items_of(&stage.arrived().pop().expect("a request").1);
    assert_own_bytes(&last, &agent.written());
    assert!(last.iter().any(|item| item.contains("item_reference")), "what is kept is named as before");
}

#[tokio::test]
async fn an_overflow_is_recovered_without_the_client_seeing_it() {
    let cases = [
        (Style::Provider, Place::Status, false),
        (Style::Provider, Place::Status, true),
        (Style::Provider, Place::Stream, true),
        (Style::SoftStop, Place::Status, false),
        (Style::SoftStop, Place::Status, true),
    ];
    for (overflow_style, overflow_place, is_streamed) in cases {
        let script = Script { window_tokens: Some(SMALL), overflow_style, overflow_place, ..busy() };
        let stage = Stage::new(script, 12_000).await;
        let mut agent = Agent::new(&stage, Way::Whole, is_streamed);
        agent.work(40).await;
        let report = stage.upstream.report();
        let case = format!("{overflow_style:?} {overflow_place:?} {is_streamed}");
        // Its errors name no figure to learn the window from, and a reply may find no room without one.
        let recovered = report.requests - 40;
        assert!((report.overflows..=8).contains(&recovered) && report.overflows > 0, "{case}: {recovered}");
        assert_eq!(stage.sessions().await[0]["recoveries"], recovered, "{case}");
        assert_eq!(report.violations, vec![], "{case}");
    }
}

#[tokio::test]
async fn a_second_overflow_goes_back_as_the_provider_wrote_it() {
    let stage = Stage::new(quiet(), LARGE).await;
    stage.upstream.plan("chat:*=overflow".parse().expect("a plan"));
    let words = "word ".repeat(4_000);
    let items: Vec<Value> =
        (0..5).flat_map(|_| [text_item("user", &words), text_item("assistant", &words)]).collect();
    let items = [items, vec![text_item("user", "now?")]].concat();
    let body = json!({"model": "gpt-5", "input": items});
    let (status, reply) = answer(stage.post(PATH, body.to_string())).await;
    let reply: Value = serde_json::from_slice(&reply).expect("an error");
    assert_eq!((stage.upstream.report().requests, status), (2, StatusCode::BAD_REQUEST));
    assert_eq!(reply["error"]["code"], "context_length_exceeded");
}

#[tokio::test]
async fn whatever_is_called_goes_with_its_answer_and_with_the_reasoning_before_it() {
    let stage = Stage::new(Script { window_tokens: Some(SMALL), ..quiet() }, SMALL).await;
    let words = "found something ".repeat(60);
    let paired = |number: usize| {
        let id = format!("c{number}");
        let [rs, ws] = ["rs", "ws"].map(|kind| json!(format!("{kind}_{number}")));
        let reasoning =
            json!({"type": "reasoning", "id": rs, "summary": [], "encrypted_content": "gAAAAABo"});
        let pair = match number % 6 {
            0 => [
                json!({"type": "local_shell_call", "call_id": id, "status": "completed", "action": {"type": "exec", "command": ["ls"], "env": {}}}),
                json!({"type": "local_shell_call_output", "call_id": id, "output": words}),
            ],
            1 => [
                json!({"type": "shell_call", "call_id": id, "action": {"commands": ["ls"]}}),
                json!({"type": "shell_call_output", "call_id": id, "output": [{"stdout": words, "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]}),
            ],
            2 => [
                json!({"type": "apply_patch_call", "call_id": id, "status": "completed", "operation": {"type": "update_file", "path": "a", "diff": words}}),
                json!({"type": "apply_patch_call_output", "call_id": id, "status": "completed", "output": "ok"}),
            ],
            3 => [
                json!({"type": "custom_tool_call", "call_id": id, "name": "patch", "input": words}),
                json!({"type": "custom_tool_call_output", "call_id": id, "output": words}),
            ],
            4 => [
                json!({"type": "mcp_approval_request", "id": id, "name": "pay", "server_label": "bank", "arguments": "{}"}),
                json!({"type": "mcp_approval_response", "approval_request_id": id, "approve": true}),
            ],
            _ => [
                json!({"type": "computer_call", "call_id": id, "action": {"type": "screenshot"}, "pending_safety_checks": [], "status": "completed"}),
                json!({"type": "computer_call_output", "call_id": id, "output": {"type": "computer_screenshot", "image_url": "https://example.com/a.png"}}),
            ],
        };
        let search = json!({"type": "web_search_call", "id": ws, "status": "completed", "action": {"type": "search", "query": "x"}});
        let [call, output] = pair;
        vec![reasoning, search, call, output]
    };
    let mut items = vec![text_item("developer", "be brief"), text_item("user", "go")];
    for number in 0..90 {
        items.extend(paired(number));
        if number % 3 == 0 {
            let body = json!({"model": "gpt-5", "input": items}).to_string();
            let (status, reply) = answer(stage.post(PATH, body)).await;
            assert_eq!(status, StatusCode::OK, "{}", String::from_utf8_lossy(&reply));
        }
    }
    assert_eq!(stage.upstream.report().violations, vec![]);
    assert!(made(&stage, "compacted").await >= 2);
}

#[tokio::test]
async fn a_summary_that_the_provider_sealed_is_kept_and_counted_from() {
    let stage = Stage::new(quiet(), SMALL).await;
    let long = |count: usize| -> Vec<Value> {
        let said = "something was said here ".repeat(80);
        (0..count).flat_map(|_| [text_item("user", &said), text_item("assistant", &said)]).collect()
    };
    let sealed = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAABoc2VhbGVk"});
    let late = [
        json!({"type": "function_call", "call_id": "late", "name": "read", "arguments": "{}"}),
        sealed.clone(),
        json!({"type": "function_call_output", "call_id": "late", "output": "found"}),
    ];
    let head = [long(30), late.to_vec()].concat();
    let short = [head.clone(), vec![text_item("user", "go on")]].concat();
    let short = json!({"model": "gpt-5", "input": short});
    assert_eq!(answer(stage.post(PATH, short.to_string())).await.0, StatusCode::OK);
    assert_eq!(stage.arrived()[0].1, short.to_string(), "what stands before it is nobody's to count");
    let grown = [head.clone(), long(30), vec![text_item("user", "go on")]].concat();
    let grown = json!({"model": "gpt-5", "input": grown}).to_string();
    assert_eq!(answer(stage.post(PATH, grown)).await.0, StatusCode::OK);
    let sent: Value = serde_json::from_str(&stage.arrived()[1].1).expect("JSON");
    let sent = sent["input"].as_array().expect("items");
    assert_eq!(sent[..head.len()], head, "it stays, with what belongs to it");
    assert_eq!((made(&stage, "compacted").await, stage.upstream.report().violations), (1, vec![]));
    assert!(sent.len() < head.len() + 30, "{}", sent.len());
}

#[tokio::test]
async fn where_the_provider_is_asked_to_compact_only_what_it_refuses_is_compacted_here() {
    let stage = Stage::new(Script { window_tokens: Some(SMALL), ..busy() }, SMALL).await;
    let mut agent = Agent::new(&stage, Way::Whole, false);
    agent.more = json!({"context_management": [{"type": "compaction", "compact_threshold": 6_000}]});
    agent.work(40).await;
    let report = stage.upstream.report();
    let triggers: Vec<Value> = stage.sessions().await[0]["compactions"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|record| record["outcome"] == "compacted")
        .map(|record| record["trigger"].clone())
        .collect();
    assert_eq!((report.violations, triggers.len() as u64), (vec![], report.requests - 40));
    assert!(!triggers.is_empty() && triggers.iter().all(|trigger| trigger == "overflow"), "{triggers:?}");
}

#[tokio::test]
async fn a_provider_that_is_to_drop_what_is_too_much_is_told_of_once() {
    let told = Arc::<Mutex<Vec<String>>>::default();
    let heard = told.clone();
    let tell = move |notice: &OperatorNotice| heard.lock().expect("nobody failed").push(notice.to_string());
    let rule = SessionRule::alone(Policy::default());
    let stage = Stage::by(rule, LARGE, Arc::new(FrozenClock), tell).await;
    for text in ["hi", "ho"] {
        let body = json!({"model": "gpt-5", "truncation": "auto", "input": text});
        assert_eq!(answer(stage.post(PATH, body.to_string())).await.0, StatusCode::OK);
    }
    let expected = "s0001: its requests say `truncation: \"auto\"`: what is too much for the provider it drops without a word; leave it out, so that it refuses and is sent less";
    assert_eq!(*told.lock().expect("nobody failed"), [expected]);
}

#[tokio::test]
async fn what_the_provider_alone_holds_passes_untouched_and_that_is_said_once() {
    let told = Arc::<Mutex<Vec<String>>>::default();
    let heard = told.clone();
    let tell = move |notice: &OperatorNotice| heard.lock().expect("nobody failed").push(notice.to_string());
    let rule = SessionRule::alone(Policy::default());
    let stage = Stage::by(rule, LARGE, Arc::new(FrozenClock), tell).await;
    let bodies = [
        json!({"model": "gpt-5", "input": "hi", "previous_response_id": "resp_elsewhere"}),
        json!({"model": "gpt-5", "input": "hi", "conversation": {"id": "conv_1"}}),
        json!({"model": "gpt-5", "input": "hi", "background": true}),
    ];
    for body in bodies.iter().chain(&bodies) {
        answer(stage.post(PATH, body.to_string())).await;
    }
    let arrived: Vec<String> = stage.arrived().into_iter().map(|(_, body)| body).collect();
    let sent: Vec<String> = bodies.iter().chain(&bodies).map(Value::to_string).collect();
    assert_eq!((arrived, stage.sessions().await), (sent, vec![]));
    let expected = [
        "passed on untouched: a request goes on from a response that did not go by here, so that nobody can tell how long it is; have its client send the whole history once, or start it anew",
        "passed on untouched: a request is part of a `conversation`, which its provider alone holds; have the client go on by `previous_response_id`, or send its history",
        "passed on untouched: a request runs in the background, and its reply does not come this way",
    ];
    assert_eq!(*told.lock().expect("nobody failed"), expected);
}

#[tokio::test]
async fn another_clients_response_is_nobodys_to_go_on_from() {
    let stage = Stage::new(quiet(), LARGE).await;
    let first = json!({"model": "gpt-5", "input": "hi"}).to_string();
    let (_, reply) = answer(stage.post(PATH, first).bearer_auth("one")).await;
    let reply: Value = serde_json::from_slice(&reply).expect("a response");
    let next = json!({"model": "gpt-5", "input": "ho", "previous_response_id": reply["id"]}).to_string();
    for key in ["other", "one"] {
        assert_eq!(answer(stage.post(PATH, next.clone()).bearer_auth(key)).await.0, StatusCode::OK);
    }
    let told: Vec<Value> = stage.sessions().await;
    let told: Vec<_> = told.iter().map(|it| [&it["requests"], &it["messages"]]).collect();
    assert_eq!(told, [[&json!(2), &json!(3)]], "the other's request passed by");
}

#[tokio::test]
async fn a_server_restarted_on_its_store_goes_on_where_it_was() {
    for way in [Way::Whole, Way::ById, Way::Named] {
        let stage = Stage::new(Script { window_tokens: Some(SMALL), ..busy() }, SMALL).await;
        let store =
            ServerStore { store: Arc::new(MemoryStore::default()), key: [7; 32], keep: KeptBodies::All };
        let mut agent = Agent::new(&stage, way, true);
        let mut compactions = Vec::new();
        for _ in 0..5 {
            let (url, running) = serve_stored(&stage.upstream.base_url, SMALL, store.clone()).await;
            agent.turn_to(&url);
            agent.work(8).await;
            agent.answer_last();
            let sessions = sessions_at(&url).await;
            compactions = sessions[0]["compactions"].as_array().expect("a list").clone();
            assert_eq!(sessions.len(), 1, "{way:?}");
            running.stop().await;
        }
        let report = stage.upstream.report();
        assert_eq!((report.violations, report.refused, report.overflows), (vec![], 0, 0), "{way:?}");
        let made = compactions.iter().filter(|one| one["outcome"] == "compacted").count();
        assert!((2..=12).contains(&made), "{way:?}: {made}");
        let bodies = stage.arrived();
        let whole: Vec<Vec<String>> = bodies
            .iter()
            .skip_while(|(_, body)| way == Way::ById && !body.contains("<epitome-summary"))
            .map(|(_, body)| items_of(body))
            .collect();
        let resets = whole.windows(2).filter(|pair| !pair[1].starts_with(&pair[0])).count();
        assert_eq!(resets, made - usize::from(way == Way::ById), "{way:?}");
    }
}

#[tokio::test]
async fn whoever_asks_how_long_a_request_is_is_told_of_what_would_be_sent() {
    let stage = Stage::new(busy(), SMALL).await;
    let mut agent = Agent::new(&stage, Way::Whole, false);
    agent.work(30).await;
    let count = async |path: &str, body: String| {
        let request = reqwest::Client::new().post(format!("{}{path}", stage.url)).body(body);
        let reply = request.bearer_auth("a key").send().await.expect("the server answers");
        let original = reply.headers().get("x-epitome-original-input-tokens").cloned();
        let original = original.map(|value| value.to_str().expect("digits").parse::<u64>().expect("digits"));
        let counted: Value = reply.json().await.expect("a count");
        (counted, original)
    };
    let sent = stage.arrived().pop().expect("a request").1;
    let requests = stage.upstream.report().requests;
    let (counted, original) = count("/v1/responses/input_tokens", agent.body()).await;
    let direct = async |body: String| {
        let url = format!("{}/v1/responses/input_tokens", stage.upstream.base_url);
        let reply = reqwest::Client::new().post(url).body(body).send().await.expect("it answers");
        reply.json::<Value>().await.expect("a count")
    };
    assert_eq!(stage.upstream.report().requests, requests + 2);
    assert_eq!(counted, direct(sent).await);
    assert_eq!(original, direct(agent.body()).await["input_tokens"].as_u64());
    assert!(original > Some(10_000) && counted["input_tokens"].as_u64() < Some(SMALL));
    // What nobody has compacted is asked for as it is.
    let (counted, original) =
        count("/v1/messages/count_tokens", crate::stage::body(&crate::stage::history(2, "x"), false)).await;
    assert!(original.is_some() && original == counted["input_tokens"].as_u64(), "{counted}");
}

#[tokio::test]
async fn whoever_wants_a_socket_is_sent_back_to_http_at_once() {
    let stage = Stage::new(quiet(), LARGE).await;
    let address = stage.url.trim_start_matches("http://").to_owned();
    for path in ["/v1/responses", "/responses", "/openai/v1/responses", "/v1/realtime", "/"] {
        let mut socket = tokio::net::TcpStream::connect(&address).await.expect("it listens");
        let asked = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        socket.write_all(asked.as_bytes()).await.expect("it reads");
        let mut told = String::new();
        let answered = timeout(Duration::from_secs(20), socket.read_to_string(&mut told)).await;
        answered.expect("it does not wait").expect("it answers, and closes");
        let (head, body) = told.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.starts_with("HTTP/1.1 426 ") && head.contains("connection: close"), "{path}: {head}");
        let body: Value = serde_json::from_str(body).expect("JSON");
        let message = "epitome: this server speaks HTTP and no WebSocket; send the request with POST, or set `supports_websockets = false` for this provider where the client asks";
        let expected = json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": null}});
        assert_eq!(body, expected);
    }
    assert_eq!(stage.upstream.report().requests, 0);
}

#[tokio::test]
async fn other_paths_of_responses_pass_through() {
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let heard = seen.clone();
    let paths = axum::Router::new().fallback(move |request: axum::extract::Request| {
        heard.lock().expect("nobody failed").push(format!("{} {}", request.method(), request.uri()));
        async { "{}" }
    });
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async { axum::serve(listener, paths).await });
    let (url, _running) = crate::stage::serve(&base, LARGE).await;
    let asked = [
        (Method::GET, "/v1/responses/resp_1"),
        (Method::DELETE, "/v1/responses/resp_1"),
        (Method::GET, "/v1/responses/resp_1/input_items?limit=2"),
        (Method::POST, "/v1/responses/resp_1/cancel"),
        (Method::POST, "/v1/responses/compact"),
    ];
    for (method, path) in asked.clone() {
        let request = reqwest::Client::new().request(method, format!("{url}{path}"));
        assert_eq!(answer(request).await, (StatusCode::OK, "{}".into()));
    }
    let expected = asked.map(|(method, path)| format!("{method} {path}"));
    assert_eq!(*seen.lock().expect("nobody failed"), expected);
}

#[tokio::test]
async fn a_last_message_that_changes_leaves_the_reply_before_it_one_message() {
    let stage = Stage::new(quiet(), LARGE).await;
    let reply = [
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}),
        text_item("assistant", "which?"),
    ];
    let mut sent = Vec::new();
    for last in ["this", "that", "this"] {
        let items = [vec![text_item("user", "look")], reply.to_vec(), vec![text_item("user", last)]].concat();
        let body = json!({"model": "gpt-5", "store": false, "input": items}).to_string();
        assert_eq!(answer(stage.post(PATH, body.clone())).await.0, StatusCode::OK);
        sent.push((200, body));
    }
    let told: Vec<Value> = stage.sessions().await;
    let told: Vec<_> = told.iter().map(|it| [&it["requests"], &it["messages"]]).collect();
    assert_eq!((told, stage.arrived()), (vec![[&json!(3), &json!(3)]], sent));
}
