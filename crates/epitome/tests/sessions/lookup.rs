//! A session named by a number, an id or a name where a file is taken.

use crate::home::{self, CLAUDE, CODEX, Home, PI, QWEN};
use serde_json::Value;

const CLAUDE_TWO: &str = "11111111-ffff-4bbb-8ccc-000000000009";

fn home_of_four() -> Home {
    let home = Home::new();
    let project = home.project();
    home.write(&home::claude_name(&project, CLAUDE), 0, &home::claude(&project, CLAUDE, 1));
    home.write(&home::claude_name(&project, CLAUDE_TWO), 1, &home::claude(&project, CLAUDE_TWO, 1));
    home.write(&home::codex_name(CODEX), 2, &home::codex(&project, CODEX, 1));
    home.write(&home::pi_name(&project, PI), 3, &home::pi(&project, PI, 1));
    home
}

/// The file that a name leads `inspect` to.
fn found(home: &Home, name: &str) -> String {
    let survey: Value = home.parsed(&["inspect", name, "--json"]);
    survey["file"].as_str().expect("a survey names its file").to_owned()
}

#[test]
fn a_session_is_opened_by_its_number_in_the_table_shown_last() {
    let home = home_of_four();
    let none = home.refusal(&["inspect", "2"]);
    assert_eq!(
        none,
        "there is no file `2`, and no table is kept whose numbers could be meant; `epitome sessions` shows one"
    );
    home.printed(&["sessions"]);
    assert!(found(&home, "3").contains(CODEX));
    home.printed(&["sessions", "--tool", "pi"]);
    assert!(found(&home, "1").contains(PI), "the table is another one now");
    let beyond = home.refusal(&["inspect", "2"]);
    assert_eq!(
        beyond,
        "there is no file `2`, and no session of this number in the table shown last; `epitome sessions` shows one"
    );
}

#[test]
fn a_number_with_noughts_in_front_is_none() {
    let home = home_of_four();
    home.printed(&["sessions"]);
    assert_eq!(
        home.refusal(&["inspect", "003"]),
        "there is no file `003`, and no session of this id or name (of an id its first four characters are needed); `epitome sessions 003` lists those with it in their folder or model"
    );
    assert!(found(&home, "3").contains(CODEX));
}

/// A disk that takes nothing more: no file may grow, and the program is told so.
#[cfg(unix)]
#[test]
fn the_number_of_a_table_that_could_not_be_kept_is_not_taken_for_an_older_ones() {
    let home = home_of_four();
    home.printed(&["sessions"]);
    let full =
        format!("trap '' XFSZ; ulimit -f 0; exec {} sessions --tool pi", env!("CARGO_BIN_EXE_epitome"));
    let shown = home.command("sh").args(["-c", &full]).output().expect("there is a shell");
    let (table, told) = (String::from_utf8_lossy(&shown.stdout), String::from_utf8_lossy(&shown.stderr));
    assert!(shown.status.success() && table.contains(&format!("epitome inspect {PI}")), "{table}{told}");
    assert!(
        told.starts_with("the numbers of this table cannot be kept; name a session by its id (cannot write "),
        "{told}"
    );
    assert_eq!(
        home.refusal(&["inspect", "1"]),
        "there is no file `1`, and no table is kept whose numbers could be meant; `epitome sessions` shows one"
    );
}

#[test]
fn a_session_is_opened_by_its_id_or_the_beginning_of_it_or_its_name() {
    let home = home_of_four();
    for (name, id) in [(CODEX, CODEX), ("2222", CODEX), ("33333333-aaaa", PI), ("11111111-f", CLAUDE_TWO)] {
        assert!(found(&home, name).contains(id), "{name}");
    }
    let titled = home::claude_name(&home.project(), CLAUDE_TWO);
    std::fs::remove_file(home.path().join(titled)).expect("it is there");
    assert!(found(&home, "The Parser").contains(CLAUDE));
}

#[test]
fn what_may_be_several_sessions_is_refused_with_their_names() {
    let home = home_of_four();
    for name in ["1111", "the parser"] {
        let refused = home.refusal(&["inspect", name]);
        let expected = format!(
            "`{name}` may be any of 2 sessions; name one by its id\n  {CLAUDE}  claude-code  the parser\n  {CLAUDE_TWO}  claude-code  the parser"
        );
        assert_eq!(refused, expected);
    }
}

#[test]
fn a_path_that_is_there_wins_and_what_looks_like_one_is_one() {
    let home = home_of_four();
    let text: String = home::pi(&home.project(), PI, 1).iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(home.project().join("2222"), text).expect("there is room");
    assert_eq!(found(&home, "2222"), "2222");
    assert_eq!(
        home.refusal(&["inspect", "none.jsonl"]),
        "cannot read none.jsonl: there is no such file; check its name"
    );
    let refused = home.refusal(&["inspect", "nobody"]);
    assert_eq!(
        refused,
        "there is no file `nobody`, and no session of this id or name; `epitome sessions nobody` lists those with it in their folder or model"
    );
}

#[test]
fn every_command_that_takes_a_file_takes_a_session() {
    let home = home_of_four();
    let context = home.parsed(&["context", CODEX, "--to", "openai-chat"]);
    let said = |at: usize| context["messages"][at]["content"].as_str().unwrap_or_default();
    let first = (0..3).map(said).find(|text| text.starts_with("turn 0: the reader")).expect("it is in view");
    let largest = home.parsed(&["inspect", CODEX, "--json"])["largest"][0]["id"].clone();
    assert_eq!(
        home.printed(&["recall", CODEX, largest.as_str().expect("a pointer")]).trim_end(),
        first.trim_end()
    );
    assert!(home.printed(&["replay", CODEX, "--json"]).contains(CODEX));
    assert!(home.printed(&["compact", CODEX, "--dry-run", "--json"]).contains(CODEX));
    assert_eq!(home.parsed(&["undo", CODEX, "--json"])["outcome"], "noop");
}

/// A file that was copied under a new name keeps the id of the session it was made of in its records.
#[test]
fn a_session_is_printed_and_opened_by_the_name_of_its_file_where_its_tool_does_so() {
    let home = Home::new();
    let (project, other) = (home.project(), home.path().join("other"));
    let lines = home::claude(&project, CLAUDE, 1);
    home.write(&home::claude_name(&project, CLAUDE_TWO), 0, &lines);
    home.write(&home::qwen_name(&project, QWEN), 1, &home::qwen(&project, PI, 1));
    assert_eq!(home.ids(&[]), [CLAUDE_TWO, QWEN]);
    for (name, id) in [(CLAUDE_TWO, CLAUDE_TWO), (CLAUDE, CLAUDE_TWO), (QWEN, QWEN), (PI, QWEN)] {
        assert!(found(&home, name).contains(id), "{name}");
    }
    home.write(&home::claude_name(&project, CLAUDE), 2, &lines);
    assert!(found(&home, CLAUDE).contains(CLAUDE), "a file's name comes first");
    home.write(&home::claude_name(&other, CLAUDE), 3, &lines);
    let shown = |folder: &std::path::Path| format!("~/{}", home::claude_name(folder, CLAUDE));
    let expected = format!(
        "`{CLAUDE}` may be any of 2 sessions; name one by its id, or its path where two have one\n  {CLAUDE}  {}  claude-code  the parser\n  {CLAUDE}  {}  claude-code  the parser",
        shown(&project),
        shown(&other)
    );
    assert_eq!(home.refusal(&["inspect", CLAUDE]), expected);
}
