//! Branches of a stored session: another goes on from one of its messages, a branch is left with a word on it, a place gets a name.

use crate::desk::{Desk, PI, corpus, talk};
use serde_json::json;

#[test]
fn a_fork_holds_the_same_under_the_same_ids_and_goes_its_own_way() {
    for desk in Desk::of_each_kind() {
        let session = desk.import("talk.json", talk(20));
        desk.printed(&["rollback", &session, "m0030"]);
        let at_30 = desk.context(&session);
        desk.printed(&["rollback", &session, "m0040"]);
        let before = desk.context(&session);
        let forked = desk.json(&["fork", &session, "m0030", "--json"]);
        assert_eq!(
            forked,
            json!({"outcome": "forked", "session": "s0002", "forked_from": "s0001", "leaf": "m0030", "entries": 41})
        );
        assert!(desk.context("s0002") == at_30, "it is as the session was there");
        let compacted = desk.json(&["compact", "--session", "s0002", "--window", "8000", "--json"]);
        assert_eq!(compacted["outcome"], "compacted", "{}", compacted["why"]);
        assert!(desk.context("s0002") != at_30 && desk.context(&session) == before, "each goes its own way");
        assert!(desk.printed(&["show", "s0002"]).contains("forked from  s0001"));
        // The file stays with the fork when the first goes.
        desk.sql(
            "UPDATE sessions SET changed_ms = changed_ms - 100 * CAST(86400000 AS BIGINT) WHERE session = 1",
        );
        desk.printed(&["expire", "--older-than", "90d"]);
        desk.printed(&["undo", "--session", "s0002"]);
        assert!(desk.context("s0002") == at_30, "nothing of it is lost with the first");
        let refused = desk.run(&["fork", "s0002", "m9999"]);
        assert_eq!(refused.err, "epitome: m9999 is no message of s0002; `epitome tree` shows them\n");
    }
}

#[test]
fn what_a_fork_was_made_with_was_paid_where_it_was_made() {
    let desk = Desk::new();
    let session = desk.import("session.jsonl", corpus(PI));
    desk.printed(&["fork", &session]);
    let dollars = |args: &[&str]| {
        desk.json(&[&["cost", "--json"], args].concat())["total"]["primary"]["dollars"].as_f64()
    };
    assert!(dollars(&[]) > Some(1.0) && dollars(&[]) == dollars(&["--session", &session]), "it counts once");
}

#[test]
fn a_branch_is_left_with_a_word_on_it_and_lists_show_that() {
    for desk in Desk::of_each_kind() {
        let session = desk.import("talk.json", talk(6));
        let silent = desk.json(&["navigate", &session, "m0002", "--json"]);
        assert_eq!(
            (&silent["outcome"], &silent["leaf"], &silent["summary"]),
            (&json!("moved"), &json!("m0002"), &json!(null))
        );
        desk.printed(&["rollback", &session, "m0012"]);
        let told = desk.json(&["navigate", &session, "m0004", "--summary", "--focus", "point 5", "--json"]);
        assert_eq!((&told["leaf"], &told["summary"]), (&json!("m0013"), &json!("m0013")));
        let shown = desk.printed(&["show", &session, "m0013"]);
        assert!(
            shown.contains("What was done on a branch that was left") && shown.contains("m0005-m0012"),
            "{shown}"
        );
        let labelled = desk.json(&["label", &session, "another try", "--json"]);
        assert_eq!((&labelled["outcome"], &labelled["entry"]), (&json!("labelled"), &json!("m0013")));
        desk.printed(&["label", &session, "the beginning", "--at", "m0000"]);
        let tree = desk.printed(&["tree", &session]);
        for line in
            ["label at m0013: another try", "label at m0000: the beginning", "→ the session is at m0013"]
        {
            assert!(tree.contains(line), "{line}: {tree}");
        }
        let history = desk.json(&["history", &session, "--json"]);
        let kinds: Vec<&str> = history["entries"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|row| row["kind"].as_str())
            .collect();
        assert_eq!(kinds, ["user", "reply", "user", "reply", "user", "branch", "label", "label"]);
        assert!(!desk.run(&["label", &session, " "]).err.is_empty(), "a place is called something");
        assert_eq!(desk.run(&["navigate", &session, "m9999"]).code, Some(1));
    }
}

#[test]
fn a_session_is_inspected_up_to_where_it_is() {
    let desk = Desk::new();
    desk.put("talk.json", talk(10));
    desk.printed(&["import", "talk.json"]);
    let counts = || {
        let survey = desk.json(&["inspect", "--session", "s0001", "--json"]);
        ["turns", "replies"].map(|name| survey[name].as_u64().expect("a number"))
    };
    assert_eq!(counts(), [11, 10]);
    desk.printed(&["rollback", "s0001", "m0005"]);
    assert_eq!(counts(), [3, 3]);
}

#[test]
fn a_stored_session_is_inspected_and_replayed_as_its_file_is() {
    let desk = Desk::new();
    let session = desk.import("session.jsonl", corpus(PI));
    let mut of_file = desk.json(&["inspect", "session.jsonl", "--json"]);
    let mut stored = desk.json(&["inspect", "--session", &session, "--json"]);
    for survey in [&mut of_file, &mut stored] {
        let survey = survey.as_object_mut().expect("an object");
        for name in ["file", "format", "bytes"] {
            survey.remove(name);
        }
    }
    let commands = |survey: &mut serde_json::Value| {
        let remedies = survey["waste"]["remedies"].as_array_mut().expect("a list").iter_mut();
        remedies.map(|remedy| remedy["command"].take()).collect::<Vec<_>>()
    };
    commands(&mut of_file);
    let told = commands(&mut stored);
    assert!(
        told[0].as_str().is_some_and(|one| one.starts_with("epitome compact --session s0001 --set ")),
        "{told:?}"
    );
    assert!(stored == of_file, "what fills it is the same");
    let lines = |args: &[&str]| {
        let all = [&["replay", "--preset", "pi", "--window", "32000", "--json"], args].concat();
        let printed = desk.printed(&all);
        let line = |line: &str| {
            let mut line: serde_json::Value = serde_json::from_str(line).expect("JSON");
            // When it was made, and how long that took.
            (line["compaction"]["duration_ms"], line["compaction"]["time_ms"]) = (json!(0), json!(0));
            line["file"] = json!("");
            line
        };
        printed.lines().map(line).collect::<Vec<_>>()
    };
    let (file, stored) = (lines(&["session.jsonl"]), lines(&["--session", &session]));
    assert!(file.len() > 10 && file == stored, "{} and {} calls", file.len(), stored.len());
}
