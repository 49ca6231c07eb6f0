//! Windows learned from refusals: for every session with the model, and from what its provider says alone.

use crate::stage::{Stage, answer, body, history};
use epitome_core::policy::TriggerMode;
use epitome_core::{Policy, Tokens};
use epitome_server::{Caller, Rules, SessionRule};
use epitome_upstream::Script;

/// What the provider takes.
const TAKEN: u64 = 4_500;
/// What an agent believes it takes.
const BELIEVED: u64 = 3_000;
/// What the catalog says of the model.
const CATALOG: u64 = 200_000;

#[tokio::test]
async fn a_beta_that_asks_for_a_longer_window_is_heard() {
    let stage = Stage::with_windows_of_the_catalog(Script::default()).await;
    let post = || stage.post("/v1/messages", body(&history(1, "one"), false));
    answer(post().header("anthropic-beta", "context-1m-2025-08-07")).await;
    let window = stage.sessions().await.pop().expect("it is listed")["window"].as_u64();
    assert_eq!(window, Some(1_000_000));
    answer(post()).await;
    let window = stage.sessions().await.pop().expect("it is listed")["window"].as_u64();
    assert_eq!(window, Some(CATALOG), "the next request does not ask for it");
}

#[tokio::test]
async fn l70_a_refusal_corrects_the_figures_that_are_shown() {
    let script = Script { window_tokens: Some(TAKEN), tool_rounds: 0, ..Script::default() };
    let stage = Stage::with_windows_of_the_catalog(script).await;
    let shown = async || {
        let session = stage.sessions().await.pop().expect("it is listed");
        ["window", "requests", "recoveries"].map(|name| session[name].as_u64().expect("a number"))
    };
    let all = history(40, "one");
    assert_eq!(answer(stage.post("/v1/messages", body(&all[..5], false))).await.0, 200);
    assert_eq!(shown().await, [CATALOG, 1, 0]);
    assert_eq!(answer(stage.post("/v1/messages", body(&all, false))).await.0, 200);
    assert_eq!(shown().await, [TAKEN, 3, 1], "refused, learned from and sent once more");
    let session = stage.sessions().await.pop().expect("it is listed");
    let made = &session["compactions"][0];
    assert_eq!((&made["trigger"], &made["window"]), (&"overflow".into(), &TAKEN.into()), "{made}");
    assert!(session["tokens"].as_u64() < Some(TAKEN), "{session}");
}

/// Every agent leaves its context alone; one of them believes in a window that is too small.
struct Agents;

impl Rules for Agents {
    fn of(&self, caller: &Caller<'_>) -> SessionRule {
        let mut settings = Policy::default().settings().clone();
        settings.mode = TriggerMode::Off;
        settings.window.tokens = (caller.agent == Some("modest")).then_some(Tokens(BELIEVED));
        SessionRule::alone(Policy::try_from(settings).expect("a policy"))
    }
}

/// Sends a new conversation of an agent's; its status, and the window it was measured by.
async fn send(stage: &Stage, agent: &str, turns: usize, words: &str) -> (u16, u64) {
    let request = stage.post("/v1/messages", body(&history(turns, words), false));
    let (status, _) = answer(request.header("x-epitome-agent", agent)).await;
    let session = stage.sessions().await.pop().expect("it is listed");
    (status.as_u16(), session["window"].as_u64().expect("a number"))
}

#[tokio::test]
async fn what_one_agent_believes_is_nobody_elses_window() {
    let script = Script { window_tokens: Some(TAKEN), tool_rounds: 0, ..Script::default() };
    let stage = Stage::with_rules(script, Agents).await;
    assert_eq!(send(&stage, "modest", 30, "one").await, (400, BELIEVED));
    assert_eq!(send(&stage, "other", 1, "two").await, (200, CATALOG));
    assert_eq!(send(&stage, "other", 30, "three").await, (400, CATALOG));
    let (_, learned) = send(&stage, "another", 1, "four").await;
    assert!((BELIEVED + 1..=TAKEN).contains(&learned), "what a provider says is everyone's: {learned}");
}
