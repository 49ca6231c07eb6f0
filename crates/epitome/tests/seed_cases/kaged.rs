//! kaged through the doors: the point, who writes by which words, what is kept, overflow, going back, and judgement.

use crate::door::{alias, compact, ids, last_outcome, written};
use crate::stage::{Proxy, Speech, Stage, Talk, words};
use crate::transcripts::body;
use reqwest::Method;
use serde_json::{Value, json};

const CLAUDE: &str = "claude-haiku-4-5";
const SERVE: [&str; 4] = ["--window", "32000", "--preset", "kaged"];
/// Counts that can be told beforehand.
const EVEN: [&str; 4] = ["--preset", "kaged", "--set", "count.text=chars/4"];
const OVERFLOW: &str = "too long";
/// The thirteenth request is too long, and so is what is sent in its place.
const REFUSALS: &str = "chat:13=overflow,14=overflow";

fn with_body(messages: usize, tokens: usize) -> Stage {
    let stage = Stage::new("");
    stage.put("session", &body(messages, tokens, 500));
    stage
}

fn talk() -> Talk {
    Talk::new(Speech::Anthropic, CLAUDE).with("x-api-key", "a-clients-key")
}

/// What a client hears under [`REFUSALS`] of its thirteenth message.
fn refusal(talk: &mut Talk, stage: &Stage, proxy: &Proxy<'_>) -> (u16, Value) {
    for turn in 0..12 {
        talk.say(proxy, &words(turn));
    }
    talk.messages.push(json!({"role": "user", "content": "go on"}));
    stage.block_on(talk.answer(proxy))
}

/// What a message says, however its content is written.
fn said(message: &Value) -> String {
    let content = &message["content"];
    content.as_str().or(content[0]["text"].as_str()).expect("a text").to_owned()
}

/// The proxy's only session, as the API calls it.
fn session(proxy: &Proxy<'_>) -> String {
    proxy.sessions()[0]["session"].as_str().expect("an id").to_owned()
}

// door: replay
#[test]
fn k1_a_call_is_compacted_from_85_percent_on() {
    let outcome =
        |tokens| last_outcome(&with_body(60, tokens), &[&EVEN[..], &["--window", "32000"]].concat());
    assert_eq!([outcome(27_199), outcome(27_200)], [Value::Null, json!("compacted")]);
}

// door: compact
#[test]
fn k3_with_nothing_set_dropping_summarises_first_by_the_built_in_block() {
    let stage = with_body(49, 20_000);
    let plan =
        compact(&stage, &["--preset", "kaged", "--window", "32000", "--to", "native", "--dry-run"])["plan"]
            .take();
    assert_eq!((&plan["strategies"], &plan["leaving"]), (&json!(["summarize", "drop"]), &ids(1..21)));
    stage.settings(&alias(&stage, "session", CLAUDE));
    let record = compact(&stage, &["--preset", "kaged", "--window", "32000", "--to", "native"]);
    assert_eq!((&record["strategy"], &record["superseded"]), (&json!("summarize"), &ids(1..21)));
    let asked: Value = serde_json::from_str(&stage.summaries()[0].body).expect("JSON");
    let prompt = written(&stage, "config/epitome/prompts/compaction-summary.md");
    let last = asked["messages"].as_array().and_then(|all| all.last()).expect("there are some").to_string();
    assert_eq!(asked["max_tokens"], 1_500);
    assert!(
        last.contains(json!(prompt.trim()).as_str().and_then(|text| text.lines().next()).expect("words")),
        "{last}"
    );
}

// door: serve
#[test]
fn k5_a_summariser_that_fails_leaves_plain_dropping() {
    let stage = Stage::new("summary:*=empty");
    let proxy = stage.serve(&SERVE);
    let record = talk().until_compacted(&proxy);
    assert_eq!((&record["strategy"], stage.summaries().len()), (&json!("drop"), 1));
    let given_up = json!([{"strategy": "summarize", "why": "the summary is empty"}]);
    assert_eq!(record["fallbacks"], given_up);
}

/// How many turns it takes until something is compacted.
fn turns_until_compacted() -> usize {
    let stage = Stage::new("");
    let proxy = stage.serve(&SERVE);
    let mut talk = talk();
    talk.until_compacted(&proxy);
    talk.messages.len() / 2
}

// door: serve
#[test]
fn k23_while_a_reply_is_under_way_nothing_is_compacted_and_before_the_next_call_it_is() {
    let turns = turns_until_compacted();
    // The reply before that call takes its time.
    let stage = Stage::new(&format!("chat:{}=slow=1500", turns - 1));
    let proxy = stage.serve(&SERVE);
    let mut talk = talk();
    for turn in 0..turns - 2 {
        talk.say(&proxy, &words(turn));
    }
    talk.messages.push(json!({"role": "user", "content": words(turns - 2)}));
    let path = format!("/api/v1/sessions/{}/compactions", session(&proxy));
    let look = async {
        while stage.arrived().len() < turns - 1 {
            tokio::task::yield_now().await;
        }
        proxy.look(&path).await
    };
    let (reply, meanwhile) = stage.block_on(async { tokio::join!(talk.ask(&proxy), look) });
    assert_eq!(meanwhile, json!([]));
    talk.messages.push(reply);
    assert_eq!(proxy.get(&path), json!([]), "nor when it has ended");
    talk.say(&proxy, &words(turns - 1));
    assert_eq!(proxy.compactions()[0]["outcome"], "compacted");
}

// door: compact
#[test]
fn k10_twenty_older_messages_are_summarised_and_the_newest_stay() {
    let stage = with_body(49, 20_000);
    stage.settings(&alias(&stage, "session", CLAUDE));
    let record = compact(&stage, &["--preset", "kaged", "--window", "32000", "--to", "native"]);
    let mut kept = ids(0..1);
    kept.as_array_mut().expect("a list").extend(ids(21..50).as_array().expect("a list").clone());
    assert_eq!((&record["superseded"], &record["kept"]), (&ids(1..21), &kept));
    assert_eq!((&record["summarizer"], stage.summaries().len()), (&json!("session"), 1));
}

// door: serve
#[test]
fn k11_the_requests_own_model_writes_by_the_prompt_at_its_path() {
    let stage = Stage::new("");
    stage.put("config/epitome/prompts/compaction-summary.md", "Tell it as a ballad.");
    let proxy = stage.serve(&SERVE);
    let record = talk().until_compacted(&proxy);
    assert_eq!((&record["summarizer"], &record["fallbacks"]), (&json!(CLAUDE), &json!([])));
    assert!(stage.summaries()[0].body.contains("Tell it as a ballad."));
}

// door: serve
#[test]
fn k8_the_system_prompt_and_the_first_message_are_in_every_request() {
    for strategy in ["summarize", "drop"] {
        let stage = Stage::new("");
        stage.settings(&format!("strategy = [\"{strategy}\"]\n"));
        let proxy = stage.serve(&SERVE);
        let mut talk = talk();
        talk.system = Some("You are careful.");
        let record = talk.until_compacted(&proxy);
        assert_eq!(record["strategy"], strategy);
        let chats =
            stage.report().recorded.into_iter().filter(|one| one.kind == epitome_upstream::Kind::Chat);
        for request in chats {
            let sent: Value = serde_json::from_str(&request.body).expect("JSON");
            assert_eq!(
                (&sent["system"], said(&sent["messages"][0])),
                (&json!("You are careful."), words(0)),
                "{strategy}"
            );
        }
    }
}

// door: serve
#[test]
fn k24_an_overflow_is_compacted_and_sent_again_once() {
    let stage = Stage::new("chat:13=overflow");
    let proxy = stage.serve(&SERVE);
    let mut talk = talk();
    for turn in 0..13 {
        talk.say(&proxy, &words(turn));
    }
    let records = proxy.compactions();
    let [record] = &records[..] else { panic!("one compaction: {records:?}") };
    assert_eq!((&record["outcome"], &record["trigger"]), (&json!("compacted"), &json!("overflow")));
    assert_eq!(stage.arrived().len(), 14, "one of them twice");
}

// door: serve
#[test]
fn k24_a_second_overflow_of_the_same_request_surfaces() {
    let stage = Stage::new(REFUSALS);
    let proxy = stage.serve(&SERVE);
    let (status, error) = refusal(&mut talk(), &stage, &proxy);
    assert!(status == 400 && error.to_string().contains(OVERFLOW), "{status}: {error}");
    assert_eq!(stage.arrived().len(), 14);
}

// door: serve
#[test]
fn k25_a_recovery_that_supersedes_nothing_passes_the_error_on() {
    let stage = Stage::new("chat:1=overflow");
    let proxy = stage.serve(&SERVE);
    let mut talk = talk();
    talk.messages.push(json!({"role": "user", "content": "one message is all there is"}));
    let (status, error) = stage.block_on(talk.answer(&proxy));
    assert_eq!(stage.arrived().len(), 1, "it is not sent again");
    let told =
        json!({"type": "invalid_request_error", "message": "prompt is too long: 14 tokens > 13 maximum"});
    let refusal = json!({"type": "error", "error": told, "request_id": "req_scripted000001"});
    assert_eq!((status, error), (400, refusal), "it is as the provider wrote it");
}

// door: serve
#[test]
fn k26_what_the_provider_said_of_an_overflow_is_in_no_later_request() {
    let stage = Stage::new(REFUSALS);
    let proxy = stage.serve(&SERVE);
    let mut talk = talk();
    let (_, error) = refusal(&mut talk, &stage, &proxy);
    let said = error["error"]["message"].as_str().expect("a sentence").to_owned();
    talk.messages.pop();
    for turn in 12..15 {
        talk.say(&proxy, &words(turn));
    }
    assert!(stage.report().recorded.iter().all(|request| !request.body.contains(&said)));
    let path = format!("/api/v1/sessions/{}/messages", session(&proxy));
    let stored = (0..talk.messages.len()).map(|at| proxy.get(&format!("{path}/m{at:04}")).to_string());
    assert!(stored.into_iter().all(|message| !message.contains(&said)));
}

// door: compact
#[test]
fn k28_a_dry_run_that_would_do_nothing_has_a_record_too() {
    let stage = with_body(5, 2_400);
    let args = ["--preset", "kaged", "--window", "32000", "--to", "native", "--dry-run"];
    let record = compact(&stage, &args);
    assert_eq!((&record["outcome"], &record["trigger"]), (&json!("noop"), &json!("manual")));
    assert_eq!(record["tokens_before"], record["tokens_after"]);
    assert!(!stage.path("out").exists(), "nothing was written");
}

// door: serve
#[test]
fn k28_a_dry_run_that_would_do_nothing_is_told_and_leaves_no_trace() {
    let stage = Stage::new("");
    let proxy = stage.serve(&SERVE);
    let mut talk = talk();
    talk.say(&proxy, "one message is all there is");
    let of = |what: &str| format!("/api/v1/sessions/{}/{what}", session(&proxy));
    let kept = || (proxy.get(&of("events")), proxy.get(&of("compactions")), proxy.sessions());
    let before = kept();
    let record = proxy.act(Method::POST, &of("compact"), &json!({"dry_run": true}));
    assert_eq!((&record["outcome"], &record["trigger"]), (&json!("noop"), &json!("manual")), "{record}");
    assert_eq!(kept(), before);
    // In earnest it is an event.
    proxy.act(Method::POST, &of("compact"), &json!({}));
    let events = proxy.get(&of("events"));
    let last = events.as_array().and_then(|all| all.last()).expect("there is one");
    assert_eq!((&last["event"], kept() == before), (&json!("compaction.noop"), false), "{events}");
}

// door: compact
#[test]
fn k29_an_unknown_models_window_is_guessed_and_called_a_guess() {
    let stage = with_body(49, 20_000);
    let record = compact(&stage, &["--preset", "kaged", "--to", "native"]);
    assert_eq!((&record["window"], &record["window_source"]), (&json!(128_000), &json!("guess")));
}

// door: replay
#[test]
fn k30_an_operators_window_for_a_model_counts() {
    let outcome = |tokens| {
        let stage = with_body(100, tokens);
        stage.settings("[model.\"oracle-*\"]\nmaxInputTokens = 50000\n");
        last_outcome(&stage, &EVEN)
    };
    assert_eq!([outcome(42_499), outcome(42_500)], [Value::Null, json!("compacted")]);
}

// door: serve
#[test]
fn k13_going_back_past_a_compaction_restores_the_context() {
    let stage = Stage::new("");
    let proxy = stage.serve(&SERVE);
    let mut talk = talk();
    let record = talk.until_compacted(&proxy);
    let superseded = record["superseded"].as_array().expect("a list");
    let last = superseded.last().expect("something was").as_str().expect("a pointer");
    let path = format!("/api/v1/sessions/{}/rollback", session(&proxy));
    assert_eq!(proxy.act(Method::POST, &path, &json!({"to": last}))["leaf"], last);
    // Pointers are numbered as messages are said, as long as nothing else is between them.
    let number: usize = last[1..].parse().expect("a number");
    talk.messages.truncate(number + 1);
    assert_eq!(talk.messages[number]["role"], "user");
    stage.block_on(talk.ask(&proxy));
    assert_eq!(stage.arrived().pop().expect("it was sent"), talk.messages);
}

// door: serve
#[test]
fn k35_overrides_hold_for_one_compaction_by_hand() {
    let stage = Stage::new("");
    let proxy = stage.serve(&SERVE);
    let mut talk = talk();
    for turn in 0..8 {
        talk.say(&proxy, &words(turn));
    }
    let path = format!("/api/v1/sessions/{}/compact", session(&proxy));
    let by_hand = |set: Value| proxy.act(Method::POST, &path, &json!({"set": set}))["record"].take();
    let plain = by_hand(json!({"strategy": "drop", "summarize": false, "keep": {"newest": {"messages": 4}}}));
    assert_eq!((&plain["strategy"], &plain["fallbacks"]), (&json!("drop"), &json!([])), "{plain}");
    assert_eq!(plain["kept"].as_array().map(Vec::len), Some(5), "the first message and four: {plain}");
    let record = talk.until(&proxy, |record| record["trigger"] == "threshold");
    assert_eq!(record["strategy"], "summarize", "what is stored still counts");
    let (status, refused) = proxy.try_act(Method::POST, &path, &json!({"set": {"keep": {"newset": 4}}}));
    assert_eq!(status, 400, "{refused}");
    assert!(refused["error"].as_str().is_some_and(|why| why.contains("keep.newset")), "{refused}");
}

// door: serve
#[test]
fn k35_a_judgement_is_told_and_kept() {
    let stage = Stage::new("");
    let proxy = stage.serve(&SERVE);
    let record = talk().until_compacted(&proxy);
    let (id, entry) = (session(&proxy), record["entry"].as_str().expect("an id").to_owned());
    proxy.act(
        Method::PATCH,
        &format!("/api/v1/sessions/{id}/compactions/{entry}"),
        &json!({"flag": "bad", "notes": "lost the port"}),
    );
    let events = proxy.get(&format!("/api/v1/sessions/{id}/events"));
    let flagged: Vec<&Value> = events
        .as_array()
        .expect("a list")
        .iter()
        .filter(|one| one["event"] == "compaction.flagged")
        .collect();
    let [one] = &flagged[..] else { panic!("told once: {events}") };
    assert_eq!(
        (&one["of"], &one["flag"], &one["notes"]),
        (&json!(entry), &json!("bad"), &json!("lost the port"))
    );
}
