//! What an operator is told is told once.

use crate::stage::{Stage, answer, history};
use epitome_core::Policy;
use epitome_engine::FrozenClock;
use epitome_server::SessionRule;
use serde_json::json;
use std::sync::{Arc, Mutex};

#[tokio::test]
async fn what_cannot_fit_is_told_once_however_many_requests_come() {
    let told = Arc::<Mutex<Vec<String>>>::default();
    let heard = told.clone();
    let tell = move |notice: &epitome_server::OperatorNotice| {
        heard.lock().expect("nobody failed").push(notice.to_string());
    };
    let rule = SessionRule::alone(Policy::default());
    let stage = Stage::by(rule, 8_000, Arc::new(FrozenClock), tell).await;
    // The system prompt alone is more than the window.
    let system = "You are careful, and never guess. ".repeat(1_500);
    let all = history(3, "x");
    for end in [1, 5, 9, all.len()] {
        let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 500, "system": system, "messages": all[..end]});
        answer(stage.post("/v1/messages", body.to_string())).await;
    }
    let told = told.lock().expect("nobody failed").clone();
    let failed: Vec<&String> = told.iter().filter(|line| line.contains("not compacted: ")).collect();
    assert_eq!(failed.len(), 1, "{told:#?}");
}
