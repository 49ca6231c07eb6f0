//! `serve --observe`, what a server's own tables say, and what servers have learned, seen through the program.

use crate::stage::{Speech, Stage, Talk, words};
use serde_json::{Value, json};

const MODEL: &str = "claude-sonnet-4-5";

/// What a command of the program prints, as JSON.
fn told(stage: &Stage, args: &[&str]) -> Value {
    let ran = stage.command(args).output().expect("the program runs");
    assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    serde_json::from_slice(&ran.stdout).expect("--json prints JSON")
}

fn said(stage: &Stage, args: &[&str]) -> String {
    let ran = stage.command(args).output().expect("the program runs");
    assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).expect("it writes UTF-8")
}

/// A talk until something would have been compacted, and a little longer.
fn talk_on(stage: &Stage, proxy: &crate::stage::Proxy<'_>) -> Talk {
    let mut talk = Talk::new(Speech::Anthropic, MODEL).with("x-api-key", "a-key");
    for turn in 0..60 {
        talk.say(proxy, &words(turn));
    }
    let whole = stage.arrived().pop().expect("it arrived");
    assert_eq!(whole.len(), 119, "all of it was sent");
    talk
}

#[test]
fn what_was_only_observed_is_stored_and_shown_as_not_done() {
    let stage = Stage::new("");
    stage.settings("[serve]\nobserve = true\n");
    let place = stage.path("sessions.db");
    let store = place.to_str().expect("a path");
    let proxy = stage.serve(&["--window", "16k", "--store", store]);
    talk_on(&stage, &proxy);
    let listed = proxy.compactions();
    assert!(!listed.is_empty() && listed.iter().all(|one| one["standing"] == "observed"), "{listed:?}");
    assert!(proxy.interrupt(), "{}", stage.log());
    let log = stage.told();
    let lines = log.lines().filter(|line| line.contains(": would have compacted from ")).count();
    assert_eq!(lines, listed.len());
    let stopped = format!("; only observed: {lines} compaction");
    assert!(log.lines().last().is_some_and(|last| last.contains(&stopped)), "{log}");
    let cost = told(&stage, &["cost", "--json", "--store", store]);
    let total = &cost["total"];
    assert_eq!([&total["compactions"], &total["saved"]["tokens"], &total["observed"]], [0, 0, lines]);
    assert!(total["observed_tokens"].as_u64() > Some(10_000), "{total}");
    let text = said(&stage, &["cost", "--store", store]);
    assert!(text.contains(&format!("only observed, not done: {lines} compactions")), "{text}");
    let history = said(&stage, &["history", "--store", store, "--all", "s0001"]);
    assert_eq!(history.matches("not done, only observed: ").count(), lines, "{history}");
}

#[test]
fn a_server_finds_its_upstream_in_the_operators_file_and_config_shows_it() {
    let stage = Stage::new("");
    let url = stage.upstream_url().to_owned();
    stage.settings(&format!("[upstream]\nurl = \"http://127.0.0.1:9\"\nanthropic = \"{url}\"\nroutes = [\"model:gpt=http://127.0.0.1:9\"]\n"));
    let config = told(&stage, &["config", "--json", "--door", "serve"]);
    let routes = json!(["model:gpt=http://127.0.0.1:9"]);
    let expected =
        json!({"anthropic": url, "openai": "http://127.0.0.1:9", "routes": routes, "observe": false});
    assert_eq!(config["server"], expected);
    let text = said(&stage, &["config", "--door", "serve"]);
    assert!(text.contains(&format!("upstream anthropic {url}, openai http://127.0.0.1:9")), "{text}");
    assert_eq!(told(&stage, &["config", "--json"]).get("server"), None, "it is a server's");
    stage.settings("[upstream]\nanthropic = \"api.x\"\n");
    let ran = stage.command(&["config"]).output().expect("the program runs");
    let refused = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(
        refused.contains("`upstream.anthropic`: `api.x` is no base URL; write https://api.x"),
        "{refused}"
    );
}

#[test]
fn no_project_says_where_requests_go() {
    let stage = Stage::new("");
    stage.put("project/epitome.toml", "[upstream]\nurl = \"http://evil.example\"\n");
    let mut command = stage.command(&["config"]);
    let ran = command.current_dir(stage.path("project")).output().expect("the program runs");
    let refused = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(!ran.status.success() && refused.contains("`[upstream]` is the operator's to say"), "{refused}");
}

#[test]
fn what_a_server_learned_is_listed_and_forgotten_by_a_command() {
    let script = epitome_upstream::Script { window_tokens: Some(9_000), ..Default::default() };
    let stage = Stage::with(script);
    let place = stage.path("sessions.db");
    let store = place.to_str().expect("a path");
    let proxy = stage.serve(&["--window", "64k", "--store", store]);
    let mut talk = Talk::new(Speech::Anthropic, MODEL).with("x-api-key", "a-key");
    for turn in 0..60 {
        talk.say(&proxy, &words(turn));
    }
    assert!(proxy.interrupt(), "{}", stage.log());
    let learned = told(&stage, &["models", "--learned", "--json", "--store", store]);
    assert_eq!((&learned[0]["model"], &learned[0]["window"]["tokens"]), (&json!(MODEL), &json!(9_000)));
    let text = said(&stage, &["models", "--learned", "--store", store]);
    assert!(text.contains(MODEL) && text.contains("9,000"), "{text}");
    let forgotten = told(&stage, &["models", MODEL, "--forget", "--json", "--store", store]);
    assert_eq!(forgotten, json!({"forgotten": 1}));
    assert_eq!(told(&stage, &["models", "--learned", "--json", "--store", store]), json!([]));
}
