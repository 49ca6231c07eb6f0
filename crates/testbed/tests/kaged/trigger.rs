//! When: before a call, at a share of the window, once for each overflow, and never in a stream.

use super::{WINDOW, full, kaged, made};
use epitome_core::{Strategy, Tokens, Trigger};
use epitome_engine::{EngineError, Event, Recovery};
use epitome_testbed::{Bed, TestHook, failed};
use std::sync::Arc;

#[test]
fn k1_a_call_is_compacted_from_85_percent_on() {
    let outcome = |tokens: u64| {
        let mut bed = Bed::new("kaged", WINDOW);
        bed.talk(30, tokens / 30);
        let rest = bed.filler(tokens % 30);
        bed.assistant(&rest);
        bed.prepare().map(|record| (record.outcome.name(), record.trigger, record.tokens_before))
    };
    let compacted = ("compacted", Trigger::Threshold, Tokens(85_000));
    assert_eq!([outcome(84_990), outcome(85_000)], [None, Some(compacted)]);
}

#[test]
fn a_target_of_the_whole_request_is_met_beside_a_system_prompt_and_nothing_else_is_said() {
    let (mut bed, _) = full(kaged().budget(|budget| budget.fixed = Tokens(10_000)));
    let record = bed.prepare().expect("it is due");
    assert_eq!((made(Some(record.clone())).target, record.notes.clone()), (Tokens(50_000), vec![]));
}

#[test]
fn k1_a_few_large_messages_are_compacted_too() {
    let mut bed = Bed::new("kaged", WINDOW);
    let ids = bed.talk(8, 10_700);
    let record = made(bed.prepare());
    assert_eq!(record.strategy, Strategy::Drop);
    let kept = [&ids[..1], &ids[4..]].concat();
    assert_eq!((record.kept, record.dropped), (kept, ids[1..4].to_vec()));
}

#[test]
fn k23_a_compaction_waits_for_the_stream() {
    let (mut bed, _) = full(kaged());
    bed.session.begin_turn();
    let refused = bed.try_compact(Trigger::Manual);
    assert!(matches!(refused, Err(EngineError::Busy("a turn runs"))));
    assert_eq!((bed.session.log().len(), bed.model.requests().len()), (90, 0));
    bed.assistant("the whole reply, at last");
    let record = bed.prepare().expect("it is due before the next call");
    assert_eq!((record.outcome.name(), bed.session.log().len()), ("compacted", 92));
}

#[test]
fn k24_an_overflow_is_compacted_and_sent_again_once() {
    let (mut bed, _) = full(kaged());
    let retried = |recovery: Recovery| match recovery {
        Recovery::Retry(step) => {
            Ok(step.record.map(|record| (record.outcome.name(), record.trigger)).expect("room was made"))
        }
        Recovery::Surface { why, .. } => Err(why),
    };
    assert_eq!(retried(bed.recover(None)), Ok(("compacted", Trigger::Overflow)));
    let surfaced = Err("this request was compacted and sent again already".to_owned());
    assert_eq!(retried(bed.recover(None)), surfaced);
    bed.assistant("the reply to the second attempt");
    bed.talk(40, 1_000);
    assert_eq!(retried(bed.recover(None)), Ok(("compacted", Trigger::Overflow)));
}

#[test]
fn k25_a_recovery_that_supersedes_nothing_is_not_sent_again() {
    let mut bed = Bed::new("kaged", WINDOW);
    let only = bed.user("one message is all there is");
    let Recovery::Surface { why, .. } = bed.recover(None) else { panic!("there was nothing to compact") };
    assert_eq!(why, "every message in view is one that is kept");
    assert_eq!((bed.in_view(), bed.session.compactions()), (vec![only], &[][..]));
}

#[test]
fn k26_what_a_provider_said_of_an_overflow_is_not_stored() {
    let error = "prompt is too long: 210000 tokens > 100000 maximum";
    let hook = Arc::new(TestHook::new("observer"));
    let (mut bed, ids) = full(kaged().hook(hook));
    bed.model.always(failed(epitome_core::Failure::Broken(error.into())));
    bed.recover(Some(110_000));
    bed.recover(Some(110_000));
    assert_eq!(bed.session.history(), ids);
    assert!(bed.shown().iter().all(|text| !text.contains(error)));
}

#[test]
fn k30_an_operators_window_moves_the_point() {
    let due = |tokens: u64| {
        let mut bed = Bed::new("kaged", 50_000);
        bed.talk(50, tokens / 50);
        let check = bed.session.check();
        (check.tokens, check.limit, check.is_due())
    };
    let limit = Tokens(42_500);
    assert_eq!(due(42_450), (Tokens(42_450), limit, false));
    assert_eq!(due(42_500), (Tokens(42_500), limit, true));
}

#[test]
fn k23_input_that_comes_meanwhile_waits_and_is_not_lost() {
    let (mut bed, ids) = full(kaged());
    let mut said = Vec::new();
    bed.compact_while(Trigger::Threshold, |bed| said.push(bed.user("one more thing")));
    // The compaction belongs to the prefix it covers: what was said behind that stays in view.
    assert_eq!(bed.session.context().anchor(), Some(ids[20]));
    assert_eq!(bed.in_view(), [&ids[..1], &ids[21..], &said].concat());
}

#[test]
fn k1_what_sets_a_compaction_off_is_told() {
    let (mut bed, _) = full(kaged());
    bed.prepare();
    let triggered = Event::Triggered {
        trigger: Trigger::Threshold,
        tokens: Tokens(90_000),
        limit: Tokens(85_000),
        window: Tokens(WINDOW),
    };
    assert_eq!(bed.take_events().first(), Some(&triggered));
}
