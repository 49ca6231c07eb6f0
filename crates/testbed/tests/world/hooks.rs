//! Hooks one cannot rely on.

use crate::dice::Dice;
use epitome_core::{CompactorPiece, CompactorReply, EntryId, HookSummary, PlanChanges, Verdict};
use epitome_testbed::TestHook;

/// A hook that does one thing, always: refuse, hang, crash, lie, name what is not there, or help.
pub(crate) fn fickle_hook(dice: &mut Dice) -> TestHook {
    let hook = TestHook::new("fickle");
    let id = EntryId(dice.below(60) as u32);
    let proceed = |wishes| Ok(Some(Verdict::Proceed(wishes)));
    match dice.below(9) {
        0 => hook.says(Ok(Some(Verdict::Veto { why: "never".into() }))),
        1 => hook.hangs(),
        2 => hook.says(Err("it crashed".into())),
        3 => hook.says(proceed(PlanChanges { retain: vec![id, EntryId(99_999)], ..PlanChanges::default() })),
        4 => hook.says(proceed(PlanChanges {
            inject: Some("mind the gap ".repeat(40_000)),
            ..PlanChanges::default()
        })),
        5 => {
            let supplied = HookSummary { text: "the hook's own words".into(), keep_from: Some(id) };
            hook.says(proceed(PlanChanges { summary: Some(supplied), ..PlanChanges::default() }))
        }
        6 => hook.compacts(None),
        7 => {
            let list = vec![CompactorPiece::Write("all that matters".into()), CompactorPiece::Keep(id)];
            hook.compacts(Some(Ok(CompactorReply::of(list))))
        }
        _ => hook,
    }
}
