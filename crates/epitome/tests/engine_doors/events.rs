//! What happened is told beside what came of it.

use crate::sandbox::{Sandbox, talk};
use serde_json::{Value, json};

fn names(events: &Value) -> Vec<&str> {
    let events = events.as_array().map(Vec::as_slice).unwrap_or_default();
    events.iter().map(|one| one["event"].as_str().expect("a name")).collect()
}

#[test]
fn compact_tells_what_happened_in_order() {
    let sandbox = Sandbox::with(talk("gpt-5", 20));
    let line = sandbox.json(&["compact", "session", "--to", "native", "--window", "16000", "--json"]);
    assert_eq!(names(&line["events"]), ["compaction.triggered", "compaction.completed"]);
    let [begun, done] = &line["events"].as_array().expect("a list")[..] else { panic!("two events") };
    assert_eq!((&begun["trigger"], &begun["window"]), (&json!("manual"), &json!(16_000)));
    assert_eq!((&done["entry"], done.get("record")), (&line["entry"], None), "the record is the line itself");
}

#[test]
fn replay_tells_what_happened_with_the_call_it_came_before() {
    let sandbox = Sandbox::with(talk("gpt-5", 40));
    let calls = sandbox.calls(&["--window", "8000"]);
    let made: Vec<&Value> =
        calls.iter().filter(|call| call["compaction"]["outcome"] == "compacted").collect();
    assert!(!made.is_empty(), "it is compacted");
    let told =
        |call: &&&Value| names(&call["events"]).ends_with(&["compaction.triggered", "compaction.completed"]);
    assert_eq!(made.iter().filter(told).count(), made.len());
    let warned = calls.iter().filter(|call| names(&call["events"]).contains(&"compaction.approaching"));
    assert!(warned.count() >= made.len(), "each is announced");
}

#[test]
fn a_mode_that_asks_says_where_nobody_can_be_asked() {
    let sandbox = Sandbox::with(talk("gpt-5", 40));
    let told = |mode: &str| {
        let set = format!("mode={mode}");
        let calls = sandbox.calls(&["--window", "8000", "--set", &set, "--set", "guard.recoveries_max=0"]);
        assert!(calls.iter().all(|call| call["compaction"]["outcome"] != "compacted"), "{mode}");
        let events = calls.iter().flat_map(|call| call["events"].as_array().cloned().unwrap_or_default());
        let due: Vec<Value> = events.filter(|one| one["event"] == "compaction.due").collect();
        assert_eq!(due.len(), 1, "{mode}: it is said once");
        due[0]["why"].as_str().expect("a sentence").to_owned()
    };
    assert_eq!(told("remind"), "these settings leave it to a person: compact by hand");
    assert!(told("ask").starts_with("nobody can be asked here (`mode = \"ask\"`)"));
}
