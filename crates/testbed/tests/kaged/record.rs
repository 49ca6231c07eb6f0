//! What is kept of a compaction, of one that was nothing, and of one that was only tried.

use super::{WINDOW, full, kaged, made};
use epitome_core::{EntryId, Failure, Flag, Judgement, LogError, Outcome, Strategy, Tokens, Trigger};
use epitome_engine::{EngineError, Event};
use epitome_testbed::{Bed, failed};

/// A session of which every message is one that is kept.
fn short() -> Bed {
    let mut bed = Bed::new("kaged", WINDOW);
    bed.talk(6, 1_000);
    bed
}

#[test]
fn k27_a_strategy_that_supersedes_nothing_leaves_no_record() {
    let mut bed = short();
    let step = bed.try_compact(Trigger::Manual).expect("all is in memory");
    assert_eq!((step.appended.len(), step.record.map(|record| record.outcome.name())), (6, Some("noop")));
    assert_eq!((bed.session.log().len(), bed.session.compactions()), (6, &[][..]));
    let why = "every message in view is one that is kept".into();
    let noop = Event::Noop { why, strategy: Strategy::Summarize };
    assert_eq!(bed.take_events().split_off(1), [noop]);
}

#[test]
fn k27_the_event_names_the_strategy_that_ran_and_superseded_nothing() {
    let mut bed = Bed::new("kaged", WINDOW);
    let before = bed.talk(12, 1_000);
    bed.assistant("ok");
    let behind = bed.talk(10, 1_000);
    for id in before.into_iter().chain(behind) {
        bed.session.pin(id).expect("it is a message");
    }
    // Only `ok` could leave, and the line that says so is longer.
    bed.model.always(failed(Failure::TimedOut));
    let view = bed.in_view();
    bed.take_events();
    let step = bed.try_compact(Trigger::Threshold).expect("all is in memory");
    let record = step.record.expect("one was asked for");
    assert_eq!((bed.in_view(), bed.session.compactions()), (view, &[][..]));
    let tried: Vec<Strategy> = record.fallbacks.iter().map(|fallback| fallback.strategy).collect();
    assert_eq!((record.outcome.name(), tried), ("noop", vec![Strategy::Summarize]));
    let why = "compacting would not make the context smaller".into();
    assert_eq!(bed.take_events().split_off(1), [Event::Noop { why, strategy: Strategy::Drop }]);
}

#[test]
fn k28_a_dry_run_is_reported_even_where_nothing_would_be_done() {
    let mut bed = short();
    let ids = bed.in_view();
    let record = bed.preview(Trigger::Manual);
    let why = "every message in view is one that is kept".into();
    assert_eq!((&record.outcome, record.trigger), (&Outcome::Noop { why }, Trigger::Manual));
    assert_eq!((record.tokens_before, record.tokens_after), (Tokens(6_000), Tokens(6_000)));
    assert_eq!((bed.in_view(), bed.take_events(), bed.session.log().len()), (ids, vec![], 6));
}

#[test]
fn k28_a_dry_run_shows_what_would_come_of_it_and_changes_nothing() {
    let (mut bed, ids) = full(kaged());
    let tried = bed.preview(Trigger::Threshold);
    assert_eq!((bed.in_view(), bed.take_events(), bed.session.log().len()), (ids, vec![], 90));
    let done = bed.compact(Trigger::Threshold);
    assert_eq!(tried.tokens_after, done.tokens_after);
    let (tried, done) = (made(Some(tried)), made(Some(done)));
    assert_eq!((tried.superseded, tried.kept), (done.superseded, done.kept));
}

#[test]
fn k35_a_judgement_is_told_and_kept() {
    let (mut bed, _) = full(kaged());
    bed.prepare();
    bed.take_events();
    let of = bed.session.compactions()[0];
    let judged = |flag, notes: &str| Judgement { flag, notes: notes.into() };
    for judgement in [judged(Flag::Good, ""), judged(Flag::Bad, "lost the port number")] {
        bed.session.judge(of, judgement.clone()).expect("it is a compaction");
        assert_eq!(bed.take_events(), [Event::Flagged { of, judgement: judgement.clone() }]);
        assert_eq!(bed.session.judgement(of), Some(&judgement));
    }
    let refused = bed.session.judge(EntryId(0), Judgement::default());
    let expected = LogError::NotAPass { what: "a judgement", id: EntryId(0) };
    assert!(matches!(refused, Err(EngineError::Log(error)) if error == expected));
}
