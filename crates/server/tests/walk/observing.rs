//! A server that only observes: every body goes out as it came, and what would have been done is told.

use crate::stage::{Stage, answer, body, history};
use epitome_core::{CallResult, Policy, SummaryRequest, Tokens};
use epitome_engine::{BoxFuture, Model, SummaryModel};
use epitome_server::SessionRule;
use epitome_upstream::Script;
use reqwest::StatusCode;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const SMALL: u64 = 8_000;
const LARGE: u64 = 64_000;

/// What an operator was told, in words.
type Told = Arc<Mutex<Vec<String>>>;

async fn observing(script: Script, rule: SessionRule, window: u64) -> (Stage, Told) {
    let told = Told::default();
    let heard = told.clone();
    let tell = move |notice: &epitome_server::OperatorNotice| {
        heard.lock().expect("nobody failed").push(notice.to_string());
    };
    (Stage::observing(script, rule, window, tell).await, told)
}

fn alone() -> SessionRule {
    SessionRule::alone(Policy::default())
}

#[tokio::test]
async fn bodies_go_out_as_they_came_and_what_would_have_been_done_is_told_once_for_each_time() {
    let script = Script { tool_rounds: 0, ..Script::default() };
    let (stage, told) = observing(script, alone(), SMALL).await;
    let all = history(60, "the parser");
    let mut sent = Vec::new();
    for end in (1..=all.len()).step_by(4) {
        let request = body(&all[..end], end % 8 == 1);
        let (status, _) = answer(stage.post("/v1/messages", request.clone())).await;
        assert_eq!(status, StatusCode::OK);
        sent.push(request);
    }
    let arrived: Vec<String> = stage.arrived().into_iter().map(|(_, body)| body).collect();
    assert_eq!(arrived, sent, "byte for byte");
    let told = told.lock().expect("nobody failed").clone();
    let would: Vec<&String> = told.iter().filter(|line| line.contains("would have compacted from")).collect();
    // Of 61 requests, the last of which has some five windows: as many as a server that acts would have made.
    assert!((3..=16).contains(&would.len()), "{told:#?}");
    let others: Vec<&String> = told.iter().filter(|line| !would.contains(line)).collect();
    assert!(others.iter().all(|line| line.contains("took a prompt beyond 8,000 tokens")), "{others:#?}");
    let [session] = &stage.sessions().await[..] else { panic!("one conversation is one session") };
    let listed = session["compactions"].as_array().expect("a list");
    let standings: Vec<&Value> = listed.iter().map(|one| &one["standing"]).collect();
    assert_eq!(standings, vec!["observed"; would.len()]);
    for one in listed {
        let (before, after) = (one["tokens_before"].as_u64(), one["tokens_after"].as_u64());
        assert!(after < before && before <= Some(SMALL), "{before:?} to {after:?}");
    }
    let stats = stage.json("/api/v1/stats").await;
    assert_eq!((&stats["compactions"], &stats["observed"]), (&json!(0), &json!(would.len())));
    assert_eq!(stats["tokens_without"], stats["tokens_sent"]);
    assert!(stats["tokens_observed"].as_u64() < stats["tokens_sent"].as_u64());
    let events = stage.json("/api/v1/sessions/s0001/events").await;
    let observed = events.as_array().expect("a list").iter();
    let observed = observed.filter(|event| event["event"] == "compaction.observed").count();
    assert_eq!(observed, would.len());
}

#[tokio::test]
async fn as_many_are_observed_as_would_have_been_made() {
    let script = || Script { tool_rounds: 0, ..Script::default() };
    let (observing, told) = observing(script(), alone(), SMALL).await;
    let acting = Stage::new(script(), SMALL).await;
    let all = history(60, "the parser");
    for end in (1..=all.len()).step_by(4) {
        for stage in [&observing, &acting] {
            answer(stage.post("/v1/messages", body(&all[..end], false))).await;
        }
    }
    let made = acting.json("/api/v1/stats").await["compactions"].as_u64().expect("a number");
    let observed = told.lock().expect("nobody failed").len() as u64;
    assert!(observed.abs_diff(made) <= 1 + made / 5, "{observed} observed, {made} made");
    let (observed, made) = (observing.json("/api/v1/stats").await, acting.json("/api/v1/stats").await);
    let tokens = |value: &Value| value.as_f64().expect("a number");
    let share = tokens(&observed["tokens_observed"]) / tokens(&made["tokens_sent"]);
    assert!((0.8..1.25).contains(&share), "{observed:#} beside {made:#}");
}

#[tokio::test]
async fn a_refusal_goes_back_as_it_came_and_what_would_have_been_done_is_told() {
    let script = Script { window_tokens: Some(SMALL), tool_rounds: 0, ..Script::default() };
    let (stage, told) = observing(script, alone(), LARGE).await;
    let request = body(&history(60, "x"), false);
    let (status, reply) = answer(stage.post("/v1/messages", request.clone())).await;
    assert_eq!((status, stage.upstream.report().requests), (StatusCode::BAD_REQUEST, 1));
    assert!(String::from_utf8_lossy(&reply).contains("prompt is too long"));
    assert_eq!(stage.arrived(), [(400, request)]);
    let told = told.lock().expect("nobody failed").clone();
    let expected = "s0001: refused, and would have been sent once more (compact); passed back as it came";
    assert_eq!(told, [expected]);
}

/// A model that must not be asked.
struct Dear;

impl Model for Dear {
    fn name(&self) -> &str {
        "dear"
    }

    fn window(&self) -> Tokens {
        Tokens(200_000)
    }

    fn output_max(&self) -> Tokens {
        Tokens(4_000)
    }

    fn summarize(&self, _: SummaryRequest) -> BoxFuture<'_, CallResult> {
        panic!("an observer asks nobody who takes money")
    }
}

#[tokio::test]
async fn no_summariser_is_asked_that_takes_money() {
    let mut rule = alone();
    rule.ports.model = Some(SummaryModel::apart(Arc::new(Dear)));
    let (stage, told) = observing(Script { tool_rounds: 0, ..Script::default() }, rule, SMALL).await;
    answer(stage.post("/v1/messages", body(&history(60, "x"), false))).await;
    let told = told.lock().expect("nobody failed").clone();
    assert!(told[0].contains("would have compacted from"), "{told:?}");
    let tokens = Tokens(SMALL);
    assert!(stage.sessions().await[0]["tokens"].as_u64() > Some(tokens.0), "its context is all of it");
}

#[tokio::test]
async fn nothing_is_compacted_by_hand_and_a_preview_is_shown() {
    let (stage, _) = observing(Script { tool_rounds: 0, ..Script::default() }, alone(), LARGE).await;
    answer(stage.post("/v1/messages", body(&history(60, "x"), false))).await;
    let compact = async |body: Value| {
        let request = stage.post("/api/v1/sessions/s0001/compact", body.to_string());
        let (status, reply) = answer(request.header("content-type", "application/json")).await;
        (status, serde_json::from_slice::<Value>(&reply).expect("JSON"))
    };
    let (status, told) = compact(json!({})).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(told["error"].as_str().is_some_and(|told| told.contains("only observes")), "{told}");
    let (status, record) = compact(json!({"dry_run": true})).await;
    assert_eq!((status, &record["outcome"]), (StatusCode::OK, &json!("compacted")));
}
