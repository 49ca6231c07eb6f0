//! What a session knows is in its log: opened again, by this program or another replica, it is the one that grew.

use epitome_core::policy::{LastResort, MeasureBy, PruneWhen};
use epitome_core::{Archive, EntryId, Failure, SizeTable, Slot, Strategy, Tokens, Trigger};
use epitome_engine::{Breaker, Check, FigureSource, Lens, Permission, Session, Timeline};
use epitome_testbed::{Bed, Maker, failed, now, word};
use epitome_tokens::Usage;
use std::sync::Arc;

const WINDOW: u64 = 20_000;

/// What is derived from a log.
#[derive(Debug, PartialEq)]
struct Derived {
    slots: Vec<Slot>,
    sizes: Vec<Tokens>,
    pins: Vec<EntryId>,
    history: Vec<EntryId>,
    compactions: Vec<EntryId>,
    breaker: Breaker,
}

impl Derived {
    fn of(timeline: &Timeline) -> Self {
        Self {
            slots: timeline.context().slots().to_vec(),
            sizes: Bed::slot_tokens(timeline.context()),
            pins: timeline.context().pins().to_vec(),
            history: timeline.history().to_vec(),
            compactions: timeline.compactions().to_vec(),
            breaker: timeline.breaker().clone(),
        }
    }
}

/// The timeline of the same log, derived at once.
fn opened(session: &Session) -> Timeline {
    let archive: &dyn Archive = &**session.archive();
    let policy = session.policy();
    let measure = &**session.assembly().measure();
    let lens = Lens { measure, archive, guard: &policy.guard, trigger: &policy.trigger, model: "" };
    let log = session.timeline().log().clone();
    Timeline::open(log, Arc::<SizeTable>::default(), session.leaf(), lens).expect("all is in memory")
}

/// Holds a session against its log: nothing of what is in view, counted, pinned or given up is lost, and the next
/// call comes to the same.
fn check(bed: &Bed) -> Check {
    assert_eq!(Derived::of(&opened(&bed.session)), Derived::of(bed.session.timeline()));
    let (mut again, mut grown) = (bed.reopened(), bed.session.clone());
    assert_eq!((again.check(), again.figure()), (grown.check(), grown.figure()));
    assert_eq!(again.shown().expect("all is in memory"), grown.shown().expect("all is in memory"));
    let mut quiet = bed.driver.clone();
    quiet.ports_mut().model = None;
    let [one, other] = [&mut again, &mut grown].map(|session| {
        let record = now(quiet.prepare(session)).expect("all is in memory").record;
        (record, session.shown().expect("all is in memory"))
    });
    assert_eq!(one, other);
    bed.session.check()
}

#[test]
fn usage_is_the_same_after_a_restart() {
    let mut bed = Bed::new("default", WINDOW);
    bed.talk(40, 200);
    let usage = Usage { prompt: 9_000, output: 200, ..Usage::default() };
    bed.session.record_usage(usage).expect("all is in memory");
    bed.talk(3, 200);
    let seen = check(&bed);
    assert_eq!((seen.tokens, seen.source), (Tokens(9_800), FigureSource::Hybrid));
}

#[test]
fn usage_of_another_model_is_forgotten_by_a_restart_too() {
    let maker = Maker::new("default", WINDOW);
    let mut bed = maker.set(|settings| settings.trigger.measure = MeasureBy::Hybrid).bed();
    bed.talk(40, 200);
    let usage = Usage { prompt: 9_000, output: 200, ..Usage::default() };
    bed.session.record_usage(usage).expect("all is in memory");
    let other = bed.session.assembly().clone();
    bed.session.set_assembly(other).expect("all is in memory");
    let seen = check(&bed);
    assert_eq!((seen.tokens, seen.source), (Tokens(8_000), FigureSource::Count));
}

#[test]
fn a_breaker_is_the_same_after_a_restart_open_or_closed() {
    let maker = Maker::new("default", WINDOW).set(|settings| {
        settings.strategy = vec![Strategy::Summarize];
        settings.guard.last = LastResort::Abandon;
        settings.summary.else_embedded = false;
        settings.keep.within_turn = false;
    });
    let mut bed = maker.bed();
    bed.talk(90, 200);
    bed.model.always(failed(Failure::TimedOut));
    for failures in 1..=3 {
        assert_eq!(bed.prepare().map(|record| word(&record)), Some("abandoned"));
        assert_eq!(bed.session.breaker().failures(), failures);
        check(&bed);
    }
    assert!(bed.session.breaker().is_open());
    assert_eq!(check(&bed).permission, Permission::Mechanical);
    // Over the window room is made without anybody, and the breaker stays open.
    bed.talk(20, 200);
    assert_eq!(bed.prepare().map(|record| word(&record)), Some("compacted"));
    assert!(bed.session.breaker().is_open());
    check(&bed);
    bed.session.reset_breaker().expect("all is in memory");
    assert_eq!(check(&bed).permission, Permission::Compact);
}

#[test]
fn another_policys_limits_hold_the_same_before_and_after_a_restart() {
    let maker = Maker::new("default", WINDOW).set(|settings| {
        settings.strategy = vec![Strategy::Summarize];
        settings.guard.last = LastResort::Abandon;
        settings.guard.failures_max = Some(9);
        settings.summary.else_embedded = false;
    });
    let mut bed = maker.bed();
    bed.talk(90, 200);
    bed.model.always(failed(Failure::TimedOut));
    (0..2).for_each(|_| drop(bed.prepare()));
    let mut settings = bed.session.policy().settings().clone();
    settings.guard.failures_max = Some(2);
    let policy = epitome_core::Policy::try_from(settings).expect("the settings are sound");
    assert!(!bed.session.breaker().is_open());
    bed.session.set_policy(Arc::new(policy)).expect("the window is stated");
    assert!(bed.session.breaker().is_open());
    check(&bed);
}

#[test]
fn pins_are_the_same_after_a_restart_and_what_was_hidden_is_back() {
    let mut bed = Bed::new("default", WINDOW);
    let before = bed.talk(20, 200);
    let (call, result) = bed.exchange("read", r#"{"path":"a.rs"}"#, "let a = 1;");
    bed.talk(60, 200);
    bed.compact(Trigger::Manual);
    assert!(!bed.in_view().contains(&before[7]) && !bed.in_view().contains(&call));
    let usage = Usage { prompt: bed.session.check().tokens.0, output: 1, ..Usage::default() };
    bed.session.record_usage(usage).expect("all is in memory");
    for pin in [before[7], result] {
        bed.session.pin(pin).expect("it is on the path");
        check(&bed);
    }
    assert_eq!(bed.session.context().pins(), [before[7], call, result]);
    assert!(bed.session.context().pins().iter().all(|pin| bed.in_view().contains(pin)));
    // What the provider counted was a request without them.
    assert_eq!(bed.session.figure(), (bed.session.context().tokens(), FigureSource::Count));
    bed.session.unpin(before[7]).expect("it is on the path");
    check(&bed);
    assert_eq!(bed.session.context().pins(), [call, result]);
}

#[test]
fn passes_compactions_and_what_was_taken_back_are_the_same_after_a_restart() {
    let maker = Maker::new("default", WINDOW)
        .no_model()
        .set(|settings| settings.prune.when = PruneWhen::ToolRound)
        .set(|settings| settings.prune.protect = Some("3000".parse().expect("a threshold")));
    let mut bed = maker.bed();
    bed.user("read it all");
    let mut words = Vec::new();
    for number in 0..60 {
        let (said, result) = (bed.filler(300), bed.filler(700));
        bed.user(&said);
        bed.exchange("read", &format!(r#"{{"path":"src/{number}.rs"}}"#), &result);
        words.extend(bed.prepare().map(|record| word(&record)));
        check(&bed);
    }
    assert!(words.contains(&"pruned") && words.contains(&"compacted"), "{words:?}");
    let of = *bed.session.compactions().last().expect("one was made");
    bed.session.undo(of).expect("it is a compaction");
    check(&bed);
    bed.session.redo(of).expect("it is a compaction");
    check(&bed);
}
