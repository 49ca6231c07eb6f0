//! Lessons that only a proxy can learn: summaries asked of itself, input that comes meanwhile, whose rights a summary call
//! has, what a summariser apart costs, and what the provider counted.

use crate::stage::{Proxy, Speech, Stage, Talk, words};
use epitome_upstream::credential_hash;
use serde_json::{Value, json};

const MODEL: &str = "claude-haiku-4-5";

fn talk() -> Talk {
    Talk::new(Speech::Anthropic, MODEL).with("x-api-key", "a-clients-key")
}

/// An alias of the operator's at this address.
fn alias(name: &str, url: &str) -> String {
    format!(
        "[alias.{name}]\nprovider = \"compatible\"\nprotocol = \"anthropic\"\nbase_url = \"{url}\"\nmodel = \"{MODEL}\"\n"
    )
}

#[test]
fn l10_a_summary_that_is_asked_of_the_proxy_itself_is_passed_on_as_it_is() {
    let stage = Stage::new("");
    let proxy = stage.serve(&["--window", "8000"]);
    stage.settings(&format!("[summary]\nby = \"itself\"\n{}", alias("itself", proxy.address())));
    let record = talk().until_compacted(&proxy);
    assert_eq!((&record["summarizer"], &record["fallbacks"]), (&json!("itself"), &json!([])), "{record}");
    assert_eq!(proxy.sessions().len(), 1, "a summary call is no conversation");
    let summaries = stage.summaries();
    assert_eq!(json!(summaries.len()), record["spent"]["calls"]);
    for asked in summaries {
        assert_eq!((asked.status, asked.headers.get("x-epitome-summary")), (200, None));
    }
}

#[test]
fn l96_what_is_said_while_a_summary_is_written_waits_and_is_sent_whole() {
    let stage = Stage::new("summary:*=slow=300");
    stage.settings("[summary]\nby = \"session\"\nretries = 0\n");
    let proxy = stage.serve(&["--window", "32000"]);
    let mut said = talk();
    let turns = turns_until_compacted();
    for turn in 0..turns - 1 {
        said.say(&proxy, &words(turn));
    }
    // Three clients go on from the same words at once, and one summary serves them all.
    let next = |text: &str| {
        let mut next = said.clone();
        next.messages.push(json!({"role": "user", "content": words(turns - 1)}));
        next.messages.push(json!({"role": "assistant", "content": "noted"}));
        next.messages.push(json!({"role": "user", "content": text}));
        next
    };
    let [first, second, third] = ["the first", "the second", "the third"].map(next);
    let before = stage.arrived().len();
    stage.block_on(async { tokio::join!(first.ask(&proxy), second.ask(&proxy), third.ask(&proxy)) });
    let arrived = stage.arrived().split_off(before);
    let mut newest: Vec<String> =
        arrived.iter().map(|messages| messages.last().expect("there are some").to_string()).collect();
    newest.sort();
    let said = |text: &str| json!({"role": "user", "content": text}).to_string();
    assert_eq!(newest, [said("the first"), said("the second"), said("the third")]);
    let behind = json!({"role": "assistant", "content": "noted"});
    assert!(arrived.iter().all(|messages| messages[messages.len() - 2] == behind));
    let made = proxy.compactions().iter().filter(|record| record["outcome"] == "compacted").count();
    assert_eq!(made, 1);
}

fn turns_until_compacted() -> usize {
    let stage = Stage::new("");
    stage.settings("[summary]\nby = \"session\"\nretries = 0\n");
    let proxy = stage.serve(&["--window", "32000"]);
    let mut talk = talk();
    talk.until_compacted(&proxy);
    talk.messages.len() / 2
}

#[test]
fn l127_a_caller_without_access_to_the_model_is_summarised_without_one_and_with_nobody_elses_key() {
    let stage = Stage::new("summary:*=403");
    // There is an alias with a key of the operator's; nobody has chosen it.
    let alias = format!("{}key_env = \"STAGE_KEY\"\n", alias("other", stage.upstream_url()));
    stage.settings(&format!("[summary]\nby = \"session\"\nretries = 0\n{alias}"));
    let proxy = stage.serve(&["--window", "32000"]);
    let record = talk().until_compacted(&proxy);
    assert_eq!(record["summarizer"], "the embedded summariser", "{record}");
    assert!(record["fallbacks"][0]["why"].as_str().is_some_and(|why| why.contains("403")), "{record}");
    let summaries = stage.summaries();
    assert!(!summaries.is_empty());
    for asked in summaries {
        assert_eq!(asked.headers.get("x-api-key"), Some(&credential_hash("a-clients-key")));
    }
}

/// What the summary of a compaction was charged for: prompt, and what of it was read from the cache.
fn charged(stage: &Stage, preset: &str) -> (u64, u64) {
    let proxy = stage.serve(&["--window", "64000", "--preset", preset]);
    let record = talk().cached().until_compacted(&proxy);
    let spent = |name: &str| record["spent"][name].as_u64().unwrap_or_default();
    (spent("input"), spent("cache_read"))
}

#[test]
fn l123_the_bill_shows_what_a_summariser_apart_did_not_read_from_the_cache() {
    let (input, read) = charged(&Stage::new(""), "claude-code@2.1");
    assert!(read * 10 > input * 9, "its own model goes on from its cache: {read} of {input}");
    let stage = Stage::new("");
    stage.settings(&alias("session", stage.upstream_url()));
    let (input, read) = charged(&stage, "claude-code@2.1");
    assert!(input > 1_000 && read * 10 < input, "another begins anew: {read} of {input}");
}

/// What the session's history takes by our own count.
fn counted(proxy: &Proxy<'_>) -> u64 {
    proxy.sessions()[0]["tokens"].as_u64().expect("a number")
}

#[test]
fn what_the_provider_counts_is_what_the_next_request_is_held_against() {
    let run = |plan: &str, window: u64| {
        let stage = Stage::new(plan);
        let proxy = stage.serve(&["--window", &window.to_string()]);
        let mut talk = talk();
        (0..10).for_each(|turn| talk.say(&proxy, &words(turn)));
        let count = counted(&proxy);
        talk.say(&proxy, "go on");
        let records: Vec<Value> = proxy.compactions();
        (count, records.into_iter().map(|record| record["outcome"].clone()).collect::<Vec<_>>())
    };
    // By our own count the eleventh request is well below the trigger of four fifths.
    let (count, nothing) = run("", 64_000);
    let window = count * 3 / 2;
    assert_eq!((nothing, run("", window).1), (vec![], vec![]));
    let much = count * 7 / 5;
    let plan = format!("chat:8=usage={much},9=usage={much},10=usage={much}");
    assert_eq!(run(&plan, window).1, ["compacted"]);
}
