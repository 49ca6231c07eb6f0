//! Claude Code, where it fails: the second try, giving up for good, refills in a row, and a hook that
//! says no while the session recovers from an overflow.

use epitome_core::{Entry, EntryId, Failure, Mark, Tokens, Trigger, Verdict};
use epitome_engine::{Event, Permission, Recovery};
use epitome_testbed::{Bed, Maker, TestHook, failed, good};
use std::sync::Arc;

const WINDOW: u64 = 200_000;

/// A session with 32,000 tokens kept for the answer that is due for compaction, and can still be sent.
fn due(preset: &str) -> Bed {
    let tokens = if preset == "claude-code" { 160_000 } else { 167_000 };
    let mut bed = Maker::new(preset, WINDOW).budget(|budget| budget.reserve = Tokens(32_000)).bed();
    bed.talk(20, tokens / 20);
    bed
}

/// People go on talking until the context is full again.
fn refill(bed: &mut Bed) {
    for _ in 0..WINDOW / 500 {
        if bed.session.check().trigger.is_some() {
            return;
        }
        let text = bed.filler(500);
        bed.user(&text);
    }
}

/// What the look before a call comes to.
fn prepared(bed: &mut Bed) -> Option<&'static str> {
    bed.prepare().map(|record| record.outcome.name())
}

fn broken() -> epitome_core::CallResult {
    failed(Failure::Broken("connection reset".into()))
}

#[test]
fn c7_after_one_failure_exactly_one_more_call_is_made() {
    let mut bed = due("claude-code");
    bed.model.then(broken());
    assert_eq!((prepared(&mut bed), bed.model.requests().len()), (Some("compacted"), 2));
}

#[test]
fn c8_after_two_failures_the_session_goes_on_without_further_tries() {
    let mut bed = due("claude-code");
    let before = bed.in_view();
    bed.model.always(broken());
    assert_eq!((prepared(&mut bed), bed.model.requests().len()), (Some("abandoned"), 2));
    assert_eq!(bed.in_view(), before);
    bed.user("go on");
    assert_eq!((prepared(&mut bed), bed.model.requests().len()), (None, 2));
    assert_eq!(bed.session.check().permission, Permission::Mechanical);
}

/// A session that has given up, with one message more than its window holds.
fn given_up_and_full() -> Bed {
    let mut bed = due("claude-code");
    bed.model.always(broken());
    assert_eq!(prepared(&mut bed), Some("abandoned"));
    let text = bed.filler(WINDOW / 5);
    bed.user(&text);
    bed.take_events();
    bed
}

/// What the next request takes, and whether that fits beside the answer's reserve.
fn fits(bed: &Bed) -> bool {
    bed.session.budget().fits(bed.session.context().tokens())
}

#[test]
fn c8_after_giving_up_what_must_fit_is_made_to_fit_without_a_model() {
    let mut bed = given_up_and_full();
    assert!(!fits(&bed));
    let record = bed.prepare().expect("it does not fit");
    let summarizer = record.change().and_then(|change| change.summarizer.as_deref());
    assert_eq!((record.outcome.name(), summarizer), ("compacted", Some("the embedded summariser")));
    assert_eq!((bed.model.requests().len(), fits(&bed)), (2, true));
}

#[test]
fn c8_after_giving_up_an_overflow_is_recovered_from_without_a_model() {
    let mut bed = given_up_and_full();
    let Recovery::Retry(step) = bed.recover(Some(8_000)) else { panic!("room can be made") };
    let record = step.record.expect("room was made");
    assert_eq!((record.outcome.name(), record.trigger), ("compacted", Trigger::Overflow));
    assert_eq!((bed.model.requests().len(), fits(&bed)), (2, true));
}

#[test]
fn c8_claude_code_2_1_stops_after_three() {
    let mut bed = due("claude-code@2.1");
    let before = bed.in_view();
    bed.model.always(broken());
    let outcomes = [(); 4].map(|()| prepared(&mut bed));
    let abandoned = Some("abandoned");
    assert_eq!((outcomes, bed.in_view()), ([abandoned, abandoned, abandoned, None], before));
}

#[test]
fn c9_after_a_success_failures_are_counted_anew() {
    let mut bed = due("claude-code");
    bed.model.then(broken()).then(good("## Task\nfirst")).then(broken()).then(good("## Task\nsecond"));
    assert_eq!((prepared(&mut bed), bed.model.requests().len()), (Some("compacted"), 2));
    refill(&mut bed);
    assert_eq!((prepared(&mut bed), bed.model.requests().len()), (Some("compacted"), 4));
    assert_eq!((bed.session.breaker().failures(), bed.session.breaker().is_open()), (0, false));
}

#[test]
fn c10_giving_up_is_told_and_logged() {
    let mut bed = due("claude-code");
    bed.model.always(broken());
    let record = bed.prepare().expect("it was due");
    let why = record.outcome.why().expect("it says why");
    let events = bed.take_events();
    let stopped = "a compaction failed; compact by hand, with another summariser, or begin a new session";
    assert_eq!(
        events[1..],
        [Event::Failed { why: why.clone(), in_a_row: 1 }, Event::Stopped { why: stopped.into() }]
    );
    assert!(why.contains("connection reset"), "{why}");
    let last = bed.session.log().get(EntryId(bed.session.log().len() as u32 - 1));
    assert_eq!(last, Some(&Entry::Mark(Mark::Failure)));
}

#[test]
fn c25_claude_code_2_1_stops_where_the_context_is_full_again_three_times_running() {
    let mut bed = due("claude-code@2.1");
    let mut outcomes = vec![prepared(&mut bed)];
    for _ in 0..3 {
        refill(&mut bed);
        bed.take_events();
        outcomes.push(prepared(&mut bed));
    }
    let compacted = Some("compacted");
    assert_eq!((outcomes, bed.model.requests().len()), (vec![compacted, compacted, compacted, None], 3));
    let why = "the context was full again right after 3 compactions in a row; begin a new session, give it a larger window, or keep large results out of it";
    assert_eq!(bed.take_events(), [Event::Stopped { why: why.into() }]);
    assert_eq!(prepared(&mut bed), None);
    assert_eq!(bed.compact(Trigger::Manual).outcome.name(), "compacted");
    assert_eq!(bed.model.requests().len(), 4, "by hand the model is asked again");
}

#[test]
fn c26_claude_code_2_1_surfaces_the_error_where_a_hook_says_no_to_a_recovery() {
    let veto = Verdict::Veto { why: "not during a deploy".into() };
    let hook = Arc::new(TestHook::new("pre-compact").says(Ok(Some(veto))));
    let mut bed = Maker::new("claude-code@2.1", WINDOW).hook(hook.clone()).bed();
    let ids = bed.talk(20, 9_100);
    let Recovery::Surface { why, .. } = bed.recover(Some(1_000)) else { panic!("it was vetoed") };
    assert_eq!(why, "pre-compact said no: not during a deploy");
    assert_eq!(hook.told().iter().map(|event| event.is_recovery).collect::<Vec<_>>(), [true]);
    assert_eq!((bed.in_view(), bed.model.requests()), (ids, vec![]));
}
