//! Headers of replies that say what was done to their requests.

use crate::stage::{Stage, body, history};
use epitome_core::Policy;
use epitome_server::SessionRule;
use epitome_upstream::{Place, Script};
use serde_json::{Value, json};

const SMALL: u64 = 8_000;
const LARGE: u64 = 64_000;

/// The headers of ours in the reply to a request, by their names without what all begin with.
async fn told(stage: &Stage, path: &str, body: String) -> Vec<(String, String)> {
    let reply = stage.post(path, body).send().await.expect("the server answers");
    let text = |value: &reqwest::header::HeaderValue| value.to_str().expect("a text").to_owned();
    let ours = reply.headers().iter().filter_map(|(name, value)| {
        Some((name.as_str().strip_prefix("x-epitome-")?.to_owned(), text(value)))
    });
    let mut ours: Vec<(String, String)> = ours.collect();
    reply.bytes().await.expect("it is whole");
    ours.sort();
    ours
}

fn names(told: &[(String, String)]) -> Vec<&str> {
    told.iter().map(|(name, _)| name.as_str()).collect()
}

fn value<'t>(told: &'t [(String, String)], name: &str) -> &'t str {
    told.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str()).unwrap_or_default()
}

#[tokio::test]
async fn a_reply_says_which_session_took_its_request_up_and_what_was_done_streamed_or_not() {
    for is_streamed in [false, true] {
        let stage = Stage::new(Script { tool_rounds: 0, ..Script::default() }, SMALL).await;
        let all = history(60, "the parser");
        let short = told(&stage, "/v1/messages", body(&all[..1], is_streamed)).await;
        assert_eq!(names(&short), ["input-tokens", "original-input-tokens", "session"]);
        assert_eq!(value(&short, "session"), "s0001");
        assert_eq!(value(&short, "input-tokens"), value(&short, "original-input-tokens"));
        let long = told(&stage, "/v1/messages", body(&all, is_streamed)).await;
        assert_eq!(names(&long), ["compaction", "input-tokens", "original-input-tokens", "session"]);
        let sessions = stage.sessions().await;
        let record = &sessions[0]["compactions"][0];
        let (before, after) = (&record["tokens_before"], &record["tokens_after"]);
        assert_eq!(value(&long, "compaction"), format!("made; before={before}; after={after}"));
        let mut more = all.clone();
        more.push(json!({"role": "assistant", "content": "so"}));
        more.push(json!({"role": "user", "content": "go on"}));
        let again = told(&stage, "/v1/messages", body(&more, is_streamed)).await;
        let (whole, sent) = (value(&again, "original-input-tokens"), value(&again, "input-tokens"));
        assert_eq!(value(&again, "compaction"), format!("in-use; before={whole}; after={sent}"));
        assert!(whole.parse::<u64>().expect("a number") > 2 * sent.parse::<u64>().expect("a number"));
    }
}

#[tokio::test]
async fn a_recovery_is_told_and_what_passed_through_says_nothing() {
    let script = Script {
        window_tokens: Some(SMALL),
        overflow_place: Place::Stream,
        tool_rounds: 0,
        ..Script::default()
    };
    let stage = Stage::new(script, LARGE).await;
    let mended = told(&stage, "/v1/messages", body(&history(60, "x"), true)).await;
    assert_eq!(value(&mended, "recovery"), "compact");
    assert!(value(&mended, "compaction").starts_with("made; before="));
    let passed = told(&stage, "/v1/messages", "{\"model\":1}".to_owned()).await;
    assert_eq!(passed, [], "it was not taken up");
}

/// Row 7 of the table of refusals: thinking that is bound to other words. What was made for the first sending is told, for the client
/// sees one reply.
#[tokio::test]
async fn a_compaction_made_for_a_request_that_was_then_refused_is_told_as_made() {
    let plan = "chat:1=error=7".parse().expect("a plan");
    let stage = Stage::new(Script { tool_rounds: 0, plan, ..Script::default() }, SMALL).await;
    let mut all = history(60, "the parser");
    let thinking = json!({"type": "thinking", "thinking": "so", "signature": "c2ln"});
    let call = json!({"type": "tool_use", "id": "toolu_last", "name": "read", "input": {}});
    all.push(json!({"role": "assistant", "content": [thinking, call]}));
    let result = json!({"type": "tool_result", "tool_use_id": "toolu_last", "content": "ok"});
    all.push(json!({"role": "user", "content": [result]}));
    let mended = told(&stage, "/v1/messages", body(&all, false)).await;
    assert_eq!(value(&mended, "recovery"), "leave-thinking-out");
    let sessions = stage.sessions().await;
    let records = sessions[0]["compactions"].as_array().expect("a list");
    let made: Vec<String> = records
        .iter()
        .map(|record| format!("made; before={}; after={}", record["tokens_before"], record["tokens_after"]))
        .collect();
    assert_eq!(made, [value(&mended, "compaction")]);
}

#[tokio::test]
async fn an_observer_says_that_it_only_observes() {
    let rule = SessionRule::alone(Policy::default());
    let stage = Stage::observing(Script { tool_rounds: 0, ..Script::default() }, rule, SMALL, |_| {}).await;
    let told = told(&stage, "/v1/messages", body(&history(60, "x"), true)).await;
    assert_eq!(names(&told), ["compaction", "input-tokens", "observe", "original-input-tokens", "session"]);
    assert_eq!(value(&told, "observe"), "true");
    assert_eq!(value(&told, "input-tokens"), value(&told, "original-input-tokens"));
    let sessions = stage.sessions().await;
    let record: &Value = &sessions[0]["compactions"][0];
    let expected = format!("made; before={}; after={}", record["tokens_before"], record["tokens_after"]);
    assert_eq!(value(&told, "compaction"), expected);
}
