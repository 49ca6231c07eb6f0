//! The window of a model that nobody knows is the policy's to guess, and a guess is called one.

use crate::sandbox::{Sandbox, talk};
use serde_json::{Value, json};

fn window(preset: &str, more: &[&str]) -> Result<(Value, Value), String> {
    let sandbox = Sandbox::with(talk("oracle-9", 8));
    let ran = sandbox.run(&[&["compact", "session", "--preset", preset, "--json"], more].concat());
    if ran.code != Some(0) {
        return Err(ran.err);
    }
    let record: Value = serde_json::from_str(&ran.out).expect("--json prints JSON");
    Ok((record["window"].clone(), record["window_source"].clone()))
}

#[test]
fn each_preset_guesses_the_window_of_an_unknown_model_for_itself() {
    let guess = |tokens: u64| Ok((json!(tokens), json!("guess")));
    let presets = ["default", "claude-code", "kaged@2026-05"].map(|preset| window(preset, &[]));
    assert_eq!(presets, [guess(128_000), guess(200_000), guess(32_000)]);
}

#[test]
fn a_preset_that_guesses_none_refuses_an_unknown_model_with_a_sentence() {
    let refused = "epitome: the window of `oracle-9`, the model of session, is not known, and these settings guess none (`window.unknown`); name it with --window\n";
    assert_eq!(window("aura", &[]), Err(refused.to_owned()));
    let stated = Ok((json!(9_000), json!("explicit")));
    assert_eq!(window("aura", &["--window", "9000"]), stated);
    assert_eq!(window("aura", &["--set", "window.tokens=9000"]), stated);
    assert_eq!(window("aura", &["--set", "window.unknown=7000"]), Ok((json!(7_000), json!("guess"))));
}

#[test]
fn a_replay_and_a_config_go_by_the_same_window() {
    let sandbox = Sandbox::with(talk("oracle-9", 4));
    let calls = sandbox.calls(&["--preset", "kaged@2026-05"]);
    assert!(calls.iter().all(|call| call["window"] == 32_000), "{calls:?}");
    let config = sandbox.json(&["config", "--preset", "kaged@2026-05", "--model", "oracle-9", "--json"]);
    assert_eq!(config["window"], json!({"tokens": 32_000, "from": "guess"}));
    let refused = sandbox.run(&["replay", "session", "--preset", "aura"]);
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""));
}

#[test]
fn a_guess_is_told_to_a_person() {
    let sandbox = Sandbox::with(talk("oracle-9", 8));
    let ran = sandbox.run(&["compact", "session", "-o", "out.native", "--to", "native"]);
    let note = "  note        the window is a guess: the model is not known; name it with --window";
    assert!(ran.err.lines().any(|line| line == note), "{}", ran.err);
}
