//! What a report says of tiny histories.

use super::{LossReport, repair, verify};
use crate::facts::Class;
use crate::{
    Author, Block, Call, DigestCache, EntryId, Image, Material, Measure, Message, Original, ResultPart, Role,
    Tokens, ToolResult, embedded,
};
use std::sync::Arc;

/// Words are tokens.
struct Words;

impl Measure for Words {
    fn text(&self, text: &str) -> Tokens {
        Tokens(text.split_whitespace().count() as u64)
    }
    fn image(&self, _: &Image) -> Tokens {
        Tokens(1)
    }
    fn framing(&self) -> Tokens {
        Tokens(0)
    }
}

/// The report on a context that shows `shown` of what a person and a tool said, and what a repair adds.
fn check(person: &str, tool: &str, shown: &str, budget: u64) -> (LossReport, Vec<String>) {
    let messages =
        [Message::text(Role::User, Author::Person, person), Message::text(Role::Tool, Author::Tool, tool)];
    check_all(&messages, &[], shown, budget)
}

/// The same for any messages; those of `visible` come last and stay.
fn check_all(
    messages: &[Message],
    visible: &[Message],
    shown: &str,
    budget: u64,
) -> (LossReport, Vec<String>) {
    let messages_all = messages.iter().chain(visible).cloned().map(Arc::new);
    let all: Vec<Original> = (0..).map(EntryId).zip(messages_all).collect();
    let (superseded, visible) = all.split_at(messages.len());
    check_parts(superseded, visible, shown, budget)
}

/// The same for messages of which others leave view than the oldest.
fn check_parts(
    superseded: &[Original],
    visible: &[Original],
    shown: &str,
    budget: u64,
) -> (LossReport, Vec<String>) {
    let addressable: Vec<EntryId> = superseded.iter().map(|(id, _)| *id).collect();
    let material = Material {
        earlier: None,
        superseded,
        addressable: &addressable,
        visible,
        previous: &[],
        focus: None,
        measure: &Words,
        digests: &DigestCache::default(),
    };
    let mut found = verify(&material, &embedded::ledger(&material), shown, &addressable);
    let lines = repair(&material, &mut found, Tokens(budget));
    (found.report, lines.into_iter().map(|line| line.text).collect())
}

fn class(report: &LossReport, class: Class) -> (u64, u64, u64, u64) {
    let tally = report.by_class.get(&class).copied().unwrap_or_default();
    (tally.kept, tally.recoverable, tally.lost, tally.wrong)
}

#[test]
fn a_fact_is_kept_recoverable_or_lost() {
    let tool = "see src/a.rs and src/b.rs";
    assert_eq!(class(&check("hi", tool, "only src/a.rs", 0).0, Class::Path), (1, 0, 1, 0));
    assert_eq!(class(&check("hi", tool, "only src/a.rs, more in m0001", 0).0, Class::Path), (1, 1, 0, 0));
    assert_eq!(class(&check("hi", tool, "m0007 is no entry", 0).0, Class::Path), (0, 0, 2, 0));
}

#[test]
fn an_old_value_shown_as_current_is_wrong() {
    let (report, _) = check("hi", "timeout: 30 ms\ntimeout: 45 ms", "timeout: 30 ms", 0);
    assert_eq!(class(&report, Class::Number), (0, 0, 1, 1));
}

#[test]
fn rules_are_put_back_first() {
    let (report, lines) = check("Never push to main.", "see src/a.rs and find_cut", "nothing", 8);
    assert_eq!(lines, ["- rule: Never push to main."]);
    assert_eq!((report.repaired, class(&report, Class::Prohibition)), (1, (1, 0, 0, 0)));
    let all = report.kept + report.recoverable + report.lost;
    assert_eq!(all, report.by_class.values().map(|t| t.kept + t.recoverable + t.lost).sum::<u64>());
}

#[test]
fn a_value_that_a_message_in_view_replaced_is_neither_lost_nor_put_back() {
    let said = |text: &str| Message::text(Role::Tool, Author::Tool, text);
    let old = [said("branch: feature/old\ntimeout: 3000 ms")];
    let (report, lines) = check_all(&old, &[said("branch: feature/new")], "branch: feature/new", 1000);
    assert_eq!(
        (class(&report, Class::State), lines.as_slice()),
        ((0, 0, 0, 0), &["m0000: timeout: 3000 ms".to_owned()][..])
    );
    assert_eq!(class(&report, Class::Number), (1, 0, 0, 0));
    let (report, _) = check_all(&old, &[said("branch: feature/old")], "branch: feature/old", 0);
    assert_eq!(class(&report, Class::State), (1, 0, 0, 0));
}

#[test]
fn swapped_values_are_not_kept() {
    let tool = "retries = 3000\ntimeout = 4500";
    assert_eq!(class(&check("hi", tool, "retries = 3000\ntimeout = 4500", 0).0, Class::Number).0, 2);
    assert_eq!(class(&check("hi", tool, "retries = 4500\ntimeout = 3000", 0).0, Class::Number).0, 0);
}

#[test]
fn a_report_reads_as_plain_numbers() {
    let (report, _) = check("hi", "see src/a.rs", "src/a.rs", 0);
    let json = serde_json::to_value(&report).expect("plain data");
    assert_eq!(json["by_class"]["path"]["kept"], 1);
}

#[test]
fn a_part_of_a_longer_name_does_not_keep_it() {
    let tool = "see #123 and foo_bar and src/a.rs";
    let shown = "#1234 foo_bar_baz src/a.rs.orig";
    let report = check("hi", tool, shown, 0).0;
    assert_eq!(class(&report, Class::Id), (0, 0, 1, 0));
    assert_eq!(class(&report, Class::Identifier), (0, 0, 1, 0));
    assert_eq!(class(&report, Class::Path), (0, 0, 1, 0));
}

#[test]
fn an_operation_is_the_word_beside_its_path() {
    let call = Call {
        id: "1".into(),
        name: "Read".into(),
        input: r#"{"file_path":"src/a.rs"}"#.into(),
        freeform: false,
    };
    let parts = vec![ResultPart::Text { text: "fn main".into() }];
    let result = ToolResult { call: "1".into(), parts, is_error: false };
    let messages = [
        Message { role: Role::Assistant, author: Author::Model, blocks: vec![Block::Call(call)] },
        Message { role: Role::Tool, author: Author::Tool, blocks: vec![Block::Result(result)] },
    ];
    let kept = |shown| class(&check_all(&messages, &[], shown, 0).0, Class::Operation).0;
    assert_eq!(kept("already changed src/a.rs, read src/b.rs"), 0);
    assert_eq!((kept("read src/a.rs"), kept("- `src/a.rs` (read)"), kept("Read: src/a.rs")), (1, 1, 1));
}

#[test]
fn what_was_put_back_is_no_example_of_loss() {
    let (report, _) = check("Never push to main.", "see src/a.rs", "nothing", 8);
    let lost: Vec<Class> = report.lost_examples.iter().map(|fact| fact.class).collect();
    assert_eq!(lost, [Class::Path, Class::UserMessage]);
}

#[test]
fn a_line_cut_short_mends_only_what_it_holds() {
    let tool = format!("src/a.rs {}src/b.rs", "word ".repeat(50));
    let (report, lines) = check("hi", &tool, "nothing", 1000);
    assert!(lines.iter().any(|line| line.contains("src/a.rs")), "{lines:?}");
    assert_eq!(class(&report, Class::Path), (1, 0, 1, 0));
}

#[test]
fn an_answered_question_is_not_put_back() {
    let asked = Message::text(Role::Assistant, Author::Model, "Done. Shall I push it?");
    let answer = Message::text(Role::User, Author::Person, "yes");
    let questions = |messages: &[Message], visible: &[Message]| {
        check_all(messages, visible, "nothing", 1000)
            .1
            .into_iter()
            .filter(|line| line.starts_with("- unanswered"))
            .count()
    };
    assert_eq!(questions(std::slice::from_ref(&asked), &[]), 1);
    assert_eq!(questions(std::slice::from_ref(&asked), std::slice::from_ref(&answer)), 0);
    assert_eq!(questions(&[asked.clone(), answer.clone()], &[]), 0);
    assert_eq!(questions(&[answer, asked], &[]), 1);
}

#[test]
fn an_older_todo_list_that_stays_in_view_does_not_hide_a_newer_one() {
    let list = |content: &str| {
        let input = format!(r#"{{"todos":[{{"content":"{content}","status":"pending"}}]}}"#);
        let call = Call {
            id: content.into(),
            name: "TodoWrite".into(),
            input: input.as_str().into(),
            freeform: false,
        };
        let parts = vec![ResultPart::Text { text: "ok".into() }];
        let result = ToolResult { call: content.into(), parts, is_error: false };
        [
            Message { role: Role::Assistant, author: Author::Model, blocks: vec![Block::Call(call)] },
            Message { role: Role::Tool, author: Author::Tool, blocks: vec![Block::Result(result)] },
        ]
    };
    let all = [list("wire the form"), list("write the guide")].concat();
    let all: Vec<Original> = (0..).map(EntryId).zip(all.into_iter().map(Arc::new)).collect();
    let (pinned, newer) = all.split_at(2);
    let (_, lines) = check_parts(newer, pinned, "", 100);
    assert!(lines.iter().any(|line| line.contains("write the guide")), "{lines:?}");
    assert_eq!(class(&check_parts(newer, pinned, "", 0).0, Class::Todo), (0, 0, 1, 0));
}

#[test]
fn work_still_going_on_is_put_back() {
    let result = |text: &str| {
        let parts = vec![ResultPart::Text { text: text.into() }];
        let block = Block::Result(ToolResult { call: "1".into(), parts, is_error: false });
        Message { role: Role::Tool, author: Author::Tool, blocks: vec![block] }
    };
    let started = result("Command running in background with ID: b3f9");
    let (report, lines) = check_all(std::slice::from_ref(&started), &[], "nothing", 1000);
    assert_eq!(class(&report, Class::LiveWork), (1, 0, 0, 0));
    assert_eq!(lines, ["m0000: Command running in background with ID: b3f9"]);
    let ended = result("<task_id>b3f9</task_id>\n<status>completed</status>");
    let (report, _) = check_all(&[started], &[ended], "nothing", 1000);
    assert_eq!(class(&report, Class::LiveWork), (0, 0, 0, 0));
}

#[test]
fn a_rule_that_was_taken_back_is_neither_lost_nor_put_back() {
    let said = |text: &str| Message::text(Role::User, Author::Person, text);
    let rule = said("Always reuse the same branch.");
    let retraction = said("Wrong chat, ignore my last message.");
    let (report, lines) = check_all(&[rule.clone(), retraction.clone()], &[], "nothing", 20);
    assert_eq!(class(&report, Class::Requirement), (0, 0, 0, 0));
    assert!(!lines.iter().any(|line| line.starts_with("- rule:")), "{lines:?}");
    let (report, _) = check_all(&[rule], &[retraction], "nothing", 20);
    assert_eq!(class(&report, Class::Requirement), (0, 0, 0, 0), "nor by a message in view");
}
