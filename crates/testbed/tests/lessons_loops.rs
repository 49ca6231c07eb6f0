//! Lessons, first part: loops. Each test is named by its row of the list of what users of such systems
//! suffered (`l1` to `l14`).
//!
//! # Pending
//!
//! - l2: a restart of the whole program comes with the store; here the log is opened again.

use epitome_core::policy::{MeasureBy, PruneWhen};
use epitome_core::{
    Budget, CallCost, CallResult, Failure, Fallback, Floor, Outcome, PlanChanges, Strategy, SummaryRequest,
    Tokens, Trigger, Verdict,
};
use epitome_engine::{Event, FigureSource, Permission, Recovery};
use epitome_testbed::{Bed, Maker, TestHook, TestOperator, change, due, failed, good, now, stubborn, word};
use epitome_tokens::Usage;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

const WINDOW: u64 = 20_000;

/// An answer longer than anything it could stand for.
fn endless() -> CallResult {
    good(&format!("## Goal\n{}", "and then something else happened ".repeat(4_000)))
}

fn stops(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::Stopped { .. })).count()
}

/// What a request asks, its number apart.
fn asks(request: &SummaryRequest) -> SummaryRequest {
    SummaryRequest { attempt: 0, ..request.clone() }
}

#[test]
fn l1_a_summariser_that_never_shrinks_anything_is_left_alone_after_three_failures() {
    let mut bed = due(stubborn(WINDOW));
    bed.model.always(endless());
    let mut outcomes = Vec::new();
    for _ in 0..20 {
        outcomes.extend(bed.prepare().map(|record| word(&record)));
        bed.assistant("on we go");
    }
    assert_eq!(outcomes, ["abandoned"; 3]);
    let most = 3 * bed.session.policy().guard.calls_max as usize;
    assert!(bed.model.requests().len() <= most, "{} calls", bed.model.requests().len());
    let events = bed.take_events();
    let told: Vec<&Event> = events.iter().filter(|event| matches!(event, Event::Stopped { .. })).collect();
    let why =
        "3 compactions failed in a row; compact by hand, with another summariser, or begin a new session";
    assert_eq!(told, [&Event::Stopped { why: why.into() }]);
}

#[test]
fn l2_a_breaker_that_opened_before_a_restart_is_open_after_it() {
    let mut bed = due(stubborn(WINDOW));
    bed.model.always(failed(Failure::TimedOut));
    for _ in 0..3 {
        bed.prepare();
    }
    let calls = bed.model.requests().len();
    let mut again = bed.reopened();
    assert_eq!((again.breaker(), again.breaker().is_open()), (bed.session.breaker(), true));
    assert_eq!(again.check().permission, Permission::Mechanical);
    let step = now(bed.driver.prepare(&mut again)).expect("all is in memory");
    assert_eq!((step.record, bed.model.requests().len()), (None, calls));
}

#[test]
fn l3_what_can_never_fit_is_told_part_by_part_and_nobody_is_asked() {
    let maker = Maker::new("default", 10_000).budget(|budget| {
        *budget = Budget { fixed: Tokens(9_000), reserve: Tokens(990), ..*budget };
    });
    let mut bed = maker.bed();
    bed.talk(11, 400);
    let record = bed.compact(Trigger::Threshold);
    let Outcome::Impossible(floor) = &record.outcome else { panic!("not {:?}", record.outcome) };
    let kept = floor.kept;
    assert!(kept > Tokens(10), "{kept} would fit");
    let parts = Floor {
        window: Tokens(10_000),
        fixed: Tokens(9_000),
        unrecorded: Tokens::ZERO,
        reserve: Tokens(990),
        kept,
    };
    assert_eq!((floor, bed.model.requests()), (&parts, vec![]));
    assert_eq!(bed.compact(Trigger::Threshold).outcome, Outcome::Impossible(parts.clone()));
    let failures = bed.take_events().into_iter().filter(|event| matches!(event, Event::Failed { .. }));
    assert_eq!(failures.collect::<Vec<_>>(), [Event::Failed { why: parts.to_string(), in_a_row: 0 }]);
}

#[test]
fn l4_two_megabytes_as_the_last_result_are_no_dead_end_and_one_warning() {
    let mut bed = Maker::new("default", WINDOW).no_model().bed();
    bed.user("what is in the dump?");
    let (call, result) = bed.exchange("read", r#"{"path":"dump.bin"}"#, &"0123456789abcdef".repeat(131_072));
    for _ in 0..3 {
        bed.prepare();
    }
    assert_eq!(bed.in_view().last_chunk(), Some(&[call, result]));
    assert!(bed.session.budget().fits(bed.session.context().tokens()));
    let warnings = bed.take_events().into_iter().filter(|it| matches!(it, Event::Approaching { .. }));
    assert_eq!(warnings.count(), 1);
}

#[test]
fn l5_pruning_each_turn_does_not_keep_a_compaction_from_coming() {
    let maker = Maker::new("default", WINDOW).set(|settings| settings.prune.when = PruneWhen::Check);
    let mut bed = maker.bed();
    let (mut pruned, mut compacted) = (0, 0);
    for _ in 0..60 {
        let text = bed.filler(400);
        bed.user(&text);
        bed.exchange("read", r#"{"path":"a.txt"}"#, &text);
        bed.prepare();
        assert!(!bed.session.check().is_due());
    }
    for event in bed.take_events() {
        pruned += usize::from(matches!(event, Event::Pruned { .. }));
        compacted += usize::from(matches!(event, Event::Completed { .. }));
    }
    assert!(pruned > 10 && compacted > 0, "{pruned} pruned, {compacted} compacted");
}

#[test]
fn l5_with_pruning_each_turn_what_the_provider_counts_still_counts() {
    let maker = Maker::new("default", WINDOW).no_model().set(|settings| {
        settings.prune.when = PruneWhen::Check;
        settings.trigger.measure = MeasureBy::Hybrid;
    });
    let mut bed = maker.bed();
    let (mut pruned, mut figures) = (0, Vec::new());
    for _ in 0..12 {
        let text = bed.filler(400);
        bed.user(&text);
        bed.exchange("read", r#"{"path":"a.txt"}"#, &text);
        // The provider counts half as much again as we do.
        let counted = bed.session.context().tokens();
        let usage = Usage { prompt: counted.0 * 3 / 2, ..Usage::default() };
        bed.session.record_usage(usage).expect("all is in memory");
        let record = bed.prepare();
        let freed = counted.less(bed.session.context().tokens());
        pruned += usize::from(record.is_some_and(|record| word(&record) == "pruned"));
        // What was freed is told as the provider would count it, as far as its usage has taught that.
        let freed = bed.session.budget().scale.theirs(freed);
        figures.push((bed.session.figure(), Tokens(usage.prompt).less(freed)));
    }
    assert!(pruned > 3, "{pruned}");
    for (figure, told) in figures {
        assert_eq!(figure, (told, FigureSource::Hybrid));
    }
    assert_eq!(bed.reopened().figure(), bed.session.figure());
}

#[test]
fn l5_a_refusal_right_after_a_pruning_is_still_made_room_for() {
    let maker = Maker::new("default", WINDOW).no_model().set(|settings| {
        settings.prune.when = PruneWhen::Check;
        settings.prune.protect = Some("20%".parse().expect("a threshold"));
        settings.prune.saving_min = Tokens(50);
    });
    let mut bed = maker.bed();
    for _ in 0..20 {
        let text = bed.filler(400);
        bed.user(&text);
        bed.exchange("read", r#"{"path":"a.txt"}"#, &text);
    }
    assert_eq!(bed.prepare().map(|record| word(&record)), Some("pruned"));
    let before = bed.session.context().tokens();
    let step = match bed.recover(Some(1_000)) {
        Recovery::Retry(step) => step,
        Recovery::Surface { why, .. } => panic!("nothing was done: {why}"),
    };
    assert_eq!(step.record.map(|record| word(&record)), Some("compacted"));
    assert!(bed.session.context().tokens() + Tokens(1_000) <= before);
}

#[test]
fn l6_where_all_is_pinned_nothing_is_recorded_and_the_providers_error_goes_back() {
    let mut bed = Bed::new("default", WINDOW);
    let ids = bed.talk(6, 10);
    bed.session.options_mut().pins = ids.clone();
    let before = bed.session.log().len();
    let Recovery::Surface { why, .. } = bed.recover(None) else { panic!("nothing could be done") };
    assert_eq!(why, "every message in view is one that is kept");
    assert_eq!((bed.session.log().len(), bed.in_view(), bed.model.requests()), (before, ids, vec![]));
    let Recovery::Surface { why, .. } = bed.recover(None) else { panic!("once is enough") };
    assert_eq!(why, "this request was compacted and sent again already");
}

#[test]
fn l7_three_refills_in_a_row_stop_it_with_advice() {
    let mut bed = Bed::new("default", WINDOW);
    bed.user("begin");
    let (mut compacted, mut asked) = (0, 0);
    for _ in 0..10 {
        let text = bed.filler(20_000);
        bed.user(&text);
        let record = bed.prepare();
        // From then on nobody is asked, and what is sent fits all the same.
        assert!(bed.session.budget().fits(bed.session.context().tokens()));
        if !bed.session.breaker().is_open() {
            compacted += usize::from(record.is_some());
            asked = bed.model.requests().len();
        }
        bed.assistant("read");
    }
    assert!(asked > 0 && bed.model.requests().len() == asked, "{asked}");
    let events = bed.take_events();
    let advice = "the context was full again right after 3 compactions in a row; begin a new session, give it a larger window, or keep large results out of it";
    assert_eq!((compacted, stops(&events)), (3, 1));
    assert!(events.contains(&Event::Stopped { why: advice.into() }), "{events:?}");
    assert!(bed.session.breaker().is_open() && !bed.session.check().is_due());
}

#[test]
fn l8_a_hook_that_injects_100000_tokens_does_not_refill_the_context() {
    let inject = Some("remember this ".repeat(30_000));
    let wishes = PlanChanges { inject, ..PlanChanges::default() };
    let hook = TestHook::new("memory").says(Ok(Some(Verdict::Proceed(wishes))));
    let mut bed = due(Maker::new("default", WINDOW).hook(Arc::new(hook)));
    let record = bed.prepare().expect("it is due");
    assert_eq!(word(&record), "compacted");
    assert_eq!(record.hooks[0].told, "injects text (cut to its limit)");
    let check = bed.session.check();
    assert!(!check.is_due() && check.tokens < Tokens(WINDOW / 2), "{check:?}");
}

#[test]
fn l9_no_request_of_a_ladder_is_sent_twice() {
    for (preset, is_results) in [("default", true), ("default", false), ("aura", true), ("aura", false)] {
        let mut bed = Bed::new(preset, WINDOW);
        bed.user("begin");
        if is_results {
            bed.exchange("read", r#"{"path":"a.txt"}"#, &"=".repeat(6_000));
        }
        bed.talk(90, 200);
        bed.model.always(failed(Failure::Broken("out of order".into())));
        bed.prepare();
        let requests: Vec<SummaryRequest> = bed.model.requests().iter().map(asks).collect();
        for (at, request) in requests.iter().enumerate() {
            assert!(!requests[..at].contains(request), "{preset}: call {} repeats another", at + 1);
        }
        assert!(requests.len() > 1, "{preset} tries more than once");
    }
}

#[test]
fn l10_a_compaction_never_runs_inside_another() {
    let mut bed = due(Maker::new("default", WINDOW));
    bed.prepare().expect("it is due");
    let triggered = |event: &Event| matches!(event, Event::Triggered { .. });
    assert_eq!(bed.take_events().iter().filter(|event| triggered(event)).count(), 1);
    let waits = |settings: &mut epitome_core::Settings| {
        settings.strategy = vec![Strategy::Checkpoint, Strategy::Summarize];
        settings.guard.checkpoint_seconds_max = None;
    };
    let asked =
        Maker::new("default", WINDOW).ports(|ports| ports.operator = Some(Arc::new(TestOperator::default())));
    let mut bed = due(asked.set(waits));
    {
        // It holds the session for as long as it waits, so that no other can begin.
        let mut waiting = pin!(bed.driver.compact(&mut bed.session, Trigger::Threshold));
        assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(bed.model.requests(), []);
    }
    assert_eq!((bed.session.compactions(), bed.session.log().len()), (&[][..], 90));
}

#[test]
fn l11_a_hook_that_always_says_no_is_asked_once_in_a_recovery() {
    let veto = Verdict::Veto { why: "not now".into() };
    let hook = Arc::new(TestHook::new("guard").says(Ok(Some(veto))));
    let mut bed = due(Maker::new("default", WINDOW).hook(hook.clone()));
    let whys: Vec<String> = (0..5)
        .map(|_| match bed.recover(Some(5_000)) {
            Recovery::Surface { why, .. } => why,
            Recovery::Retry(step) => panic!("it said no to {step:?}"),
        })
        .collect();
    assert_eq!(whys[0], "guard said no: not now");
    assert_eq!(whys[1..], ["this request was compacted and sent again already"; 4]);
    assert_eq!((hook.told().len(), hook.told()[0].is_recovery, bed.model.requests()), (1, true, vec![]));
}

#[test]
fn l12_a_summary_longer_than_its_source_is_a_failure_and_both_figures_have_one_basis() {
    let fixed = Tokens(1_000);
    let mut bed = due(Maker::new("default", WINDOW).budget(|budget| budget.fixed = fixed));
    bed.model.always(endless());
    let before = fixed + bed.session.context().tokens();
    let record = bed.prepare().expect("it is due");
    let made = change(Some(record.clone()));
    let why = "the summary takes more than what it replaces".to_owned();
    assert_eq!(record.fallbacks, [Fallback { strategy: Strategy::Summarize, why }]);
    let after = fixed + bed.session.context().tokens();
    assert_eq!((record.tokens_before, record.tokens_after), (before, after));
    assert_eq!(made.summarizer.as_deref(), Some("the embedded summariser"));
    assert!(after < before);
}

#[test]
fn l13_a_reserve_is_at_most_a_share_of_the_window() {
    let reserves =
        [0, 4_000, 32_000].map(|most| Budget::new(Tokens(16_384), Tokens(2_000), Tokens(most)).reserve);
    assert_eq!(reserves, [Tokens(0), Tokens(4_000), Tokens(4_096)]);
    for preset in ["default", "aura", "claude-code", "kaged", "operator-use", "pi"] {
        let maker = Maker::new(preset, 16_384).budget(|budget| {
            *budget = Budget::new(Tokens(16_384), Tokens(2_000), Tokens(32_000));
        });
        let mut bed = maker.bed();
        let mut compactions = 0;
        for _ in 0..30 {
            bed.talk(2, 100);
            compactions += usize::from(bed.prepare().is_some());
        }
        assert!(compactions <= 3, "{preset} compacted {compactions} times in 30 steps");
    }
}

#[test]
fn l14_what_a_summary_call_used_would_be_believed_if_it_were_the_sessions() {
    // No more than our count of the session before, and over the trigger: nothing in the figure itself gives it away.
    let mut bed = due(Maker::new("default", WINDOW));
    let CallResult { result, .. } = good("## Goal\nship it\n\n## Next Steps\n- go on");
    let spent = CallCost { calls: 1, input: Tokens(17_500), output: Tokens(100), ..CallCost::default() };
    bed.model.always(CallResult { result, spent });
    let record = bed.prepare().expect("it is due");
    assert_eq!(bed.session.figure(), (record.tokens_after, FigureSource::Count));
    bed.assistant("on we go");
    let usage = Usage { prompt: bed.session.context().tokens().0, ..Usage::default() };
    bed.session.record_usage(usage).expect("all is in memory");
    assert_eq!(bed.session.figure(), (Tokens(usage.prompt), FigureSource::Hybrid));
    assert!(bed.prepare().is_none());
}

#[test]
fn l14_what_a_summary_call_used_is_not_taken_for_the_sessions() {
    let mut bed = due(Maker::new("default", WINDOW));
    let CallResult { result, .. } = good("## Goal\nship it\n\n## Next Steps\n- go on");
    let spent = CallCost { calls: 1, input: Tokens(900_000), output: Tokens(9_000), ..CallCost::default() };
    bed.model.always(CallResult { result, spent: spent.clone() });
    let record = bed.prepare().expect("it is due");
    let check = bed.session.check();
    assert_eq!((record.spent.clone(), check.source, check.is_due()), (spent, FigureSource::Count, false));
    assert_eq!(check.tokens, bed.session.context().tokens());
    assert!(bed.prepare().is_none());
}
