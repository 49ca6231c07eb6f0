//! Lessons of others, rows 96 to 104: input, stops and triggers that come while something else runs.

use epitome_core::policy::{LastResort, Resume};
use epitome_core::{
    Archive, Author, CallResult, CheckpointView, Decision, Failure, Message, Record, Role, Strategy,
    SummaryRequest, Tokens, Trigger, UpcomingCompaction, Verdict,
};
use epitome_engine::{BoxFuture, BranchExit, Event, Hook, Model, Operator, Phase, SummaryModel, TurnEnd};
use epitome_testbed::{Bed, Maker, change, failed, good, now, word};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

const WINDOW: u64 = 100_000;

fn person(text: &str) -> Message {
    Message::text(Role::User, Author::Person, text)
}

/// A session of so many messages of 1,000 tokens, summarised in one call.
fn session(maker: Maker, messages: usize) -> Bed {
    let mut bed = maker.set(|settings| settings.keep.within_turn = false).bed();
    bed.talk(messages, 1_000);
    bed
}

/// Someone who types at every moment that a compaction waits for somebody. The session is the compaction's
/// meanwhile: what is typed waits with whoever owns it.
#[derive(Default)]
struct Typist(Mutex<Vec<Message>>);

impl Typist {
    fn types(&self, text: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(person(text));
    }

    fn take(&self) -> Vec<Message> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Hook for Typist {
    fn name(&self) -> &str {
        "typist"
    }

    fn before<'a>(
        &'a self,
        _: &'a UpcomingCompaction,
        _: &'a dyn Archive,
    ) -> BoxFuture<'a, Result<Option<Verdict>, String>> {
        self.types("typed before");
        Box::pin(std::future::ready(Ok(None)))
    }

    fn after<'a>(&'a self, _: &'a Record) -> BoxFuture<'a, Result<(), String>> {
        self.types("typed after");
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Model for Typist {
    fn name(&self) -> &str {
        "typist"
    }

    fn window(&self) -> Tokens {
        Tokens(200_000)
    }

    fn output_max(&self) -> Tokens {
        Tokens(8_000)
    }

    fn summarize(&self, _: SummaryRequest) -> BoxFuture<'_, CallResult> {
        self.types("typed meanwhile");
        Box::pin(std::future::ready(good("## Goal\nkeep what is typed")))
    }
}

/// An operator who decides when told to.
#[derive(Default)]
struct Desk {
    asked: AtomicU32,
    decision: Mutex<Option<Decision>>,
}

impl Desk {
    fn decides(&self, decision: Decision) {
        *self.decision.lock().unwrap_or_else(PoisonError::into_inner) = Some(decision);
    }
}

impl Operator for Desk {
    fn decide(&self, _: CheckpointView) -> BoxFuture<'_, Decision> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::poll_fn(|_| {
            let decided = self.decision.lock().unwrap_or_else(PoisonError::into_inner).take();
            decided.map_or(Poll::Pending, Poll::Ready)
        }))
    }
}

/// A model that never answers, and counts the calls that are under way.
#[derive(Default)]
struct Silent(Arc<AtomicU32>);

/// One call under way.
struct Line(Arc<AtomicU32>);

impl Drop for Line {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Model for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    fn window(&self) -> Tokens {
        Tokens(200_000)
    }

    fn output_max(&self) -> Tokens {
        Tokens(8_000)
    }

    fn summarize(&self, _: SummaryRequest) -> BoxFuture<'_, CallResult> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let line = Line(self.0.clone());
        Box::pin(async move {
            let _held = line;
            std::future::pending().await
        })
    }
}

#[test]
fn l96_what_is_typed_while_a_compaction_runs_waits_in_order() {
    let mut bed = session(Maker::new("default", WINDOW).no_model(), 80);
    let typist = Arc::new(Typist::default());
    bed.driver.ports_mut().add_hook(typist.clone()).expect("it is no compactor");
    bed.driver.ports_mut().model = Some(SummaryModel::apart(typist.clone()));
    bed.prepare().expect("it is due");
    let waiting = typist.take();
    assert_eq!(waiting, ["typed before", "typed meanwhile", "typed after"].map(person));
    let ids: Vec<_> = waiting.into_iter().map(|message| bed.say(message)).collect();
    assert_eq!(bed.in_view()[bed.in_view().len() - 3..], ids);
}

#[test]
fn l96_what_is_typed_while_a_summary_is_written_beside_it_stands_behind_it_in_order() {
    let mut bed = Maker::new("default", WINDOW).set(|settings| settings.speculate.enabled = true).bed();
    bed.talk(75, 1_000);
    let ready = now(bed.session.speculate().expect("it is time for one").run(&bed.driver));
    let typed = bed.talk(6, 1_000);
    bed.session.offer(ready.expect("a summary comes of it"));
    let made = change(bed.prepare());
    assert_eq!(
        (&made.kept[made.kept.len() - 6..], bed.in_view().last_chunk()),
        (&typed[..], typed.last_chunk::<6>())
    );
}

#[test]
fn l97_a_compaction_that_is_cancelled_commits_nothing_and_hangs_up() {
    let mut bed = session(Maker::new("default", WINDOW), 80);
    let (log, view) = (bed.session.log().len(), bed.in_view());
    let under_way = Arc::new(AtomicU32::new(0));
    bed.driver.ports_mut().model = Some(SummaryModel::apart(Arc::new(Silent(under_way.clone()))));
    {
        let mut compaction = pin!(bed.driver.prepare(&mut bed.session));
        let polled = compaction.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Pending) && under_way.load(Ordering::Relaxed) == 1);
    }
    assert_eq!((under_way.load(Ordering::Relaxed), bed.session.log().len(), bed.in_view()), (0, log, view));
    assert_eq!(bed.session.phase(), Phase::Idle);
    bed.driver.ports_mut().model = Some(SummaryModel::apart(bed.model.clone()));
    assert_eq!(bed.prepare().map(|record| word(&record)), Some("compacted"));
}

#[test]
fn l98_a_compaction_asked_for_during_a_tool_call_waits_for_the_turns_end() {
    let mut bed = session(Maker::new("default", WINDOW), 40);
    bed.session.begin_turn();
    bed.user("run the tests");
    bed.call(&[("bash", r#"{"command":"make test"}"#)]);
    let refused = bed.try_compact(Trigger::Manual).expect_err("a turn runs");
    assert_eq!(
        refused.to_string(),
        "a compaction cannot run now: a turn runs; ask for one at the end of the turn instead"
    );
    bed.session.request_compaction().expect("all is in memory");
    assert!(bed.prepare().is_none());
    bed.results(&["ok"]);
    bed.assistant("all green");
    let record = bed.end_turn(TurnEnd::Good).expect("it was asked for");
    assert_eq!((record.trigger, word(&record)), (Trigger::Requested, "compacted"));
    assert_eq!(bed.model.requests().len(), 1);
}

#[test]
fn l99_a_hundred_slow_summaries_in_the_background_hold_no_session_up() {
    let under_way = Arc::new(AtomicU32::new(0));
    let mut beds: Vec<Bed> = (0..100)
        .map(|_| {
            let model = Arc::new(Silent(under_way.clone()));
            let maker = Maker::new("default", WINDOW)
                .no_model()
                .ports(|ports| ports.model = Some(SummaryModel::apart(model)));
            session(maker.set(|settings| settings.speculate.enabled = true), 75)
        })
        .collect();
    let mut running: Vec<_> = beds
        .iter_mut()
        .map(|bed| {
            let (work, driver) = (bed.session.speculate().expect("it is time for one"), bed.driver.clone());
            Box::pin(async move { work.run(&driver).await })
        })
        .collect();
    for work in &mut running {
        assert!(work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    for bed in &mut beds {
        bed.user("meanwhile");
        assert_eq!((bed.session.check().trigger, bed.session.phase()), (None, Phase::Idle));
    }
    assert_eq!(under_way.load(Ordering::Relaxed), 100);
    drop(running);
    assert_eq!(under_way.load(Ordering::Relaxed), 0);
}

#[test]
fn l100_a_summary_of_a_branch_that_was_left_is_thrown_away() {
    let mut bed = Maker::new("default", WINDOW).set(|settings| settings.speculate.enabled = true).bed();
    let ids = bed.talk(75, 1_000);
    let work = bed.session.speculate().expect("it is time for one");
    let ready = now(work.run(&bed.driver)).expect("a summary comes of it");
    now(bed.driver.navigate(&mut bed.session, ids[9], BranchExit::Silent)).expect("all is in memory");
    bed.take_events();
    bed.session.offer(ready);
    let fate = "thrown away: the branch has moved".into();
    assert_eq!(bed.take_events(), [Event::Speculated { fate }]);
    assert_eq!((bed.session.has_ready(), bed.in_view()), (false, ids[..10].to_vec()));
}

#[test]
fn l101_after_a_final_answer_nothing_goes_on_by_itself() {
    let mut bed = session(Maker::new("default", WINDOW).set(|settings| settings.check.after_turn = true), 81);
    bed.session.begin_turn();
    bed.assistant("that was all");
    let record = bed.end_turn(TurnEnd::Good).expect("it is due");
    assert_eq!((word(&record), record.resume), ("compacted", Resume::Wait));
    assert!(bed.end_turn(TurnEnd::Good).is_none());
}

#[test]
fn l101_in_the_middle_of_the_work_it_goes_on() {
    let mut bed = session(Maker::new("default", WINDOW), 80);
    bed.exchange("bash", r#"{"command":"make"}"#, "ok");
    assert_eq!(bed.prepare().map(|record| record.resume), Some(Resume::Continue));
}

#[test]
fn l102_at_a_hundred_and_one_percent_a_failing_summariser_does_not_let_the_request_through() {
    for last in [LastResort::Drop, LastResort::Abandon] {
        let maker = Maker::new("default", WINDOW).set(|settings| settings.guard.last = last);
        let mut bed = session(maker.set(|settings| settings.strategy = vec![Strategy::Summarize]), 101);
        bed.model.always(failed(Failure::Broken("connection reset".into())));
        let record = bed.prepare().expect("it is due");
        assert_eq!(word(&record), "compacted");
        let made = change(Some(record));
        assert_eq!(made.summarizer.as_deref(), Some("the embedded summariser"));
        assert!(bed.session.check().tokens < Tokens(WINDOW));
    }
}

#[test]
fn l102_whoever_would_rather_go_on_may_not_where_the_request_cannot_be_sent() {
    let presets = ["default", "aura", "pi", "claude-code", "operator-use", "omp@17", "omp@18"];
    for (preset, messages) in presets.into_iter().flat_map(|preset| [(preset, 98), (preset, 101)]) {
        let maker = Maker::new(preset, WINDOW).set(|settings| {
            settings.strategy = vec![Strategy::Summarize];
            settings.guard.last = LastResort::Abandon;
            settings.summary.else_embedded = false;
        });
        let mut bed = session(maker, messages);
        bed.model.always(failed(Failure::Broken("connection reset".into())));
        let outcome = word(&bed.compact(Trigger::Threshold));
        let is_sent = bed.session.check().tokens <= Tokens(WINDOW);
        let expected = if messages < 100 { "abandoned" } else { "compacted" };
        assert_eq!((outcome, is_sent), (expected, true), "{preset} at {messages} %");
    }
}

#[test]
fn l103_two_triggers_at_once_compact_once() {
    let mut bed = session(Maker::new("default", WINDOW), 80);
    assert_eq!(bed.session.check().trigger, Some(Trigger::Threshold));
    assert_eq!(word(&bed.compact(Trigger::Manual)), "compacted");
    assert!(bed.prepare().is_none());
    assert_eq!(word(&bed.compact(Trigger::Manual)), "noop");
    assert_eq!((bed.model.requests().len(), bed.session.compactions().len()), (1, 1));
}

#[test]
fn l103_while_one_waits_for_an_operator_no_other_begins() {
    let chain = vec![Strategy::Checkpoint, Strategy::Summarize];
    let operator = Arc::new(Desk::default());
    let maker = Maker::new("default", WINDOW).set(|settings| {
        settings.strategy = chain;
        settings.guard.checkpoint_seconds_max = None;
    });
    let mut bed = session(maker.ports(|ports| ports.operator = Some(operator.clone())), 80);
    {
        // It holds the session for as long as it waits; nobody else is asked meanwhile.
        let mut waiting = pin!(bed.driver.prepare(&mut bed.session));
        for _ in 0..3 {
            assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        assert_eq!((operator.asked.load(Ordering::Relaxed), bed.model.requests().len()), (1, 0));
        operator.decides(Decision::Approve);
        let step = now(waiting).expect("all is in memory");
        assert_eq!(step.record.map(|record| word(&record)), Some("compacted"));
    }
    assert_eq!((bed.prepare(), bed.session.compactions().len()), (None, 1));
}

#[test]
fn l104_a_persons_stop_starts_nothing() {
    let mut bed = session(Maker::new("default", WINDOW).set(|settings| settings.check.after_turn = true), 90);
    bed.session.begin_turn();
    bed.session.request_compaction().expect("all is in memory");
    let log = bed.session.log().len();
    assert!(bed.end_turn(TurnEnd::Broken).is_none());
    assert_eq!((bed.session.log().len(), bed.model.requests(), bed.take_events()), (log, vec![], vec![]));
}
