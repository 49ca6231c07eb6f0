//! `summary.parts = "prose"` through `compact` and `replay`: what a model is asked for and answers, what the machine adds,
//! and what becomes of answers that are of no use.

use crate::stage::{MIDDLE, SMALL, Stage};
use serde_json::{Value, json};

const WINDOW: [&str; 4] = ["--summarizer", "fast", "--window", "64000"];
const PROSE: &str = "# In the model's words\n## Intent\n";
const COPIED: &str = "\n\n# From the log, word for word\n";

fn compact(stage: &Stage, more: &[&str]) -> Value {
    stage.json(&[&["compact", "session", "-o", "out", "--json"], &WINDOW[..], more].concat())
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

fn notes(record: &Value) -> Vec<&str> {
    record["notes"].as_array().expect("a list").iter().filter_map(Value::as_str).collect()
}

#[test]
fn a_model_writes_prose_and_the_machine_the_rest() {
    let stage = Stage::new(MIDDLE, "");
    let record = compact(&stage, &[]);
    let summary = record["summary"].as_str().expect("a text");
    let (prose, copied) = summary.split_once(COPIED).expect("both parts");
    assert!(prose.contains(PROSE) && prose.contains("\n## Next step\n"), "{prose}");
    assert!(copied.contains("## Dialogue, oldest first\n"), "{copied}");
    assert_eq!((&record["summarizer"], &record["fallbacks"]), (&json!("fast"), &json!([])));
    let alone = stage.json(&["compact", "session", "--window", "64000", "--json"]);
    let (with, without) = (number(&record["summary_tokens"]), number(&alone["summary_tokens"]));
    assert!(with * 20 <= without * 21, "{with} beside {without} by the machine alone");
}

#[test]
fn prose_is_asked_for_in_less_than_a_whole_summary() {
    let stage = Stage::new(SMALL, "");
    let out = |parts: &str| {
        let record = compact(&stage, &["--set", &format!("summary.parts={parts}")]);
        assert_eq!(record["summarizer"], "fast", "{record}");
        (number(&record["spent"]["calls"]), number(&record["spent"]["output"]), stage.limits().pop())
    };
    let (prose, all) = (out("prose"), out("all"));
    assert!(prose.0 <= all.0 && prose.1 < all.1 && prose.2 < all.2, "{prose:?} beside {all:?}");
}

#[test]
fn every_answer_of_no_use_is_asked_for_again_and_the_record_says_why() {
    for (order, why) in [
        ("echo", "the summary repeats its instructions: "),
        ("loop", "the summary says the same again and again: The person wants the tests to pass."),
        ("headings", "the summary is headings with next to nothing below them"),
        ("chatter", "the summary talks to whoever asked: Sure! Here is the summary you asked for:"),
        ("astray", "the summary is of something else: "),
        ("nonsense", "the summary has none of the sections it was asked for: "),
        ("error-text", "what came back is no summary: API Error: 429"),
        ("empty", "the summary is empty"),
        ("truncate", "the summary was cut off at its limit"),
        ("tool-call", "the summariser called a tool instead of writing"),
    ] {
        let stage = Stage::new(SMALL, &format!("summary:1={order}"));
        let record = compact(&stage, &[]);
        let again = format!("the model was asked again: {why}");
        assert!(notes(&record).iter().any(|note| note.starts_with(&again)), "{order}: {:?}", notes(&record));
        assert_eq!(
            (&record["summarizer"], &record["spent"]["calls"]),
            (&json!("fast"), &json!(2)),
            "{order}"
        );
        let stage = Stage::new(SMALL, &format!("summary:*={order}"));
        let record = compact(&stage, &[]);
        let told = record["fallbacks"][0]["why"].as_str().unwrap_or_default();
        assert!(told.starts_with(why), "{order}: {told}");
        assert_eq!(record["summarizer"], "the embedded summariser", "{order}");
        let summary = record["summary"].as_str().expect("a text");
        assert!(!summary.contains(PROSE) && !summary.contains(COPIED), "{order}: {summary}");
    }
}

#[test]
fn a_chain_of_compactions_hands_the_prose_on() {
    let stage = Stage::new(MIDDLE, "");
    let ran = stage.run(&["replay", "session", "--summarizer", "fast", "--window", "40000", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let asked = stage.bodies();
    let later: Vec<&String> = asked.iter().filter(|text| text.contains("prose of a summary anew")).collect();
    assert!(!later.is_empty(), "{} calls, and none goes on from another", asked.len());
    for text in later {
        let previous = text.split("<previous-summary>").nth(1).expect("it was handed on");
        let previous = previous.split("</previous-summary>").next().expect("it ends");
        assert!(!previous.contains("From the log, word for word"), "{previous}");
    }
    let of_ours = |text: &&String| text.contains("<previous-summary>\\n## Intent");
    assert!(asked.iter().any(|text| of_ours(&text)), "our own prose is handed on");
}

#[test]
fn a_replay_asks_for_prose_too() {
    let stage = Stage::new(SMALL, "");
    let ran = stage.run(&["replay", "session", "--summarizer", "fast", "--window", "24000", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let lines = ran.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let made: Vec<Value> = lines.filter(|line| line["compaction"]["strategy"] == "summarize").collect();
    assert!(!made.is_empty());
    for line in made {
        let summary = line["compaction"]["summary"].as_str().expect("a text");
        assert!(summary.contains(PROSE) && summary.contains(COPIED), "{summary}");
    }
}

#[test]
fn config_shows_what_a_model_is_asked_for() {
    let stage = Stage::new(SMALL, "");
    let shown = |preset: &str| {
        let told = stage.run(&["config", "--all", "--preset", preset]).out;
        told.lines()
            .find(|line| line.trim_start().starts_with("summary.parts"))
            .unwrap_or_default()
            .to_owned()
    };
    assert!(shown("default").contains("prose") && shown("pi").contains("all"), "{}", shown("default"));
}
