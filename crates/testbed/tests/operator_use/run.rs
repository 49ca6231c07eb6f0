//! When Operator-Use compacts: at the end of a run, on request, or by hand when idle.

use crate::{bed, bed_with, tail};
use epitome_core::policy::TriggerMode;
use epitome_core::{Policy, Threshold, Tokens, Trigger};
use epitome_engine::{EngineError, FigureSource, TurnEnd};
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
    let usage = Usage { prompt: tokens - 20, output: 20, ..Usage::default() };
    bed.session.record_usage(usage).expect("all is in memory");
}

fn end(bed: &mut Bed, end: TurnEnd) -> Option<(&'static str, Trigger)> {
    bed.end_turn(end).map(|record| (record.outcome.name(), record.trigger))
}

const COMPACTED: Option<(&str, Trigger)> = Some(("compacted", Trigger::Threshold));

#[test]
fn o1_and_o25_compaction_begins_when_the_limit_is_passed() {
    for (preset, limit) in [("operator-use", 191_808), ("operator-use@2", 183_616)] {
        let mut bed = filled(bed(preset));
        use_tokens(&mut bed, limit);
        assert_eq!(
            (end(&mut bed, TurnEnd::Good), bed.session.check().limit),
            (None, Tokens(limit)),
            "{preset}"
        );
        use_tokens(&mut bed, limit + 1);
        assert_eq!(end(&mut bed, TurnEnd::Good), COMPACTED, "{preset}");
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
    assert_eq!(end(&mut bed, TurnEnd::Good), COMPACTED);
}

#[test]
fn o3_a_failed_run_is_not_looked_at() {
    let mut bed = filled(bed("operator-use"));
    use_tokens(&mut bed, 195_000);
    assert_eq!(end(&mut bed, TurnEnd::Broken), None);
    assert!(bed.session.compactions().is_empty());
}

#[test]
fn o4_a_compaction_asked_for_during_a_turn_runs_once_at_its_end() {
    let mut bed = filled(bed("operator-use"));
    bed.session.begin_turn();
    bed.session.request_compaction().expect("all is in memory");
    assert!(bed.prepare().is_none());
    assert_eq!(end(&mut bed, TurnEnd::Good), Some(("compacted", Trigger::Requested)));
    bed.user("go on");
    assert_eq!(end(&mut bed, TurnEnd::Good), None);
    assert_eq!(bed.session.compactions().len(), 1);
}

#[test]
fn o4_what_was_asked_for_runs_where_nothing_runs_by_itself() {
    let mut bed = filled(bed_with("operator-use", |settings| settings.mode = TriggerMode::Off));
    bed.session.request_compaction().expect("all is in memory");
    assert_eq!(end(&mut bed, TurnEnd::Good), Some(("compacted", Trigger::Requested)));
    assert_eq!(end(&mut bed, TurnEnd::Good), None);
}

#[test]
fn o5_by_hand_only_when_nothing_runs() {
    let mut bed = filled(bed("operator-use"));
    bed.session.begin_turn();
    let entries = bed.session.log().len();
    let refused = bed.try_compact(Trigger::Manual);
    assert!(matches!(refused, Err(EngineError::Busy("a turn runs"))));
    assert_eq!((bed.session.log().len(), bed.model.requests().len()), (entries, 0));
    assert_eq!(end(&mut bed, TurnEnd::Broken), None);
    assert_eq!(bed.compact(Trigger::Manual).outcome.name(), "compacted");
}

#[test]
fn o16_after_a_compaction_the_figure_is_counted_anew() {
    let mut bed = filled(bed("operator-use@2"));
    use_tokens(&mut bed, 190_000);
    assert_eq!(bed.session.figure(), (Tokens(190_000), FigureSource::Usage));
    assert_eq!(end(&mut bed, TurnEnd::Good), COMPACTED);
    let (figure, source) = bed.session.figure();
    assert_eq!((figure, source), (bed.session.context().tokens(), FigureSource::Count));
    assert!(figure < Tokens(21_000));
    assert_eq!(end(&mut bed, TurnEnd::Good), None);
}

#[test]
fn o16_cached_tokens_are_counted() {
    let mut bed = filled(bed("operator-use@2"));
    let usage = Usage { prompt: 190_000, output: 20, cache_read: 180_000, ..Usage::default() };
    bed.session.record_usage(usage).expect("all is in memory");
    assert_eq!(bed.session.figure().0, Tokens(190_020));
}

#[test]
fn o20_changed_settings_hold_at_the_next_check() {
    let mut bed = filled(bed("operator-use"));
    use_tokens(&mut bed, 185_000);
    assert_eq!(end(&mut bed, TurnEnd::Good), None);
    let mut settings = bed.session.policy().settings().clone();
    settings.trigger.at = Threshold::Remaining(Tokens(16_384));
    let policy = Policy::try_from(settings).expect("the settings are sound");
    bed.session.set_policy(Arc::new(policy)).expect("all is in memory");
    assert_eq!(end(&mut bed, TurnEnd::Good), COMPACTED);
}

#[test]
fn o21_off_is_off() {
    let mut bed = filled(bed_with("operator-use", |settings| settings.mode = TriggerMode::Off));
    use_tokens(&mut bed, 195_000);
    assert_eq!(end(&mut bed, TurnEnd::Good), None);
    assert!(bed.session.compactions().is_empty());
}
