//! A summary made before it is needed.

use super::{end_turn, made, omp};
use epitome_core::{EntryId, Purpose, Tokens};
use epitome_engine::{BranchExit, Event, NavigationOutcome, PreparedCompaction};
use epitome_testbed::{Bed, now};

/// What was made in the background.
fn ready(bed: &mut Bed) -> PreparedCompaction {
    let speculation = bed.session.speculate().expect("the mark is passed and nothing is ready");
    now(speculation.run(&bed.driver)).expect("the model answers")
}

fn go_to(bed: &mut Bed, target: EntryId) {
    let moved = now(bed.driver.navigate(&mut bed.session, target, BranchExit::Silent)).expect("it is there");
    assert_eq!(moved, NavigationOutcome::There { summary: None });
}

/// What became of summaries made in the background.
fn fates(bed: &mut Bed) -> Vec<String> {
    let events = bed.take_events().into_iter();
    events
        .filter_map(|event| if let Event::Speculated { fate } = event { Some(fate) } else { None })
        .collect()
}

#[test]
fn m10_a_summary_is_begun_before_the_threshold_and_swapped_in_at_it() {
    let mut bed = omp("18").bed();
    let ids = bed.talk(148, 1_000);
    assert_eq!(bed.session.speculation_mark(), Tokens(148_750));
    assert!(bed.session.speculate().is_none());
    let more = bed.talk(2, 1_000);
    let made_ahead = ready(&mut bed);
    bed.session.offer(made_ahead);
    assert!(bed.session.speculate().is_none());
    let since = bed.talk(22, 1_000);
    let record = end_turn(&mut bed).expect("it is due");
    assert_eq!((record.outcome.name(), fates(&mut bed)), ("compacted", vec!["swapped in".to_owned()]));
    let purposes: Vec<Purpose> = bed.model.requests().iter().map(|request| request.purpose).collect();
    assert_eq!(purposes, [Purpose::History, Purpose::Short]);
    let record = made(Some(record));
    assert_eq!(record.superseded, ids[..130]);
    assert_eq!(bed.in_view(), [&ids[130..], &more, &since].concat());
}

#[test]
fn m11_a_summary_of_a_branch_that_was_left_is_thrown_away() {
    let mut bed = omp("18").bed();
    let shared = bed.talk(10, 1_000);
    bed.talk(140, 1_000);
    let made_ahead = ready(&mut bed);
    go_to(&mut bed, shared[9]);
    bed.talk(145, 1_000);
    bed.session.offer(made_ahead);
    assert_eq!(fates(&mut bed), ["thrown away: the branch has moved"]);
    assert!(!bed.session.has_ready());
}

#[test]
fn m11_a_summary_is_thrown_away_on_an_older_and_longer_branch_too() {
    let mut bed = omp("18").bed();
    let shared = bed.talk(10, 1_000);
    let longer = bed.talk(158, 1_000);
    go_to(&mut bed, shared[9]);
    bed.talk(140, 1_000);
    let made_ahead = ready(&mut bed);
    go_to(&mut bed, longer[157]);
    bed.user("one more word");
    bed.session.offer(made_ahead);
    assert_eq!(fates(&mut bed), ["thrown away: the branch has moved"]);
}
