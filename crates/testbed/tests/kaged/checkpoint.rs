//! A checkpoint: the session waits until its operator has decided, however the compaction was set off.

use super::{full, kaged, made};
use epitome_core::{CheckpointView, Decision, EntryId, Fallback, Outcome, Record, Strategy, Tokens, Trigger};
use epitome_engine::{Event, Phase, Step};
use epitome_testbed::{Bed, TestOperator, now};
use futures_util::poll;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

/// A full session that asks its operator first, and that operator.
fn watched(seconds_max: Option<u64>) -> (Bed, Vec<EntryId>, Arc<TestOperator>) {
    let operator = Arc::new(TestOperator::default());
    let maker = kaged().set(|settings| {
        settings.strategy = vec![Strategy::Checkpoint, Strategy::Summarize, Strategy::Drop];
        settings.guard.checkpoint_seconds_max = seconds_max;
    });
    let asked = operator.clone();
    let (bed, ids) = full(maker.ports(|ports| ports.operator = Some(asked)));
    (bed, ids, operator)
}

/// Compacts by each way that can set a compaction off.
fn each_way(mut check: impl FnMut(fn(&mut Bed) -> Arc<Record>)) {
    check(|bed| bed.prepare().expect("it is due"));
    check(|bed| bed.compact(Trigger::Manual));
}

#[test]
fn k20_a_checkpoint_waits_for_the_operator() {
    let (mut bed, ids, operator) = watched(None);
    let (driver, model) = (bed.driver.clone(), bed.model.clone());
    let step: Step = now(async {
        let mut work = pin!(driver.prepare(&mut bed.session));
        assert!(poll!(&mut work).is_pending(), "it waits for the operator");
        assert!(poll!(&mut work).is_pending() && model.requests().is_empty(), "however often one looks");
        operator.then(Decision::Approve);
        match poll!(&mut work) {
            Poll::Ready(step) => step.expect("all is in memory"),
            Poll::Pending => panic!("it was decided"),
        }
    });
    let pending = CheckpointView {
        tokens: Tokens(90_000),
        target: Tokens(60_000),
        leaving: ids[1..21].to_vec(),
        then: Strategy::Summarize,
    };
    assert_eq!(operator.shown(), std::slice::from_ref(&pending));
    assert_eq!(step.events[1], Event::Pending { pending });
    let change = made(step.record);
    assert_eq!((change.strategy, &change.superseded[..]), (Strategy::Summarize, &ids[1..21]));
    assert_eq!((bed.session.phase(), model.requests().len()), (Phase::Idle, 1));
}

#[test]
fn k20_whoever_stops_waiting_finds_everything_as_it_was() {
    let (mut bed, ids, operator) = watched(None);
    let (driver, before) = (bed.driver.clone(), bed.session.log().len());
    now(async {
        let mut work = pin!(driver.compact(&mut bed.session, Trigger::Manual));
        assert!(poll!(&mut work).is_pending());
    });
    assert_eq!((bed.in_view(), bed.session.log().len(), bed.model.requests()), (ids, before, vec![]));
    operator.then(Decision::Approve);
    assert_eq!(bed.compact(Trigger::Manual).outcome.name(), "compacted");
    assert_eq!(operator.shown().len(), 2);
}

#[test]
fn k20_an_operator_who_approves_gets_the_summary_that_follows() {
    each_way(|compact| {
        let (mut bed, ids, operator) = watched(None);
        operator.then(Decision::Approve);
        let record = compact(&mut bed);
        let change = made(Some(record.clone()));
        assert_eq!((change.summarizer.as_deref(), &record.fallbacks), (Some("test-model"), &vec![]));
        assert_eq!(change.superseded, ids[1..21]);
    });
}

#[test]
fn k20_an_operator_who_edits_writes_the_summary() {
    each_way(|compact| {
        let (mut bed, ids, operator) = watched(None);
        operator.then(Decision::Edit { summary: "they ported the parser".into() });
        let change = made(Some(compact(&mut bed)));
        assert_eq!(
            (change.summarizer.as_deref(), &change.superseded[..]),
            (Some("the operator"), &ids[1..21])
        );
        assert!(bed.shown()[1].contains("\nthey ported the parser\n"), "{}", bed.shown()[1]);
        assert_eq!(bed.model.requests(), []);
    });
}

#[test]
fn k20_an_operator_who_rejects_leaves_everything_as_it_is() {
    each_way(|compact| {
        let (mut bed, ids, operator) = watched(None);
        operator.then(Decision::Reject);
        let outcome = Outcome::Vetoed { by: "the operator".into(), why: "rejected at the checkpoint".into() };
        assert_eq!(compact(&mut bed).outcome, outcome);
        assert_eq!((bed.in_view(), bed.session.phase(), bed.model.requests()), (ids, Phase::Idle, vec![]));
        assert_eq!(bed.session.log().len(), 90);
    });
}

#[test]
fn k20_after_the_time_there_is_the_next_strategy_is_tried() {
    each_way(|compact| {
        let (mut bed, ids, operator) = watched(Some(300));
        let record = compact(&mut bed);
        let why = "nobody decided in time".into();
        assert_eq!(record.fallbacks, [Fallback { strategy: Strategy::Checkpoint, why }]);
        assert_eq!((record.duration_ms, operator.shown().len()), (300_000, 1));
        let change = made(Some(record));
        assert_eq!((change.strategy, &change.superseded[..]), (Strategy::Summarize, &ids[1..21]));
    });
}

#[test]
fn k20_without_an_operator_the_checkpoint_is_passed_over() {
    each_way(|compact| {
        let (mut bed, _, _) = watched(None);
        bed.driver.ports_mut().operator = None;
        let record = compact(&mut bed);
        let why = "there is no operator to ask here".into();
        assert_eq!(record.fallbacks, [Fallback { strategy: Strategy::Checkpoint, why }]);
        assert_eq!(made(Some(record)).strategy, Strategy::Summarize);
    });
}
