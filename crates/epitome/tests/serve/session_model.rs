//! Where a policy leaves summaries to the session's own model, the proxy asks the model of the request: over its
//! protocol, at its upstream, with its credential, and no longer than that request lasts, or for as long as a summary it
//! began in the background is written.

use crate::stage::{PRESETS, Speech, Stage, Talk, words};
use epitome_upstream::credential_hash;
use serde_json::{Value, json};

const MODEL: &str = "claude-haiku-4-5";
const SERVE: [&str; 2] = ["--window", "48000"];

/// The model that a body names.
fn model_of(body: &str) -> Value {
    serde_json::from_str::<Value>(body).expect("JSON")["model"].clone()
}

#[test]
fn every_preset_asks_the_requests_own_model_with_the_requests_own_key() {
    for preset in PRESETS {
        let stage = Stage::new("");
        let proxy = stage.serve(&[&SERVE[..], &["--preset", preset]].concat());
        let mut talk = Talk::new(Speech::Anthropic, MODEL).with("x-api-key", "a-clients-key");
        let record = talk.until_compacted(&proxy);
        assert_eq!(
            (&record["summarizer"], &record["fallbacks"]),
            (&json!(MODEL), &json!([])),
            "{preset}: {record}"
        );
        let summaries = stage.summaries();
        assert_eq!(json!(summaries.len()), record["spent"]["calls"], "{preset}");
        for asked in summaries {
            let key = asked.headers.get("x-api-key").cloned();
            assert_eq!(key, Some(credential_hash("a-clients-key")), "{preset}");
            assert_eq!(
                (asked.path.as_str(), model_of(&asked.body)),
                ("/v1/messages", json!(MODEL)),
                "{preset}"
            );
        }
        assert!(!stage.told().contains("a-clients-key"), "{preset}: {}", stage.told());
    }
}

#[test]
fn a_client_of_another_protocol_is_asked_for_over_its_own() {
    let stage = Stage::new("");
    let proxy = stage.serve(&[&SERVE[..], &["--preset", "claude-code"]].concat());
    let bearer = "Bearer a-clients-key";
    let mut talk =
        Talk::new(Speech::Chat, "gpt-4.1").with("authorization", bearer).with("openai-organization", "org-1");
    assert_eq!(talk.until_compacted(&proxy)["summarizer"], "gpt-4.1");
    let [asked] = &stage.summaries()[..] else { panic!("one summary: {:?}", stage.summaries()) };
    assert_eq!(asked.headers.get("authorization"), Some(&credential_hash(bearer)));
    assert_eq!((asked.path.as_str(), model_of(&asked.body)), ("/v1/chat/completions", json!("gpt-4.1")));
}

#[test]
fn the_operators_alias_goes_before_the_requests_own_model() {
    let stage = Stage::new("");
    let (alias, url) = ("provider = \"compatible\"\nprotocol = \"anthropic\"", stage.upstream_url());
    stage.settings(&format!(
        "[alias.session]\n{alias}\nbase_url = \"{url}\"\nmodel = \"claude-sonnet-4-5\"\n"
    ));
    let proxy = stage.serve(&[&SERVE[..], &["--preset", "claude-code"]].concat());
    let mut talk = Talk::new(Speech::Anthropic, MODEL).with("x-api-key", "a-clients-key");
    assert_eq!(talk.until_compacted(&proxy)["summarizer"], "session");
    let asked = stage.summaries().remove(0);
    assert_eq!((asked.headers.get("x-api-key"), model_of(&asked.body)), (None, json!("claude-sonnet-4-5")));
}

fn fallback(why: &str) -> Value {
    let why = format!("{why}; the embedded summariser writes in its place");
    json!([{"strategy": "summarize", "why": why}])
}

#[test]
fn a_request_without_a_credential_is_summarised_without_a_model_and_the_record_says_why() {
    let stage = Stage::new("");
    let proxy = stage.serve(&[&SERVE[..], &["--preset", "claude-code"]].concat());
    let record = Talk::new(Speech::Anthropic, MODEL).until_compacted(&proxy);
    let why = "the request bears no credential that its model could be asked with";
    assert_eq!(
        (&record["summarizer"], &record["fallbacks"]),
        (&json!("the embedded summariser"), &fallback(why))
    );
    assert_eq!(stage.summaries().len(), 0);
}

#[test]
fn a_credential_is_not_kept_for_later() {
    let stage = Stage::new("");
    let proxy = stage.serve(&[&SERVE[..], &["--preset", "claude-code"]].concat());
    let mut talk = Talk::new(Speech::Anthropic, MODEL).with("x-api-key", "a-clients-key");
    for turn in 0..10 {
        talk.say(&proxy, &words(turn));
    }
    let record = proxy.compact();
    let why = "the session's own model is asked with a request's credential, and none is under way";
    assert_eq!(
        (&record["summarizer"], &record["fallbacks"]),
        (&json!("the embedded summariser"), &fallback(why))
    );
    assert_eq!(stage.summaries().len(), 0);
}

#[test]
fn a_model_that_fails_is_followed_by_what_the_policy_says() {
    let stage = Stage::new("summary:*=401");
    stage.settings("[summary]\nby = \"session\"\n");
    let proxy = stage.serve(&SERVE);
    let mut talk = Talk::new(Speech::Anthropic, MODEL).with("x-api-key", "a-clients-key");
    let record = talk.until_compacted(&proxy);
    assert_eq!(record["summarizer"], "the embedded summariser", "{record}");
    assert!(record["fallbacks"][0]["why"].as_str().is_some_and(|why| why.contains("HTTP 401")), "{record}");
    assert!(!stage.summaries().is_empty());
}

#[test]
fn the_token_of_a_subscription_is_used_for_its_own_request_and_nothing_else() {
    for (name, value) in [("authorization", "Bearer sk-ant-oat01-mine"), ("x-api-key", "sk-ant-oat01-mine")] {
        let stage = Stage::new("");
        let proxy = stage.serve(&[&SERVE[..], &["--preset", "claude-code"]].concat());
        let mut talk = Talk::new(Speech::Anthropic, MODEL).with(name, value);
        for turn in 0..60 {
            talk.say(&proxy, &words(turn));
        }
        assert_eq!((stage.summaries().len(), proxy.sessions().len()), (0, 0), "{name}");
        let sent = stage.report().recorded.pop().expect("the last one");
        let body: Value = serde_json::from_str(&sent.body).expect("JSON");
        assert_eq!(body["messages"].as_array().map(Vec::len), Some(119), "nothing of it was changed");
    }
}
