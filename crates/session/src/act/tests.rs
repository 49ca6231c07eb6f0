//! Acts beside a summary that is written in the background, by whoever looks at it.

use super::{Act, SessionWork};
use epitome_core::{Author, Message, Policy, Role, Settings, Tokens, Trigger};
use epitome_engine::{
    Assembly, BoxFuture, CompactOptions, Driver, Event, LookPoint, Session, Spawn, Step, WindowFacts,
};
use epitome_tokens::Catalog;
use futures_util::FutureExt as _;
use std::sync::Arc;

/// Does work when it is looked at.
struct Inline;

impl Spawn for Inline {
    fn spawn(&self, work: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        work
    }
}

/// A session whose summaries are made beforehand, in a window of 8,000.
fn speculative() -> SessionWork {
    let mut settings = Settings::default();
    settings.speculate.enabled = true;
    let stated = WindowFacts { stated: Some(Tokens(8_000)), ..WindowFacts::default() };
    let policy = Policy::try_from(settings).expect("the settings are sound").into();
    let assembly = Assembly::new(policy, Catalog::built_in().find("gpt-5"), stated).expect("it is stated");
    SessionWork { session: Session::empty(assembly), driver: Driver::default(), background: Arc::default() }
}

fn perform(work: &mut SessionWork, act: Act) -> Step {
    let SessionWork { session, driver, background } = &*work;
    let copy =
        SessionWork { session: session.clone(), driver: driver.clone(), background: background.clone() };
    let (session, done) = copy.perform(act, Some(Arc::new(Inline))).now_or_never().expect("nobody waits");
    work.session = session;
    done.expect("nothing fails").step
}

fn is_running(work: &SessionWork) -> bool {
    work.background.try_lock().expect("nobody is at work").is_running()
}

#[test]
fn who_asks_for_a_compaction_is_given_the_summary_that_was_made_beforehand() {
    let mut work = speculative();
    for number in 0..60 {
        let asked = format!("what does src/part{number}.rs do? {}", "It matters. ".repeat(30));
        for said in [
            Message::text(Role::User, Author::Person, asked),
            Message::text(Role::Assistant, Author::Model, format!("part {number} parses headers")),
        ] {
            work.session.append(said).expect("all is in memory");
        }
        perform(&mut work, Act::Prepare(LookPoint::Call));
        if is_running(&work) {
            break;
        }
    }
    assert!(is_running(&work) && work.session.compactions().is_empty(), "begun before it is due");
    let step = perform(&mut work, Act::Compact(Trigger::Manual, CompactOptions::default()));
    let fates: Vec<&Event> =
        step.events.iter().filter(|event| matches!(event, Event::Speculated { .. })).collect();
    assert_eq!(fates, [&Event::Speculated { fate: "swapped in".into() }]);
}
