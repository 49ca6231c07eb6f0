//! When Operator-Use compacts: at the end of a run, on request, or by hand when idle.

use crate::{bed, bed_with, tail};
use epitome_core::policy::Mode;
use epitome_core::{Policy, Threshold, Tokens, Trigger};
use epitome_engine::{EngineError, FigureSource, Happened, now};
use epitome_testbed::Bed;
use epitome_tokens::Usage;
use std::sync::Arc;

/// A session with something to compact.
fn filled(mut bed: Bed) -> Bed {
    bed.talk(2, 1_000);
    tail(&mut bed);
    bed
}

/// The last call took so much.
fn use_tokens(bed: &mut Bed, tokens: u64) {
    bed.session.record_usage(Usage { prompt: tokens - 20, output: 20, ..Usage::default() });
}

fn end(bed: &mut Bed, is_good: bool) -> Option<(Happened, Trigger)> {
    let report = now(bed.session.end_turn(is_good)).expect("all is in memory");
    report.map(|report| (report.outcome, report.trigger))
}

const COMPACTED: Option<(Happened, Trigger)> = Some((Happened::Compacted, Trigger::Threshold));

#[test]
fn o1_and_o25_compaction_begins_when_the_limit_is_passed() {
    for (preset, limit) in [("operator-use", 191_808), ("operator-use@2", 183_616)] {
        let mut bed = filled(bed(preset));
        use_tokens(&mut bed, limit);
        assert_eq!((end(&mut bed, true), bed.session.check().limit), (None, Tokens(limit)), "{preset}");
        use_tokens(&mut bed, limit + 1);
        assert_eq!(end(&mut bed, true), COMPACTED, "{preset}");
    }
}

#[test]
fn o25_the_real_program_has_the_larger_reserve() {
    assert_eq!(bed("operator-use@2").session.check().limit, Tokens(183_616));
}

#[test]
fn o2_nothing_happens_until_the_run_ends() {
    let mut bed = filled(bed("operator-use"));
    bed.session.begin_turn();
    bed.user("run the tests");
    bed.call(&[("bash", r#"{"command":"make"}"#)]);
    use_tokens(&mut bed, 195_000);
    assert!(bed.prepare().is_none());
    bed.results(&["ok"]);
    assert!(bed.prepare().is_none());
    bed.assistant("all green");
    use_tokens(&mut bed, 195_000);
    assert_eq!(end(&mut bed, true), COMPACTED);
}

#[test]
fn o3_a_failed_run_is_not_looked_at() {
    let mut bed = filled(bed("operator-use"));
    use_tokens(&mut bed, 195_000);
    assert_eq!(end(&mut bed, false), None);
    assert!(bed.session.compactions().is_empty());
}

#[test]
fn o4_a_compaction_asked_for_during_a_turn_runs_once_at_its_end() {
    let mut bed = filled(bed("operator-use"));
    bed.session.begin_turn();
    bed.session.request_compaction();
    assert!(bed.prepare().is_none());
    assert_eq!(end(&mut bed, true), Some((Happened::Compacted, Trigger::Requested)));
    bed.user("go on");
    assert_eq!(end(&mut bed, true), None);
    assert_eq!(bed.session.compactions().len(), 1);
}

#[test]
fn o5_by_hand_only_when_nothing_runs() {
    let mut bed = filled(bed("operator-use"));
    bed.session.begin_turn();
    let entries = bed.session.log().len();
    let refused = bed.try_compact(Trigger::Manual);
    assert!(matches!(refused, Err(EngineError::Busy("a turn runs"))));
    assert_eq!((bed.session.log().len(), bed.model.requests().len()), (entries, 0));
    assert_eq!(end(&mut bed, false), None);
    assert_eq!(bed.compact(Trigger::Manual).outcome, Happened::Compacted);
}

#[test]
fn o16_after_a_compaction_the_figure_is_counted_anew() {
    let mut bed = filled(bed("operator-use@2"));
    use_tokens(&mut bed, 190_000);
    assert_eq!(bed.session.figure(), (Tokens(190_000), FigureSource::Usage));
    assert_eq!(end(&mut bed, true), COMPACTED);
    let (figure, source) = bed.session.figure();
    assert_eq!((figure, source), (bed.session.context().tokens(), FigureSource::Count));
    assert!(figure < Tokens(21_000));
    assert_eq!(end(&mut bed, true), None);
}

#[test]
fn o16_cached_tokens_are_counted() {
    let mut bed = filled(bed("operator-use@2"));
    let usage = Usage { prompt: 190_000, output: 20, cache_read: 180_000, ..Usage::default() };
    bed.session.record_usage(usage);
    assert_eq!(bed.session.figure().0, Tokens(190_020));
}

#[test]
fn o20_changed_settings_hold_at_the_next_check() {
    let mut bed = filled(bed("operator-use"));
    use_tokens(&mut bed, 185_000);
    assert_eq!(end(&mut bed, true), None);
    let mut settings = bed.session.setup().policy.settings().clone();
    settings.trigger.at = Threshold::Remaining(Tokens(16_384));
    bed.session.set_policy(Arc::new(Policy::try_from(settings).expect("the settings are sound")));
    assert_eq!(end(&mut bed, true), COMPACTED);
}

#[test]
fn o21_off_is_off() {
    let mut bed = filled(bed_with("operator-use", |settings| settings.mode = Mode::Off));
    use_tokens(&mut bed, 195_000);
    assert_eq!(end(&mut bed, true), None);
    assert!(bed.session.compactions().is_empty());
}
