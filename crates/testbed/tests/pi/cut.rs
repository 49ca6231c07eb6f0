//! Where pi cuts, and what the next compaction begins with.

use crate::{bed, compact, compacted_before_a_long_turn, exchanges, tail};
use epitome_core::{EntryId, Outcome, Purpose, Role, Trigger};
use epitome_engine::CompactOptions;
use epitome_testbed::{Bed, written};

/// The versions whose cut keeps at least what they say, and those that cut behind it.
const VERSIONS: [&str; 4] = ["pi", "pi@0.58", "pi@0.83", "pi@0.87"];

/// What would stay in view and what would leave it; nothing where there is nothing to do.
fn drafted(bed: &Bed) -> Option<(Vec<EntryId>, Vec<EntryId>)> {
    let sketch = bed.driver.sketch(&bed.session, Trigger::Manual, CompactOptions::default());
    sketch.expect("all is in memory").map(|sketch| (sketch.staying, sketch.leaving))
}

fn kept(bed: &Bed) -> Vec<EntryId> {
    drafted(bed).expect("there is something to summarise").0
}

fn role(bed: &Bed, id: EntryId) -> Role {
    bed.session.log().item(id).expect("it is a message").role
}

#[test]
fn p6_the_fewest_messages_that_reach_the_amount_are_kept() {
    for version in ["pi", "pi@0.83"] {
        let mut bed = bed(version);
        let ids = bed.talk(12, 4_000);
        assert_eq!(kept(&bed), ids[7..], "{version}");
    }
}

#[test]
fn p7_a_result_is_never_the_first_that_is_kept() {
    for version in VERSIONS {
        // Every phase of exchanges of 1 to 4 results against the amount that is kept.
        for shift in 0..40 {
            let mut bed = bed(version);
            let text = bed.filler(1_000);
            bed.user(&text);
            for number in 0..30 {
                let results = vec![bed.filler(700 + 37 * shift); 1 + number % 4];
                let calls = vec![("bash", r#"{"command":"make"}"#); results.len()];
                bed.call(&calls);
                bed.results(&results.iter().map(String::as_str).collect::<Vec<_>>());
            }
            assert_eq!(role(&bed, kept(&bed)[0]), Role::Assistant, "{version} {shift}");
        }
    }
}

#[test]
fn p8_both_results_follow_a_cut_before_their_calls() {
    let mut bed = bed("pi");
    bed.talk(2, 1_000);
    bed.user("compare both");
    let call = bed.call(&[("read", r#"{"path":"a"}"#), ("read", r#"{"path":"b"}"#)]);
    let (one, two) = (bed.filler(9_000), bed.filler(9_000));
    let results = bed.results(&[&one, &two]);
    let reply = bed.assistant("they are alike");
    compact(&mut bed);
    assert_eq!(bed.in_view(), [call, results, reply]);
    assert_eq!(bed.shown()[2], format!("(result {one})\n(result {two})"));
}

#[test]
fn p9_a_huge_result_before_a_short_reply_stays() {
    let kept = |version: &str| {
        let mut bed = bed(version);
        bed.talk(2, 1_000);
        let text = bed.filler(71_000);
        let (call, result) = bed.exchange("bash", r#"{"command":"make"}"#, &text);
        let text = bed.filler(100);
        let reply = bed.assistant(&text);
        (kept(&bed), [call, result, reply])
    };
    let (all, exchange) = kept("pi");
    assert_eq!(all, exchange);
    let (reply, exchange) = kept("pi@0.83");
    assert_eq!(reply, exchange[2..]);
}

#[test]
fn p10_a_huge_result_at_the_end_stays_with_its_call() {
    let with = |version: &str| {
        let mut bed = bed(version);
        bed.talk(2, 1_000);
        let text = bed.filler(71_000);
        let (call, result) = bed.exchange("bash", r#"{"command":"make"}"#, &text);
        (bed, [call, result])
    };
    let (bed, exchange) = with("pi");
    assert_eq!(kept(&bed), exchange);
    for version in ["pi@0.83", "pi@0.58"] {
        let (mut bed, _) = with(version);
        let why = "every message in view is one that is kept".into();
        assert_eq!(bed.compact(Trigger::Manual).outcome, Outcome::Noop { why }, "{version}");
        assert!(bed.model.requests().is_empty());
    }
}

#[test]
fn p15_the_next_compaction_covers_what_the_last_one_kept() {
    for version in VERSIONS {
        let mut bed = bed(version);
        bed.talk(2, 1_000);
        let first = tail(&mut bed);
        compact(&mut bed);
        assert_eq!(bed.in_view(), first);
        let second = tail(&mut bed);
        assert_eq!(drafted(&bed), Some((second, first)), "{version}");
    }
}

#[test]
fn p15_the_next_summary_is_shown_what_the_last_one_kept() {
    let mut bed = bed("pi@0.58");
    bed.talk(2, 1_000);
    tail(&mut bed);
    compact(&mut bed);
    bed.user("what came after it");
    let text = bed.filler(1_000);
    bed.assistant(&text);
    tail(&mut bed);
    compact(&mut bed);
    let text = written(&bed.model.requests()[1]);
    assert!(text.contains("what came after it"));
    assert!(text.matches("lorem ipsum dolor").count() > 200, "the kept part alone is that long");
}

#[test]
fn p18_within_a_turn_every_result_that_is_kept_has_its_call() {
    for version in VERSIONS {
        let mut bed = bed(version);
        let asked = compacted_before_a_long_turn(&mut bed);
        let pairs = exchanges(&mut bed, 8);
        compact(&mut bed);
        let last = bed.model.requests().pop().expect("the model was asked");
        assert_eq!(last.purpose, Purpose::TurnPrefix, "{version}");
        let view = bed.in_view();
        let first = pairs.iter().position(|(call, _)| *call == view[0]).expect("it begins with a call");
        let whole: Vec<EntryId> = pairs[first..].iter().flat_map(|&(call, result)| [call, result]).collect();
        assert!(!view.contains(&asked) && view == whole, "{version}");
    }
}

#[test]
fn p19_right_after_a_compaction_there_is_nothing_to_do() {
    for version in VERSIONS {
        let mut bed = bed(version);
        bed.talk(2, 1_000);
        tail(&mut bed);
        compact(&mut bed);
        let why = "nothing was said since the last compaction".into();
        assert_eq!(bed.compact(Trigger::Manual).outcome, Outcome::Noop { why }, "{version}");
        assert_eq!(bed.session.compactions().len(), 1);
    }
}
