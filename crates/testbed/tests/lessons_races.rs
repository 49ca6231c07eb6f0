//! Lessons of others, rows 96 to 104: input, stops and triggers that come while something else runs.

use epitome_core::policy::{Last, Resume};
use epitome_core::{
    Author, Before, Called, Failure, Message, Request, Role, Strategy, Tokens, Trigger, Verdict,
};
use epitome_engine::{
    Begun, Event, Farewell, Happened, Hook, Inbox, InboxFull, Model, Pending, Phase, Report, Wish, now,
};
use epitome_testbed::{Bed, Maker, failed, good};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
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

/// Someone who types at every moment that a compaction waits for somebody.
struct Typist(Inbox);

impl Typist {
    fn types(&self, text: &str) {
        self.0.leave(person(text)).expect("the inbox has room");
    }
}

impl Hook for Typist {
    fn name(&self) -> &str {
        "typist"
    }

    fn before<'a>(&'a self, _: &'a Before) -> BoxFuture<'a, Result<Option<Verdict>, String>> {
        self.types("typed before");
        Box::pin(std::future::ready(Ok(None)))
    }

    fn after<'a>(&'a self, _: &'a Report) -> BoxFuture<'a, Result<(), String>> {
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

    fn summarize(&self, _: Request) -> BoxFuture<'_, Called> {
        self.types("typed meanwhile");
        Box::pin(std::future::ready(good("## Goal\nkeep what is typed")))
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

    fn summarize(&self, _: Request) -> BoxFuture<'_, Called> {
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
    let typist = Arc::new(Typist(bed.session.inbox()));
    let mut asks = bed.session.setup().asks.clone();
    asks.add_hook(typist.clone()).expect("it is no compactor");
    asks.model = Some(typist);
    bed.session.set_asks(asks);
    bed.prepare().expect("it is due");
    let waiting = bed.session.inbox().take();
    assert_eq!(waiting, ["typed before", "typed meanwhile", "typed after"].map(person));
    let ids: Vec<_> = waiting.into_iter().map(|message| bed.say(message)).collect();
    assert_eq!(bed.in_view()[bed.in_view().len() - 3..], ids);
}

#[test]
fn l96_an_inbox_that_is_full_says_so() {
    let inbox = Inbox::default();
    let taken = (0..1_001).filter(|number| inbox.leave(person(&number.to_string())).is_ok()).count();
    assert_eq!((taken, inbox.leave(person("one more"))), (1_000, Err(InboxFull)));
}

#[test]
fn l97_a_compaction_that_is_cancelled_commits_nothing_and_hangs_up() {
    let mut bed = session(Maker::new("default", WINDOW), 80);
    let (log, view) = (bed.session.log().len(), bed.in_view());
    let under_way = Arc::new(AtomicU32::new(0));
    let mut asks = bed.session.setup().asks.clone();
    asks.model = Some(Arc::new(Silent(under_way.clone())));
    bed.session.set_asks(asks);
    {
        let mut compaction = pin!(bed.session.prepare());
        let polled = compaction.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Pending) && under_way.load(Ordering::Relaxed) == 1);
    }
    assert_eq!((under_way.load(Ordering::Relaxed), bed.session.log().len(), bed.in_view()), (0, log, view));
    let mut asks = bed.session.setup().asks.clone();
    asks.model = Some(bed.model.clone());
    bed.session.set_asks(asks);
    assert_eq!(bed.prepare().map(|report| report.outcome), Some(Outcome::Compacted));
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
    bed.session.request_compaction();
    assert!(bed.prepare().is_none());
    bed.results(&["ok"]);
    bed.assistant("all green");
    let report = now(bed.session.end_turn(true)).expect("all is in memory").expect("it was asked for");
    assert_eq!((report.trigger, report.outcome), (Trigger::Requested, Outcome::Compacted));
    assert_eq!(bed.model.requests().len(), 1);
}

#[test]
fn l99_a_hundred_slow_summaries_in_the_background_hold_no_session_up() {
    let under_way = Arc::new(AtomicU32::new(0));
    let mut beds: Vec<Bed> = (0..100)
        .map(|_| {
            let model = Arc::new(Silent(under_way.clone()));
            let maker = Maker::new("default", WINDOW).no_model().ports(|ports| ports.model = Some(model));
            session(maker.set(|settings| settings.speculate.enabled = true), 75)
        })
        .collect();
    let mut running: Vec<_> = beds
        .iter_mut()
        .map(|bed| Box::pin(bed.session.speculate().expect("it is time for one").run()))
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
    let ready = now(work.run()).expect("a summary comes of it");
    now(bed.session.navigate(&bed.shelf, ids[9], Farewell::Silent)).expect("all is in memory");
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
    let report = now(bed.session.end_turn(true)).expect("all is in memory").expect("it is due");
    assert_eq!((report.outcome, report.resume), (Outcome::Compacted, Resume::Wait));
    assert!(now(bed.session.end_turn(true)).expect("all is in memory").is_none());
}

#[test]
fn l101_in_the_middle_of_the_work_it_goes_on() {
    let mut bed = session(Maker::new("default", WINDOW), 80);
    bed.exchange("bash", r#"{"command":"make"}"#, "ok");
    assert_eq!(bed.prepare().map(|report| report.resume), Some(Resume::Continue));
}

#[test]
fn l102_at_a_hundred_and_one_percent_a_failing_summariser_does_not_let_the_request_through() {
    for last in [Last::Drop, Last::Abandon] {
        let maker = Maker::new("default", WINDOW).set(|settings| settings.guard.last = last);
        let mut bed = session(maker.set(|settings| settings.strategy = vec![Strategy::Summarize]), 101);
        bed.model.always(failed(Failure::Broken("connection reset".into())));
        let report = bed.prepare().expect("it is due");
        let made = report.record.expect("it was compacted");
        assert_eq!(report.outcome, Outcome::Compacted);
        assert_eq!(made.summarizer.as_deref(), Some("the embedded summariser"));
        assert!(bed.session.check().tokens < Tokens(WINDOW));
    }
}

#[test]
fn l103_two_triggers_at_once_compact_once() {
    let mut bed = session(Maker::new("default", WINDOW), 80);
    assert_eq!(bed.session.check().trigger, Some(Trigger::Threshold));
    assert_eq!(bed.compact(Trigger::Manual).outcome, Outcome::Compacted);
    assert!(bed.prepare().is_none());
    assert_eq!(bed.compact(Trigger::Manual).outcome, Outcome::Noop);
    assert_eq!((bed.model.requests().len(), bed.session.compactions().len()), (1, 1));
}

#[test]
fn l103_while_one_waits_for_an_operator_no_other_begins() {
    let chain = vec![Strategy::Checkpoint, Strategy::Summarize];
    let mut bed = session(Maker::new("default", WINDOW).set(|settings| settings.strategy = chain), 80);
    let begun = now(bed.session.begin(Trigger::Threshold, Wish::default())).expect("all is in memory");
    assert!(matches!(begun, Begun::Waits(_)));
    let refused = bed.try_compact(Trigger::Manual).expect_err("one waits");
    assert_eq!(
        refused.to_string(),
        "a compaction cannot run now: one waits for an operator; ask for one at the end of the turn instead"
    );
}

#[test]
fn l104_a_persons_stop_starts_nothing() {
    let mut bed = session(Maker::new("default", WINDOW).set(|settings| settings.check.after_turn = true), 90);
    bed.session.begin_turn();
    bed.session.request_compaction();
    let log = bed.session.log().len();
    assert!(now(bed.session.end_turn(false)).expect("all is in memory").is_none());
    assert_eq!((bed.session.log().len(), bed.model.requests(), bed.take_events()), (log, vec![], vec![]));
}
