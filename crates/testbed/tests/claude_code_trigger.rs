//! Claude Code, when: the window without its reserves, the one look before each call, input that
//! comes meanwhile, and a session taken up again. C5 and C24 are tested where settings are resolved.

use epitome_core::{Before, Block, Message, Role, Tokens, Trigger, Verdict};
use epitome_engine::{Event, Happened, Hook, Inbox, Pending, Point, Session};
use epitome_testbed::{Bed, Maker};
use std::sync::{Arc, Mutex, PoisonError};

const WINDOW: u64 = 200_000;

/// A session in which `tokens` were said, with `reserve` kept for the answer.
fn filled(preset: &str, reserve: u64, tokens: u64) -> Bed {
    let mut bed = Maker::new(preset, WINDOW).budget(|budget| budget.reserve = Tokens(reserve)).bed();
    bed.talk(19, tokens / 20);
    let text = bed.filler(tokens - bed.session.context().tokens().0);
    bed.user(&text);
    bed
}

/// What the look before a call comes to.
fn prepared(preset: &str, reserve: u64, tokens: u64) -> Option<Happened> {
    filled(preset, reserve, tokens).prepare().map(|report| report.outcome)
}

/// Someone who types while a compaction runs.
#[derive(Default)]
struct Typist {
    inbox: Mutex<Option<Inbox>>,
}

impl Hook for Typist {
    fn name(&self) -> &str {
        "typist"
    }

    fn before<'a>(&'a self, _: &'a Before) -> Pending<'a, Result<Option<Verdict>, String>> {
        let inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let left = inbox.map(|inbox| inbox.leave(typed()));
        Box::pin(std::future::ready(left.transpose().map(|_| None).map_err(|full| full.to_string())))
    }
}

fn typed() -> Message {
    Message::text(Role::User, epitome_core::Author::Person, "and then the docs")
}

#[test]
fn c1_the_effective_window_is_20000_below_the_models() {
    assert_eq!(Bed::new("claude-code", WINDOW).session.check().limit, Tokens(180_000));
}

#[test]
fn c2_the_answers_reserve_counts_and_equal_is_not_over() {
    assert_eq!(prepared("claude-code", 10_000, 170_000), None);
    assert_eq!(prepared("claude-code", 10_001, 170_000), Some(Happened::Compacted));
}

#[test]
fn c3_without_a_reserve_compaction_begins_above_180000() {
    assert_eq!(
        [180_000, 180_001].map(|tokens| prepared("claude-code", 0, tokens)),
        [None, Some(Happened::Compacted)]
    );
}

#[test]
fn c3_claude_code_2_1_compacts_at_167000() {
    assert_eq!(
        [166_999, 167_000].map(|tokens| prepared("claude-code@2.1", 32_000, tokens)),
        [None, Some(Happened::Compacted)]
    );
}

#[test]
fn c4_a_window_that_is_set_can_only_be_smaller() {
    let limits = |window| {
        let most = Some(Tokens(100_000));
        let bed = Maker::new("claude-code", window).set(|policy| policy.window.most = most).bed();
        (bed.session.budget().window, bed.session.check().limit)
    };
    assert_eq!(limits(200_000), (Tokens(100_000), Tokens(80_000)));
    assert_eq!(limits(60_000), (Tokens(60_000), Tokens(40_000)));
}

#[test]
fn c6_what_is_typed_during_a_compaction_comes_after_it() {
    let typist = Arc::new(Typist::default());
    let mut bed = Maker::new("claude-code", WINDOW).hook(typist.clone()).bed();
    *typist.inbox.lock().unwrap_or_else(PoisonError::into_inner) = Some(bed.session.inbox());
    bed.talk(10, 1_000);
    assert_eq!(bed.compact(Trigger::Manual).outcome, Happened::Compacted);
    assert_eq!(bed.in_view(), [], "what was typed is neither lost nor let in");
    assert!(bed.model.asked().iter().all(|asked| !asked.contains("and then the docs")));
    let waiting = bed.session.inbox().take();
    assert_eq!(waiting, [typed()]);
    let ids: Vec<_> = waiting.into_iter().map(|message| bed.say(message)).collect();
    assert_eq!((bed.in_view(), bed.session.inbox().len()), (ids, 0));
}

#[test]
fn c22_a_session_taken_up_again_begins_with_the_summary() {
    let mut bed = filled("claude-code", 0, 180_001);
    bed.prepare().expect("it was due");
    let next = bed.user("go on");
    let (log, leaf, setup) = (bed.session.log().clone(), bed.session.leaf(), bed.session.setup().clone());
    let resumed = Session::open(log, leaf, setup).expect("all is in memory");
    let shown = resumed.shown().expect("all is in memory");
    let said: Vec<Option<_>> = shown.iter().map(|shown| shown.id).collect();
    assert_eq!(said, [None, Some(next)]);
    assert!(
        matches!(&shown[0].message.blocks[..], [Block::Text { text }] if text.contains("what call 1 was told"))
    );
    assert_eq!((resumed.check().is_due, resumed.check().trigger), (false, None));
}

#[test]
fn c23_a_look_is_taken_before_each_call_and_at_no_other_time() {
    let mut bed = filled("claude-code", 0, 180_001);
    let looks = [Point::Call, Point::TurnEnd, Point::Input(Tokens(100)), Point::Idle(86_400)];
    let due = looks.map(|point| bed.session.check_at(point).trigger);
    assert_eq!(due, [Some(Trigger::Threshold), None, None, None]);
    bed.session.take_events();
    bed.prepare().expect("it was due");
    bed.assistant("done");
    let ended = epitome_engine::now(bed.session.end_turn(true)).expect("all is in memory");
    assert!(ended.is_none());
    let triggered = |event: &&Event| matches!(event, Event::Triggered { .. });
    assert_eq!(bed.session.take_events().iter().filter(triggered).count(), 1);
}
