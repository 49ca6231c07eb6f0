//! The report of a compaction.

use crate::{WHOLE, command, folder, told};
use serde_json::{Value, json};

/// The first word of each line that begins something, and the text behind it.
fn labels(text: &str) -> Vec<String> {
    let report = text.lines().skip(1).take_while(|line| !line.starts_with("wrote "));
    let starts = report.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    starts.map(|line| line[2..14.min(line.len())].trim().to_owned()).collect()
}

#[test]
fn five_lines_say_what_went_what_stays_what_is_out_of_view_what_is_seen_first_and_how_to_undo() {
    let folder = folder(WHOLE);
    let text = told(&folder, &["compact", "s.jsonl", "-o", "small.jsonl", "--window", "64000"]);
    let head = text.lines().next().expect("it says something");
    assert!(head.starts_with("s.jsonl: 173,911 → "), "{text}");
    assert_eq!(labels(&text)[1..], ["went", "stays", "not in view", "seen first", "undo"], "{text}");
    assert!(!text.contains("lost") && !text.contains("superseded"), "{text}");
    assert!(
        text.contains("recall: epitome recall") && text.contains("epitome undo small.jsonl -o FILE"),
        "{text}"
    );
}

#[test]
fn the_rest_is_told_with_v() {
    let folder = folder(WHOLE);
    let text = told(&folder, &["compact", "s.jsonl", "-o", "small.jsonl", "--window", "64000", "-v"]);
    let labels = labels(&text);
    for label in ["counted", "how", "facts", "note"] {
        assert!(labels.iter().any(|said| said == label), "{label}: {text}");
    }
    assert!(text.contains("path: ") && text.contains("such as"), "classes have examples: {text}");
}

/// The record of a compaction of `s.jsonl` with these arguments.
fn record(folder: &tempfile::TempDir, args: &[&str]) -> Value {
    let all = [&["compact", "s.jsonl", "-o", "small.jsonl", "--json"], args].concat();
    let output = command(folder, &all).output().expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

#[test]
fn presets_that_count_otherwise_are_told_in_the_same_tokens() {
    let folder = folder(WHOLE);
    let sizes = ["default", "pi", "aura", "claude-code", "kaged"].map(|preset| {
        let record = record(&folder, &["--preset", preset]);
        (record["by_model"]["tokens_before"].clone(), record["by_model"]["count_method"].clone())
    });
    assert_eq!(sizes, std::array::from_fn(|_| (json!(173_911), json!("estimate(claude,±20%)"))));
    let own = record(&folder, &[]);
    assert_eq!(own["by_model"]["tokens_after"], own["tokens_after"]);
    let (before, after) = (&own["tokens_before"], &own["tokens_after"]);
    let fewer = before.as_u64().expect("a number") - after.as_u64().expect("a number");
    assert_eq!(own["saves"]["tokens_per_call"], fewer);
    // 0.30 dollars for a million tokens read from the cache, 3 for fresh ones.
    let dollars = |name: &str| own["saves"][name].as_f64().expect("a number") * 1e6 / fewer as f64;
    let told =
        ["dollars_per_call_cached", "dollars_per_call_uncached"].map(|name| format!("{:.2}", dollars(name)));
    assert_eq!(told, ["0.30", "3.00"]);
}

#[test]
fn a_dry_run_tells_the_figures_of_the_run() {
    let folder = folder(WHOLE);
    let args = ["compact", "s.jsonl", "-o", "small.jsonl", "--window", "64000"];
    let dry = told(&folder, &[&args[..], &["--dry-run"]].concat());
    let done = told(&folder, &args);
    let line = |text: &str, label: &str| {
        let found = text.lines().find(|line| line.starts_with(&format!("  {label}"))).expect("it is said");
        // A summary that tells where its originals are has a line more.
        found.split(", told in").next().unwrap_or_default().to_owned()
    };
    for label in ["went", "stays"] {
        assert_eq!(line(&dry, label), line(&done, label));
    }
}

#[test]
fn a_pin_that_is_cut_is_told_as_cut() {
    let folder = folder("claude-code/oh-my-posh-0254bf.jsonl.zst");
    let text =
        told(&folder, &["compact", "s.jsonl", "-o", "small.jsonl", "--window", "14000", "--pin", "m0164"]);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("but m0164 is cut to beginning and end"), "{text}");
}

#[test]
fn a_narrow_terminal_has_narrow_lines() {
    let folder = folder(WHOLE);
    for columns in ["60", "80", "140"] {
        let mut command = command(&folder, &["compact", "s.jsonl", "--dry-run", "-v"]);
        let output = command.env("COLUMNS", columns).output().expect("it runs");
        let text = String::from_utf8(output.stderr).expect("it writes UTF-8");
        let width: usize = columns.parse().expect("a number");
        let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > width).collect();
        assert_eq!(wide, Vec::<&str>::new());
    }
}
