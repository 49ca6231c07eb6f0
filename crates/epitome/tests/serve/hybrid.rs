//! `summary.parts = "prose"` behind the proxy and its API: asked for behind the session's own request while that is
//! cached, put together with what the machine writes, and refused where it is of no use.

use crate::stage::{Speech, Stage, Talk, words};
use serde_json::{Value, json};

const MODEL: &str = "claude-haiku-4-5";
const SERVE: [&str; 2] = ["--window", "48000"];
const PROSE: &str = "# In the model's words\n## Intent\n";
const COPIED: &str = "\n\n# From the log, word for word\n";

fn talk() -> Talk {
    Talk::new(Speech::Anthropic, MODEL).with("x-api-key", "a-clients-key")
}

fn summary(record: &Value) -> &str {
    record["summary"].as_str().unwrap_or_else(|| panic!("there is none: {record}"))
}

#[test]
fn the_sessions_own_model_is_asked_for_prose_behind_its_own_cached_request() {
    let stage = Stage::new("");
    stage.settings("[summary]\nby = \"session\"\n");
    let proxy = stage.serve(&SERVE);
    let record = talk().cached().until_compacted(&proxy);
    assert_eq!((&record["summarizer"], &record["fallbacks"]), (&json!(MODEL), &json!([])));
    let (prose, copied) = summary(&record).split_once(COPIED).expect("both parts");
    assert!(prose.contains(PROSE) && copied.contains("## Dialogue, oldest first\n"), "{prose}\n{copied}");
    let all = stage.report().recorded;
    let [asked] = &stage.summaries()[..] else { panic!("one call") };
    let at = all.iter().position(|request| request.body == asked.body).expect("it is among all");
    let list = |body: &str| serde_json::from_str::<Value>(body).expect("JSON")["messages"].clone();
    let (said, known) = (list(&asked.body), list(&all[at - 1].body));
    let (said, known) = (said.as_array().expect("a list"), known.as_array().expect("a list"));
    assert!(said.starts_with(known), "what the provider knows comes first");
    assert!(said.last().expect("there are some").to_string().contains("Write the prose of a summary"));
    let spent = &record["spent"];
    let tokens = |name: &str| spent[name].as_u64().expect("a number");
    assert!(tokens("cache_read") * 10 > tokens("input") * 8 && tokens("output") <= 1_000, "{spent}");
}

#[test]
fn what_is_compacted_through_the_api_is_written_by_both() {
    let stage = Stage::new("");
    let (alias, url) = ("provider = \"compatible\"\nprotocol = \"anthropic\"", stage.upstream_url());
    stage.settings(&format!(
        "[alias.fast]\n{alias}\nbase_url = \"{url}\"\nmodel = \"{MODEL}\"\n\n[summary]\nby = \"fast\"\n"
    ));
    let proxy = stage.serve(&SERVE);
    let mut talk = talk();
    (0..10).for_each(|turn| talk.say(&proxy, &words(turn)));
    let record = proxy.compact();
    assert_eq!(record["summarizer"], "fast");
    assert!(summary(&record).contains(PROSE) && summary(&record).contains(COPIED), "{record}");
}

#[test]
fn a_bad_answer_behind_the_proxy_leaves_the_summary_to_the_machine() {
    for order in ["echo", "loop", "headings", "chatter", "astray"] {
        let stage = Stage::new(&format!("summary:*={order}"));
        stage.settings("[summary]\nby = \"session\"\n");
        let proxy = stage.serve(&SERVE);
        let record = talk().until_compacted(&proxy);
        assert_eq!(record["summarizer"], "the embedded summariser", "{order}: {record}");
        let why = record["fallbacks"][0]["why"].as_str().unwrap_or_default();
        assert!(why.starts_with("the summary "), "{order}: {why}");
        assert!(!summary(&record).contains(PROSE), "{order}");
    }
}
