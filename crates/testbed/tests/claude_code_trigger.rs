//! Claude Code, when: the window without its reserves, the one look before each call, input that
//! comes meanwhile, and a session taken up again. C5 and C24 are tested where settings are resolved.
//!
//! # What is not held
//! - c6: waits for the interactive agent: a prompt that is paused; what is said meanwhile is kept and comes after the summary
//! - c10: waits for the interactive agent: a notice on its screen; it is an event, a mark in the log and a line of `serve`
//! - c15: waits for the interactive agent: a count of how often each skill was used; they come in the order they are offered
//! - c21: the figures have our names (`turns`, `summary_tokens`, `tokens_before`, `tokens_after`, `restored.files`,
//!   `duration_ms`), and `tokens_saved` is the difference of two
//! - c23: before each call, so in a turn with tools before each of its calls, not once

use epitome_core::{Block, Tokens, Trigger};
use epitome_engine::{Event, LookPoint, TurnEnd};
use epitome_testbed::{Bed, Maker};

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
fn prepared(preset: &str, reserve: u64, tokens: u64) -> Option<&'static str> {
    filled(preset, reserve, tokens).prepare().map(|record| record.outcome.name())
}

#[test]
fn c1_the_effective_window_is_20000_below_the_models() {
    assert_eq!(Bed::new("claude-code", WINDOW).session.check().limit, Tokens(180_000));
}

#[test]
fn c2_the_answers_reserve_counts_and_equal_is_not_over() {
    assert_eq!(prepared("claude-code", 10_000, 170_000), None);
    assert_eq!(prepared("claude-code", 10_001, 170_000), Some("compacted"));
}

#[test]
fn c3_without_a_reserve_compaction_begins_above_180000() {
    assert_eq!(
        [180_000, 180_001].map(|tokens| prepared("claude-code", 0, tokens)),
        [None, Some("compacted")]
    );
}

#[test]
fn c3_claude_code_2_1_compacts_at_167000() {
    assert_eq!(
        [166_999, 167_000].map(|tokens| prepared("claude-code@2.1", 32_000, tokens)),
        [None, Some("compacted")]
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
    let mut bed = Bed::new("claude-code", WINDOW);
    bed.talk(10, 1_000);
    let mut typed = None;
    let record = bed.compact_while(Trigger::Manual, |bed| typed = Some(bed.user("and then the docs")));
    assert_eq!(record.outcome.name(), "compacted");
    let shown = bed.session.shown().expect("all is in memory");
    let ids: Vec<_> = shown.iter().map(|shown| shown.id).collect();
    assert_eq!(ids, [None, typed], "what was typed is neither lost nor summarised");
    assert_eq!(bed.shown()[1], "and then the docs");
    assert!(bed.model.asked().iter().all(|asked| !asked.contains("and then the docs")));
}

#[test]
fn c22_a_session_taken_up_again_begins_with_the_summary() {
    let mut bed = filled("claude-code", 0, 180_001);
    let input = bed.session.leaf();
    bed.prepare().expect("it was due");
    let next = bed.user("go on");
    let mut resumed = bed.reopened_over(bed.session.log().clone());
    resumed.move_to(Some(next)).expect("all is in memory");
    let shown = resumed.shown().expect("all is in memory");
    let said: Vec<Option<_>> = shown.iter().map(|shown| shown.id).collect();
    // What had just been said is no part of the history that was summarised.
    assert_eq!(said, [None, input, Some(next)]);
    assert!(
        matches!(&shown[0].message.blocks[..], [Block::Text { text }] if text.contains("what call 1 was told"))
    );
    assert_eq!((resumed.check().is_due(), resumed.check().trigger), (false, None));
}

#[test]
fn c23_a_look_is_taken_before_each_call_and_at_no_other_time() {
    let mut bed = filled("claude-code", 0, 180_001);
    let looks = [LookPoint::Call, LookPoint::TurnEnd, LookPoint::Input(Tokens(100)), LookPoint::Idle(86_400)];
    let due = looks.map(|point| bed.session.check_at(point).trigger);
    assert_eq!(due, [Some(Trigger::Threshold), None, None, None]);
    bed.take_events();
    bed.prepare().expect("it was due");
    bed.assistant("done");
    assert_eq!(bed.end_turn(TurnEnd::Good), None);
    let triggered = |event: &&Event| matches!(event, Event::Triggered { .. });
    assert_eq!(bed.take_events().iter().filter(triggered).count(), 1);
}
