//! Whoever waits for a summary may give up. What happened before is told all the same, and what was only begun counts for
//! nothing.

use epitome_core::{Tokens, Trigger};
use epitome_engine::{Event, Recovery, SummaryModel};
use epitome_testbed::{Bed, Maker, TestModel};
use futures_util::FutureExt as _;
use std::sync::Arc;

/// A session of eight thousand tokens whose summariser never answers.
fn silent_bed() -> Bed {
    let mut bed = Maker::new("aura", 10_000).no_model().bed();
    let silent = TestModel::new(bed.clock.clone()).hangs();
    bed.driver.ports_mut().model = Some(SummaryModel::apart(Arc::new(silent)));
    bed.talk(40, 200);
    bed
}

#[test]
fn what_happened_before_a_wait_that_is_given_up_is_told() {
    let mut bed = silent_bed();
    bed.session.hold("look at it first").expect("all is in memory");
    let waited = bed.driver.compact(&mut bed.session, Trigger::Threshold).now_or_never();
    assert!(waited.is_none(), "nobody answers");
    let held = Event::Held { why: "look at it first".into() };
    let begun = Event::Triggered {
        trigger: Trigger::Threshold,
        tokens: Tokens(8_000),
        limit: Tokens(8_000),
        window: Tokens(10_000),
    };
    assert_eq!(bed.session.take_events(), [held, begun]);
}

#[test]
fn an_overflow_is_recovered_where_the_first_wait_for_it_was_given_up() {
    let mut bed = silent_bed();
    let waited = bed.driver.recover(&mut bed.session, Some(Tokens(500))).now_or_never();
    assert!(waited.is_none(), "nobody answers");
    bed.driver.ports_mut().model = Some(SummaryModel::apart(bed.model.clone()));
    let Recovery::Retry(step) = bed.recover(Some(500)) else { panic!("nothing was compacted before") };
    assert_eq!(step.record.map(|record| record.outcome.is_rebuilt()), Some(true));
    let Recovery::Surface { why, .. } = bed.recover(Some(500)) else { panic!("once for each request") };
    assert_eq!(why, "this request was compacted and sent again already");
}
