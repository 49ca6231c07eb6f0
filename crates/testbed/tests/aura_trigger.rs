//! aura, when: the point at which it compacts, the trimming of repeated harness texts before that,
//! and compaction by hand. The cases of the settings alone (A2, A3, A8, A26 to A28) are tested where
//! settings are resolved.
//!
//! # What is not held
//! - a4: between two replies a pointer of a few words is left where the older text was: two replies in a row are no valid
//!   request
//! - a14: todos that are done are left out of the list
//! - a22: the warning says "compact by hand"; `/compact` waits for the interactive agent
//! - a23: the five figures have our names (`trigger`, `tokens`, `window`, `leaving`, `staying`)
//! - a24: the four figures have our names (`outcome`, `superseded`, `kept`, `summary`)

use epitome_core::{Author, EntryId, Message, Role, Tokens, Trigger};
use epitome_engine::Event;
use epitome_testbed::{Bed, Maker, TestHook};
use std::sync::Arc;

const WINDOW: u64 = 100_000;

/// A session under `aura` in which `tokens` were said.
fn filled(tokens: u64) -> Bed {
    let mut bed = Bed::new("aura", WINDOW);
    fill(&mut bed, tokens);
    bed
}

/// Says so much that the context takes `tokens`.
fn fill(bed: &mut Bed, tokens: u64) {
    let left = tokens - bed.session.context().tokens().0;
    bed.talk(39, left / 40);
    let rest = tokens - bed.session.context().tokens().0;
    let text = bed.filler(rest);
    bed.user(&text);
}

/// A context of `tokens` in which the harness said the same twice: the two, and the bed.
fn reminded(maker: Maker, tokens: u64) -> (Bed, EntryId, EntryId) {
    let mut bed = maker.bed();
    let text = "remember to run the tests ".repeat(20);
    let (older, newer) = (bed.harness(&text), bed.harness(&text));
    fill(&mut bed, tokens);
    (bed, older, newer)
}

fn trimmed(bed: &mut Bed) -> Vec<EntryId> {
    let record = bed.prepare();
    record.and_then(|record| Some(record.change()?.pruned.clone())).unwrap_or_default()
}

#[test]
fn a1_compaction_begins_at_80_percent() {
    let (mut below, mut at) = (filled(79_999), filled(80_000));
    assert_eq!(below.prepare().map(|record| record.outcome.name()), None);
    assert_eq!(at.prepare().map(|record| record.outcome.name()), Some("compacted"));
    assert_eq!([below, at].map(|bed| bed.model.requests().len()), [0, 1]);
}

#[test]
fn a2_an_absolute_value_brings_compaction_forward() {
    let at = |tokens| {
        let mut bed =
            Maker::new("aura", WINDOW).set(|policy| policy.trigger.absolute = Some(Tokens(60_000))).bed();
        fill(&mut bed, tokens);
        bed.prepare().map(|record| record.outcome.name())
    };
    assert_eq!([at(59_999), at(60_000)], [None, Some("compacted")]);
}

#[test]
fn a3_an_absolute_value_puts_compaction_off() {
    let at = |tokens| {
        let mut bed =
            Maker::new("aura", WINDOW).set(|policy| policy.trigger.absolute = Some(Tokens(90_000))).bed();
        fill(&mut bed, tokens);
        bed.prepare().map(|record| record.outcome.name())
    };
    assert_eq!([at(85_000), at(90_000)], [None, Some("compacted")]);
}

#[test]
fn a4_of_two_equal_harness_texts_the_newer_stays() {
    let (mut bed, older, newer) = reminded(Maker::new("aura", WINDOW), 50_000);
    let before = bed.shown();
    assert_eq!(trimmed(&mut bed), [older]);
    assert_eq!(bed.shown(), before[1..]);
    let shown = bed.session.shown().expect("all is in memory");
    assert_eq!(shown[0].id, Some(newer));
    assert_eq!(bed.session.context().tokens(), Tokens(50_000 - 130));
    assert!(matches!(bed.take_events()[..], [Event::Trimmed { messages: 1, freed: Tokens(130), .. }]));
    assert_eq!(bed.original(older), bed.original(newer), "the older is stored as it was said");
}

#[test]
fn a4_the_newer_stays_whoever_it_is_said_as() {
    let mut bed = Bed::new("aura", WINDOW);
    let text = "remember to run the tests ".repeat(20);
    let older = bed.say(Message::text(Role::System, Author::Harness, text.as_str()));
    bed.harness(&text);
    fill(&mut bed, 50_000);
    let before = bed.shown();
    assert_eq!(trimmed(&mut bed), [older]);
    assert_eq!(bed.shown(), before[1..]);
}

#[test]
fn a4_between_two_replies_a_pointer_is_left() {
    let mut bed = Bed::new("aura", WINDOW);
    let text = "remember to run the tests ".repeat(20);
    bed.user("port it");
    bed.assistant("I begin");
    let older = bed.harness(&text);
    bed.assistant("they pass");
    bed.harness(&text);
    fill(&mut bed, 50_000);
    assert_eq!(trimmed(&mut bed), [older]);
    assert_eq!(bed.shown()[2..4], [format!("[said again later; recall {older}]"), "they pass".into()]);
}

#[test]
fn a5_below_half_of_the_window_nothing_is_trimmed() {
    let (mut bed, ..) = reminded(Maker::new("aura", WINDOW), 49_000);
    assert_eq!(trimmed(&mut bed), []);
    assert_eq!(bed.take_events(), []);
}

#[test]
fn a6_an_absolute_value_for_trimming_replaces_half_of_the_window() {
    let at = |absolute, tokens| {
        let maker = Maker::new("aura", WINDOW).set(|policy| policy.trim.absolute = Some(Tokens(absolute)));
        let (mut bed, older, _) = reminded(maker, tokens);
        (trimmed(&mut bed), older)
    };
    let (trimmed, older) = at(30_000, 30_000);
    assert_eq!(trimmed, [older]);
    assert_eq!(at(30_000, 29_999).0, []);
    assert_eq!(at(60_000, 55_000).0, []);
}

#[test]
fn a7_two_equal_messages_of_people_both_stay() {
    let mut bed = Bed::new("aura", WINDOW);
    let text = "go on with the next one ".repeat(20);
    bed.user(&text);
    bed.assistant(&text);
    bed.user(&text);
    fill(&mut bed, 50_000);
    assert_eq!(trimmed(&mut bed), []);
    assert_eq!(bed.shown()[..3], vec![text; 3]);
}

#[test]
fn a8_in_a_window_of_32000_compaction_begins_at_25600() {
    let at = |tokens| {
        let mut bed = Bed::new("aura", 32_000);
        fill(&mut bed, tokens);
        bed.prepare().map(|record| record.outcome.name())
    };
    assert_eq!([at(25_599), at(25_600)], [None, Some("compacted")]);
}

#[test]
fn a16_by_hand_compaction_runs_however_little_there_is() {
    let hook = Arc::new(TestHook::new("observer"));
    let mut bed = Maker::new("aura", WINDOW).hook(hook.clone()).bed();
    fill(&mut bed, 5_000);
    assert_eq!(bed.prepare().map(|record| record.outcome.name()), None);
    assert_eq!(bed.compact(Trigger::Manual).outcome.name(), "compacted");
    assert_eq!(hook.told().iter().map(|event| event.trigger).collect::<Vec<_>>(), [Trigger::Manual]);
}
