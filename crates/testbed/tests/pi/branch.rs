//! Leaving a branch: what is collected, what is asked, and where the summary hangs.

use crate::{WINDOW, bed};
use epitome_core::{Archive as _, EntryId, Purpose, Tokens};
use epitome_engine::{BranchDifference, BranchExit, NavigationOutcome};
use epitome_testbed::{Bed, Maker, Quarter, good, now};
use epitome_wire::Format;
use std::sync::Arc;

/// A question, then a branch of so many messages of 1,000 tokens: the ids of both.
fn branched(bed: &mut Bed, messages: usize) -> (EntryId, Vec<EntryId>) {
    let common = bed.user("which way?");
    (common, bed.talk(messages, 1_000))
}

fn go(bed: &mut Bed, target: EntryId, farewell: BranchExit) -> Option<EntryId> {
    let moved = now(bed.driver.navigate(&mut bed.session, target, farewell)).expect("all is in memory");
    match moved {
        NavigationOutcome::There { summary } => summary,
        NavigationOutcome::Stayed { why } => panic!("{why}"),
    }
}

fn with_summary() -> BranchExit {
    BranchExit::Summary { focus: None }
}

/// What a message says.
fn said_in(bed: &Bed, id: EntryId) -> String {
    let shown = bed.session.shown().expect("all is in memory");
    shown.iter().find(|shown| shown.id == Some(id)).expect("it is in view").message.said()
}

#[test]
fn p25_exactly_what_lies_behind_the_common_entry_is_left() {
    let mut bed = bed("pi");
    let (common, old) = branched(&mut bed, 4);
    go(&mut bed, common, BranchExit::Silent);
    let new = bed.talk(2, 10);
    let leaving = |bed: &Bed, target| bed.session.leaving(target).expect("it is there");
    assert_eq!(leaving(&bed, old[3]), BranchDifference { common: Some(common), messages: new.clone() });
    go(&mut bed, old[3], BranchExit::Silent);
    assert_eq!(leaving(&bed, new[1]), BranchDifference { common: Some(common), messages: old });
}

#[test]
fn p26_of_a_branch_that_is_too_large_the_newest_is_read() {
    // 20,000 less the reserve of 16,384 is room for three of the messages.
    let mut bed = Maker::new("pi", WINDOW).model(|model| model.with_window(20_000)).bed();
    let (common, ids) = branched(&mut bed, 6);
    go(&mut bed, common, with_summary());
    let request = bed.model.requests().remove(0);
    assert_eq!((request.purpose, request.output_max), (Purpose::Branch, Tokens(2_048)));
    let text = epitome_testbed::written(&request);
    let is_told = |id: &EntryId| text.contains(&format!("[{id}] "));
    assert_eq!(ids.into_iter().filter(is_told).collect::<Vec<_>>(), (4..7).map(EntryId).collect::<Vec<_>>());
}

#[test]
fn p27_files_of_a_branch_summarised_before_are_listed_again() {
    let mut bed = bed("pi");
    let start = bed.user("begin");
    let (common, _) = branched(&mut bed, 2);
    bed.exchange("read", r#"{"path":"a.rs"}"#, "fn a() {}");
    bed.exchange("edit", r#"{"path":"b.rs","oldText":"x","newText":"y"}"#, "done");
    go(&mut bed, common, with_summary());
    bed.exchange("read", r#"{"path":"c.rs"}"#, "fn c() {}");
    bed.model.then(good("both ways failed"));
    let summary = go(&mut bed, start, with_summary()).expect("one was asked for");
    assert!(said_in(&bed, summary).ends_with(
        "both ways failed\n\n<read-files>\na.rs\nc.rs\n</read-files>\n\n<modified-files>\nb.rs\n</modified-files>\n</epitome-branch>"
    ));
}

#[test]
fn p27_files_of_a_branch_that_pi_summarised_are_listed_again() {
    let entry = |id: &str, parent: &str, rest: &str| {
        format!(r#"{{"id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z",{rest}}}"#)
    };
    let said = |text: &str| format!(r#""type":"message","message":{{"role":"user","content":"{text}"}}"#);
    let told = r#""type":"branch_summary","fromId":"00000009","summary":"it failed\n\n<read-files>\na.rs\n</read-files>\n\n<modified-files>\nb.rs\n</modified-files>""#;
    let file = [
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}"#
            .to_owned(),
        entry("00000001", "null", &said("begin")),
        entry("00000002", r#""00000001""#, told),
        entry("00000003", r#""00000002""#, &said("go on")),
    ];
    let bytes = Arc::new(file.join("\n").into_bytes());
    let read = epitome_wire::read(bytes, Some(Format::Pi), &Quarter).expect("it is a session");
    let conversation = &read.conversations[0];
    let mut bed = bed("pi");
    for id in conversation.log.path(conversation.leaf.expect("something was said")) {
        bed.say((*conversation.originals.message(id).expect("it is in the file")).clone());
    }
    bed.exchange("read", r#"{"path":"c.rs"}"#, "fn c() {}");
    bed.model.then(good("both ways failed"));
    let summary = go(&mut bed, EntryId(0), with_summary()).expect("one was asked for");
    assert!(said_in(&bed, summary).ends_with(
        "both ways failed\n\n<read-files>\na.rs\nc.rs\n</read-files>\n\n<modified-files>\nb.rs\n</modified-files>\n</epitome-branch>"
    ));
}

#[test]
fn p28_the_summary_hangs_at_the_place_the_session_goes_to() {
    let mut bed = bed("pi");
    let (common, _) = branched(&mut bed, 2);
    let summary = go(&mut bed, common, with_summary()).expect("one was asked for");
    assert_eq!(bed.session.log().path(summary), [common, summary]);
    assert_eq!((bed.session.leaf(), bed.in_view()), (Some(summary), vec![common, summary]));
}

#[test]
fn p29_without_being_asked_for_no_summary_is_written() {
    let mut bed = bed("pi");
    let (common, _) = branched(&mut bed, 2);
    let entries = bed.session.log().len();
    assert_eq!(go(&mut bed, common, BranchExit::Silent), None);
    assert_eq!((bed.session.log().len(), bed.in_view()), (entries, vec![common]));
    assert!(bed.model.requests().is_empty());
}
