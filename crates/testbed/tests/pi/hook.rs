//! What hooks may do to pi's compactions.

use crate::{WINDOW, compact, tail};
use epitome_core::{EntryId, HookSummary, Outcome, PlanChanges, Trigger, Verdict};
use epitome_testbed::{Bed, Maker, TestHook};
use std::sync::Arc;

/// A session with an exchange of 22,000 tokens in it and this hook; the ids of the exchange.
fn hooked(verdict: Verdict) -> (Bed, EntryId, EntryId) {
    let hook = TestHook::new("archivist").says(Ok(Some(verdict)));
    let mut bed = Maker::new("pi@0.83", WINDOW).hook(Arc::new(hook)).bed();
    bed.talk(2, 1_000);
    let text = bed.filler(2_000);
    let (call, result) = bed.exchange("bash", r#"{"command":"make"}"#, &text);
    tail(&mut bed);
    (bed, call, result)
}

fn supplies(keep_from: Option<EntryId>) -> Verdict {
    let summary = Some(HookSummary { text: "the hook's own words".into(), keep_from });
    Verdict::Proceed(PlanChanges { summary, ..PlanChanges::default() })
}

#[test]
fn p30_a_hook_that_says_no_leaves_everything_as_it_is() {
    let (mut bed, ..) = hooked(Verdict::Veto { why: "not now".into() });
    let (entries, view) = (bed.session.log().len(), bed.in_view());
    let record = bed.compact(Trigger::Threshold);
    assert_eq!(record.outcome, Outcome::Vetoed { by: "archivist".into(), why: "not now".into() });
    assert_eq!((bed.session.log().len(), bed.in_view()), (entries, view));
    assert!(bed.model.requests().is_empty());
}

#[test]
fn p31_a_hooks_summary_is_stored_under_its_name_and_no_model_is_asked() {
    let (mut bed, ..) = hooked(supplies(None));
    let record = compact(&mut bed);
    assert!(bed.model.requests().is_empty());
    assert_eq!(record.change().and_then(|change| change.summarizer.as_deref()), Some("archivist"));
    let newest = bed.session.compactions()[0];
    let entry = bed.session.log().compaction(newest).expect("it was appended");
    let text = entry.summary.as_ref().expect("it has a summary");
    assert!(text.starts_with("<epitome-summary covers=\"m0000-m0003\" messages=\"4\" by=\"archivist\">\n"));
    assert!(text.contains("the hook's own words"));
}

#[test]
fn p32_a_cut_that_cannot_stand_is_refused_and_recorded() {
    let splits = "refused: a cut at m0003 would split an exchange";
    let elsewhere = "refused: m0999 is not in view on this branch";
    for (id, told) in [(EntryId(3), splits), (EntryId(999), elsewhere)] {
        let (mut bed, _, result) = hooked(supplies(Some(id)));
        assert_eq!(result, EntryId(3));
        let record = compact(&mut bed);
        assert_eq!(record.hooks.iter().map(|run| run.told.as_str()).collect::<Vec<_>>(), [told]);
        assert_eq!(record.change().and_then(|change| change.summarizer.as_deref()), Some("test-model"));
        assert_eq!(bed.in_view().len(), 4);
    }
}
