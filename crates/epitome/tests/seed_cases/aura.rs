//! aura through the doors.

use crate::door::{alias, compact, hook, ids, last_outcome, written};
use crate::stage::{Speech, Stage, Talk};
use crate::transcripts::body;
use epitome_upstream::Kind;
use serde_json::{Value, json};

const CLAUDE: &str = "claude-haiku-4-5";
const AGENT: &str = "---\nfeatures:\n  compaction:\n    agent: FastCompactor\n";
const SERVE: [&str; 4] = ["--window", "32000", "--preset", "aura"];

fn with_body(messages: usize, tokens: usize) -> Stage {
    let stage = Stage::new("");
    stage.put("session", &body(messages, tokens, 500));
    stage
}

fn talk() -> Talk {
    Talk::new(Speech::Anthropic, CLAUDE).with("x-api-key", "a-clients-key").with("x-epitome-agent", "coder")
}

/// The model and the text of the only summary that was asked for.
fn asked(stage: &Stage) -> (Value, String) {
    let summaries = stage.summaries();
    let [asked] = &summaries[..] else { panic!("one summary, not {}", summaries.len()) };
    let body: Value = serde_json::from_str(&asked.body).expect("JSON");
    (body["model"].clone(), asked.body.clone())
}

// door: replay
#[test]
fn a1_compaction_begins_at_80_percent() {
    let outcome = |tokens| last_outcome(&with_body(60, tokens), &["--preset", "aura", "--window", "32000"]);
    assert_eq!([outcome(25_599), outcome(25_600)], [Value::Null, json!("compacted")]);
}

// door: compact
#[test]
fn a9_of_forty_messages_the_last_ten_stay() {
    let stage = with_body(39, 16_000);
    let record = compact(&stage, &["--preset", "aura", "--window", "100000", "--to", "native"]);
    assert_eq!((&record["superseded"], &record["kept"]), (&ids(0..30), &ids(30..40)));
}

// door: serve
#[test]
fn a13_the_new_context_is_the_system_prompt_the_summary_and_what_stays() {
    let stage = Stage::new("");
    let proxy = stage.serve(&SERVE);
    let mut talk = talk();
    talk.system = Some("You are careful.");
    talk.until_compacted(&proxy);
    let mut chats = stage.report().recorded.into_iter().filter(|request| request.kind == Kind::Chat);
    let sent: Value = serde_json::from_str(&chats.next_back().expect("there are some").body).expect("JSON");
    assert_eq!(sent["system"], "You are careful.");
    let messages = sent["messages"].as_array().expect("a list");
    let (summary, kept) = messages.split_first().expect("there are some");
    assert!(summary["content"].to_string().contains("<epitome-summary"), "{summary}");
    let said = &talk.messages[..talk.messages.len() - 1];
    assert_eq!(kept, &said[said.len() - 10..]);
}

// door: compact
#[test]
fn a23_the_hook_has_the_five_figures_and_may_say_no() {
    let stage = with_body(39, 16_000);
    let script = "if asked['hook'] == 'pre_compact':\n    open('asked', 'w').write(json.dumps(asked))\n    print(json.dumps({'verdict': 'veto', 'why': 'not now'}))";
    stage.settings(&hook(&stage, script));
    let record = compact(&stage, &["--preset", "aura", "--window", "100000", "--to", "native"]);
    let event = serde_json::from_str::<Value>(&written(&stage, "asked")).expect("JSON")["event"].take();
    let count = |name: &str| event[name].as_array().expect("a list").len();
    let percent =
        event["tokens"].as_u64().expect("a number") * 100 / event["window"].as_u64().expect("a number");
    // Forced, TokensUsed, ContextPercent, MessageCount, KeepLast.
    assert_eq!((&event["trigger"], &event["tokens"], percent), (&json!("manual"), &json!(16_000), 16));
    assert_eq!((count("leaving") + count("staying"), count("staying")), (40, 10));
    assert_eq!((&record["outcome"], written(&stage, "out")), (&json!("vetoed"), written(&stage, "session")));
}

// door: compact
#[test]
fn a24_the_hook_has_the_four_figures_and_changes_nothing() {
    let stage = with_body(39, 16_000);
    let script = "if asked['hook'] == 'post_compact':\n    open('asked', 'w').write(json.dumps(asked))\n    print(json.dumps({'verdict': 'veto'}))";
    stage.settings(&hook(&stage, script));
    let record = compact(&stage, &["--preset", "aura", "--window", "100000", "--to", "native"]);
    let told = serde_json::from_str::<Value>(&written(&stage, "asked")).expect("JSON")["record"].take();
    let count = |name: &str| told[name].as_array().expect("a list").len();
    // Success, PreMessages, PostMessages with the summary, SummaryLength.
    assert_eq!(told["outcome"], "compacted");
    assert_eq!((count("superseded") + count("kept"), count("kept") + 1), (40, 11));
    assert_eq!(told["summary"], record["summary"]);
    assert_eq!(record["outcome"], "compacted");
}

// door: serve
#[test]
fn a26_a_prompt_goes_before_an_agent_and_the_sessions_own_model_writes() {
    let stage = Stage::new("");
    stage.put("agents/coder.md", &format!("{AGENT}    prompt: Compaction\n---\n"));
    stage.put("config/epitome/prompts/Compaction.md", "Tell it as a ballad.");
    stage.settings(&alias(&stage, "FastCompactor", "claude-sonnet-4-5"));
    let proxy = stage.serve(&[&SERVE[..], &["--agents", "agents"]].concat());
    assert_eq!(talk().until_compacted(&proxy)["summarizer"], CLAUDE);
    let (model, text) = asked(&stage);
    assert_eq!((model, text.contains("Tell it as a ballad.")), (json!(CLAUDE), true));
}

// door: serve
#[test]
fn a27_a_named_agent_writes_instead_of_the_default() {
    let stage = Stage::new("");
    stage.put("agents/coder.md", &format!("{AGENT}---\n"));
    stage.settings(
        &alias(&stage, "FastCompactor", "claude-sonnet-4-5").replace("key_env = \"STAGE_KEY\"\n", ""),
    );
    let proxy = stage.serve(&[&SERVE[..], &["--agents", "agents"]].concat());
    assert_eq!(talk().until_compacted(&proxy)["summarizer"], "FastCompactor");
    assert_eq!(asked(&stage).0, "claude-sonnet-4-5");
}
