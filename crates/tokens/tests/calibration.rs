//! What a calibration learns from replies, and what it refuses to learn.

use epitome_tokens::{Anchor, Calibration, Epoch, Rejection, Sample, SampleKind, SampleResult, Usage};
use proptest::prelude::*;

const NOW: Epoch = Epoch(7);

/// A reply to a prompt of which `estimated` tokens were new to us and `prompt` were reported.
fn sample(estimated: u64, prompt: u64) -> Sample {
    Sample {
        epoch: NOW,
        usage: Usage { prompt, output: 100, ..Usage::default() },
        kind: SampleKind::Single,
        anchor: None,
        fixed: 0,
        estimated,
    }
}

fn learn(samples: impl IntoIterator<Item = Sample>) -> (Calibration, Vec<SampleResult>) {
    let mut calibration = Calibration::default();
    let lessons = samples.into_iter().map(|sample| calibration.learn(&sample, NOW)).collect();
    (calibration, lessons)
}

fn rejected(sample: Sample) -> Option<Rejection> {
    match learn([sample]).1.as_slice() {
        [SampleResult::Rejected(rejection)] => Some(*rejection),
        _ => None,
    }
}

#[test]
fn nothing_is_corrected_before_anything_is_known() {
    let calibration = Calibration::default();
    assert_eq!((calibration.correct(1_000), calibration.margin()), (1_000, 0.15));
}

#[test]
fn one_reply_moves_the_factor_a_fifth_of_the_way() {
    let (calibration, lessons) = learn([sample(10_000, 12_000)]);
    assert_eq!(lessons, [SampleResult::Learned { ratio: 1.2 }]);
    assert_eq!(calibration.correct(10_000), 10_400);
}

#[test]
fn one_reply_never_moves_the_factor_far() {
    assert_eq!(learn([sample(10_000, 20_000)]).0.correct(10_000), 11_500);
    assert_eq!(learn([sample(10_000, 5_000)]).0.correct(10_000), 9_000);
}

#[test]
fn only_what_came_after_the_anchor_is_compared() {
    let usage = Usage { prompt: 50_000, output: 1_000, ..Usage::default() };
    let anchor = Anchor { epoch: NOW, usage, dropped: 400 };
    let anchored = Sample { anchor: Some(anchor), fixed: 400, ..sample(2_000, 53_400) };
    assert_eq!(learn([anchored]).1, [SampleResult::Learned { ratio: 1.2 }]);
}

#[test]
fn replies_that_prove_nothing_are_passed_over() {
    let good = sample(10_000, 12_000);
    let before = Anchor { epoch: Epoch(6), usage: good.usage, dropped: 0 };
    let refused = [
        Sample { usage: Usage::default(), ..good },
        Sample { kind: SampleKind::Aggregate, ..good },
        Sample { kind: SampleKind::Broken, ..good },
        Sample { epoch: Epoch(6), ..good },
        Sample { anchor: Some(before), ..good },
        sample(499, 600),
        sample(10_000, 20_001),
        sample(10_000, 4_999),
    ];
    assert_eq!(
        refused.map(rejected),
        [
            Some(Rejection::Zero),
            Some(Rejection::Aggregate),
            Some(Rejection::Broken),
            Some(Rejection::OldEpoch),
            Some(Rejection::OldEpoch),
            Some(Rejection::TooSmall),
            Some(Rejection::Contradiction),
            Some(Rejection::Contradiction),
        ]
    );
}

#[test]
fn usage_that_contradicts_us_twice_in_a_row_is_no_longer_trusted() {
    let (absurd, sound) = (sample(10_000, 90_000), sample(10_000, 11_000));
    let trusted = |samples: &[Sample]| learn(samples.iter().copied()).0.is_usage_trusted();
    assert!(trusted(&[absurd]));
    assert!(!trusted(&[absurd, absurd]));
    assert!(trusted(&[absurd, sound, absurd]));
    assert!(trusted(&[absurd, absurd, sound]));
}

#[test]
fn the_margin_shrinks_as_estimates_prove_right() {
    let (calibration, _) = learn([sample(10_000, 10_000); 20]);
    assert_eq!(calibration.margin(), 0.02);
}

#[test]
fn a_calibration_survives_being_stored() {
    let (calibration, _) = learn([sample(10_000, 13_000); 3]);
    let stored = serde_json::to_string(&calibration).expect("plain numbers");
    assert_eq!(serde_json::from_str::<Calibration>(&stored).expect("the same"), calibration);
}

proptest! {
    #[test]
    fn ten_replies_bring_any_family_within_five_percent(truth in 0.7..1.7f64) {
        let replies = (1..=10).map(|turn| {
            let estimated = 700 * turn;
            sample(estimated, (estimated as f64 * truth) as u64)
        });
        let corrected = learn(replies).0.correct(100_000) as f64 / 100_000.0;
        prop_assert!((corrected / truth - 1.0).abs() < 0.05, "{corrected} for {truth}");
    }

    #[test]
    fn the_factor_stays_within_its_bounds(prompts in prop::collection::vec(1..60_000u64, 0..60)) {
        let (calibration, _) = learn(prompts.into_iter().map(|prompt| sample(10_000, prompt)));
        prop_assert!((0.5..=2.0).contains(&calibration.factor()));
    }

    #[test]
    fn a_budget_of_text_keeps_to_its_tokens_once_corrected(prompt in 5_000..20_000u64, tokens in 0..1_000_000u64) {
        let (calibration, _) = learn([sample(10_000, prompt)]);
        prop_assert!(calibration.correct(calibration.uncorrect(tokens)) <= tokens + 1);
    }
}
