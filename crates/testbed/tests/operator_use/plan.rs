//! What Operator-Use prepares, and what it stores.

use crate::{bed, compact, tail};
use epitome_core::{EntryId, Tail, Tokens, Trigger};
use epitome_engine::CompactOptions;
use epitome_testbed::Bed;

/// The messages to be summarised and those that are retained, or why there is nothing to do.
fn prepared(bed: &Bed) -> Result<(Vec<EntryId>, Vec<EntryId>), String> {
    let sketch = bed.driver.sketch(&bed.session, Trigger::Manual, CompactOptions::default());
    match sketch.expect("all is in memory") {
        Some(sketch) => Ok((sketch.leaving, sketch.staying)),
        None => Err(bed.preview(Trigger::Manual).outcome.why().expect("it says why")),
    }
}

#[test]
fn o6_right_after_a_compaction_there_is_nothing_to_prepare() {
    let mut bed = bed("operator-use");
    bed.talk(2, 1_000);
    tail(&mut bed);
    compact(&mut bed);
    assert_eq!(prepared(&bed), Err("nothing was said since the last compaction".into()));
}

#[test]
fn o7_without_a_place_to_cut_there_is_nothing_to_prepare() {
    let mut bed = bed("operator-use");
    let text = bed.filler(30_000);
    bed.user(&text);
    assert_eq!(prepared(&bed), Err("every message in view is one that is kept".into()));
    assert_eq!(bed.compact(Trigger::Manual).outcome.name(), "noop");
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
    let record = compact(&mut bed);
    let change = record.change().expect("something was done");
    assert!(change.summary.as_ref().is_some_and(|text| text.contains("what call 1 was told")));
    assert_eq!((&change.kept, record.tokens_before), (&kept, before));
    let files: Vec<(&str, bool)> =
        change.ledger.files.iter().map(|file| (&*file.path, file.created || file.modified)).collect();
    assert_eq!(files, [("a.py", false), ("b.py", true)]);
}

#[test]
fn o15_the_stored_entry_names_what_was_retained() {
    let mut bed = bed("operator-use");
    let older = bed.talk(2, 1_000);
    let kept = tail(&mut bed);
    let record = compact(&mut bed);
    assert_eq!(record.change().map(|change| &change.kept), Some(&kept));
    let entry = bed.session.log().compaction(bed.session.compactions()[0]).expect("it was appended");
    // What is retained is all that lies behind the last message covered.
    assert_eq!((&entry.front, &entry.tail), (&vec![], &Tail::After { anchor: older[1], kept: vec![] }));
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
