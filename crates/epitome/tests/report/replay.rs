//! Replays beside what was recorded.

use crate::{WHOLE, command, folder};
use serde_json::{Value, json};

fn printed(folder: &tempfile::TempDir, args: &[&str]) -> String {
    let output = command(folder, args).output().expect("the program runs");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it writes UTF-8")
}

#[test]
fn presets_stand_beside_what_was_recorded_in_tokens_and_money() {
    let folder = folder(WHOLE);
    let args = ["replay", "s.jsonl", "--window", "100k", "--compare", "default,pi"];
    let compared: Value =
        serde_json::from_str(&printed(&folder, &[&args[..], &["--json"]].concat())).expect("one document");
    let rows = compared["rows"].as_array().expect("a list");
    let names: Vec<&Value> = rows.iter().map(|row| &row["policy"]).collect();
    assert_eq!(names, ["as recorded", "left alone", "default", "pi"]);
    // The sums of what the file says, at three dollars a million.
    assert_eq!(
        (&rows[0]["calls"], &rows[0]["tokens"], &rows[0]["compactions"]),
        (&json!(170), &json!(69_321_281), &json!(0))
    );
    let dollars = |row: &Value| row["dollars"].as_f64().expect("a number");
    assert_eq!(format!("{:.2}", dollars(&rows[0])), "58.64");
    let (alone, ours) = (&rows[1], &rows[2]);
    assert!(ours["tokens"].as_u64() < alone["tokens"].as_u64() && dollars(ours) < dollars(alone), "{ours}");
    assert_eq!(
        ours["waits"].as_array().map(Vec::len),
        ours["compactions"].as_u64().map(|count| count as usize)
    );
    let text = printed(&folder, &args);
    let table: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(table[1], ["calls", "tokens", "sent", "cached", "compacted", "cost"]);
    assert_eq!(table[2], ["as", "recorded", "170", "69,321,281", "97", "%", "0", "$58.64"]);
    assert!(text.contains("default would have waited before calls "), "{text}");
}

#[test]
fn a_replay_of_one_preset_is_held_against_what_was_recorded_too() {
    let folder = folder(WHOLE);
    let text = printed(&folder, &["replay", "s.jsonl", "--window", "100k"]);
    let rows: Vec<&str> = text.lines().filter(|line| line.trim_end().contains(" $")).collect();
    let names: Vec<&str> = rows.iter().map(|row| row[2..14].trim()).collect();
    assert_eq!(names, ["as recorded", "left alone", "default"], "{text}");
}

#[test]
fn what_a_model_without_a_price_costs_is_unknown_and_not_nothing() {
    let folder = folder(WHOLE);
    let args = [
        "replay",
        "s.jsonl",
        "--window",
        "100k",
        "--compare",
        "default",
        "--model",
        "nobody-knows-it",
        "--json",
    ];
    let compared: Value = serde_json::from_str(&printed(&folder, &args)).expect("one document");
    assert_eq!(compared["rows"][2]["dollars"], Value::Null);
}
