//! Every row of `docs/reference/overflow.md` through the proxy: what the table says is mended is mended, all else goes back as it came.

use crate::stage::{Stage, answer};
use epitome_core::{Policy, Settings};
use epitome_engine::FrozenClock;
use epitome_server::SessionRule;
use epitome_upstream::{ERROR_ROWS, ErrorRow, Place, Script, Style};
use reqwest::StatusCode;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// What the provider takes.
const SMALL: u64 = 8_000;
/// What the server believes.
const LARGE: u64 = 64_000;

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Row {
    /// The prompt is too long, and made shorter.
    Compacted,
    /// Less of an answer is asked for.
    AskedForLess,
    /// Pictures and large results give way.
    Shed,
    /// Thinking is left out.
    WithoutThinking,
    /// What is sealed is left out.
    WithoutSeals,
    /// It goes back as it came.
    PassedBack,
}

fn expected(row: &ErrorRow) -> Row {
    match row.name {
        "2" | "8b" | "19b" | "33" | "38" => Row::AskedForLess,
        "3" | "5" | "6" | "15b" | "18" | "49" | "49b" | "50" | "L10" | "L11" => Row::Shed,
        "7" | "L8" => Row::WithoutThinking,
        "53" => Row::WithoutSeals,
        // A rate that the request alone is over is no look-alike.
        "L5" => Row::Compacted,
        name if name.starts_with('L') => Row::PassedBack,
        _ => Row::Compacted,
    }
}

/// Rows that are no errors have tests of their own below; these cannot come this way.
const ELSEWHERE: [(&str, &str); 14] = [
    ("4", "a reply that stops"),
    ("16", "the shape of Bedrock's own API, whose paths pass through unread"),
    ("24", "a reply that stops"),
    ("36", "a reply that stops"),
    ("37", "a reply that stops"),
    ("44", "a reply to a part of the prompt"),
    ("L19", "a reply that stops"),
    ("L20", "a reply that stops"),
    ("L21", "a reply"),
    ("L22", "a request"),
    ("L23", "an event of a stream"),
    // In the table of what succeeds, told below by their letters.
    ("D", "replies"),
    ("S", "other names of rows 11, 22 and 51"),
    ("X", "exclusions, of which each is a look-alike here"),
];

#[test]
fn every_row_of_the_table_is_here_or_has_its_reason() {
    let numbered = (1..=53).map(|number| number.to_string());
    let all: BTreeSet<String> = numbered.chain((1..=25).map(|number| format!("L{number}"))).collect();
    let plain = |name: &str| name.trim_end_matches(|letter: char| letter.is_ascii_lowercase()).to_owned();
    let errors = ERROR_ROWS.iter().map(|row| plain(row.name));
    let here: BTreeSet<String> = errors.chain(ELSEWHERE.iter().map(|(name, _)| (*name).to_owned())).collect();
    assert_eq!(all.difference(&here).collect::<Vec<_>>(), Vec::<&String>::new());
}

/// A conversation of so many pairs, as Anthropic and OpenAI's Chat Completions both take it.
fn talk(pairs: usize) -> Vec<Value> {
    let mut messages = Vec::new();
    for number in 0..pairs {
        let text = format!("task {number} is about the parser of part {number}; ").repeat(16);
        messages.push(json!({"role": "user", "content": text}));
        messages.push(json!({"role": "assistant", "content": format!("part {number} is done: {text}")}));
    }
    messages.push(json!({"role": "user", "content": "and now?"}));
    messages
}

/// A request that a row applies to, and the path it goes to.
fn request(row: &ErrorRow, is_streamed: bool) -> (&'static str, Value) {
    let is_openai = !matches!(row.name, "1" | "2" | "3" | "5" | "6" | "7" | "48")
        && !matches!(expected(row), Row::Shed | Row::WithoutThinking | Row::WithoutSeals);
    let path = if is_openai { "/v1/chat/completions" } else { "/v1/messages" };
    let (messages, output) = match expected(row) {
        Row::Compacted => (talk(30), 500),
        Row::AskedForLess => (talk(8), 6_000),
        Row::Shed => (with_bulk(), 500),
        Row::WithoutThinking => (with_thinking(), 500),
        Row::WithoutSeals => (with_seals(), 500),
        Row::PassedBack => (talk(8), 500),
    };
    let model = if is_openai { "gpt-4o" } else { "claude-sonnet-4-5" };
    let limit = if is_openai { "max_completion_tokens" } else { "max_tokens" };
    (path, json!({"model": model, limit: output, "stream": is_streamed, "messages": messages}))
}

/// A picture, and a large result.
fn with_bulk() -> Vec<Value> {
    let picture =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}});
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}});
    let printed = "a line that was printed; ".repeat(2_000);
    let result = json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": printed});
    let mut messages = vec![
        json!({"role": "user", "content": [picture, {"type": "text", "text": "what is this?"}]}),
        json!({"role": "assistant", "content": [{"type": "text", "text": "a dot"}, call]}),
        json!({"role": "user", "content": [result]}),
        json!({"role": "assistant", "content": "read"}),
    ];
    messages.extend(talk(4));
    messages
}

/// One white dot.
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

fn with_thinking() -> Vec<Value> {
    let said =
        json!([{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "text", "text": "so"}]);
    vec![
        json!({"role": "user", "content": "a"}),
        json!({"role": "assistant", "content": said}),
        json!({"role": "user", "content": "b"}),
    ]
}

fn with_seals() -> Vec<Value> {
    let found =
        json!([{"type": "web_search_result", "url": "https://x", "title": "x", "encrypted_content": "c2Vh"}]);
    let said = json!([
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found},
        {"type": "text", "text": "it is there"},
    ]);
    vec![
        json!({"role": "user", "content": "look it up"}),
        json!({"role": "assistant", "content": said}),
        json!({"role": "user", "content": "and now?"}),
    ]
}

/// An upstream that says a row: of every prompt that is too long, or, where it is about something else, once.
async fn stage(row: &'static ErrorRow, place: Place) -> Stage {
    let by_window = matches!(expected(row), Row::Compacted | Row::AskedForLess);
    let script = Script {
        window_tokens: by_window.then_some(SMALL),
        overflow_style: if by_window { Style::Row(row) } else { Style::Provider },
        overflow_place: place,
        tool_rounds: 0,
        ..Script::default()
    };
    let stage = Stage::new(script, LARGE).await;
    if !by_window {
        let order = match expected(row) {
            Row::PassedBack => format!("chat:*=error={}", row.name),
            Row::Compacted | Row::AskedForLess | Row::Shed | Row::WithoutThinking | Row::WithoutSeals => {
                format!("chat:1=error={}", row.name)
            }
        };
        stage.upstream.plan(order.parse().expect("a plan"));
    }
    stage
}

#[tokio::test]
async fn what_can_be_mended_is_mended_and_all_else_goes_back_as_it_came() {
    let mut wrong = Vec::new();
    for row in ERROR_ROWS.iter().filter(|row| !row.name.starts_with("31")) {
        let stage = stage(row, Place::Status).await;
        let (path, body) = request(row, false);
        let sent = body.to_string();
        let (status, reply) = answer(stage.post(path, sent.clone())).await;
        let arrived = stage.arrived();
        let last = arrived.last().map(|(_, body)| body.clone()).unwrap_or_default();
        let good = match expected(row) {
            Row::PassedBack => {
                let direct = reqwest::Client::new().post(format!("{}{path}", stage.upstream.base_url));
                let direct = answer(direct.body(sent.clone())).await;
                arrived.len() == 1 && last == sent && (status, &reply) == (direct.0, &direct.1)
            }
            Row::Compacted => status == StatusCode::OK && arrived.len() == 2 && last.len() < sent.len(),
            Row::AskedForLess => {
                let mut less: Value = serde_json::from_str(&last).expect("JSON");
                less["max_completion_tokens"] = body["max_completion_tokens"].clone();
                less["max_tokens"] = body["max_tokens"].clone();
                let same = less["messages"] == body["messages"];
                status == StatusCode::OK && arrived.len() == 2 && last != sent && same
            }
            Row::Shed => status == StatusCode::OK && arrived.len() == 2 && !last.contains(PICTURE),
            Row::WithoutThinking => {
                status == StatusCode::OK && arrived.len() == 2 && !last.contains("\"signature\"")
            }
            Row::WithoutSeals => {
                status == StatusCode::OK && arrived.len() == 2 && !last.contains("encrypted_content")
            }
        };
        if !good {
            let told = String::from_utf8_lossy(&reply).chars().take(200).collect::<String>();
            wrong.push(format!("row {}: {status} after {} requests: {told}", row.name, arrived.len()));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[tokio::test]
async fn row_31_an_answer_without_a_word_is_an_overflow_only_near_the_window() {
    let mut settings = Settings::default();
    settings.trigger.at = "99%".parse().expect("a threshold");
    let policy = Policy::try_from(settings).expect("a policy");
    let body = json!({"model": "gpt-4o", "max_completion_tokens": 16, "messages": talk(30)}).to_string();
    let whole = Stage::new(Script::default(), LARGE).await;
    let reply = whole.post("/v1/chat/completions", body.clone()).send().await.expect("the server answers");
    let tokens: u64 =
        reply.headers()["x-epitome-input-tokens"].to_str().expect("a text").parse().expect("tokens");
    let near = tokens * 100 / 95;
    for (name, window, expected) in [("31", near, 200), ("31b", near, 200), ("31", LARGE, 400)] {
        let rule = SessionRule::alone(policy.clone());
        let told = Arc::<Mutex<Vec<String>>>::default();
        let heard = told.clone();
        let tell = move |notice: &epitome_server::OperatorNotice| {
            heard.lock().expect("nobody failed").push(notice.to_string());
        };
        let stage = Stage::by(rule, window, Arc::new(FrozenClock), tell).await;
        stage.upstream.plan(format!("chat:1=error={name}").parse().expect("a plan"));
        let (status, _) = answer(stage.post("/v1/chat/completions", body.clone())).await;
        let requests = if expected == 200 { 2 } else { 1 };
        assert_eq!(
            (status.as_u16(), stage.arrived().len()),
            (expected, requests),
            "row {name} at {window}: {told:?}"
        );
    }
}

#[tokio::test]
async fn errors_that_come_inside_a_stream_are_mended_too() {
    for name in ["1", "10", "19", "41", "46", "47"] {
        let row = ERROR_ROWS.iter().find(|row| row.name == name).expect("a row");
        let stage = stage(row, Place::Stream).await;
        let (path, body) = request(row, true);
        let (status, reply) = answer(stage.post(path, body.to_string())).await;
        assert_eq!((status, stage.arrived().len()), (StatusCode::OK, 2), "row {name}");
        let reply = String::from_utf8_lossy(&reply).to_lowercase();
        assert!(
            !["too long", "exceed", "context length"].iter().any(|word| reply.contains(word)),
            "row {name}"
        );
    }
}

/// What servers cut prompts to, and a talk of twice as much.
const ROUND: u64 = 8_192;
const PAIRS: usize = 50;

/// Sends a talk that is too long, then the same with one more turn; how many messages of each arrived, of how many.
async fn two_turns(style: Style, path: &str, is_streamed: bool) -> (StatusCode, Vec<usize>, Value) {
    let script =
        Script { window_tokens: Some(ROUND), overflow_style: style, tool_rounds: 0, ..Script::default() };
    let stage = Stage::new(script, LARGE).await;
    let mut messages = talk(PAIRS);
    let body = |messages: &[Value]| {
        let model = if path.ends_with("messages") { "claude-sonnet-4-5" } else { "gpt-4o" };
        json!({"model": model, "max_tokens": 500, "stream": is_streamed, "stream_options": {"include_usage": true}, "messages": messages})
    };
    let clean = |mut body: Value| {
        if !is_streamed || path.ends_with("messages") {
            body.as_object_mut().map(|fields| fields.remove("stream_options"));
        }
        body.to_string()
    };
    let (status, _) = answer(stage.post(path, clean(body(&messages)))).await;
    messages.push(json!({"role": "assistant", "content": "so"}));
    messages.push(json!({"role": "user", "content": "go on"}));
    answer(stage.post(path, clean(body(&messages)))).await;
    let count = |body: &str| {
        serde_json::from_str::<Value>(body).expect("JSON")["messages"].as_array().map_or(0, Vec::len)
    };
    let arrived = stage.arrived().iter().map(|(_, body)| count(body)).collect();
    (status, arrived, stage.sessions().await.remove(0))
}

#[tokio::test]
async fn rows_4_24_36_37_and_44_a_reply_tells_that_the_window_is_full_and_the_next_request_fits() {
    let whole = talk(PAIRS).len();
    let cases = [
        ("4", Style::SoftStop, "/v1/messages"),
        ("24", Style::ModelLength, "/v1/chat/completions"),
        ("36", Style::SoftStop, "/v1/chat/completions"),
        ("44, D3", Style::Silent, "/v1/chat/completions"),
    ];
    for (row, style, path) in cases {
        for is_streamed in [false, true] {
            let (status, arrived, session) = two_turns(style, path, is_streamed).await;
            assert_eq!((status, arrived[0], arrived.len()), (StatusCode::OK, whole, 2), "row {row}");
            assert!(arrived[1] < whole, "row {row}, streamed: {is_streamed}: {arrived:?} {session:#}");
        }
    }
}

#[tokio::test]
async fn row_37_a_reply_without_a_word_that_reached_its_limit_is_mended_at_once() {
    for is_streamed in [false, true] {
        let (status, arrived, session) =
            two_turns(Style::OutputZero, "/v1/chat/completions", is_streamed).await;
        assert_eq!((status, arrived.len(), &session["recoveries"]), (StatusCode::OK, 3, &json!(1)));
        assert!(arrived[1] < arrived[0] && arrived[2] < arrived[0], "{arrived:?}");
    }
}

#[tokio::test]
async fn look_alikes_that_succeed_change_nothing() {
    let script = Script { tool_rounds: 0, ..Script::default() };
    // L19 and L20: the reply reached a limit of the caller's. L21: the model speaks of an error. L23: an event of a stream.
    for (order, is_streamed, limit) in [
        ("truncate", false, 2_000),
        ("truncate", true, 64),
        ("error-text", true, 500),
        ("stream-error", true, 500),
    ] {
        let stage = Stage::new(script.clone(), LARGE).await;
        stage.upstream.plan(format!("chat:1={order}").parse().expect("a plan"));
        let mut messages = talk(8);
        // L22: an agent that debugs another.
        messages.push(json!({"role": "assistant", "content": "what does it say?"}));
        messages.push(
            json!({"role": "user", "content": "{\"code\":\"context_length_exceeded\"} prompt is too long"}),
        );
        let body = json!({"model": "claude-sonnet-4-5", "max_tokens": limit, "stream": is_streamed, "messages": messages});
        let (status, _) = answer(stage.post("/v1/messages", body.to_string())).await;
        let session = stage.sessions().await.remove(0);
        assert_eq!((status, stage.arrived().len()), (StatusCode::OK, 1), "{order}");
        let seen = (&session["window"], &session["recoveries"], &session["compactions"]);
        assert_eq!(seen, (&json!(LARGE), &json!(0), &json!([])), "{order}");
    }
}
