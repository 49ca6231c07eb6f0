//! When pi compacts: the limit, what is held against it, and at which points.

use crate::{WINDOW, bed, bed_with, tail};
use epitome_core::policy::TriggerMode;
use epitome_core::{Policy, Threshold, Tokens, Trigger};
use epitome_engine::{FigureSource, LookPoint, Recovery, TurnEnd};
use epitome_settings::preset;
use epitome_testbed::Bed;
use epitome_tokens::Usage;
use std::sync::Arc;

/// A session with something to compact, whose last call took so much.
fn used(mut bed: Bed, usage: Usage) -> Bed {
    bed.talk(2, 1_000);
    tail(&mut bed);
    bed.session.record_usage(usage).expect("all is in memory");
    bed
}

fn total(tokens: u64) -> Usage {
    Usage { prompt: tokens - 20, output: 20, ..Usage::default() }
}

/// What is done when a turn has ended well.
fn end_turn(bed: &mut Bed) -> Option<&'static str> {
    bed.end_turn(TurnEnd::Good).map(|record| record.outcome.name())
}

#[test]
fn p1_compaction_begins_when_the_limit_is_passed() {
    for preset in ["pi", "pi@0.58", "pi@0.83", "pi@0.87"] {
        assert_eq!(end_turn(&mut used(bed(preset), total(183_616))), None, "{preset}");
        let mut over = used(bed(preset), total(183_617));
        assert_eq!(end_turn(&mut over), Some("compacted"), "{preset}");
    }
}

#[test]
fn p2_cached_tokens_count() {
    let usage = Usage {
        prompt: 10 + 183_000 + 600,
        output: 20,
        cache_read: 183_000,
        cache_write: 600,
        ..Usage::default()
    };
    let mut bed = used(bed("pi"), usage);
    assert_eq!(bed.session.figure(), (Tokens(183_630), FigureSource::Usage));
    assert_eq!(end_turn(&mut bed), Some("compacted"));
}

#[test]
fn p3_a_larger_reserve_compacts_earlier() {
    let bed = || bed_with("pi", |settings| settings.trigger.at = Threshold::Remaining(Tokens(32_000)));
    assert_eq!(end_turn(&mut used(bed(), total(168_000))), None);
    assert_eq!(end_turn(&mut used(bed(), total(168_001))), Some("compacted"));
}

#[test]
fn p4_off_is_off_but_by_hand() {
    let mut bed = used(bed_with("pi", |settings| settings.mode = TriggerMode::Off), total(190_000));
    assert_eq!(end_turn(&mut bed), None);
    assert!(bed.session.compactions().is_empty());
    assert_eq!(bed.compact(Trigger::Manual).outcome.name(), "compacted");
}

#[test]
fn pi_looks_before_input_and_not_before_calls() {
    let bed = used(bed("pi"), total(190_000));
    let looks = [LookPoint::Call, LookPoint::TurnEnd, LookPoint::Input(Tokens(10))];
    assert_eq!(looks.map(|point| bed.session.check_at(point).is_due()), [false, true, true]);
}

#[test]
fn p33_a_toggle_holds_from_the_next_check_on() {
    let policy = |mode| {
        let settings = preset::settings("pi").expect("the preset is in order");
        Arc::new(Policy::try_from(epitome_core::Settings { mode, ..settings }).expect("it is sound"))
    };
    let mut bed = used(bed("pi"), total(190_000));
    bed.session.set_policy(policy(TriggerMode::Off)).expect("all is in memory");
    assert_eq!(end_turn(&mut bed), None);
    bed.session.set_policy(policy(TriggerMode::Auto)).expect("all is in memory");
    assert_eq!(end_turn(&mut bed), Some("compacted"));
}

#[test]
fn p34_an_overflow_is_recovered_from_once() {
    let mut bed = bed("pi@0.83");
    bed.talk(2, 1_000);
    tail(&mut bed);
    bed.user("and now?");
    let Recovery::Retry(step) = bed.recover(None) else { panic!("room can be made") };
    let record = step.record.expect("room was made");
    assert_eq!((record.outcome.name(), record.trigger), ("compacted", Trigger::Overflow));
    let Recovery::Surface { why, .. } = bed.recover(None) else { panic!("once is all") };
    assert_eq!(why, "this request was compacted and sent again already");
    assert_eq!((bed.session.compactions().len(), bed.model.requests().len()), (1, 1));
}

#[test]
fn p35_between_calls_only_the_newest_version_looks() {
    let outcome = |preset: &str| {
        let mut bed = Bed::new(preset, WINDOW);
        bed.talk(2, 1_000);
        tail(&mut bed);
        bed.user("run the tests");
        bed.call(&[("bash", r#"{"command":"make"}"#)]);
        bed.session.record_usage(total(183_617)).expect("all is in memory");
        bed.results(&["ok"]);
        bed.prepare().map(|record| record.outcome.name())
    };
    assert_eq!(outcome("pi@0.87"), Some("compacted"));
    assert_eq!(outcome("pi@0.83"), None);
}
