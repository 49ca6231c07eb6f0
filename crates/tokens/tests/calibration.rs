//! What a calibration learns from calls, and how far a report can move it.

use epitome_tokens::{Calibration, PromptGrowth};
use proptest::prelude::*;

/// Calls whose prompts grew by so many tokens as reported, and so many by our count.
fn after(calls: impl IntoIterator<Item = (u64, u64)>) -> Calibration {
    let mut calibration = Calibration::default();
    let mut before = 20_000;
    for (reported, counted) in calls {
        let prompt = before + reported;
        calibration.learn(PromptGrowth { before, prompt, counted });
        before = prompt;
    }
    calibration
}

/// The factor after these calls, in thousandths.
fn thousandths(calls: impl IntoIterator<Item = (u64, u64)>) -> u64 {
    (after(calls).factor() * 1_000.0).round() as u64
}

#[test]
fn nothing_is_corrected_before_anything_is_known() {
    assert_eq!((after([]).calls(), thousandths([])), (0, 1_000));
    assert!(!Calibration::default().learn(PromptGrowth { before: 9, prompt: 0, counted: 5 }));
    assert!(!Calibration::default().learn(PromptGrowth { before: 9, prompt: 9, counted: 0 }));
    // A whole prompt that takes three times what we count had another system prompt, or another cache.
    let whole = |prompt| Calibration::default().learn(PromptGrowth { before: 0, prompt, counted: 1_000 });
    assert_eq!([400, 1_900, 3_000].map(whole), [false, true, false]);
}

#[test]
fn calls_that_agree_correct_the_count_in_both_directions() {
    let after = |calls: usize, reported| thousandths(vec![(reported, 2_000); calls]);
    assert_eq!([1, 10, 50].map(|calls| after(calls, 2_600)), [1_060, 1_209, 1_266]);
    assert_eq!([1, 10, 50].map(|calls| after(calls, 1_700)), [970, 896, 867]);
}

#[test]
fn a_call_weighs_what_it_brings() {
    let steady = vec![(2_400, 2_000); 20];
    let with = |odd| thousandths(steady.iter().copied().chain([odd]));
    // One that brought forty tokens, and one that brought a file.
    assert_eq!([thousandths(steady.clone()), with((80, 40)), with((3_000, 6_000))], [1_161, 1_161, 1_075]);
}

#[test]
fn one_odd_report_moves_it_only_so_far() {
    let steady = vec![(2_400, 2_000); 30];
    let with = |odd| thousandths(steady.iter().copied().chain([odd]));
    let settled = thousandths(steady.clone());
    // Ten times as much: it says twice, and weighs 2,000.
    assert!(with((20_000, 2_000)).abs_diff(settled) <= 40, "{} {settled}", with((20_000, 2_000)));
    // A hundred thousand tokens weigh twenty thousand.
    assert_eq!(with((200_000, 100_000)), with((40_000, 20_000)));
}

#[test]
fn what_was_true_long_ago_fades() {
    let then = vec![(3_000, 2_000); 100];
    let now = vec![(2_000, 2_000); 150];
    assert!(thousandths(then.into_iter().chain(now)) < 1_030);
}

#[test]
fn a_refusal_says_at_once_what_a_request_takes_and_is_not_believed_beyond_twice() {
    let mut calibration = after(vec![(2_000, 2_000); 50]);
    assert!(calibration.learn_refusal(36_000, 24_000));
    assert!((calibration.factor() - 1.5).abs() < 1e-9);
    for (requested, counted) in [(90_000, 30_000), (10_000, 30_000), (0, 0), (5, 0), (u64::MAX, 1)] {
        assert!(!calibration.learn_refusal(requested, counted), "{requested} {counted}");
    }
    assert!((calibration.factor() - 1.5).abs() < 1e-9);
}

proptest! {
    #[test]
    fn no_report_makes_it_leave_its_bounds(calls in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>()), 0..50)) {
        let mut calibration = Calibration::default();
        for (before, prompt, counted) in calls {
            calibration.learn(PromptGrowth { before, prompt, counted });
            prop_assert!((0.5..=2.0).contains(&calibration.factor()));
        }
    }
}
