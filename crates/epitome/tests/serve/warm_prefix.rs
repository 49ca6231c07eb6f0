//! `summary.input = "prefix"`: the session's own request with the instruction behind it, which the provider reads from
//! its cache.

use crate::stage::{Proxy, Speech, Stage, Talk, words};
use epitome_upstream::{Kind, Recorded};
use serde_json::{Value, json};

const SERVE: [&str; 4] = ["--window", "64000", "--preset", "claude-code@2.1"];
const INSTRUCTION: &str = "Your task now is a summary";

fn talk(speech: Speech) -> Talk {
    match speech {
        Speech::Anthropic => Talk::new(speech, "claude-haiku-4-5")
            .with("x-api-key", "a-clients-key")
            .with("anthropic-beta", "context-1"),
        Speech::Chat => Talk::new(speech, "gpt-4.1").with("authorization", "Bearer a-clients-key"),
    }
}

fn body(request: &Recorded) -> Value {
    serde_json::from_str(&request.body).expect("JSON")
}

/// The one summary that was asked for, and the request that was sent before it.
fn asked(stage: &Stage) -> (Recorded, Recorded) {
    let all = stage.report().recorded;
    let at = all.iter().position(|request| request.kind == Kind::Summary).expect("one was asked for");
    (all[at].clone(), all[at - 1].clone())
}

// door: serve
#[test]
fn c28_a_summary_goes_on_from_the_sessions_own_request_and_is_read_from_the_cache() {
    for speech in [Speech::Anthropic, Speech::Chat] {
        let stage = Stage::new("");
        let proxy = stage.serve(&SERVE);
        let mut talk = talk(speech).cached();
        let record = talk.until_compacted(&proxy);
        assert_eq!(record["fallbacks"], json!([]), "{record}");
        let (summary, before) = asked(&stage);
        let (summary_body, before_body) = (body(&summary), body(&before));
        let list = |body: &Value| body["messages"].as_array().expect("a list").clone();
        let (said, known) = (list(&summary_body), list(&before_body));
        assert!(said.starts_with(&known), "{speech:?}: what the provider knows comes first");
        // The reply and the newest input, with the instruction behind it.
        assert_eq!(said.len(), known.len() + 2, "{speech:?}");
        assert!(said.last().expect("there are some").to_string().contains(INSTRUCTION));
        assert_eq!(summary_body["system"], Value::Null, "{speech:?}: the session's own, which is none");
        let (read, sent) = (summary.usage.expect("it was answered"), before.usage.expect("so was this"));
        assert!(read.cache_read + 128 > sent.prompt, "{speech:?}: {read:?} after {sent:?}");
        assert_eq!(summary.headers.get("anthropic-beta"), before.headers.get("anthropic-beta"), "{speech:?}");
    }
}

/// Sends a long history that comes from elsewhere.
fn say_at_once(proxy: &Proxy<'_>, mut talk: Talk) {
    for turn in 0..140 {
        talk.messages.push(json!({"role": "user", "content": words(turn)}));
        talk.messages.push(json!({"role": "assistant", "content": "noted"}));
    }
    talk.say(proxy, "go on");
}

#[test]
fn a_history_that_no_provider_has_seen_is_given_as_a_text() {
    let stage = Stage::new("");
    let proxy = stage.serve(&SERVE);
    say_at_once(&proxy, talk(Speech::Anthropic));
    let summary = stage.summaries().remove(0);
    let messages = body(&summary)["messages"].as_array().map(Vec::len);
    assert_eq!((messages, proxy.compactions().len()), (Some(1), 1));
}
