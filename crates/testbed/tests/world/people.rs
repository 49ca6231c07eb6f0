//! Models and hooks one cannot rely on.

use crate::dice::Dice;
use epitome_core::{
    CallCost, CallResult, CompactorPiece, CompactorReply, EntryId, Failure, HookSummary, PlanChanges, Tokens,
    Verdict,
};
use epitome_engine::Hook;
use epitome_testbed::{Maker, TestHook, cut_off, empty, failed, good, tool_call};
use std::sync::Arc;
use std::time::Duration;

/// More answers than one session asks for; after them all goes well.
const ANSWERS: usize = 60;

/// A model that answers well one time in two.
pub(crate) fn fickle_model(maker: Maker, dice: &mut Dice) -> Maker {
    let window = 2_000 + dice.below(100_000);
    let latency = Duration::from_secs(dice.below(300));
    let takes_parallel = dice.below(2) == 0;
    let answers: Vec<CallResult> = (0..ANSWERS).map(|number| answer(number, dice)).collect();
    maker.model(|model| {
        let model = model.with_window(window).with_output_max(500 + window / 8).slow(latency);
        let model = if takes_parallel { model.parallel() } else { model };
        answers.into_iter().for_each(|answer| {
            model.then(answer);
        });
        model
    })
}

fn answer(number: usize, dice: &mut Dice) -> CallResult {
    let summary = format!("## Goal\nship part {number}\n\n## Next Steps\n- go on with part {}", number + 1);
    match dice.below(20) {
        0 => empty(),
        1 => cut_off(&summary),
        2 => tool_call(),
        3 => good(&"a summary longer than all it stands for ".repeat(3_000)),
        4 => good("usage limit reached"),
        5 => failed(Failure::TooLong { over: Some(Tokens(dice.below(5_000))) }),
        6 => failed(Failure::TooLong { over: None }),
        7 => failed(Failure::Broken("the stream broke off".into())),
        8 => failed(Failure::TimedOut),
        9 => failed(Failure::Throttled("429".into())),
        10 => CallResult { result: Err(Failure::Cancelled), spent: CallCost::default() },
        _ => good(&summary),
    }
}

/// A hook that does one thing, always: refuse, hang, crash, lie, name what is not there, or help.
pub(crate) fn fickle_hook(dice: &mut Dice) -> Arc<dyn Hook> {
    let hook = TestHook::new("fickle");
    let id = EntryId(dice.below(60) as u32);
    let proceed = |wishes| Ok(Some(Verdict::Proceed(wishes)));
    Arc::new(match dice.below(9) {
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
    })
}
