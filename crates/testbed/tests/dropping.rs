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
