//! The table: order, choice, width, and the index behind it.

use crate::home::{self, CLAUDE, CODEX, Home, PI};
use serde_json::{Value, json};
use std::time::SystemTime;

/// Three sessions, the newest of Claude Code's.
fn home_of_three() -> Home {
    let home = Home::new();
    let project = home.project();
    home.write(&home::claude_name(&project, CLAUDE), 0, &home::claude(&project, CLAUDE, 1));
    home.write(&home::codex_name(CODEX), 1, &home::codex(&project, CODEX, 1));
    let elsewhere = home.path().join("elsewhere");
    home.write(&home::pi_name(&elsewhere, PI), 2, &home::pi(&elsewhere, PI, 1));
    home
}

#[test]
fn sessions_are_ordered_and_chosen_as_asked() {
    let home = home_of_three();
    let cases: [(&[&str], &[&str]); 10] = [
        (&[], &[CLAUDE, CODEX, PI]),
        (&["--limit", "2"], &[CLAUDE, CODEX]),
        (&["--sort", "size"], &[CLAUDE, CODEX, PI]),
        (&["--sort", "spent"], &[PI, CLAUDE, CODEX]),
        (&["--sort", "project"], &[PI, CLAUDE, CODEX]),
        (&["--tool", "codex"], &[CODEX]),
        (&["--here"], &[CLAUDE, CODEX]),
        (&["elsewhere"], &[PI]),
        (&["The Parser"], &[CLAUDE]),
        (&["nothing like it"], &[]),
    ];
    for (args, expected) in cases {
        assert_eq!(home.ids(args), expected, "{args:?}");
    }
}

#[test]
fn bare_inspect_is_the_same_table() {
    let home = home_of_three();
    assert_eq!(home.printed(&["inspect"]), home.printed(&["sessions"]));
}

#[test]
fn a_table_fits_its_terminal() {
    let mut home = home_of_three();
    for columns in ["60", "80", "100", "140", "200"] {
        home.set("COLUMNS", columns.into());
        let table = home.printed(&["sessions"]);
        let widest = table.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= columns.parse().expect("a number"), "{columns}: {widest}\n{table}");
        assert!(table.contains("110,500") && table.contains("55 %"), "{columns}\n{table}");
        // A session is known by its name.
        assert_eq!(table.contains(" the parser"), columns != "60", "{columns}\n{table}");
        assert_eq!(
            table.contains("cmp:"),
            table.contains(" cmp\n") || table.contains(" cmp name"),
            "{columns}\n{table}"
        );
        let cut = home.printed(&["sessions", "--limit", "1"]);
        let widest = cut.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= columns.parse().expect("a number"), "{columns}: {widest}\n{cut}");
    }
}

/// The table and `inspect` go by one rule.
#[test]
fn a_window_is_the_one_that_inspect_finds() {
    let home = Home::new();
    let project = home.project();
    let mut lines = home::claude(&project, CLAUDE, 3);
    lines[4]["message"]["usage"]["cache_read_input_tokens"] = json!(500_000);
    home.write(&home::claude_name(&project, CLAUDE), 0, &lines);
    let row = &home.parsed(&["sessions", "--json"])["sessions"][0];
    assert_eq!(row["window"], json!({"tokens": 1_000_000, "source": "evidence"}));
    let survey = home.parsed(&["inspect", CLAUDE, "--json"]);
    assert_eq!(survey["window"], json!({"tokens": 1_000_000, "from": "evidence"}));
    assert_eq!(row["in_view"]["tokens"], 110_500, "the newest call fits either");
    // A sub-agent's prompt says nothing of this window.
    lines[4]["isSidechain"] = json!(true);
    home.write(&home::claude_name(&project, CLAUDE), 1, &lines);
    let row = &home.parsed(&["sessions", "--json"])["sessions"][0];
    assert_eq!(row["window"], json!({"tokens": 200_000, "source": "catalog"}));
}

#[test]
fn a_table_of_nothing_leaves_the_numbers_of_the_last_one() {
    let home = home_of_three();
    home.printed(&["sessions"]);
    assert_eq!(home.printed(&["sessions", "--limit", "0"]), "none of 3 sessions is shown: --limit is 0\n");
    home.printed(&["sessions", "nothing like it"]);
    let survey = home.parsed(&["inspect", "2", "--json"]);
    assert!(survey["file"].as_str().is_some_and(|file| file.contains(CODEX)), "{survey}");
}

#[test]
fn a_file_that_did_not_change_is_read_once() {
    let home = home_of_three();
    let path = home.path().join(home::codex_name(CODEX));
    let spent = || {
        home.parsed(&["sessions", "--tool", "codex", "--json"])["sessions"][0]["in_view"]["tokens"].clone()
    };
    assert_eq!(spent(), 21_000);
    let modified = std::fs::metadata(&path).and_then(|about| about.modified()).expect("it is there");
    let text = std::fs::read_to_string(&path).expect("it is there");
    let other = text.replace("\"input_tokens\":20000", "\"input_tokens\":90000");
    let put = |time: SystemTime| {
        std::fs::write(&path, &other).expect("it is ours");
        let file = std::fs::File::options().append(true).open(&path).expect("it is there");
        file.set_modified(time).expect("the clock can be set");
    };
    put(modified);
    assert_eq!(spent(), 21_000, "its length and time are those it had");
    put(SystemTime::now());
    assert_eq!(spent(), 91_000);
}

#[test]
fn a_session_in_the_store_is_called_what_it_is_called_here() {
    let home = home_of_three();
    let table = home.parsed(&["sessions", "--json"]);
    for row in table["sessions"].as_array().expect("a list") {
        let path = row["path"].as_str().expect("it has a file");
        let name = row["title"].as_str().or(row["prompt"].as_str()).expect("it has a name");
        let imported = home.parsed(&["import", path, "--json"]);
        let title = imported["title"].as_str().expect("it has a name");
        let kept = title.trim_end_matches('…');
        assert!(!kept.is_empty() && name.starts_with(kept), "{path}: {title} for {name}");
    }
}

#[test]
fn a_session_is_not_called_by_what_its_harness_said() {
    let home = Home::new();
    let project = home.project();
    let mut lines = home::claude(&project, CLAUDE, 2);
    lines.remove(0);
    lines[0]["message"]["content"] = json!("[Request interrupted by user]");
    lines[2]["message"]["content"] = json!("mend the parser");
    let path = home::claude_name(&project, CLAUDE);
    home.write(&path, 0, &lines);
    assert_eq!(home.parsed(&["sessions", "--json"])["sessions"][0]["prompt"], "mend the parser");
    let file = home.path().join(path);
    let imported = home.parsed(&["import", file.to_str().expect("UTF-8"), "--json"]);
    assert_eq!(imported["title"], "mend the parser");
}

#[test]
fn a_broken_index_is_an_empty_one() {
    let home = home_of_three();
    let before = home.printed(&["sessions", "--json"]);
    let index = home.path().join(".cache/epitome/sessions.json");
    for broken in
        [&b"{\"version\":"[..], b"", b"\xff\xfe", b"{\"version\":99,\"made_with\":\"\",\"files\":{}}"]
    {
        std::fs::write(&index, broken).expect("it is ours");
        assert_eq!(home.printed(&["sessions", "--json"]), before);
    }
    assert!(std::fs::read(&index).expect("it is written again").len() > 100);
}

#[test]
fn where_nothing_can_be_kept_the_table_is_shown_all_the_same() {
    let mut home = home_of_three();
    home.set("XDG_CACHE_HOME", "/dev/null".into());
    assert_eq!(home.ids(&[]), [CLAUDE, CODEX, PI]);
}

#[test]
fn a_home_without_sessions_is_told_so() {
    let home = Home::new();
    let told = "no session of claude-code, codex, pi, opencode, gemini-cli, copilot-cli or qwen-code is kept where they keep them by default, or where their variables say\n";
    assert_eq!(home.printed(&["sessions"]), told);
    assert_eq!(home.printed(&["sessions", "--here"]), "no session fits; `epitome sessions` shows all\n");
}

#[test]
fn no_terminal_obeys_what_stands_in_a_session() {
    let home = Home::new();
    let project = home.path().join("a\u{1b}[2J");
    let mut lines = home::claude(&project, CLAUDE, 1);
    lines[0]["customTitle"] = "a\u{1b}[2Jb".into();
    home.write(&home::claude_name(&project, CLAUDE), 0, &lines);
    let table = home.printed(&["sessions"]);
    assert!(table.contains("a\u{fffd}[2Jb") && !table.contains('\u{1b}'), "{table}");
}

#[cfg(unix)]
#[test]
fn what_is_kept_of_sessions_is_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = home_of_three();
    let cache = home.path().join(".cache/epitome");
    std::fs::create_dir_all(&cache).expect("there is room");
    std::fs::write(cache.join("sessions.json"), "{}").expect("there is room");
    home.printed(&["sessions"]);
    for name in ["sessions.json", "last-table.json"] {
        let mode = std::fs::metadata(cache.join(name)).expect("it is kept").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn what_subagents_cost_is_the_same_in_the_table_in_inspect_and_in_the_store() {
    let home = Home::new();
    let project = home.project();
    let mut lines = home::claude(&project, CLAUDE, 3);
    let without = || home.parsed(&["inspect", CLAUDE, "--json"])["cost"]["total"].clone();
    home.write(&home::claude_name(&project, CLAUDE), 0, &lines);
    let alone = without();
    assert_eq!(alone["calls"], 3);
    // A reply of a subagent's in two records, as they come while it streams: one call.
    for at in 0..2 {
        let mut side = lines[4].clone();
        (side["isSidechain"], side["uuid"]) = (json!(true), json!(format!("side-{at}")));
        (side["message"]["id"], side["parentUuid"]) = (json!("msg_side"), Value::Null);
        lines.insert(5, side);
    }
    home.write(&home::claude_name(&project, CLAUDE), 1, &lines);
    let survey = home.parsed(&["inspect", CLAUDE, "--json"]);
    assert_eq!((&survey["cost"]["total"]["calls"], &survey["side_calls"]), (&json!(4), &json!(1)));
    let dollars = |value: &Value| value.as_f64().expect("it has a price");
    let spent = dollars(&survey["cost"]["total"]["dollars"]);
    assert!((spent / dollars(&alone["dollars"]) - 4.0 / 3.0).abs() < 1e-9, "{survey}");
    let row = &home.parsed(&["sessions", "--json"])["sessions"][0];
    assert!((dollars(&row["spent_dollars"]) - spent).abs() < 1e-9, "{row}");
    let shown = home.printed(&["inspect", CLAUDE]);
    assert!(shown.contains("1 call of subagents among them"), "{shown}");
    home.printed(&["import", CLAUDE]);
    let stored = &home.parsed(&["cost", "--json"])["total"]["primary"];
    assert_eq!(stored["calls"], 4);
    assert!((dollars(&stored["dollars"]) - spent).abs() < 1e-9, "{stored}");
}
