//! What may change between two requests: the last message, the settings, the model. What is known of a history holds
//! for it all the same, and what was known of something else does not.

use crate::stage::{Proxy, Speech, Stage, Talk, words};
use serde_json::{Value, json};

const MODEL: &str = "claude-haiku-4-5";
const WINDOW: &str = "16000";
/// A summariser whose every call fails, and no other way to go.
const FAILING: &str = r#"
strategy = ["summarize"]
[summary]
by = "session"
else_embedded = false
retries = 0
shrink_results = []
[guard]
last = "abandon"
failures_max = 1
"#;

/// What the provider said of the call before, and nothing else, makes a compaction due.
const BY_USAGE: &str = r#"
[trigger]
measure = "usage"
output = "none"
absolute = 6000
target = "1%"
"#;

fn talk() -> Talk {
    Talk::new(Speech::Anthropic, MODEL).with("x-api-key", "a-clients-key")
}

/// A conversation of so many turns that comes as a whole.
fn history(turns: usize) -> Talk {
    let mut talk = talk();
    for turn in 0..turns {
        let said = json!({"role": "user", "content": words(turn)});
        talk.messages.extend([said, json!({"role": "assistant", "content": format!("done with {turn}")})]);
    }
    talk
}

/// Asks with a last message that is another each time, so many times.
fn ask_by_the_clock(proxy: &Proxy<'_>, talk: &mut Talk, times: usize) {
    for hour in 0..times {
        let mut now = talk.clone();
        now.messages.push(json!({"role": "user", "content": format!("It is {hour} o'clock.")}));
        let reply = proxy.stage.block_on(now.ask(proxy));
        talk.messages.extend([json!({"role": "user", "content": "go on"}), reply]);
    }
}

#[test]
fn a_breaker_holds_whatever_the_last_message_is() {
    let stage = Stage::new("summary:*=400");
    stage.settings(FAILING);
    let proxy = stage.serve(&["--window", WINDOW]);
    ask_by_the_clock(&proxy, &mut history(23), 6);
    assert_eq!(stage.summaries().len(), 1, "{}", stage.told());
    assert!(stage.told().contains("a compaction failed"), "{}", stage.told());
}

#[test]
fn a_breaker_is_held_against_the_settings_of_the_moment() {
    let stage = Stage::new("summary:*=400");
    stage.settings(FAILING);
    let proxy = stage.serve(&["--window", WINDOW]);
    let mut talk = history(23);
    talk.say(&proxy, "go on");
    talk.say(&proxy, "go on");
    assert_eq!(stage.summaries().len(), 1, "{}", stage.told());
    stage.settings(&FAILING.replace("failures_max = 1", "failures_max = 3"));
    talk.say(&proxy, "go on");
    assert_eq!(stage.summaries().len(), 2, "{}", stage.told());
}

#[test]
fn passes_before_a_call_are_no_compactions_to_a_breaker() {
    let stage = Stage::new("");
    stage.settings("[prune]\nwhen = \"check\"\nprotect = \"1000\"\n[guard]\nrefills_max = 2\n");
    let proxy = stage.serve(&["--window", "64000"]);
    let mut talk = talk();
    for turn in 0..12 {
        let id = format!("call-{turn}");
        let call =
            json!({"type": "tool_use", "id": id, "name": "read", "input": {"path": format!("{turn}.rs")}});
        let result = json!({"type": "tool_result", "tool_use_id": id, "content": words(turn)});
        talk.messages.push(json!({"role": "user", "content": format!("read {turn}")}));
        talk.messages.push(json!({"role": "assistant", "content": [call]}));
        talk.messages.push(json!({"role": "user", "content": [result]}));
        talk.messages.push(json!({"role": "assistant", "content": format!("read it: {turn}")}));
        ask_by_the_clock(&proxy, &mut talk, 1);
    }
    let outcomes: Vec<Value> =
        proxy.compactions().into_iter().map(|record| record["outcome"].clone()).collect();
    assert!(outcomes.len() > 2 && outcomes.iter().all(|outcome| outcome == "pruned"), "{outcomes:?}");
    assert!(!stage.told().contains("stopped"), "{}", stage.told());
    // What a prefix looks like follows from the prefix: each request begins as the one before, but for what was pruned.
    let arrived = stage.arrived();
    let (before, last) = (&arrived[arrived.len() - 2], &arrived[arrived.len() - 1]);
    let is_pruned = |message: &Value| message.to_string().contains("[tool result m");
    let first_whole =
        before.iter().position(|message| !is_pruned(message) && message.to_string().len() > 1_000);
    let shared = first_whole.expect("the newest results stay");
    assert_eq!(last[..shared], before[..shared]);
}

#[test]
fn pictures_are_counted_anew_where_their_price_changes() {
    let stage = Stage::new("");
    let settings = |tokens: u32| stage.settings(&format!("[count]\nimage_tokens = {tokens}\n"));
    settings(100);
    let proxy = stage.serve(&["--window", "200000"]);
    let mut talk = talk();
    let source = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="});
    let mut content = vec![json!({"type": "image", "source": source}); 10];
    content.push(json!({"type": "text", "text": "what are these?"}));
    talk.messages.push(json!({"role": "user", "content": content}));
    let reply = stage.block_on(talk.ask(&proxy));
    talk.messages.push(reply);
    let tokens = || proxy.sessions()[0]["tokens"].as_u64().expect("a number");
    let before = tokens();
    settings(5_000);
    talk.say(&proxy, "and now?");
    assert!((1_000..2_000).contains(&before) && tokens() > 50_000, "{before}, then {}", tokens());
}

#[test]
fn what_one_models_provider_counted_says_nothing_of_another() {
    let compacted = |models: [&str; 2]| {
        // The first model's provider counts ten times what we count.
        let stage = Stage::new("chat:1=usage=20000");
        stage.settings(BY_USAGE);
        let proxy = stage.serve(&["--window", "100000"]);
        let mut talk = history(4);
        for model in models {
            talk.model = model.to_owned();
            talk.say(&proxy, "go on");
        }
        let tokens = proxy.sessions()[0]["tokens"].as_u64().expect("a number");
        assert!(tokens < 3_000, "{tokens}");
        proxy.compactions().iter().filter(|record| record["outcome"] == "compacted").count()
    };
    let one = compacted(["claude-haiku-4-5", "claude-haiku-4-5"]);
    let other = compacted(["claude-haiku-4-5", "claude-sonnet-4-5"]);
    assert_eq!((one, other), (1, 0));
}

#[test]
fn the_address_in_a_summary_shows_an_original() {
    let stage = Stage::new("");
    let proxy = stage.serve(&["--window", WINDOW]);
    let mut talk = talk();
    talk.until_compacted(&proxy);
    let sent = stage.arrived().into_iter().next_back().expect("it was asked").into_iter();
    let sent: String = sent.map(|message| message["content"].to_string()).collect();
    let (_, command) = sent.split_once("; to read one: curl ").expect("it says how");
    let address = command.split("\\n").next().expect("a line").replace("m0123", "m0000");
    let path = address.strip_prefix(proxy.address()).expect("it is ours");
    assert_eq!(proxy.get(path)["blocks"][0]["text"], words(0));
}

/// Sends one list as an agent and then as a side request of its, whose providers count so much each, and goes on as the agent; how many
/// compactions that comes to, where more than 6,000 tokens are too much.
fn compactions_after(agent: u32, side: u32) -> usize {
    let stage = Stage::new(&format!("chat:1=usage={agent},2=usage={side}"));
    stage.settings(BY_USAGE);
    let proxy = stage.serve(&["--window", "100000"]);
    let mut talk = history(4);
    talk.system = Some("You write code.");
    talk.messages.push(json!({"role": "user", "content": "go on"}));
    let reply = stage.block_on(talk.ask(&proxy));
    let mut titles = talk.clone();
    titles.system = Some("You find titles.");
    stage.block_on(titles.ask(&proxy));
    talk.messages.push(reply);
    talk.say(&proxy, "and on");
    proxy.compactions().iter().filter(|record| record["outcome"] == "compacted").count()
}

#[test]
fn what_a_side_request_with_the_same_messages_took_is_not_what_the_agents_own_did() {
    assert_eq!((compactions_after(20_000, 100), compactions_after(100, 20_000)), (1, 0));
}

#[test]
fn what_a_call_took_is_known_where_the_system_prompt_is_another_in_every_request() {
    let stage = Stage::new("chat:1=usage=20000");
    stage.settings(BY_USAGE);
    let proxy = stage.serve(&["--window", "100000"]);
    let mut talk = history(4);
    for system in ["It is one o'clock.", "It is two o'clock."] {
        talk.system = Some(system);
        talk.say(&proxy, "go on");
    }
    let made: Vec<Value> = proxy.compactions().into_iter().map(|record| record["outcome"].clone()).collect();
    assert_eq!(made, ["compacted"]);
}

#[test]
fn another_summariser_or_another_place_for_it_is_told_once_with_what_was_before() {
    let stage = Stage::new("");
    let proxy = stage.serve(&["--window", WINDOW]);
    let mut talk = talk();
    let fast = |model: &str, port: u16| {
        let alias = "provider = \"compatible\"\nprotocol = \"anthropic\"";
        let place = format!("base_url = \"http://127.0.0.1:{port}/v1\"\nmodel = \"{model}\"");
        stage.settings(&format!("[summary]\nby = \"fast\"\n[alias.fast]\n{alias}\n{place}\n"));
    };
    let mut go_on = || {
        for model in [MODEL, "claude-sonnet-4-5"] {
            talk.model = model.to_owned();
            talk.say(&proxy, "go on");
        }
    };
    fast("small", 9);
    go_on();
    fast("large", 9);
    go_on();
    fast("large", 10);
    go_on();
    stage.settings("");
    go_on();
    let at = |model: &str, port: u16| format!("`fast` ({model} at http://127.0.0.1:{port}/v1)");
    let embedded = "the embedded summariser".to_owned();
    let all = [embedded.clone(), at("small", 9), at("large", 9), at("large", 10), embedded];
    let line = |pair: &[String]| format!("the summariser was {}, and is {} from now on\n", pair[0], pair[1]);
    assert_eq!(stage.told(), all.windows(2).map(line).collect::<String>());
}
