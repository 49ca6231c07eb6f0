//! Compactors: who returns the whole list, and what is done where they do not.

use super::{full, kaged, made};
use epitome_core::{CompactorPiece, CompactorReply, EntryId, Fallback, PlanChanges, Strategy, Verdict};
use epitome_engine::{Event, Ports, TwoCompactors};
use epitome_testbed::{Maker, TestHook};
use std::sync::Arc;

/// A policy that leaves it to its compactor.
fn delegating(hook: TestHook) -> Maker {
    kaged().set(|settings| settings.strategy = vec![Strategy::Delegate, Strategy::Drop]).hook(Arc::new(hook))
}

/// A list that keeps the first message and the last ten of ninety.
fn list() -> CompactorReply {
    let newest = (80..90).map(|id| CompactorPiece::Keep(EntryId(id)));
    let written =
        [CompactorPiece::Keep(EntryId(0)), CompactorPiece::Write("they talked of many things".into())];
    CompactorReply::of(written.into_iter().chain(newest))
}

#[test]
fn k16_a_compactors_list_is_used_and_the_rest_superseded() {
    let (mut bed, ids) = full(delegating(TestHook::new("hindsight").compacts(Some(Ok(list())))));
    let record = bed.prepare().expect("it is due");
    let change = made(Some(record.clone()));
    assert_eq!((change.strategy, &record.fallbacks), (Strategy::Delegate, &vec![]));
    assert_eq!((change.superseded, bed.in_view()), (ids[1..80].to_vec(), [&ids[..1], &ids[80..]].concat()));
    assert!(bed.shown()[1].contains("they talked of many things"));
    assert_eq!(bed.model.requests(), []);
}

#[test]
fn k16_what_a_compactor_says_it_supersedes_is_marked_and_held_against_its_list() {
    let superseding = |ids: std::ops::Range<u32>| {
        let reply = CompactorReply { superseded: ids.map(EntryId).collect(), ..list() };
        let (mut bed, _) = full(delegating(TestHook::new("hindsight").compacts(Some(Ok(reply)))));
        let record = bed.prepare().expect("it is due");
        let fallbacks: Vec<String> = record.fallbacks.iter().map(|fallback| fallback.why.clone()).collect();
        (made(Some(record)), fallbacks)
    };
    let (change, fallbacks) = superseding(1..80);
    assert_eq!((change.strategy, fallbacks), (Strategy::Delegate, vec![]));
    assert_eq!(change.superseded, (1..80).map(EntryId).collect::<Vec<_>>());
    let refused = [
        (1..79, "it neither keeps nor supersedes m0079"),
        (1..81, "it supersedes m0080, and keeps it too"),
        (1..91, "it supersedes m0080, and keeps it too"),
    ];
    for (ids, why) in refused {
        let (change, fallbacks) = superseding(ids);
        assert_eq!(
            (change.strategy, fallbacks),
            (Strategy::Drop, vec![format!("the compactor failed: {why}")])
        );
    }
}

#[test]
fn k17_a_compactor_that_hangs_leaves_dropping_and_one_event_tells_it_all() {
    let (mut bed, _) = full(delegating(TestHook::new("hindsight").compacts(None)));
    let record = bed.prepare().expect("it is due");
    let why = "the compactor failed: no answer within 10 s".into();
    assert_eq!(record.fallbacks, [Fallback { strategy: Strategy::Delegate, why }]);
    assert_eq!((made(Some(record.clone())).strategy, record.duration_ms), (Strategy::Drop, 10_000));
    let told = bed.take_events().split_off(1);
    assert_eq!(told, [Event::Completed { entry: EntryId(90), record }]);
}

#[test]
fn k18_a_second_compactor_is_refused() {
    let mut ports = Ports::default();
    let compactor = |name: &str| Arc::new(TestHook::new(name).compacts(Some(Ok(list()))));
    assert_eq!(ports.add_hook(compactor("hindsight")), Ok(()));
    let refused = TwoCompactors { first: "hindsight".into(), second: "foresight".into() };
    assert_eq!(ports.add_hook(compactor("foresight")), Err(refused));
    assert_eq!(ports.hooks().len(), 1);
}

#[test]
fn k19_one_plugin_may_be_observer_and_compactor() {
    let wishes = PlanChanges { inject: Some("remember the milk".into()), ..PlanChanges::default() };
    let hook = TestHook::new("hindsight").says(Ok(Some(Verdict::Proceed(wishes))));
    let (mut bed, _) = full(delegating(hook.compacts(Some(Ok(list())))));
    let record = bed.prepare().expect("it is due");
    assert_eq!(record.hooks[0].told, "injects text");
    assert!(bed.shown()[1].contains("they talked of many things\n\nremember the milk"));
}
