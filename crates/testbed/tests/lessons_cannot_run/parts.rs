//! Summaries made by several calls, and what becomes of those that fail.

use crate::{WINDOW, due, made, recorded};
use epitome_core::policy::{LastResort, Parts, Split};
use epitome_core::{CallResult, Failure, Purpose, Strategy, SummaryRequest, Tokens};
use epitome_engine::{BoxFuture, Model, SummaryModel};
use epitome_testbed::{Bed, Maker, empty, failed, good, tool_call, word, written};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A local server: one call at a time, and whoever comes meanwhile is sent away.
#[derive(Default)]
struct OneSlot {
    busy: AtomicU32,
    sent_away: AtomicU32,
}

impl Model for OneSlot {
    fn name(&self) -> &str {
        "one-slot"
    }

    fn window(&self) -> Tokens {
        Tokens(100_000)
    }

    fn output_max(&self) -> Tokens {
        Tokens(4_000)
    }

    fn summarize(&self, _: SummaryRequest) -> BoxFuture<'_, CallResult> {
        if self.busy.fetch_add(1, Ordering::Relaxed) > 0 {
            self.sent_away.fetch_add(1, Ordering::Relaxed);
        }
        Box::pin(async {
            self.busy.fetch_sub(1, Ordering::Relaxed);
            good("## Goal\nship it")
        })
    }
}

/// A session in which a long turn is cut, so that two summaries are wanted.
fn cut_turn(maker: Maker) -> Bed {
    let mut bed = maker.bed();
    bed.talk(20, 200);
    bed.user("now the long one");
    for number in 0..40 {
        bed.exchange("read", &format!(r#"{{"path":"{number}.txt"}}"#), &"line\n".repeat(240));
    }
    bed
}

/// A session whose summaries are made in so many parts.
fn in_parts(chunks: u32) -> Bed {
    due(Maker::new("default", WINDOW).set(|settings| settings.summary.chunks = chunks))
}

fn purposes(bed: &Bed) -> Vec<Purpose> {
    bed.model.requests().iter().map(|request| request.purpose).collect()
}

#[test]
fn l26_a_server_of_one_slot_is_never_asked_twice_at_once() {
    let slot = Arc::new(OneSlot::default());
    let maker = Maker::new("default", WINDOW).set(|settings| {
        settings.summary.parts = Parts::All;
        settings.summary.split = Split::Parallel;
    });
    let mut bed = cut_turn(maker);
    bed.driver.ports_mut().model = Some(SummaryModel::apart(slot.clone()));
    let record = bed.prepare().expect("it is due");
    assert_eq!(word(&record), "compacted");
    assert_eq!((record.spent.calls, slot.sent_away.load(Ordering::Relaxed)), (2, 0));
}

#[test]
fn l26_where_it_is_known_that_a_provider_takes_them_two_calls_go_at_once() {
    let maker = Maker::new("default", WINDOW).set(|settings| {
        settings.summary.parts = Parts::All;
        settings.summary.split = Split::Parallel;
    });
    let mut bed = cut_turn(maker.model(|model| model.parallel()));
    made(&mut bed);
    let asked: Vec<(Purpose, u32)> = bed.model.requests().iter().map(|it| (it.purpose, it.attempt)).collect();
    assert_eq!(asked, [(Purpose::History, 0), (Purpose::TurnPrefix, 0)]);
}

#[test]
fn l27_a_call_that_breaks_off_is_made_again_within_the_plans_calls() {
    let mut bed = due(Maker::new("default", WINDOW));
    bed.model.then(failed(Failure::Broken("the stream ended early".into())));
    let (made, record) = recorded(&mut bed);
    let calls = bed.model.requests().len();
    assert_eq!((made.strategy, &record.fallbacks, calls), (Strategy::Summarize, &vec![], 2));
}

#[test]
fn l28_after_a_slow_third_part_the_first_two_are_not_made_again() {
    let mut bed = in_parts(4);
    bed.model.then(good("## Goal\npart one")).then(good("## Goal\npart two")).then(failed(Failure::TimedOut));
    bed.model.then(good("## Goal\npart three")).then(good("## Goal\npart four"));
    let summary = made(&mut bed).summary.expect("there is one");
    let part = |number| Purpose::Part { number, of: 4 };
    assert_eq!(purposes(&bed), [1, 2, 3, 3, 4].map(part));
    let again = &bed.model.asked()[3];
    assert!(again.contains("<previous-summary>\n## Goal\npart two\n</previous-summary>"), "{again}");
    assert!(summary.contains("part four"), "{summary}");
}

#[test]
fn l29_failures_of_every_kind_count_towards_the_same_limit() {
    let maker = Maker::new("default", WINDOW).set(|settings| {
        settings.strategy = vec![Strategy::Summarize];
        settings.guard.last = LastResort::Abandon;
        settings.summary.else_embedded = false;
        settings.summary.retries = 0;
        settings.summary.shrink_results = Vec::new();
    });
    let mut bed = due(maker);
    let kinds = [failed(Failure::Broken("HTTP 500".into())), empty(), failed(Failure::TimedOut), tool_call()];
    for called in kinds {
        bed.model.then(called);
    }
    let outcomes: Vec<Option<&str>> = (0..6).map(|_| bed.prepare().map(|record| word(&record))).collect();
    let abandoned = Some("abandoned");
    assert_eq!(outcomes, [abandoned, abandoned, abandoned, None, None, None]);
    assert_eq!(bed.model.requests().len(), 3);
}

#[test]
fn l30_a_first_part_that_says_there_is_nothing_is_refused_and_never_carried() {
    let mut bed = in_parts(3);
    bed.model.then(good("There is nothing to summarize."));
    let summary = made(&mut bed).summary.expect("there is one");
    let part = |number| Purpose::Part { number, of: 3 };
    assert_eq!(purposes(&bed), [1, 1, 2, 3].map(part));
    let carried = bed.model.requests()[2..].iter().any(|request| written(request).contains("nothing to sum"));
    assert!(!carried && !summary.contains("nothing to sum"), "{summary}");
}

#[test]
fn l30_of_a_long_result_the_summariser_sees_both_ends() {
    let mut bed = Bed::new("default", WINDOW);
    bed.user("begin");
    let result = format!("it begins here\n{}\nerror: it ends here", "=\n".repeat(10_000));
    bed.exchange("run", r#"{"command":"make"}"#, &result);
    bed.talk(90, 200);
    made(&mut bed);
    let asked = &bed.model.asked()[0];
    assert!(asked.contains("it begins here") && asked.contains("error: it ends here"));
}
