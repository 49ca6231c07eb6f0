//! Compactors and operators: who returns the whole list, and who must agree first.

use super::{full, kaged, made};
use epitome_core::{
    Decision, EntryId, Fallback, Pending, Piece, Strategy, Tokens, Transformed, Trigger, Verdict, Wishes,
};
use epitome_engine::{Asks, Begun, Event, Happened, Phase, TwoCompactors, Wish, now};
use epitome_testbed::{Bed, Maker, TestHook};
use std::sync::Arc;

/// A policy that leaves it to its compactor.
fn delegating(hook: TestHook) -> Maker {
    kaged().set(|settings| settings.strategy = vec![Strategy::Delegate, Strategy::Drop]).hook(Arc::new(hook))
}

/// A list that keeps the first message and the last ten of ninety.
fn list() -> Transformed {
    let newest = (80..90).map(|id| Piece::Keep(EntryId(id)));
    let written = [Piece::Keep(EntryId(0)), Piece::Write("they talked of many things".into())];
    Transformed { list: written.into_iter().chain(newest).collect() }
}

/// A session that waits for its operator, and what they are shown.
fn waiting() -> (Bed, Vec<EntryId>, epitome_engine::Paused) {
    let chain = vec![Strategy::Checkpoint, Strategy::Summarize, Strategy::Drop];
    let (mut bed, ids) = full(kaged().set(|settings| settings.strategy = chain));
    let begun = now(bed.session.begin(Trigger::Threshold, Wish::default())).expect("all is in memory");
    let Begun::Waits(paused) = begun else { panic!("an operator was to be asked") };
    (bed, ids, *paused)
}

fn over(begun: Begun) -> epitome_engine::Report {
    match begun {
        Begun::Over(report) => *report,
        Begun::Waits(_) => panic!("it was decided"),
    }
}

#[test]
fn k16_a_compactors_list_is_used_and_the_rest_superseded() {
    let (mut bed, ids) = full(delegating(TestHook::new("hindsight").compacts(Some(Ok(list())))));
    let record = made(bed.prepare());
    assert_eq!((record.strategy, record.fallbacks), (Strategy::Delegate, vec![]));
    assert_eq!((record.superseded, bed.in_view()), (ids[1..80].to_vec(), [&ids[..1], &ids[80..]].concat()));
    assert!(bed.shown()[1].contains("they talked of many things"));
    assert_eq!(bed.model.requests(), []);
}

#[test]
fn k17_a_compactor_that_hangs_leaves_dropping_and_one_event_tells_it_all() {
    let (mut bed, _) = full(delegating(TestHook::new("hindsight").compacts(None)));
    let report = bed.prepare().expect("it is due");
    let why = "the compactor failed: no answer within 10 s".into();
    let fallbacks = vec![Fallback { strategy: Strategy::Delegate, why }];
    let told = bed.session.take_events().split_off(1);
    let completed = Event::Completed {
        entry: EntryId(90),
        outcome: Happened::Compacted,
        strategy: Strategy::Drop,
        fallbacks,
        tokens_before: report.tokens_before,
        tokens_after: report.tokens_after,
    };
    assert_eq!(told, [completed]);
    assert_eq!(report.duration_ms, 10_000);
}

#[test]
fn k18_a_second_compactor_is_refused() {
    let mut asks = Asks::default();
    let compactor = |name: &str| Arc::new(TestHook::new(name).compacts(Some(Ok(list()))));
    assert_eq!(asks.add_hook(compactor("hindsight")), Ok(()));
    let refused = TwoCompactors { first: "hindsight".into(), second: "foresight".into() };
    assert_eq!(asks.add_hook(compactor("foresight")), Err(refused));
    assert_eq!(asks.hooks.len(), 1);
}

#[test]
fn k19_one_plugin_may_be_observer_and_compactor() {
    let wishes = Wishes { inject: Some("remember the milk".into()), ..Wishes::default() };
    let hook = TestHook::new("hindsight").says(Ok(Some(Verdict::Proceed(wishes))));
    let (mut bed, _) = full(delegating(hook.compacts(Some(Ok(list())))));
    let report = bed.prepare().expect("it is due");
    assert_eq!(report.hooks[0].told, "injects text");
    assert!(bed.shown()[1].contains("they talked of many things\n\nremember the milk"));
}

#[test]
fn k20_a_checkpoint_waits_for_the_operator() {
    let (mut bed, ids, paused) = waiting();
    let pending = Pending {
        reason: "compaction_pending".into(),
        tokens: Tokens(90_000),
        target: Tokens(60_000),
        leaving: ids[1..21].to_vec(),
        then: Strategy::Summarize,
    };
    assert_eq!((paused.pending.clone(), bed.session.phase()), (pending, Phase::Paused));
    let reason = "compaction_pending".into();
    assert_eq!(bed.session.take_events().last(), Some(&Event::Pending { reason }));
    assert!(bed.try_compact(Trigger::Manual).is_err());
    assert_eq!((bed.in_view(), bed.model.requests()), (ids.clone(), vec![]));
    let begun = now(bed.session.decide(paused, Decision::Approve)).expect("all is in memory");
    let report = over(begun);
    assert_eq!((report.outcome, bed.session.phase()), (Happened::Compacted, Phase::Idle));
    assert_eq!(made(Some(report)).superseded, ids[1..21]);
}

#[test]
fn k20_an_operator_who_rejects_leaves_everything_as_it_is() {
    let (mut bed, ids, paused) = waiting();
    let begun = now(bed.session.decide(paused, Decision::Reject)).expect("all is in memory");
    assert_eq!(over(begun).outcome, Happened::Vetoed);
    assert_eq!((bed.in_view(), bed.session.phase()), (ids, Phase::Idle));
}
