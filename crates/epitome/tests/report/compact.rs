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
    let labels = labels(&text);
    let first = labels.iter().position(|label| label == "went").unwrap_or(0);
    let told = ["went", "stays", "not in view", "seen first", "undo", "more"];
    assert_eq!(labels[first..], told, "the file has oddities: {text}");
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
    for (would, label) in [("would go", "went"), ("would stay", "stays")] {
        let [dry, done] = [line(&dry, would), line(&done, label)];
        assert_eq!(dry.replace(would, "").trim(), done.replace(label, "").trim());
        assert!(!done.is_empty());
    }
    assert!(!dry.contains("recall:"), "there is nothing yet to recall from: {dry}");
}

/// A report in one line, for a text that may be broken anywhere.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_the_file_does_not_record_is_told_and_counts_in_the_share_of_the_window() {
    let folder = folder(WHOLE);
    let survey = command(&folder, &["inspect", "s.jsonl", "--json"]).output().expect("the program runs");
    let survey: Value = serde_json::from_slice(&survey.stdout).expect("one JSON document");
    let record = record(&folder, &[]);
    assert_eq!(record["unrecorded"], survey["fill"]["unrecorded"]);
    assert_eq!(record["unrecorded"], 361_241);
    let text = joined(&told(&folder, &["compact", "s.jsonl", "--dry-run"]));
    let after = record["by_model"]["tokens_after"].as_u64().expect("a number") + 361_241;
    let share = format!("in all {} % of the window of 1,000,000", (after + 5_000) / 10_000);
    assert!(
        text.contains(&format!("its agent adds about 361,241 that the file does not record, {share}")),
        "{text}"
    );
    let small = joined(&told(&folder, &["compact", "s.jsonl", "--dry-run", "--window", "64000"]));
    assert!(
        small.contains("of the window of 64,000, without about 361,241 that its agent adds"),
        "a window it was not held in: {small}"
    );
}

#[test]
fn a_pruning_tells_what_is_cut_and_claims_nothing_of_facts() {
    let folder = folder(WHOLE);
    let args = ["compact", "s.jsonl", "--set", "strategy=prune", "--to", "native", "--dry-run"];
    let output = command(&folder, &[&args[..], &["--json"]].concat()).output().expect("the program runs");
    let record: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let count = |name: &str| record[name].as_array().map_or(0, Vec::len);
    let (kept, pruned) = (count("kept"), count("pruned"));
    assert!(kept > pruned && pruned > 0, "{record}");
    let text = joined(&told(&folder, &args));
    let stays = format!(
        "would stay {} messages word for word, {pruned} with a pointer in place of their bulk",
        kept - pruned
    );
    assert!(text.contains(&stays), "{text}");
    assert!(text.contains("not in view the bulk behind each pointer, whose facts are not counted"), "{text}");
}

#[test]
fn a_report_has_one_count_whatever_the_preset_counts_by() {
    let folder = folder(WHOLE);
    let text = joined(&told(&folder, &["compact", "s.jsonl", "-o", "small.jsonl", "--preset", "pi"]));
    let sizes = |from: &str| {
        let rest = text.split(from).nth(1).unwrap_or_default();
        rest.split(" tokens").next().unwrap_or_default().to_owned()
    };
    let head = sizes("s.jsonl: ");
    assert!(head.starts_with("173,911 → "), "{text}");
    assert_eq!(sizes(", context "), head, "{text}");
}

#[test]
fn notes_are_counted_as_v_shows_them() {
    let folder = folder(WHOLE);
    let args = ["compact", "s.jsonl", "--dry-run"];
    let brief = joined(&told(&folder, &args));
    let all = told(&folder, &[&args[..], &["-v"]].concat());
    let notes = all.lines().filter(|line| line.starts_with("  note ")).count();
    let more =
        if notes == 1 { "1 note; -v shows it".to_owned() } else { format!("{notes} notes; -v shows them") };
    assert!(brief.ends_with(&more), "{brief}\n{all}");
}

#[test]
fn what_goes_to_standard_output_is_undone_by_a_command() {
    let folder = folder(WHOLE);
    let text = joined(&told(&folder, &["compact", "s.jsonl"]));
    assert!(
        text.contains("undo epitome undo FILE -o ORIGINAL, FILE being where standard output went"),
        "{text}"
    );
}

#[test]
fn a_body_that_went_to_a_file_is_told() {
    let folder = folder(WHOLE);
    let text = told(&folder, &["context", "s.jsonl", "-o", "body.json"]);
    let bytes = std::fs::metadata(folder.path().join("body.json")).expect("it is written").len();
    let bytes = format!("{},{:03} bytes", bytes / 1_000, bytes % 1_000);
    assert!(text.contains(&format!("wrote body.json (anthropic): {bytes}")), "{text}");
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

#[test]
fn what_is_told_to_be_seen_first_is_first_in_the_request() {
    let folder = folder("codex/session-bridge-64b5e5.jsonl.zst");
    let text = joined(&told(&folder, &["compact", "s.jsonl", "-o", "small.jsonl", "--window", "64000"]));
    assert!(text.contains("seen first m0001 “Make sure session details"), "{text}");
    let output = command(&folder, &["context", "small.jsonl"]).output().expect("the program runs");
    let body: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let first = body["messages"][0]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(first.starts_with("Make sure session details"), "{first}");
}
