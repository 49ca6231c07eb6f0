//! What a report says of tiny histories.

use super::{LossReport, repair, verify};
use crate::facts::Class;
use crate::{Author, EntryId, Image, Material, Measure, Message, Role, Shelf, Tokens};

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
    let mut shelf = Shelf::default();
    shelf.put(EntryId(0), Message::text(Role::User, Author::Person, person));
    shelf.put(EntryId(1), Message::text(Role::Tool, Author::Tool, tool));
    let superseded = [EntryId(0), EntryId(1)];
    let material = Material {
        earlier: None,
        superseded: &superseded,
        addressable: &superseded,
        visible: &[],
        previous: &[],
        focus: None,
        archive: &shelf,
        measure: &Words,
    };
    let mut report = verify(&material, shown, &superseded).expect("the shelf holds both");
    let lines = repair(&material, &mut report, Tokens(budget)).expect("the shelf holds both");
    (report, lines)
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
