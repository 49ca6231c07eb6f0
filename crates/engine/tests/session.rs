//! One session and a driver, with no store: what a look comes to, which of the provider's figures are believed, and what
//! is said of what is not done.

use epitome_core::policy::{MeasureBy, Settings};
use epitome_core::{
    Author, Block, Call, CallId, EntryId, Mark, Message, Outcome, Policy, ResultPart, Role, Tokens,
    ToolResult, Trigger,
};
use epitome_engine::{Assembly, Driver, Event, FigureSource, Recovery, Session, WindowFacts};
use epitome_tokens::{Catalog, Usage};
use futures_util::FutureExt as _;
use std::future::Future;

const WINDOW: Tokens = Tokens(8_000);

fn now<T>(work: impl Future<Output = T>) -> T {
    work.now_or_never().expect("nobody is asked who takes time")
}

/// A session with so many messages, of a person and a model in turn.
fn session(messages: usize, change: impl FnOnce(&mut Settings)) -> Session {
    let mut settings = Policy::default().settings().clone();
    change(&mut settings);
    let policy = Policy::try_from(settings).expect("the settings are sound");
    let stated = WindowFacts { stated: Some(WINDOW), ..WindowFacts::default() };
    let model = Catalog::built_in().find("gpt-5");
    let mut assembly = Assembly::new(policy.into(), model, stated).expect("it is stated");
    assembly.set_request(Tokens::ZERO, Some(Tokens(500)));
    let mut session = Session::empty(assembly);
    for number in 0..messages {
        say(&mut session, number);
    }
    session
}

fn say(session: &mut Session, number: usize) -> EntryId {
    let (role, author) = if number.is_multiple_of(2) {
        (Role::User, Author::Person)
    } else {
        (Role::Assistant, Author::Model)
    };
    let text = format!("message {number} about src/part_{number}.rs, ").repeat(20);
    session.append(Message::text(role, author, text)).expect("it can be appended")
}

/// A call of a tool, and its answer.
fn work(session: &mut Session) {
    let id: CallId = "call_1".into();
    let call = Call { id: id.clone(), name: "ls".into(), input: "{}".into(), freeform: false };
    let reply =
        Message { blocks: vec![Block::Call(call)], ..Message::text(Role::Assistant, Author::Model, "") };
    let parts = vec![ResultPart::Text { text: "a b".into() }];
    let result = Block::Result(ToolResult { call: id, parts, is_error: false });
    let answer = Message { blocks: vec![result], ..Message::text(Role::Tool, Author::Tool, "") };
    for message in [reply, answer] {
        session.append(message).expect("it can be appended");
    }
}

/// Enough messages that a compaction is due, and the request still fits.
const DUE: usize = 35;

#[test]
fn where_a_policy_does_not_look_in_a_loop_of_tools_nothing_is_due_there() {
    let mut session = session(DUE, |settings| settings.check.in_tool_loop = false);
    assert_eq!(session.check().trigger, Some(Trigger::Threshold));
    work(&mut session);
    assert_eq!(session.check().trigger, None);
}

fn told(prompt: u64) -> Usage {
    Usage { prompt, output: 0, ..Usage::default() }
}

#[test]
fn a_prompt_that_grew_by_more_than_was_said_is_a_sum_and_not_believed() {
    let mut session = session(14, |settings| settings.trigger.measure = MeasureBy::Floor);
    let believed = |session: &Session| {
        let marks = (0..session.log().len() as u32).rev().filter_map(|at| session.log().mark_of(EntryId(at)));
        marks.into_iter().find_map(|mark| match mark {
            Mark::Usage(usage) => Some(usage.tokens.0),
            _ => None,
        })
    };
    let prompt = session.budget().request(session.context().tokens()).0;
    session.record_usage(told(prompt)).expect("it can be marked");
    assert_eq!(believed(&session), Some(prompt));
    say(&mut session, 14);
    say(&mut session, 15);
    // Less than twice our own count, so that only what came before tells.
    let sum = session.budget().request(session.context().tokens()).0 * 17 / 10;
    session.record_usage(told(sum)).expect("it can be marked");
    assert_eq!(believed(&session), Some(prompt));
    let grown = session.budget().request(session.context().tokens()).0 * 11 / 10;
    session.record_usage(told(grown)).expect("it can be marked");
    assert_eq!(believed(&session), Some(grown));
}

#[test]
fn at_a_threshold_the_providers_figures_make_no_compaction_worth_it_that_frees_next_to_nothing() {
    let mut session = session(0, |settings| settings.trigger.measure = MeasureBy::Hybrid);
    let due = (0..DUE).find(|&number| {
        say(&mut session, number);
        session.check().trigger.is_some()
    });
    let due = due.expect("it is due before it is full");
    let all_but_one: Vec<EntryId> = session.history()[..due].to_vec();
    for id in all_but_one {
        session.pin(id).expect("it is there");
    }
    let prompt = session.budget().request(session.context().tokens()).0;
    session.record_usage(told(prompt)).expect("it can be marked");
    assert_eq!(session.check().source, FigureSource::Hybrid);
    let step = now(Driver::default().prepare(&mut session)).expect("it is prepared");
    let record = step.record.expect("it was due");
    assert!(matches!(record.outcome, Outcome::Noop { .. }), "{:?}", record.outcome);
    assert_eq!((record.trigger, record.tokens_after), (Trigger::Threshold, record.tokens_before));
}

#[test]
fn a_refusal_that_nothing_is_done_about_is_recorded_as_one() {
    let mut session = session(DUE, |settings| settings.guard.recoveries_max = 0);
    let recovery = now(Driver::default().recover(&mut session, None)).expect("it is looked at");
    let Recovery::Surface { why, step } = recovery else { panic!("it was compacted") };
    let record = step.record.expect("it is recorded");
    assert_eq!((record.trigger, record.outcome.clone()), (Trigger::Overflow, Outcome::Abandoned { why }));
}

#[test]
fn a_session_is_held_once_until_a_person_speaks() {
    let mut session = session(2, |_| {});
    for _ in 0..2 {
        session.hold("nothing is left to try").expect("it can be marked");
    }
    let held = |event: &Event| matches!(event, Event::Held { why } if &**why == "nothing is left to try");
    let events = session.take_events();
    assert_eq!((events.iter().filter(|event| held(event)).count(), events.len()), (1, 1));
    assert!(session.breaker().is_held());
    say(&mut session, 2);
    assert!(!session.breaker().is_held());
}
