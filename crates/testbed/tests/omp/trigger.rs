//! When it compacts, by which figure, and whether the work goes on after it.

use super::{WINDOW, end_turn, made, omp};
use epitome_core::policy::{Newest, Resume};
use epitome_core::{Budget, Record, Tokens, Trigger, Verdict};
use epitome_engine::{Event, FigureSource, LookPoint, Recovery};
use epitome_testbed::{Bed, Maker, TestHook};
use epitome_tokens::Usage;
use epitome_wire::overflow::{ErrorPlace, OverflowClass, RequestFacts, classify};
use std::sync::Arc;

fn usage(prompt: u64, output: u64) -> Usage {
    Usage { prompt, output, ..Usage::default() }
}

/// The model works: so many results of 1,000 tokens.
fn work(bed: &mut Bed, results: usize) {
    for _ in 0..results {
        let result = bed.filler(1_000);
        bed.exchange("bash", "{}", &result);
    }
}

/// The warnings among what happened.
fn warnings(bed: &mut Bed) -> Vec<String> {
    let events = bed.take_events().into_iter();
    events.filter_map(|event| if let Event::Held { why } = event { Some(why) } else { None }).collect()
}

#[test]
fn m1_fifteen_percent_stay_free() {
    let outcome = |more: &str| {
        let mut bed = omp("17").bed();
        bed.talk(170, 1_000);
        bed.assistant(more);
        end_turn(&mut bed).map(|record| (record.outcome.name(), record.tokens_before))
    };
    let compacted = ("compacted", Tokens(170_001));
    assert_eq!([outcome(""), outcome("more")], [None, Some(compacted)]);
}

#[test]
fn m4_the_larger_figure_decides() {
    let mut bed = Maker::new("omp@17", 130_000).bed();
    bed.talk(120, 1_000);
    bed.session.record_usage(usage(49_000, 1_000)).expect("all is in memory");
    let check = bed.session.check_at(LookPoint::TurnEnd);
    assert_eq!((check.tokens, check.source, check.is_due()), (Tokens(120_000), FigureSource::Count, true));
    bed.session.record_usage(usage(124_000, 1_000)).expect("all is in memory");
    let check = bed.session.check_at(LookPoint::TurnEnd);
    assert_eq!((check.tokens, check.source), (Tokens(125_000), FigureSource::Hybrid));
}

#[test]
fn m5_what_is_kept_is_counted_as_the_provider_counts() {
    let kept = |usage: Usage| {
        let mut bed = omp("17").bed();
        bed.talk(116, 1_000);
        bed.session.record_usage(usage).expect("all is in memory");
        made(Some(bed.compact(Trigger::Threshold))).kept.len()
    };
    // 13,333 of our tokens are reached with the fourteenth message from the end, 20,000 with the twentieth.
    assert_eq!([kept(usage(173_000, 1_000)), kept(usage(115_000, 1_000))], [14, 20]);
}

#[test]
fn m8_too_little_progress_holds_the_work_with_one_warning() {
    let maker = omp("17").set(|settings| settings.keep.newest = Newest::TokensReached(Tokens(144_000)));
    let mut bed = maker.bed();
    bed.talk(169, 1_000);
    work(&mut bed, 2);
    let told = |record: Option<Arc<Record>>| record.map(|record| (record.outcome.name(), record.resume));
    let held = Some(("compacted", Resume::Wait));
    assert_eq!(told(bed.prepare()), held);
    assert_eq!((warnings(&mut bed).len(), bed.session.breaker().is_held()), (1, true));
    work(&mut bed, 26);
    assert_eq!((told(bed.prepare()), warnings(&mut bed)), (held, vec![]));
    bed.user("go on");
    assert!(!bed.session.breaker().is_held());
}

#[test]
fn m8_progress_is_measured_by_the_point_at_which_the_longest_prompt_compacts() {
    // Compacted from 120,000 on, so that 80 % of that is 96,000; four fifths of 170,000 would be never missed.
    let maker = omp("17").set(|settings| settings.keep.newest = Newest::TokensReached(Tokens(100_000)));
    let mut bed = maker.budget(|budget| budget.prompt_max = Some(Tokens(120_000))).bed();
    bed.talk(119, 1_000);
    work(&mut bed, 2);
    let record = bed.prepare().expect("it is due");
    assert!((Tokens(96_000)..Tokens(120_000)).contains(&record.tokens_after), "{}", record.tokens_after);
    assert_eq!((record.resume, warnings(&mut bed).len()), (Resume::Wait, 1));
}

#[test]
fn m8_enough_progress_lets_the_work_go_on() {
    let mut bed = omp("17").bed();
    bed.talk(169, 1_000);
    work(&mut bed, 2);
    let record = bed.prepare().expect("it is due");
    assert_eq!((record.resume, warnings(&mut bed)), (Resume::Continue, vec![]));
}

#[test]
fn m9_a_turn_that_failed_is_still_there_where_nothing_was_compacted() {
    let veto = Verdict::Veto { why: "not now".into() };
    let hook = Arc::new(TestHook::new("guard").says(Ok(Some(veto))));
    let mut bed = omp("17").hook(hook).bed();
    bed.talk(60, 1_000);
    bed.user("the turn that was refused as too long");
    let before = (bed.in_view(), bed.shown());
    let Recovery::Surface { why, .. } = bed.recover(Some(5_000)) else { panic!("the hook said no") };
    assert_eq!(why, "guard said no: not now");
    assert_eq!((bed.in_view(), bed.shown()), before);
}

#[test]
fn m9_where_nothing_can_be_made_to_fit_the_turn_is_where_it_was() {
    let fixed = Budget::new(Tokens(20_000), Tokens(19_990), Tokens::ZERO);
    let mut bed = omp("17").budget(|budget| *budget = fixed).bed();
    bed.talk(60, 1_000);
    bed.user("the turn that was refused as too long");
    let before = (bed.in_view(), bed.shown());
    let Recovery::Surface { step, .. } = bed.recover(Some(5_000)) else { panic!("nothing fits") };
    assert_eq!(step.record.map(|record| record.outcome.name()), Some("impossible"));
    assert_eq!((bed.in_view(), bed.shown(), bed.session.compactions()), (before.0, before.1, &[][..]));
}

#[test]
fn m15_a_body_too_large_for_its_server_is_no_overflow() {
    let mut bed = omp("18.x").bed();
    bed.talk(80, 1_000);
    let before = bed.shown();
    let (estimate, _) = bed.session.figure();
    let known = RequestFacts { estimate: Some(estimate), window: Some(Tokens(WINDOW)), largest: None };
    let verdict = classify(ErrorPlace::Status(413), b"Request Entity Too Large", &known);
    assert_eq!((verdict.class, verdict.needs_compaction(&known)), (OverflowClass::PayloadBytes, false));
    for _ in 0..2 {
        bed.session
            .hold("the body has too many bytes; take large attachments out")
            .expect("all is in memory");
    }
    let warning = "the body has too many bytes; take large attachments out".to_owned();
    assert_eq!((warnings(&mut bed), bed.session.breaker().is_held()), (vec![warning], true));
    assert_eq!((bed.shown(), bed.model.requests()), (before, vec![]));
}
