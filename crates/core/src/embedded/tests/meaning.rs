//! What a summary says of the work itself: what is asked for, what was changed and why, what is done.

use super::{Quarter, draft, exchange, model, person};
use crate::digest::DigestCache;
use crate::embedded::{Material, summarize};
use crate::{EntryId, Message, Tokens};
use std::sync::Arc;

/// The lines of a section of a summary.
fn section<'t>(text: &'t str, heading: &str) -> Vec<&'t str> {
    let lines = text.lines().skip_while(|line| *line != heading).skip(1);
    lines.take_while(|line| !line.starts_with("## ")).filter(|line| !line.is_empty()).collect()
}

/// Says something with a call.
fn saying(text: &str, mut exchange: [Message; 2]) -> [Message; 2] {
    exchange[0].blocks.insert(0, crate::Block::Text { text: text.into() });
    exchange
}

#[test]
fn the_goal_is_the_newest_request_of_what_leaves_and_nothing_of_what_stays_is_told() {
    let messages = [
        person("Build the importer of the shop, please."),
        model("It is built."),
        person("Give me the list of what is left again."),
        model("Two things are left."),
        person("Skip the first and do the rest."),
    ];
    let text = draft(&messages, 1, 600).text;
    assert_eq!(section(&text, "## Goal"), ["Asked (m0002): Give me the list of what is left again."]);
    assert!(!text.contains("Skip the first"), "another branch may say something else there: {text}");
}

#[test]
fn what_was_said_twice_is_told_once() {
    let asked = "Can we add some more trigger phrases to the skill?";
    let messages = [person(asked), model("Added."), person(asked), model("There are two more now.")];
    let text = draft(&messages, 0, 600).text;
    let told = section(&text, "## Dialogue, oldest first");
    assert_eq!(
        told.iter().filter(|line| line.contains(asked)).collect::<Vec<_>>(),
        [&format!("m0002 user: {asked}")]
    );
}

#[test]
fn a_changed_file_is_told_with_what_it_was_changed_for() {
    let edit = r#"{"file_path":"src/tree.rs","old_string":"x","new_string":"// The metadata tree is read once, before the loop.\nlet tree = read();"}"#;
    let mut messages = vec![person("Make the explain command of the tool fast.")];
    messages.extend(saying(
        "The tree is read for each commit. Let me hoist the metadata tree out of the loop:",
        exchange(1, "Edit", edit, "The file src/tree.rs has been updated successfully."),
    ));
    messages.push(model("The metadata tree is read once now."));
    let text = draft(&messages, 0, 900).text;
    let files = section(&text, "## Files, by what was done to them");
    assert_eq!(files.len(), 1, "{text}");
    for told in [
        "modified src/tree.rs",
        "hoist the metadata tree out of the loop",
        "The metadata tree is read once, before the loop.",
    ] {
        assert!(files[0].contains(told), "{told} is not in\n{text}");
    }
}

#[test]
fn what_a_commit_tells_others_is_told() {
    let commit = r#"{"command":"git commit -m 'fix: close every iterator early' -m 'Leaked handles kept the store from being opened again.'"}"#;
    let mut messages = vec![person("Find out why the store does not open again.")];
    messages.extend(exchange(1, "Bash", commit, "[main 1234567] fix"));
    messages.extend([model("Done."), person("And now the tests of it.")]);
    let text = draft(&messages, 1, 900).text;
    let found = section(&text, "## Findings, fixes and decisions, as the model put them");
    assert!(found.contains(&"m0001: Leaked handles kept the store from being opened again."), "{text}");
}

#[test]
fn what_is_done_of_the_list_is_told() {
    let todos = r#"{"todos":[{"content":"repair the header","status":"completed"},{"content":"run the suite","status":"pending"}]}"#;
    let mut messages = vec![person("Repair the parser of the tool.")];
    messages.extend(exchange(1, "TodoWrite", todos, "ok"));
    let text = draft(&messages, 0, 600).text;
    assert_eq!(section(&text, "## Progress: Done"), ["- [x] repair the header"]);
    assert_eq!(section(&text, "## Next Steps"), ["- [ ] run the suite"]);
}

#[test]
fn of_a_list_that_was_reported_on_the_rest_is_said_to_be_open() {
    let messages = [
        person("Please:\n- fix the flaky login test\n- rename the config loader"),
        model("✅ Fixed the flaky login test."),
        person("And what about the rest of it?"),
    ];
    let text = draft(&messages, 1, 1_500).text;
    assert_eq!(section(&text, "## Progress: Done"), ["- [x] fix the flaky login test (m0001)"]);
    assert_eq!(section(&text, "## Next Steps"), ["- not said to be done: rename the config loader (m0000)"]);
}

#[test]
fn names_in_code_are_told_without_the_code() {
    let read = "= getBranch(p);\n} (isAncestor) {";
    let mut messages = vec![person("Look at the explain command of the tool.")];
    messages.extend(exchange(1, "Read", r#"{"file_path":"src/explain.ts"}"#, read));
    messages.push(person("Go on with it, please."));
    let text = draft(&messages, 1, 400).text;
    assert!(text.ends_with("\nm0002 names: getBranch; isAncestor"), "{text}");
    assert!(!text.contains("{"), "{text}");
}

#[test]
fn a_name_in_code_is_told_with_the_words_of_its_line() {
    let read =
        "  if (!repo[\"x\"] && getBranch(repo, { n: 4, at: \"/\" }) != [0, 1]) { // oldest commit first";
    let mut messages = vec![person("Look at the explain command of the tool.")];
    messages.extend(exchange(1, "Read", r#"{"file_path":"src/explain.ts"}"#, read));
    messages.push(person("Go on with it, please."));
    let text = draft(&messages, 1, 400).text;
    assert!(text.ends_with("\nm0002 names: getBranch repo oldest commit"), "{text}");
}

#[test]
fn what_was_committed_is_told_and_what_failed_to_be_is_not() {
    let commit = |message: &str| format!(r#"{{"command":"git commit -m '{message}'"}}"#);
    let mut messages = vec![person("Find out why the store does not open again.")];
    messages.extend(exchange(1, "Bash", &commit("Close iterators"), "[main 1234567] Close iterators"));
    messages.extend(exchange(
        2,
        "Bash",
        &commit("Drop the lock"),
        "Exit code 1\nhook failed: no issue named",
    ));
    messages.extend(exchange(3, "Bash", &commit("Drop the lock (#7)"), "[main 2345678] Drop the lock (#7)"));
    let text = draft(&messages, 0, 900).text;
    assert_eq!(
        section(&text, "## Progress: Done"),
        ["m0001 committed: Close iterators", "m0005 committed: Drop the lock (#7)"]
    );
}

#[test]
fn a_file_that_was_read_is_told_with_what_it_says_it_is_for() {
    let shown = "     1→//! Counts what a session costs, call by call.\n     2→\n     3→fn price_all() {}";
    let mut messages = vec![person("Look at how the tool counts what it spends.")];
    messages.extend(exchange(1, "Read", r#"{"file_path":"src/cost.rs"}"#, shown));
    let text = draft(&messages, 0, 2_000).text;
    assert_eq!(
        section(&text, "## Files, by what was done to them"),
        ["read src/cost.rs — Counts what a session costs, call by call."]
    );
}

#[test]
fn of_a_draft_and_a_summary_the_summary_is_carried_where_both_do_not_fit() {
    let draft = "I looked at the parser and at each of its tests.\n".repeat(40);
    let earlier = format!("Analysis:\n{draft}\nSummary:\n1. Pending Tasks:\n   - wire the login form\n");
    let text = super::draft_behind(&[&earlier], model("The form is wired now."), 9, 300);
    let carried = section(&text, "## Earlier summary, as it stood then");
    assert_eq!(carried[..2], ["1. Pending Tasks:", "   - wire the login form"], "{text}");
}

#[test]
fn what_was_done_behind_a_summary_silences_and_adds_nothing() {
    let todos = |state: &str| format!(r#"{{"todos":[{{"content":"run the suite","status":"{state}"}}]}}"#);
    let mut messages = vec![person("Repair the parser of the tool.")];
    messages.extend(exchange(1, "TodoWrite", &todos("pending"), "ok"));
    messages.extend(exchange(2, "Bash", r#"{"command":"cargo test"}"#, "Exit code 101\nfailed"));
    let told = draft(&messages, 0, 900).text;
    assert_eq!(section(&told, "## Next Steps"), ["- [ ] run the suite"]);
    assert_eq!(section(&told, "## Progress: Blocked"), ["- cargo test → exit 101"]);
    messages.extend(exchange(3, "Bash", r#"{"command":"cargo test"}"#, "ok"));
    messages.extend(exchange(4, "Write", r#"{"file_path":"src/zebra.rs","content":"x"}"#, "created"));
    messages.extend(exchange(5, "TodoWrite", &todos("completed"), "ok"));
    let silenced = draft(&messages, 6, 900).text;
    for heading in ["## Next Steps", "## Progress: Blocked", "## Progress: Done"] {
        assert_eq!(section(&silenced, heading), [""; 0], "{silenced}");
    }
    assert!(!silenced.contains("zebra"), "{silenced}");
}

/// A session in which the person's second request is being worked on, compacted while it stays in view with `behind`.
fn draft_midway(behind: &[(EntryId, Arc<Message>)]) -> String {
    let leaving = [
        (EntryId(0), person("Build the importer of the shop, please.").into()),
        (EntryId(1), model("It is built.").into()),
        (EntryId(3), model("The export quotes no names: I look at its writer first.").into()),
    ];
    let open = (EntryId(2), person("Now find out why the nightly export drops rows, and fix it.").into());
    let material = Material {
        superseded: &leaving,
        addressable: &[],
        visible: &[&[open], behind].concat(),
        earlier: None,
        previous: &[],
        focus: None,
        measure: &Quarter,
        digests: &DigestCache::default(),
    };
    summarize(&material, Tokens(1_200)).text
}

#[test]
fn a_request_that_stays_in_view_and_is_being_worked_on_is_the_goal() {
    let asked = "Now find out why the nightly export drops rows, and fix it.";
    assert_eq!(section(&draft_midway(&[]), "## Goal"), [format!("Being worked on, in view: {asked}")]);
    let since = (EntryId(4), person("Leave that now and write the changelog.").into());
    assert_eq!(
        section(&draft_midway(&[since]), "## Goal"),
        [format!("Asked, in view: {asked}")],
        "something else has been asked for behind it"
    );
    let results = (EntryId(4), exchange(1, "Read", r#"{"path":"a.rs"}"#, "fn a() {}")[1].clone().into());
    assert!(
        draft_midway(&[results]).contains("Being worked on, in view: Now find"),
        "a result asks for nothing"
    );
}

#[test]
fn what_the_person_took_back_is_no_rule() {
    let messages = [
        person("Never push to the release branch."),
        model("Understood."),
        person("Always call the command update and reuse the same pull request."),
        model("Understood."),
        person("Sorry, wrong chat. Ignore the last message. The design can be simpler."),
        model("It is simpler now."),
    ];
    for visible in [0, 2] {
        let text = draft(&messages, visible, 600).text;
        assert_eq!(
            section(&text, "## Constraints & Preferences"),
            ["- Never push to the release branch."],
            "{text}"
        );
    }
}

#[test]
fn what_stays_cut_behind_a_summary_makes_nothing_before_it_a_goal() {
    let leaving = [
        (EntryId(0), person("Build the importer of the shop, please.").into()),
        (EntryId(1), model("It is built.").into()),
        (EntryId(3), exchange(1, "Read", r#"{"path":"a.rs"}"#, &"fn a() {}\n".repeat(40))[1].clone().into()),
    ];
    let cut = exchange(1, "Read", r#"{"path":"a.rs"}"#, "fn a() {} [… cut …]")[1].clone();
    let behind = [
        (EntryId(2), person("Now read the exporter, and say what it drops.").into()),
        (EntryId(3), cut.into()),
    ];
    let material = Material {
        superseded: &leaving,
        addressable: &[],
        visible: &behind,
        earlier: None,
        previous: &[],
        focus: None,
        measure: &Quarter,
        digests: &DigestCache::default(),
    };
    let text = summarize(&material, Tokens(1_200)).text;
    assert_eq!(
        section(&text, "## Goal"),
        ["Asked (m-0000): Build the importer of the shop, please."],
        "{text}"
    );
}
