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
    assert!(last.contains(" fewer; "), "{last}");
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
    let by_model = "epitome_model_requests_total{model=\"claude-sonnet-4-5\"} 1\n";
    assert!(metrics.contains(by_model), "{metrics}");
    let heads = |word: &str| metrics.matches(&format!("# {word} epitome_")).count();
    assert_eq!((heads("HELP"), heads("TYPE")), (23, 23), "{metrics}");
    let posted = page("/v1/messages");
    assert!(posted.contains("conversations are sent here with POST"), "{posted}");
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
    let mut talk = talk("a-key");
    talk.messages.push(json!({"role": "user", "content": "hello"}));
    for _ in 0..3 {
        let (status, _) = proxy.try_act(reqwest::Method::POST, "/v1/messages", &talk.body());
        assert_eq!(status, 502);
    }
    let stats = proxy.get("/api/v1/stats");
    let counts = ["requests", "failed", "tokens_sent", "tokens_without"].map(|name| stats[name].clone());
    assert_eq!(counts, [0, 3, 0, 0].map(Value::from));
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

/// Some 1,800 tokens, of which none is like another.
fn long_words(turn: usize) -> String {
    (0..4).map(|part| words(turn * 4 + part)).collect()
}

#[test]
fn a_compaction_that_is_held_back_says_so_and_why_it_runs_all_the_same() {
    let stage = Stage::new("");
    let proxy = stage.serve(&["--window", "16k"]);
    let mut talk = talk("a-key");
    (0..45).for_each(|turn| talk.say(&proxy, &long_words(turn)));
    let told = stage.told();
    let held = "automatic compaction now waits until the window itself is full, and asks no model: the context was full again right after ";
    let (before, after) = told.split_once(held).unwrap_or_else(|| panic!("{told}"));
    let reasons = |text: &str, reason: &str| {
        text.lines().filter(|line| line.contains(": compacted from ") && line.contains(reason)).count()
    };
    assert!(reasons(before, "(threshold reached; ") > 0, "{told}");
    assert_eq!((reasons(after, "(threshold reached; "), told.matches(held).count()), (0, 1), "{told}");
    assert!(reasons(after, "(too long for the provider; ") > 0, "{told}");
}

#[test]
fn without_a_cache_a_compaction_saves_what_it_does_not_send_and_no_prompt_is_beyond_its_window() {
    let stage = Stage::new("");
    let proxy = stage.serve(&["--window", "16k"]);
    let mut talk = talk("a-key");
    for turn in 0..24 {
        // A client that says the time at the very front is never read from a cache.
        talk.system = Some(format!("It is {turn} o'clock. You help.").leak());
        talk.say(&proxy, &long_words(turn));
    }
    assert_eq!(proxy.sessions()[0]["cache_read_tokens"], 0);
    let stats = proxy.get("/api/v1/stats");
    let number = |name: &str| stats[name].as_f64().expect("a number");
    let fewer = number("tokens_without") - number("tokens_sent");
    let price = 3.0 / 1e6;
    assert!(fewer > 0.0 && (number("dollars_saved") - fewer * price).abs() < 1e-6, "{stats}");
    assert!(number("tokens_without") <= 24.0 * 16_000.0, "{stats}");
    assert_eq!((number("requests"), number("unpriced")), (24.0, 0.0));
}

#[test]
fn a_message_larger_than_the_window_is_told_as_cut_and_not_as_a_summary_that_failed() {
    let stage = Stage::new("");
    let proxy = stage.serve(&["--window", "16k"]);
    talk("a-key").say(&proxy, &"and so on it goes ".repeat(12_000));
    let told = stage.told();
    assert!(told.contains("; 1 message cut to head and tail; "), "{told}");
    assert!(!told.contains("the summary is empty"), "{told}");
}
