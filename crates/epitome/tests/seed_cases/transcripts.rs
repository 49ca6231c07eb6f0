//! Transcripts whose size can be told beforehand, where four characters are counted as a token.

use serde_json::{Value, json};

/// A model that nobody knows.
pub(crate) const MODEL: &str = "oracle-9";

/// A text of exactly so many tokens, unlike any other of another number.
pub(crate) fn text(number: usize, tokens: usize) -> String {
    let mut text = format!("point {number}: ");
    while text.len() < tokens * 4 {
        text.push_str("something that matters a little ");
    }
    text.truncate(tokens * 4);
    text
}

/// A request body of so many messages of 400 tokens, a person and the model in turn, and one more that makes it `tokens`
/// in all. Where that is a person's, it is answered: a replay looks before each answer.
pub(crate) fn body(messages: usize, tokens: usize, max_tokens: u64) -> String {
    let role = |at: usize| if at.is_multiple_of(2) { "user" } else { "assistant" };
    let said = |at: usize| json!({"role": role(at), "content": text(at, 400)});
    let last = json!({"role": role(messages), "content": text(messages, tokens - messages * 400)});
    let reply = (last["role"] == "user").then(|| json!({"role": "assistant", "content": "noted"}));
    let messages: Vec<Value> = (0..messages).map(said).chain([last]).chain(reply).collect();
    json!({"model": MODEL, "max_tokens": max_tokens, "messages": messages}).to_string()
}

/// The lines of a file.
fn lines(all: impl IntoIterator<Item = Value>) -> String {
    all.into_iter().map(|line| format!("{line}\n")).collect()
}

/// A session file of pi's with these messages.
pub(crate) fn pi(messages: impl IntoIterator<Item = Value>) -> String {
    let header = json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/no/such/folder"});
    let entry = |(at, message): (usize, Value)| {
        let parent = at.checked_sub(1).map(|before| format!("0000000{before}"));
        json!({"type": "message", "id": format!("0000000{at}"), "parentId": parent, "timestamp": "2026-01-01T00:00:01.000Z", "message": message})
    };
    lines([header].into_iter().chain(messages.into_iter().enumerate().map(entry)))
}

/// A session file of Claude Code's with these messages.
pub(crate) fn claude_code(messages: impl IntoIterator<Item = Value>) -> String {
    let record = |(at, message): (usize, Value)| {
        let parent = at.checked_sub(1).map(|before| format!("u{before}"));
        json!({"type": message["role"], "uuid": format!("u{at}"), "parentUuid": parent, "sessionId": "s", "timestamp": "2026-01-01T00:00:01.000Z", "message": message})
    };
    lines(messages.into_iter().enumerate().map(record))
}
