//! Operator-Use through the doors: what is asked for in the middle of a turn waits for its end.

use crate::stage::{Speech, Stage, Talk, words};
use reqwest::Method;
use serde_json::json;

// door: serve
#[test]
fn o4_what_is_asked_for_in_a_turn_runs_once_when_it_has_ended_though_nothing_runs_by_itself() {
    let stage = Stage::new("");
    stage.settings("mode = \"off\"\n");
    let proxy = stage.serve(&["--window", "64000", "--preset", "operator-use"]);
    let mut talk = Talk::new(Speech::Anthropic, "claude-haiku-4-5").with("x-api-key", "a-clients-key");
    for turn in 0..40 {
        talk.say(&proxy, &words(turn));
    }
    let id = proxy.sessions()[0]["session"].as_str().expect("an id").to_owned();
    let path = format!("/api/v1/sessions/{id}/compact");
    let asked = proxy.act(Method::POST, &path, &json!({"at_turn_end": true}));
    assert_eq!((&asked["record"], proxy.compactions()), (&json!(null), vec![]));
    talk.say(&proxy, "go on");
    let outcomes = || {
        let records = proxy.compactions().into_iter();
        records.map(|record| (record["trigger"].clone(), record["outcome"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(outcomes(), [(json!("requested"), json!("compacted"))], "{:?}", proxy.compactions());
    talk.say(&proxy, "and on");
    assert_eq!(outcomes().len(), 1);
}
