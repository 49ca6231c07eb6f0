//! What hooks may do to Operator-Use's compactions, and what they are told.

use crate::{WINDOW, compact, summary, tail};
use epitome_core::{EntryId, HookSummary, Mark, Outcome, PlanChanges, Trigger, Verdict};
use epitome_engine::Hook;
use epitome_testbed::{Bed, Maker, TestHook};
use std::sync::Arc;

/// A session with something to compact, and these hooks.
fn hooked(hooks: &[Arc<TestHook>]) -> Bed {
    let maker = Maker::new("operator-use", WINDOW);
    let maker = hooks.iter().fold(maker, |maker, hook| maker.hook(hook.clone() as Arc<dyn Hook>));
    let mut bed = maker.bed();
    bed.talk(2, 1_000);
    tail(&mut bed);
    bed
}

fn supplies() -> TestHook {
    let summary = Some(HookSummary { text: "the hook's own words".into(), keep_from: None });
    TestHook::new("archivist")
        .says(Ok(Some(Verdict::Proceed(PlanChanges { summary, ..PlanChanges::default() }))))
}

#[test]
fn o17_one_no_outweighs_a_result() {
    let guard = || TestHook::new("guard").says(Ok(Some(Verdict::Veto { why: "not now".into() })));
    for hooks in [[supplies(), guard()], [guard(), supplies()]] {
        let hooks = hooks.map(Arc::new);
        let mut bed = hooked(&hooks);
        let entries = bed.session.log().len();
        let record = bed.compact(Trigger::Manual);
        assert_eq!(record.outcome, Outcome::Vetoed { by: "guard".into(), why: "not now".into() });
        assert_eq!((bed.session.log().len(), bed.model.requests().len()), (entries, 0));
        assert_eq!(hooks.map(|hook| hook.told().len()), [1, 1]);
    }
}

#[test]
fn o18_a_hooks_result_is_stored_and_no_model_is_asked() {
    let mut bed = hooked(&[Arc::new(supplies())]);
    compact(&mut bed);
    assert_eq!((summary(&bed).as_str(), bed.model.requests().len()), ("the hook's own words", 0));
}

#[test]
fn o19_hooks_are_told_once_of_the_entry_that_was_stored() {
    let hook = Arc::new(TestHook::new("watcher"));
    let mut bed = hooked(std::slice::from_ref(&hook));
    let record = compact(&mut bed);
    let newest = bed.session.compactions()[0];
    assert_eq!(newest, EntryId(bed.session.log().len() as u32 - 1));
    let Some(Mark::Compaction { record: stored, .. }) = bed.session.log().mark_of(newest) else {
        panic!("it was appended")
    };
    assert_eq!((stored, hook.records()), (&record, vec![(*record).clone()]));
}
