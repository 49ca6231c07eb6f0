//! What an operator reads: the log line by line, and the totals.

use crate::stage::{Speech, Stage, Talk, words};
use serde_json::{Value, json};

fn talk(key: &str) -> Talk {
    Talk::new(Speech::Anthropic, "claude-sonnet-4-5").with("x-api-key", key)
}

#[test]
fn a_compaction_is_told_with_its_time_level_model_reason_writer_price_and_duration() {
    let stage = Stage::new("");
    let proxy = stage.serve(&["--window", "16k"]);
    talk("a-key").until_compacted(&proxy);
    let log = stage.log();
    let line = log.lines().find(|line| line.contains(": compacted from ")).expect("it is told");
    let (time, rest) = line.split_once(' ').expect("words");
    assert!(time.len() == 24 && time.ends_with('Z'), "{line}");
    assert!(rest.starts_with("info  claude-sonnet-4-5 s0001: compacted from "), "{line}");
    let (_, how) = rest.split_once(" tokens (").expect("it says how");
    let parts: Vec<&str> = how.trim_end_matches(')').split("; ").collect();
    assert_eq!(parts[..2], ["threshold reached", "by the embedded summariser, free"], "{line}");
    assert!(parts[2].ends_with(" ms"), "{line}");
}

#[test]
fn the_log_is_json_where_that_is_asked_for_and_leaves_out_what_matters_less() {
    let stage = Stage::new("");
    let proxy = stage.serve(&["--window", "16k", "--log-format", "json"]);
    talk("a-key").until_compacted(&proxy);
    let log = stage.log();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let line = lines.iter().find(|line| line["event"] == "compacted").expect("it is told");
    let told = ["level", "model", "session", "trigger", "by"].map(|name| line[name].clone());
    let expected = ["info", "claude-sonnet-4-5", "s0001", "threshold", "the embedded summariser"];
    assert_eq!(told, expected.map(Value::from));
    assert_eq!(line["cost"], json!(0.0));
    let quiet = Stage::new("");
    let proxy = quiet.serve(&["--window", "16k", "--log-level", "warn"]);
    talk("a-key").until_compacted(&proxy);
    assert_eq!(quiet.log(), "");
}

#[test]
fn totals_say_what_was_saved_on_demand_and_at_the_end() {
    let stage = Stage::new("");
    let proxy = stage.serve(&["--window", "16k"]);
    let mut talk = talk("a-key");
    talk.until_compacted(&proxy);
    (0..3).for_each(|turn| talk.say(&proxy, &words(turn)));
    let stats = proxy.get("/api/v1/stats");
    let number = |name: &str| stats[name].as_u64().expect("a number");
    assert_eq!((number("compactions"), number("passed_through")), (1, 0));
    assert_eq!(number("requests"), proxy.sessions()[0]["requests"].as_u64().expect("a number"));
    assert!(number("tokens_without") > number("tokens_sent") && stats["dollars_saved"].is_f64(), "{stats}");
    assert_eq!(stats["models"][0]["model"], "claude-sonnet-4-5");
    assert!(proxy.interrupt(), "{}", stage.log());
    let last = stage.told().lines().last().expect("it says goodbye").to_owned();
    assert!(last.starts_with(&format!("stopped: {} requests, 1 compaction; ", number("requests"))), "{last}");
    assert!(last.contains(" fewer; saved "), "{last}");
}

#[test]
fn monitoring_and_browsers_are_answered_and_not_sent_to_the_provider() {
    let stage = Stage::new("");
    let proxy = stage.serve(&["--window", "16k"]);
    talk("a-key").say(&proxy, "hello");
    let page = |path: &str| {
        let url = format!("{}{path}", proxy.address());
        stage.block_on(async {
            reqwest::get(url).await.expect("it answers").text().await.expect("it is text")
        })
    };
    let metrics = page("/metrics");
    assert!(
        metrics.contains("# TYPE epitome_requests_total counter\nepitome_requests_total 1\n"),
        "{metrics}"
    );
    assert!(page("/").contains("agents point their base URL here"));
    assert_eq!(stage.report().requests, 1);
}

#[test]
fn what_an_unknown_model_saved_is_null() {
    let stage = Stage::new("");
    let proxy = stage.serve(&["--window", "16k"]);
    let mut talk = Talk::new(Speech::Chat, "some-model-of-ones-own").with("authorization", "Bearer a-key");
    talk.until_compacted(&proxy);
    assert_eq!(proxy.get("/api/v1/stats")["dollars_saved"], Value::Null);
}

#[test]
fn a_provider_that_is_not_there_is_told_once_for_each_outage() {
    let stage = Stage::new("");
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let nowhere = format!("http://{}", free.local_addr().expect("it has an address"));
    drop(free);
    let proxy = stage.serve(&["--upstream-anthropic", &nowhere]);
    let talk = talk("a-key");
    for _ in 0..3 {
        let (status, _) = proxy.try_act(reqwest::Method::POST, "/v1/messages", &talk.body());
        assert_eq!(status, 502);
    }
    let log = stage.log();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("cannot reach the provider at")).collect();
    assert!(
        lines.len() == 1 && lines[0].contains(&format!("Z error cannot reach the provider at {nowhere}: ")),
        "{log}"
    );
}

#[test]
fn a_subscription_passes_through_and_that_is_said_once() {
    let stage = Stage::new("");
    let proxy = stage.serve(&[]);
    let mut talk = talk("sk-ant-oat01-somebodys");
    (0..3).for_each(|turn| talk.say(&proxy, &words(turn)));
    let told = stage.told();
    assert_eq!(told.matches("passed on untouched: it is paid for by a subscription").count(), 1, "{told}");
    assert!(!told.contains("sk-ant-oat01") && proxy.sessions().is_empty());
    assert_eq!(proxy.get("/api/v1/stats")["passed_through"], 3);
}

#[test]
fn what_cannot_fit_is_told_once_for_a_request() {
    let script = epitome_upstream::Script { window_tokens: Some(16_000), ..Default::default() };
    let stage = Stage::with(script);
    let proxy = stage.serve(&["--window", "16k"]);
    let talk = talk("a-key");
    let mut body = talk.body();
    let tool = |at: usize| json!({"name": format!("tool{at}"), "description": words(at), "input_schema": {"type": "object"}});
    body["tools"] = (0..60).map(tool).collect();
    body["messages"] = json!([{"role": "user", "content": "hello"}]);
    let (status, _) = proxy.try_act(reqwest::Method::POST, "/v1/messages", &body);
    assert_eq!(status, 400);
    let told = stage.told();
    assert_eq!(told.matches("not compacted: cannot fit").count(), 1, "{told}");
}
