//! What stands in front of the messages, where it is another with every request: no provider's cache can help then, and the operator is
//! told.

use crate::stage::{Stage, answer, history};
use epitome_core::Policy;
use epitome_engine::FrozenClock;
use epitome_server::SessionRule;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const REQUESTS: usize = 8;

/// What the operator is told of a conversation whose requests have `around(N)` around their messages, or among them.
async fn told_of(around: impl Fn(usize) -> Value) -> Vec<String> {
    let told = Arc::<Mutex<Vec<String>>>::default();
    let heard = told.clone();
    let tell = move |notice: &epitome_server::OperatorNotice| {
        heard.lock().expect("nobody failed").push(notice.to_string());
    };
    let rule = SessionRule::alone(Policy::default());
    let stage = Stage::by(rule, 200_000, Arc::new(FrozenClock), tell).await;
    for number in 0..REQUESTS {
        let mut body =
            json!({"model": "claude-sonnet-4-5", "max_tokens": 500 + number, "messages": talk(number)});
        let fields = around(number);
        body.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
        assert_eq!(answer(stage.post("/v1/messages", body.to_string())).await.0, 200);
    }
    told.lock().expect("nobody failed").clone()
}

/// The messages of a request.
fn talk(number: usize) -> Vec<Value> {
    history(REQUESTS, "x")[..=4 * number].to_vec()
}

fn clock(hour: usize) -> Value {
    json!({"system": format!("You are careful. It is {hour} o'clock.")})
}

#[tokio::test]
async fn a_clock_in_the_system_prompt_is_told_once() {
    let expected = "s0001: the system prompt is another in each of 5 requests in a row, so that the provider's cache cannot help; have the agent keep what changes, such as a clock or a list of files, out of it, or say it at the end of the conversation";
    assert_eq!(told_of(clock).await, [expected]);
}

#[tokio::test]
async fn tools_in_another_order_each_time_are_told() {
    let tools = |number: usize| {
        let tool = |at: usize| json!({"name": format!("tool-{at}"), "input_schema": {"type": "object"}});
        let mut tools: Vec<Value> = (0..REQUESTS).map(tool).collect();
        tools.rotate_left(number);
        json!({"tools": tools})
    };
    let told = told_of(tools).await;
    assert!(
        told.len() == 1 && told[0].starts_with("s0001: the list of tools is another in each of 5 "),
        "{told:?}"
    );
}

#[tokio::test]
async fn the_line_that_only_anthropic_takes_out_is_told_of_anothers_host() {
    let billing = |number: usize| {
        let line = format!(
            "x-anthropic-billing-header: cc_version=2.1.100.0ab; cc_entrypoint=cli; cch={number:05x};"
        );
        json!({"system": [{"type": "text", "text": line}, {"type": "text", "text": "You are careful."}]})
    };
    let expected = "s0001: the line x-anthropic-billing-header in front of the system prompt is another in each of 5 requests in a row, so that the provider's cache cannot help; start Claude Code with CLAUDE_CODE_ATTRIBUTION_HEADER=0";
    assert_eq!(told_of(billing).await, [expected]);
}

#[tokio::test]
async fn what_changes_now_and_then_or_takes_turns_is_not_told() {
    let now_and_then = |number: usize| clock(number / 2);
    assert_eq!(told_of(now_and_then).await, Vec::<String>::new());
    assert_eq!(told_of(|number| clock(number % 3)).await, Vec::<String>::new());
}

/// The messages of a request with other words in the first one.
fn talk_that_begins(words: &str, number: usize) -> Value {
    let mut messages = talk(number);
    messages[0]["content"] = json!(words);
    json!({"messages": messages})
}

#[tokio::test]
async fn a_clock_in_the_first_message_is_told_once() {
    let told = told_of(|number| talk_that_begins(&format!("It is {number} o'clock."), number)).await;
    let expected = ": the beginning of the conversation is another in each of 5 requests in a row, so that the provider's cache cannot help; ";
    assert!(told.len() == 1 && told[0].contains(expected), "{told:?}");
}

#[tokio::test]
async fn a_first_message_that_is_edited_once_or_twice_is_not_told() {
    let told =
        told_of(|number| talk_that_begins(&format!("The task, version {}.", number / 3), number)).await;
    assert_eq!(told, Vec::<String>::new());
}
