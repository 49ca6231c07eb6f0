//! Defects that were found by reading and must not come back: turns that a compaction ended, models without fuel,
//! reminders on every call, policies that counted nothing of what was said before, compactions that lock a session.

use epitome_core::policy::{CountRule, CountText, TriggerMode};
use epitome_core::{
    Author, Block, Budget, CallCost, CallResult, Failure, Form, Image, Message, Outcome, Policy, Role,
    Settings, Strategy, Tokens, Trigger, Verdict,
};
use epitome_engine::{Event, Phase, Recovery, SummaryModel, TurnEnd};
use epitome_testbed::{
    Bed, Maker, TestHook, TestModel, TestOperator, change, due, failed, good, stubborn, word,
};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

const WINDOW: u64 = 20_000;
const IN_A_TURN: &str =
    "a compaction cannot run now: a turn runs; ask for one at the end of the turn instead";

/// The session's settings, with a change.
fn with(bed: &Bed, change: impl FnOnce(&mut Settings)) -> Arc<Policy> {
    let mut settings = bed.session.policy().settings().clone();
    change(&mut settings);
    Arc::new(Policy::try_from(settings).expect("the settings are sound"))
}

/// Begins what would be done before a call, and gives it up while somebody is being waited for.
fn give_up(bed: &mut Bed) {
    let mut work = pin!(bed.driver.prepare(&mut bed.session));
    assert!(work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
}

#[test]
fn after_an_automatic_compaction_inside_a_turn_the_turn_still_runs() {
    let mut bed = due(Maker::new("default", WINDOW));
    bed.session.begin_turn();
    assert_eq!(bed.prepare().map(|record| word(&record)), Some("compacted"));
    assert_eq!(bed.session.phase(), Phase::Turn);
    bed.talk(20, 200);
    let refused = bed.try_compact(Trigger::Manual).expect_err("the turn has not ended");
    assert_eq!(refused.to_string(), IN_A_TURN);
    assert_eq!(bed.end_turn(TurnEnd::Good), None);
    assert_eq!(word(&bed.compact(Trigger::Manual)), "compacted");
}

#[test]
fn after_a_compaction_that_was_cancelled_what_went_on_before_goes_on() {
    for phase in [Phase::Idle, Phase::Turn] {
        let mut bed = due(Maker::new("default", WINDOW));
        if phase == Phase::Turn {
            bed.session.begin_turn();
        }
        bed.driver.ports_mut().model =
            Some(SummaryModel::apart(Arc::new(TestModel::new(bed.clock.clone()).hangs())));
        let (log, view) = (bed.session.log().len(), bed.in_view());
        give_up(&mut bed);
        assert_eq!((bed.session.phase(), bed.session.log().len(), bed.in_view()), (phase, log, view));
        let refused = bed.session.phase() == Phase::Turn;
        bed.driver.ports_mut().model = Some(SummaryModel::apart(bed.model.clone()));
        assert_eq!(bed.try_compact(Trigger::Manual).is_err(), refused);
        bed.talk(80, 200);
        assert_eq!(bed.prepare().map(|record| word(&record)), Some("compacted"));
    }
}

#[test]
fn a_compaction_asked_for_and_cancelled_is_still_asked_for() {
    let mut bed = Bed::new("default", WINDOW);
    bed.talk(40, 200);
    bed.session.request_compaction().expect("all is in memory");
    bed.driver.ports_mut().model =
        Some(SummaryModel::apart(Arc::new(TestModel::new(bed.clock.clone()).hangs())));
    {
        let mut work = pin!(bed.driver.end_turn(&mut bed.session, TurnEnd::Good));
        assert!(work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    bed.driver.ports_mut().model = Some(SummaryModel::apart(bed.model.clone()));
    let record = bed.end_turn(TurnEnd::Good).expect("it was asked for");
    assert_eq!((record.trigger, word(&record)), (Trigger::Requested, "compacted"));
    assert_eq!(bed.end_turn(TurnEnd::Good), None);
}

#[test]
fn a_model_that_reports_no_calls_is_asked_no_more_often_than_it_may() {
    for calls_max in [3, 5] {
        let maker = Maker::new("default", WINDOW).set(|settings| settings.guard.calls_max = calls_max);
        // A window in which the summary takes many parts, each of which is good.
        let mut bed = due(maker.model(|model| model.with_window(3_500)));
        let called = good("## Goal\nship it");
        bed.model.always(CallResult { spent: CallCost::default(), ..called });
        let record = bed.prepare().expect("it is due");
        let whys: Vec<&str> = record.fallbacks.iter().map(|fallback| fallback.why.as_str()).collect();
        assert_eq!(whys, ["its calls are used up"]);
        assert_eq!((bed.model.requests().len(), record.spent.calls), (calls_max as usize, 0));
    }
}

#[test]
fn that_a_compaction_is_due_and_left_to_a_person_is_told_once_for_each() {
    let remind = "these settings leave it to a person: compact by hand";
    let ask = "nobody can be asked here (`mode = \"ask\"`): the session goes on as it is; compact by hand";
    for (mode, why) in [(TriggerMode::Ask, ask), (TriggerMode::Remind, remind)] {
        let mut bed = due(Maker::new("default", WINDOW).set(|settings| settings.mode = mode));
        let told = |bed: &mut Bed| {
            (0..3).for_each(|_| assert_eq!(bed.prepare(), None));
            let events = bed.take_events();
            events.into_iter().filter(|event| matches!(event, Event::Due { .. })).collect::<Vec<_>>()
        };
        let due = Event::Due { tokens: Tokens(18_000), limit: Tokens(16_000), why: why.into() };
        assert_eq!(told(&mut bed), [due]);
        bed.talk(2, 200);
        assert_eq!(told(&mut bed), []);
        bed.compact(Trigger::Manual);
        assert_eq!(told(&mut bed), []);
        bed.talk(80, 200);
        assert_eq!(told(&mut bed).len(), 1);
    }
}

#[test]
fn another_policy_counts_what_was_said_before_it() {
    let image = Image { media_type: "image/png".into(), data: "A".repeat(5_000).into(), is_url: false };
    let blocks = vec![Block::text("look at this"), Block::Image(image)];
    let picture = Message { role: Role::User, author: Author::Person, blocks };
    let counts = |change: &dyn Fn(&mut Settings)| {
        let mut bed = Bed::new("default", 200_000);
        for _ in 0..4 {
            bed.say(picture.clone());
        }
        assert_eq!(bed.session.check().trigger, None);
        let policy = with(&bed, change);
        bed.session.set_policy(policy).expect("the window is stated");
        bed.session.check().trigger
    };
    assert_eq!(counts(&|settings| settings.trigger.bytes = Some(20_000)), Some(Trigger::Bytes));
    assert_eq!(counts(&|settings| settings.trigger.bytes = Some(21_000)), None);
    assert_eq!(counts(&|settings| settings.trigger.media = Some(4)), Some(Trigger::Media));
    assert_eq!(counts(&|settings| settings.trigger.media = Some(5)), None);
}

#[test]
fn another_way_of_counting_counts_every_path_anew() {
    let mut bed = Bed::new("default", 200_000);
    let ids = bed.talk(10, 500);
    bed.session.move_to(Some(ids[3])).expect("it is in the log");
    bed.talk(2, 500);
    let count = CountRule { text: CountText::QuarterChars, image_tokens: None };
    let policy = with(&bed, |settings| settings.count = count);
    bed.session.set_policy(policy).expect("the window is stated");
    assert_eq!((bed.session.context().tokens(), bed.session.check().history), (Tokens(3_000), Tokens(3_000)));
    bed.session.move_to(ids.last().copied()).expect("it is in the log");
    assert_eq!(bed.session.context().tokens(), Tokens(5_000));
}

#[test]
fn what_cannot_fit_is_an_outcome_that_names_the_parts_and_leaves_all_as_it_was() {
    let budget = Budget {
        fixed: Tokens(9_000),
        reserve: Tokens(990),
        ..Budget::new(Tokens(10_000), Tokens::ZERO, Tokens::ZERO)
    };
    let mut bed = Maker::new("default", 10_000).budget(|given| *given = budget).bed();
    let ids = bed.talk(11, 400);
    let record = bed.prepare().expect("it does not fit");
    let Outcome::Impossible(floor) = &record.outcome else { panic!("not {:?}", record.outcome) };
    assert_eq!((floor.window, floor.fixed, floor.reserve), (budget.window, budget.fixed, budget.reserve));
    let told = format!(
        "cannot fit 10,000 tokens: system prompt and tools take 9,000, the answer's reserve 990, messages that are always kept {}; use a larger window, a shorter system prompt, or fewer pins",
        floor.kept
    );
    assert_eq!((record.outcome.why(), bed.in_view(), bed.model.requests()), (Some(told), ids, vec![]));
    assert_eq!((bed.session.phase(), bed.session.breaker().is_open()), (Phase::Idle, false));
    bed.use_budget(Budget { window: Tokens(12_000), ..budget });
    assert_eq!(bed.prepare().map(|record| word(&record)), Some("compacted"));
}

/// A session whose compactions wait for a word of somebody who never gives one.
fn waiting(seconds_max: Option<u64>) -> Bed {
    let maker = Maker::new("default", WINDOW).set(|settings| {
        settings.strategy = vec![Strategy::Checkpoint, Strategy::Summarize];
        settings.guard.checkpoint_seconds_max = seconds_max;
    });
    due(maker.ports(|ports| ports.operator = Some(Arc::new(TestOperator::default()))))
}

#[test]
fn an_operator_who_never_answers_holds_up_one_compaction_for_as_long_as_the_policy_says() {
    let mut bed = waiting(Some(60));
    let record = bed.prepare().expect("it is due");
    assert_eq!((word(&record), record.duration_ms), ("compacted", 60_000));
    let tried: Vec<Strategy> = record.fallbacks.iter().map(|fallback| fallback.strategy).collect();
    assert_eq!(tried, [Strategy::Checkpoint]);
    assert!(bed.take_events().iter().any(|event| matches!(event, Event::Pending { .. })));
}

#[test]
fn a_checkpoint_that_is_given_up_blocks_no_later_compaction() {
    let mut bed = waiting(None);
    give_up(&mut bed);
    assert_eq!((bed.session.phase(), bed.session.compactions().len()), (Phase::Idle, 0));
    give_up(&mut bed);
    bed.driver.ports_mut().operator = None;
    let record = bed.prepare().expect("it is due");
    assert_eq!(word(&record), "compacted");
}

#[test]
fn with_an_open_breaker_an_overflow_is_recovered_from_and_nobody_is_asked() {
    let hook = Arc::new(TestHook::new("observer").says(Ok(Some(Verdict::Veto { why: "never".into() }))));
    let mut bed = due(stubborn(WINDOW));
    bed.model.always(failed(Failure::TimedOut));
    for _ in 0..3 {
        assert_eq!(bed.prepare().map(|record| word(&record)), Some("abandoned"));
    }
    assert!(bed.session.breaker().is_open());
    let calls = bed.model.requests().len();
    bed.driver.ports_mut().add_hook(hook.clone()).expect("it is no compactor");
    let Recovery::Retry(step) = bed.recover(Some(4_000)) else { panic!("room can be made") };
    let made = change(step.record);
    assert_eq!((bed.model.requests().len(), hook.told()), (calls, vec![]));
    assert!(made.summarizer.is_none_or(|name| name == "the embedded summariser"));
    assert!(bed.session.check().tokens <= Tokens(14_000));
    // That it came to something without them does not bring them back.
    assert!(bed.session.breaker().is_open());
    bed.session.reset_breaker().expect("all is in memory");
    assert!(!bed.session.breaker().is_open());
}

#[test]
fn with_an_open_breaker_no_request_is_over_the_window() {
    let mut bed = due(stubborn(WINDOW));
    bed.model.always(failed(Failure::TimedOut));
    (0..3).for_each(|_| drop(bed.prepare()));
    let calls = bed.model.requests().len();
    for _ in 0..40 {
        bed.talk(2, 400);
        bed.prepare();
        assert!(bed.session.budget().fits(bed.session.context().tokens()));
    }
    assert!(bed.session.breaker().is_open() && !bed.session.compactions().is_empty());
    assert_eq!(bed.model.requests().len(), calls);
}

#[test]
fn what_was_cut_for_want_of_room_stands_whole_again_when_there_is_room() {
    let mut bed =
        Maker::new("default", WINDOW).no_model().budget(|budget| budget.fixed = Tokens(8_000)).bed();
    let task = format!("build the parser; {}", bed.filler(7_500));
    let first = bed.user(&task);
    bed.assistant("I read the grammar first.");
    bed.exchange("read", "grammar.txt", &bed.filler(8_500));
    let form_of = |bed: &Bed, id| {
        let sizes = bed.session.timeline().sizes();
        bed.session.context().form_of(id, sizes).0
    };
    bed.prepare().expect("task and exchange together are over the room");
    assert!(form_of(&bed, first).shorten.is_some(), "{:?}", form_of(&bed, first));
    bed.talk(30, 300);
    let record = bed.prepare().expect("it is due again");
    assert!(matches!(record.outcome, Outcome::Compacted(_)), "{:?}", record.outcome);
    assert_eq!(form_of(&bed, first), Form::WHOLE);
    assert!(bed.shown()[0].ends_with(&task), "{}", bed.shown()[0]);
    assert_eq!(bed.reopened().context().slots(), bed.session.context().slots());
}
