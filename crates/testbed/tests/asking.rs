//! `mode = "ask"`: a compaction that is due is drafted and waits for a person's word, and nothing is compacted
//! without it. `remind` only says so.

use epitome_core::policy::TriggerMode;
use epitome_core::{Decision, EntryId, Outcome, Strategy, Trigger};
use epitome_engine::{Event, Permission};
use epitome_testbed::{Bed, Maker, TestOperator};
use std::sync::Arc;

/// A session in this mode that is due, what was said in it, and who may be asked.
fn due(mode: TriggerMode, seconds_max: u64) -> (Bed, Vec<EntryId>, Arc<TestOperator>) {
    let operator = Arc::new(TestOperator::default());
    let asked = operator.clone();
    let maker = Maker::new("default", 20_000).set(|settings| {
        settings.mode = mode;
        settings.guard.checkpoint_seconds_max = Some(seconds_max);
    });
    let mut bed = maker.ports(|ports| ports.operator = Some(asked)).bed();
    let ids = bed.talk(90, 200);
    (bed, ids, operator)
}

fn is_due(event: &Event) -> bool {
    matches!(event, Event::Due { .. })
}

#[test]
fn the_plan_is_drafted_and_waits_where_a_reminder_asks_nobody() {
    let (mut bed, _, operator) = due(TriggerMode::Ask, 60);
    assert_eq!(bed.session.check().permission, Permission::Ask);
    operator.then(Decision::Approve);
    let record = bed.prepare().expect("it is due");
    assert_eq!((record.outcome.name(), record.trigger), ("compacted", Trigger::Threshold));
    let [shown] = &operator.shown()[..] else { panic!("asked once") };
    let change = record.change().expect("it was compacted");
    assert_eq!((shown.then, &shown.leaving), (Strategy::Summarize, &change.superseded));
    assert!(!bed.take_events().iter().any(is_due));

    let (mut bed, ids, operator) = due(TriggerMode::Remind, 60);
    operator.then(Decision::Approve);
    assert_eq!((bed.prepare(), bed.in_view(), operator.shown()), (None, ids, vec![]));
    assert_eq!(bed.take_events().iter().filter(|event| is_due(event)).count(), 1);
}

#[test]
fn a_person_may_write_the_summary() {
    let (mut bed, _, operator) = due(TriggerMode::Ask, 60);
    operator.then(Decision::Edit { summary: "they ported the parser".into() });
    let record = bed.prepare().expect("it is due");
    let change = record.change().expect("it was compacted");
    assert_eq!((change.summarizer.as_deref(), bed.model.requests()), (Some("the operator"), vec![]));
}

#[test]
fn what_a_person_is_shown_is_what_would_be_done() {
    let (mut bed, _, operator) = due(TriggerMode::Auto, 60);
    let mut settings = bed.session.policy().settings().clone();
    (settings.mode, settings.strategy) = (TriggerMode::Ask, vec![Strategy::Drop]);
    let policy = Arc::new(epitome_core::Policy::try_from(settings).expect("a policy"));
    bed.session.set_policy(policy).expect("all is in memory");
    operator.then(Decision::Approve);
    let record = bed.prepare().expect("it is due");
    let change = record.change().expect("it was compacted");
    let [shown] = &operator.shown()[..] else { panic!("asked once") };
    assert_eq!((shown.then, &shown.leaving), (Strategy::Drop, &change.dropped));
}

#[test]
fn after_a_no_or_no_word_in_time_the_session_goes_on_and_nobody_is_asked_again_until_it_was_compacted() {
    for decision in [Some(Decision::Reject), None] {
        let (mut bed, ids, operator) = due(TriggerMode::Ask, 60);
        let expected = match &decision {
            Some(_) => {
                Outcome::Vetoed { by: "the operator".into(), why: "rejected at the checkpoint".into() }
            }
            None => Outcome::Noop {
                why: "nobody gave their word in time, and without it nothing is compacted (`mode = \"ask\"`)"
                    .into(),
            },
        };
        if let Some(decision) = decision {
            operator.then(decision);
        }
        assert_eq!(bed.prepare().expect("it is due").outcome, expected);
        assert_eq!((bed.in_view(), operator.shown().len()), (ids, 1));
        assert_eq!((bed.prepare(), bed.prepare(), operator.shown().len()), (None, None, 1));
        assert_eq!(bed.compact(Trigger::Manual).outcome.name(), "compacted", "by hand nobody else is asked");
        bed.talk(80, 200);
        operator.then(Decision::Approve);
        assert_eq!(bed.prepare().expect("it is due").outcome.name(), "compacted");
        assert_eq!(operator.shown().len(), 2);
    }
}

#[test]
fn where_nobody_can_be_asked_the_session_goes_on_with_a_sentence() {
    let (mut bed, ids, _) = due(TriggerMode::Ask, 60);
    bed.driver.ports_mut().operator = None;
    assert_eq!((bed.prepare(), bed.prepare(), bed.in_view()), (None, None, ids));
    let events = bed.take_events();
    let [Event::Due { why, .. }] = &events.into_iter().filter(is_due).collect::<Vec<_>>()[..] else {
        panic!("it is said once")
    };
    assert!(why.contains("nobody can be asked here"), "{why}");
}
