//! Instructions in the middle of a list, as Claude Code and others give them: they outlive compactions word for word, and
//! stand where the provider takes them.

use crate::stage::{Stage, answer, body, history};
use epitome_upstream::{Script, Strictness};
use reqwest::StatusCode;
use serde_json::{Value, json};

const SMALL: u64 = 8_000;

/// A history with a rule behind the words that begin every seventh turn.
fn ruled(turns: usize) -> Vec<Value> {
    let mut messages = Vec::new();
    for (at, message) in history(turns, "the parser").into_iter().enumerate() {
        messages.push(message);
        if at % 28 == 0 && at < 4 * turns {
            let rule = format!("RULE-{}: from here on never touch file-{}.txt", at / 4, at / 4);
            messages.push(json!({"role": "system", "content": rule}));
        }
    }
    messages
}

fn messages(body: &str) -> Vec<Value> {
    let mut body: Value = serde_json::from_str(body).expect("JSON");
    body["messages"].as_array_mut().map(std::mem::take).expect("messages")
}

fn has_summary(sent: &[Value]) -> bool {
    sent.iter().any(|message| message.to_string().contains("<epitome-summary"))
}

#[tokio::test]
async fn instructions_in_the_middle_of_a_list_stay_where_the_provider_takes_them() {
    let stage = Stage::new(Script { tool_rounds: 0, ..Script::default() }, SMALL).await;
    let all = ruled(60);
    let ends = (1..=all.len()).filter(|&end| all[end - 1]["role"] != "assistant");
    for end in ends.filter(|&end| all.get(end).is_none_or(|next| next["role"] == "assistant")) {
        let (status, _) = answer(stage.post("/v1/messages", body(&all[..end], false))).await;
        assert_eq!((status, stage.upstream.report().violations), (StatusCode::OK, vec![]));
    }
    let arrived: Vec<Vec<Value>> = stage.arrived().iter().map(|(_, body)| messages(body)).collect();
    let last = arrived.last().expect("requests arrived");
    assert!(has_summary(last));
    let told: Vec<usize> = (0..60)
        .step_by(7)
        .map(|turn| {
            let rule = format!("RULE-{turn}: from here on never touch file-{turn}.txt");
            last.iter().filter(|one| one["role"] == "system" && one.to_string().contains(&rule)).count()
        })
        .collect();
    assert_eq!(told, [1; 9], "each rule stands once, as instructions");
    let resets = arrived.windows(2).filter(|pair| !pair[1].starts_with(&pair[0])).count();
    let compactions = stage.sessions().await[0]["compactions"].as_array().map_or(0, Vec::len);
    assert!((1..=10).contains(&compactions), "{compactions}");
    assert_eq!(resets, compactions, "nothing moves between compactions");
}

#[tokio::test]
async fn instructions_in_the_middle_of_a_chat_outlive_a_compaction() {
    let script = Script { tool_rounds: 0, strictness: Strictness::Lenient, ..Script::default() };
    let stage = Stage::new(script, SMALL).await;
    let text = "the parser reads a line at a time ".repeat(40);
    let mut all = vec![json!({"role": "system", "content": "be brief"})];
    for turn in 0..40 {
        all.push(json!({"role": "user", "content": format!("task {turn}: {text}")}));
        if turn % 9 == 0 {
            let role = if turn == 0 { "system" } else { "developer" };
            all.push(json!({"role": role, "content": format!("RULE-{turn}: never touch file-{turn}.txt")}));
        }
        all.push(json!({"role": "assistant", "content": format!("done with task {turn}")}));
    }
    all.push(json!({"role": "user", "content": "and now?"}));
    let body = json!({"model": "gpt-5", "messages": all}).to_string();
    let (status, _) = answer(stage.post("/v1/chat/completions", body)).await;
    assert_eq!((status, stage.upstream.report().violations), (StatusCode::OK, vec![]));
    let sent = messages(&stage.arrived()[0].1);
    assert!(has_summary(&sent) && sent.len() < all.len());
    let kept: Vec<&Value> =
        all.iter().filter(|one| one["role"] != "user" && one["role"] != "assistant").collect();
    let told: Vec<&Value> =
        sent.iter().filter(|one| one["role"] == "system" || one["role"] == "developer").collect();
    assert_eq!(told, kept);
}
