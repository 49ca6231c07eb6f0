//! What a smaller window or a lower target comes to: never to more, and never to what its agent cannot send.

use super::{command, folder, told};
use serde_json::Value;
use tempfile::TempDir;

/// A session of Claude Code's that was compacted twice; its agent adds about as much as the file holds.
const LADEN: &str = "claude-code/entire-cli-25730c.jsonl.zst";
/// One of Codex's, which records its instructions.
const CODEX: &str = "codex/agentv-f4771e.jsonl.zst";

/// The record of a dry run, or the error.
fn dry(folder: &TempDir, flag: &str, value: u64) -> Result<Value, String> {
    let args = ["compact", "s.jsonl", "--dry-run", "--json", flag, &value.to_string()];
    let output = command(folder, &args).output().expect("the program runs");
    if output.status.success() {
        return Ok(serde_json::from_slice(&output.stdout).expect("one JSON document"));
    }
    assert_eq!(output.status.code(), Some(1));
    Err(String::from_utf8(output.stderr).expect("it writes UTF-8"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is a number"))
}

/// What a summary leaves of its room, being made of whole lines.
const ROUNDING: u64 = 300;

/// The results of shrinking `values`, none larger than the one before.
fn falling(folder: &TempDir, flag: &str, values: &[u64]) -> Vec<u64> {
    let after = |&value: &u64| number(&dry(folder, flag, value).expect("it fits")["tokens_after"]);
    let results: Vec<u64> = values.iter().map(after).collect();
    for (pair, values) in results.windows(2).zip(values.windows(2)) {
        assert!(pair[1] <= pair[0] + ROUNDING, "{flag} {values:?} gave {pair:?}");
    }
    results
}

#[test]
fn a_smaller_window_gives_no_larger_context_and_what_the_agent_adds_fits_beside_it() {
    let folder = folder(LADEN);
    let windows = [200_000, 120_000, 100_000, 80_000];
    for (after, window) in falling(&folder, "--window", &windows).into_iter().zip(windows) {
        assert!(after + 53_225 <= window, "{after} beside 53,225 in {window}");
    }
    // Windows of which that would take most are another agent's.
    falling(&folder, "--window", &[79_000, 64_000, 53_000, 40_000, 30_000, 16_000]);
    let text = told(&folder, &["compact", "s.jsonl", "--dry-run", "--window", "30000"]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let misfit = "no fit a request of its agent takes about";
    assert!(text.contains(misfit), "{text}");
    assert!(text.find(misfit) < text.find("would stay "), "it is said first: {text}");
}

#[test]
fn a_lower_target_gives_no_larger_context_and_what_stands_beside_it_is_told() {
    let folder = folder(LADEN);
    falling(&folder, "--target", &[300_000, 50_000, 40_000, 30_000, 20_000, 10_000, 5_000]);
    let record = dry(&folder, "--target", 5_000).expect("it fits");
    let [target, kept, after] = ["target", "always_kept", "tokens_after"].map(|name| number(&record[name]));
    assert!(after <= target + kept + ROUNDING, "{after} of {target} and {kept}");
    let text = told(&folder, &["compact", "s.jsonl", "--dry-run", "--target", "5000"]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("target 4,999 tokens; 18,"), "{text}");
    assert!(text.contains("more are kept in any case, whatever the target"), "{text}");
}

#[test]
fn a_session_whose_instructions_are_recorded_comes_down_likewise() {
    let folder = folder(CODEX);
    falling(&folder, "--window", &[200_000, 128_000, 64_000, 48_000, 32_000, 24_000, 16_000]);
    falling(&folder, "--target", &[60_000, 30_000, 15_000, 8_000, 4_000]);
}
