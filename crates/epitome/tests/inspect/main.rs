//! `inspect` answers what fills a context: by whose count, of which window, with what, what could be freed, and what it cost.
//! `recall` shows what it names.

mod pages;
mod recalled;
mod session;
mod windows;

use serde_json::{Value, json};
use session::{SessionLines, corpus};

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// A session in which one file is read six times and changed once, another once; the provider counts 9,000 tokens that the
/// file does not record, more or less.
fn worked() -> SessionLines {
    let mut lines = SessionLines::of("claude-opus-4-5");
    lines.ask("please look at the parser");
    let body =
        "fn parse_header(line: &str) -> Option<Header> { line.split_once(':').map(Header::of) }\n".repeat(60);
    for at in 0..6 {
        let text = format!("version {at}\n{body}");
        lines.run(11_000 + at * 2_300, "Read", &json!({"file_path": "/project/src/parser.rs"}), &text);
    }
    let edit = json!({"file_path": "/project/src/parser.rs", "old_string": "Header", "new_string": "Head"});
    lines.run(25_000, "Edit", &edit, "The file was updated.");
    lines.run(25_200, "Bash", &json!({"command": "cat /project/src/lib.rs"}), &body);
    lines.reply("2026-03-02", 27_000, &json!([{"type": "text", "text": "it is done"}]));
    lines
}

#[test]
fn all_parts_of_a_window_add_up_to_it_with_the_providers_count() {
    let folder = worked().saved();
    let survey = folder.json(&["inspect", "s.jsonl", "--json"]);
    let fill = &survey["fill"];
    let reply = survey["usage"].clone();
    assert_eq!((&fill["from"], &fill["measured"]["prompt"]), (&json!("provider"), &json!(27_000)));
    assert_eq!(reply["prompt"], json!(27_000));
    let parts: u64 = fill["parts"].as_array().expect("a list").iter().map(|one| number(&one["tokens"])).sum();
    let whole = number(&fill["tokens"]);
    // Each part is rounded down on its own.
    assert!(whole.abs_diff(parts) < 10, "{fill}");
    assert_eq!(whole + number(&fill["free"]), 200_000);
    assert_eq!(whole, 27_000 + number(&fill["since"]));
    let unrecorded = 27_000 - (number(&survey["request"]) - number(&fill["since"]));
    assert_eq!(number(&fill["unrecorded"]), unrecorded, "the provider's count less ours");
    let shown = folder.shown(80, &["inspect", "s.jsonl"]);
    assert!(shown.contains(&format!("not in the file {:>17}", grouped(unrecorded))), "{shown}");
    assert!(shown.contains("the provider counted 27,000 for the newest call"), "{shown}");
}

/// Cells of a bar that stands behind a share, with that share in percent.
fn bar(line: &str) -> Option<(u64, u64)> {
    let (before, bar) = line.split_once(" %")?;
    let percent = before.split_whitespace().last()?.parse().ok()?;
    let cells = bar.chars().filter(|c| ('█'..='▏').contains(c) || *c == '░').count() as u64;
    (cells > 0).then_some((percent, cells))
}

#[test]
fn bars_of_every_table_are_of_one_scale_and_the_strip_has_a_legend() {
    let folder = worked().saved();
    for (columns, whole) in [(80, 24), (98, 38), (140, 72)] {
        let shown = folder.shown(columns, &["inspect", "s.jsonl"]);
        let bars: Vec<(u64, u64)> = shown.lines().filter_map(bar).collect();
        assert!(bars.len() > 4, "{shown}");
        for (percent, cells) in bars {
            assert!(
                (percent * whole).abs_diff(cells * 100) <= 150,
                "{percent} % in {cells} of {whole} cells\n{shown}"
            );
        }
        assert!(shown.contains("▓ what stands before the messages, █ messages, ░ free"), "{shown}");
        let free = shown.lines().find(|line| line.trim_start().starts_with("free ")).expect("some is free");
        assert!(free.contains('░') && !free.contains('█'), "{free}");
    }
}

fn grouped(amount: u64) -> String {
    epitome_core::Tokens(amount).to_string()
}

#[test]
fn the_file_that_was_read_six_times_is_named_with_what_it_takes() {
    let folder = worked().saved();
    let survey = folder.json(&["inspect", "s.jsonl", "--json"]);
    let files = &survey["fill"]["files"];
    let used = |at: usize| (&files[at]["path"], &files[at]["reads"], &files[at]["changes"]);
    assert_eq!(used(0), (&json!("/project/src/parser.rs"), &json!(6), &json!(1)));
    assert_eq!(used(1), (&json!("/project/src/lib.rs"), &json!(1), &json!(0)));
    let tools: Vec<(&Value, &Value)> = survey["fill"]["tools"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|tool| (&tool["name"], &tool["calls"]))
        .collect();
    assert_eq!(
        tools,
        [(&json!("Read"), &json!(6)), (&json!("Bash"), &json!(1)), (&json!("Edit"), &json!(1))]
    );
    let largest = &survey["largest"][0];
    assert_eq!((&largest["tool"], &largest["file"]), (&json!("Read"), &json!("/project/src/parser.rs")));
    let shown = folder.shown(80, &["inspect", "s.jsonl"]);
    assert!(shown.contains("6 reads, 1 change  parser.rs"), "{shown}");
    assert!(shown.contains("in /project/src/"), "{shown}");
}

/// Runs the command of each remedy, and holds what it frees against what was promised.
fn check_promises(folder: &session::Folder, file: &str) -> usize {
    let survey = folder.json(&["inspect", file, "--json"]);
    let mut kept = 0;
    for remedy in survey["waste"]["remedies"].as_array().expect("a list") {
        let command = remedy["command"].as_str().unwrap_or_else(|| panic!("{remedy} fits"));
        let out = folder.path("pruned");
        let words = command.replace("-o OUT", &format!("-o {} --json", out.display())).replace('\'', "");
        let args: Vec<&str> = words.split(' ').skip(1).collect();
        let record = folder.json(&args);
        assert_eq!(record["outcome"], json!("pruned"), "{command}");
        let freed = number(&record["tokens_before"]) - number(&record["tokens_after"]);
        assert_eq!(freed, number(&remedy["frees"]), "{command}");
        kept += 1;
    }
    kept
}

#[test]
fn what_is_promised_is_what_the_command_frees() {
    let folder = worked().saved();
    let survey = folder.json(&["inspect", "s.jsonl", "--json"]);
    let reads = &survey["waste"]["remedies"][0];
    assert_eq!((&reads["remedy"], &reads["messages"]), (&json!("superseded-reads"), &json!(6)));
    assert!(check_promises(&folder, "s.jsonl") >= 2);
    assert_eq!(check_promises(&folder, &corpus("claude-code/cipher-box-af1dd2-images.jsonl.zst")), 7);
}

#[test]
fn a_remedy_that_leaves_too_much_names_no_command() {
    let folder = session::Folder::new();
    let file = corpus("pi/pi-mono-large-session.jsonl.zst");
    let survey = folder.json(&["inspect", &file, "--json"]);
    let told: Vec<(&str, bool)> = survey["waste"]["remedies"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| (one["remedy"].as_str().unwrap_or_default(), one["command"].is_string()))
        .collect();
    let expected = [
        ("superseded-reads", true),
        ("old-results", true),
        ("old-arguments", false),
        ("old-thinking", false),
        ("everything", true),
    ];
    assert_eq!(told, expected);
}

#[test]
fn what_it_cost_is_told_by_day_and_model_and_an_unknown_price_is_none() {
    let mut lines = worked();
    let folder = lines.saved();
    let cost = &folder.json(&["inspect", "s.jsonl", "--json"])["cost"];
    let days: Vec<(&Value, &Value)> =
        cost["lines"].as_array().expect("a list").iter().map(|line| (&line["day"], &line["calls"])).collect();
    assert_eq!(days, [(&json!("2026-03-01"), &json!(8)), (&json!("2026-03-02"), &json!(1))]);
    // 27,000 tokens at five dollars and 100 at twenty-five for a million.
    assert_eq!(cost["lines"][1]["dollars"], json!(0.1375));
    let shown = folder.shown(80, &["inspect", "s.jsonl"]);
    let total: Vec<&str> = shown.lines().filter(|line| line.starts_with("  total")).collect();
    assert!(total.len() == 1 && total[0].ends_with("9 calls       $0.91"), "{shown}");
    lines.model = "oracle-9";
    lines.reply("2026-03-03", 27_100, &json!([{"type": "text", "text": "so it is"}]));
    let folder = lines.saved();
    let cost = &folder.json(&["inspect", "s.jsonl", "--json"])["cost"];
    assert_eq!((&cost["lines"][2]["dollars"], &cost["total"]["dollars"]), (&Value::Null, &Value::Null));
    let shown = folder.shown(80, &["inspect", "s.jsonl"]);
    assert!(shown.lines().any(|line| line.starts_with("  total") && line.ends_with('–')), "{shown}");
}

#[test]
fn what_is_wrong_with_a_file_is_told_once_however_many_conversations_it_has() {
    let folder = session::Folder::new();
    let body = json!([
        {"messages": [{"role": "user", "content": "one"}, {"role": "tool", "tool_call_id": "x", "content": "?"}]},
        {"messages": [{"role": "user", "content": "two"}]}
    ]);
    std::fs::write(folder.path("batch.json"), body.to_string()).expect("there is room");
    let surveys = folder.json(&["inspect", "batch.json", "--from", "openai-chat", "--json"]);
    let counts: Vec<usize> =
        (0..2).filter_map(|at| surveys[at]["problems"].as_array().map(Vec::len)).collect();
    assert_eq!(counts, [1, 0], "{surveys}");
    let shown = folder.shown(80, &["inspect", "batch.json", "--from", "openai-chat"]);
    assert!(shown.contains("conversation 1 of 2 (counted from 0)"), "{shown}");
}
