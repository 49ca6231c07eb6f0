//! What Operator-Use prepares, and what it stores.

use crate::{bed, compact, tail};
use epitome_core::{Drafted, Entry, EntryId, Outcome, Tail, Tokens, Trigger};
use epitome_engine::Happened;
use epitome_testbed::Bed;

/// The messages to be summarised and those that are retained, or why there is nothing to do.
fn prepared(bed: &Bed) -> Result<(Vec<EntryId>, Vec<EntryId>), &'static str> {
    match bed.session.draft(Trigger::Manual).expect("all is in memory") {
        Drafted::Plan(plan) => Ok((plan.leaving(), plan.kept.tail.clone())),
        Drafted::Settled(Outcome::Unneeded { why }) => Err(why),
        Drafted::Settled(_) => panic!("it is possible"),
    }
}

#[test]
fn o6_right_after_a_compaction_there_is_nothing_to_prepare() {
    let mut bed = bed("operator-use");
    bed.talk(2, 1_000);
    tail(&mut bed);
    compact(&mut bed);
    assert_eq!(prepared(&bed), Err("nothing was said since the last compaction"));
}

#[test]
fn o7_without_a_place_to_cut_there_is_nothing_to_prepare() {
    let mut bed = bed("operator-use");
    let text = bed.filler(30_000);
    bed.user(&text);
    assert_eq!(prepared(&bed), Err("every message in view is one that is kept"));
    assert_eq!(bed.compact(Trigger::Manual).outcome, Happened::Noop);
}

#[test]
fn o8_everything_before_the_cut_is_summarised_and_the_rest_is_retained() {
    let mut bed = bed("operator-use");
    let older = bed.talk(6, 1_000);
    let newer = tail(&mut bed);
    assert_eq!(prepared(&bed), Ok((older, newer)));
}

#[test]
fn o14_a_result_has_all_its_parts() {
    let mut bed = bed("operator-use");
    bed.talk(2, 1_000);
    bed.exchange("read", r#"{"path":"a.py"}"#, "import os");
    bed.exchange("write", r#"{"path":"b.py","content":"x = 1"}"#, "done");
    let kept = tail(&mut bed);
    let before = bed.session.context().tokens();
    let report = compact(&mut bed);
    let made = report.record.expect("something was done");
    assert!(made.summary.is_some_and(|text| text.contains("what call 1 was told")));
    assert_eq!((made.kept, report.tokens_before), (kept, before));
    let files: Vec<(&str, bool)> =
        made.ledger.files.iter().map(|file| (&*file.path, file.created || file.modified)).collect();
    assert_eq!(files, [("a.py", false), ("b.py", true)]);
}

#[test]
fn o15_the_stored_entry_names_what_was_retained() {
    let mut bed = bed("operator-use");
    bed.talk(2, 1_000);
    let kept = tail(&mut bed);
    compact(&mut bed);
    let Some(Entry::Compaction(entry)) = bed.session.log().get(bed.session.compactions()[0]) else {
        panic!("it was appended")
    };
    assert_eq!((&entry.before, &entry.tail), (&vec![], &Tail::These(kept)));
}

#[test]
fn o22_the_next_turn_sees_the_summary_and_the_tail() {
    let mut bed = bed("operator-use");
    bed.talk(2, 1_000);
    let kept = tail(&mut bed);
    let texts = bed.shown()[2..].to_vec();
    compact(&mut bed);
    let shown = bed.shown();
    assert_eq!((bed.in_view(), &shown[1..]), (kept, &texts[..]));
    assert!(shown[0].starts_with("<epitome-summary covers=\"m0000-m0001\" messages=\"2\""));
    assert!(bed.session.context().tokens() < Tokens(20_200));
}
