//! Dropping takes the oldest and no more than it must, wherever the result is written.

use epitome_core::{Expressible, Strategy, Trigger};
use epitome_testbed::Maker;

#[test]
fn the_newest_stay_up_to_the_target() {
    for can in [Expressible::ALL, Expressible { front: false, forms: false }] {
        let mut bed = Maker::new("kaged", 64_000)
            .set(|settings| settings.strategy = vec![Strategy::Drop])
            .can(can)
            .bed();
        let ids = bed.talk(200, 500);
        let record = bed.compact(Trigger::Threshold);
        let (after, target) = (record.tokens_after.0, 38_400);
        assert!(after <= target && after > target * 8 / 10, "{after} of {target} with {can:?}");
        let newest: Vec<_> = bed.in_view().into_iter().rev().take(60).collect();
        assert_eq!(newest, ids.into_iter().rev().take(60).collect::<Vec<_>>());
    }
}

#[test]
fn a_second_pass_that_takes_nothing_out_of_view_has_its_effect_too() {
    let mut bed = Maker::new("kaged@2026-05", 32_000).bed();
    bed.user("look at all of it");
    let large = bed.filler(30_500);
    bed.exchange("read", r#"{"path":"a.rs"}"#, &large);
    let first = bed.prepare().expect("it is over the trigger");
    assert_eq!(first.tokens_after, bed.session.check().tokens);
    for number in 0..3 {
        let result = bed.filler(5_000);
        bed.exchange("read", &format!(r#"{{"path":"{number}.rs"}}"#), &result);
    }
    let second = bed.prepare().expect("it is over the trigger again");
    assert_eq!(second.tokens_after, bed.session.check().tokens);
}
