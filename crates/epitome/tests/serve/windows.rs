//! Windows that are learned from replies that succeeded: one that filled the window, and one to a prompt that was cut
//! without a word.

use crate::stage::{Speech, Stage, Talk, words};
use epitome_core::Tokens;
use epitome_upstream::{Script, Style};
use serde_json::{Value, json};

/// What the provider takes, prompt and reply together; no catalog says so.
const TAKEN: u64 = 8_192;

fn window(session: &Value) -> u64 {
    session["window"].as_u64().expect("a number")
}

#[test]
fn a_setting_for_this_run_is_above_the_operators_file() {
    let stage = Stage::with(Script::default());
    stage.settings("[window]\nmost = 12000\n");
    let proxy = stage.serve(&["--set", "window.most=9000"]);
    let mut talk = Talk::new(Speech::Anthropic, "claude-sonnet-4-5").with("x-api-key", "a-clients-key");
    talk.messages.push(json!({"role": "user", "content": "a word"}));
    stage.block_on(talk.answer(&proxy));
    assert_eq!(window(&proxy.sessions()[0]), 9_000);
}

#[test]
fn a_reply_that_fills_the_window_teaches_prompt_and_reply_together() {
    let script = Script { window_tokens: Some(TAKEN), reply_tokens: 6_000, ..Script::default() };
    let stage = Stage::with(script);
    let proxy = stage.serve(&[]);
    let talk = |first: &str| {
        let mut talk = Talk::new(Speech::Anthropic, "claude-sonnet-4-5").with("x-api-key", "a-clients-key");
        talk.max_tokens = 6_000;
        let said: String = (0..8).map(words).collect();
        talk.messages.push(json!({"role": "user", "content": format!("{first}: {said}")}));
        talk
    };
    let mut first = talk("one");
    let (_, reply) = stage.block_on(first.answer(&proxy));
    assert_eq!(reply["stop_reason"], "model_context_window_exceeded");
    let usage = |key: &str| reply["usage"][key].as_u64().expect("a number");
    let prompt =
        usage("input_tokens") + usage("cache_read_input_tokens") + usage("cache_creation_input_tokens");
    // A reply ends at the end of a word.
    let filled = prompt + usage("output_tokens");
    assert!((3_000..6_000).contains(&prompt) && (TAKEN - 10..=TAKEN).contains(&filled), "{prompt}, {filled}");
    let told = format!("window was full before the reply ended: it is {} tokens", Tokens(filled));
    assert!(stage.told().contains(&told), "{}", stage.told());
    // For the conversation itself, and for every other with the model.
    first.messages.push(json!({"role": "assistant", "content": "Go on?"}));
    first.messages.push(json!({"role": "user", "content": "Yes."}));
    stage.block_on(first.answer(&proxy));
    stage.block_on(talk("two").answer(&proxy));
    let sessions = proxy.sessions();
    assert_eq!(sessions.iter().map(window).collect::<Vec<_>>(), [filled, filled]);
}

#[test]
fn a_prompt_that_is_cut_without_a_word_is_told_and_never_sent_that_long_again() {
    let script = Script { window_tokens: Some(TAKEN), overflow_style: Style::Silent, ..Script::default() };
    let stage = Stage::with(script);
    let proxy = stage.serve(&[]);
    let mut talk = Talk::new(Speech::Chat, "some-model-of-ones-own").with("authorization", "Bearer a-key");
    let told = "the provider reads 8,192 tokens and dropped the rest of the prompt without a word; its window is taken to be 8,192 from now on";
    // It is certain once the provider reads less than four fifths of what we count.
    let noticed = (0..40).find(|&turn| {
        talk.say(&proxy, &words(turn));
        stage.told().contains(told)
    });
    let (noticed, cut) = (noticed.expect("it is told"), stage.report().overflows);
    (noticed + 1..noticed + 30).for_each(|turn| talk.say(&proxy, &words(turn)));
    assert_eq!((stage.told().matches(told).count(), stage.report().overflows), (1, cut), "{}", stage.told());
    assert_eq!(window(&proxy.sessions()[0]), TAKEN);
    assert!(proxy.compactions().iter().any(|record| record["outcome"] == "compacted"));
}
