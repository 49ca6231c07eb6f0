//! Lessons of others, rows 119 to 124: what people see of compactions, and what they can say about them.

use epitome_core::policy::TriggerMode;
use epitome_core::{EntryId, Failure, Mark, Measure, Outcome, Range, Strategy, Tokens, Trigger};
use epitome_engine::{CompactOptions, Event, Session};
use epitome_testbed::{Bed, Maker, Quarter, change, failed, good, now, written};

const WINDOW: u64 = 100_000;

/// A compaction of part of the context, asked for by hand.
fn compact_part(bed: &mut Bed, range: Range) -> Vec<EntryId> {
    let options = CompactOptions { range, ..CompactOptions::default() };
    let step = now(bed.driver.compact_with(&mut bed.session, Trigger::Manual, options));
    let record = step.expect("all is in memory").record.expect("it was asked for");
    let Outcome::Compacted(change) = &record.outcome else { panic!("not {:?}", record.outcome) };
    change.superseded.clone()
}

#[test]
fn l119_nothing_to_compact_is_an_outcome_and_no_failure() {
    let mut bed = Bed::new("default", WINDOW);
    bed.user("hello");
    let record = bed.compact(Trigger::Manual);
    let why = "the history is too short to be worth a summary".into();
    assert_eq!(record.outcome, Outcome::Noop { why });
    assert!(bed.take_events().iter().any(|event| matches!(event, Event::Noop { .. })));
    assert_eq!((bed.session.breaker().failures(), bed.session.log().len()), (0, 1));
}

#[test]
fn l120_the_log_alone_gives_the_same_decisions_again() {
    let mut bed = Maker::new("default", 20_000).no_model().bed();
    let mut live = Vec::new();
    for _ in 0..60 {
        bed.talk(1, 700);
        live.push((bed.session.history().len(), bed.session.check()));
        bed.prepare();
    }
    let (timeline, archive) = (bed.session.timeline(), bed.session.archive());
    let (log, sizes) = (timeline.log().clone(), timeline.sizes().clone());
    let mut again = Session::new(log, sizes, archive.clone(), bed.session.assembly().clone());
    let mut replayed = Vec::new();
    for at in 0..bed.session.log().len() {
        again.absorb(EntryId(at as u32)).expect("it is in the log");
        if again.log().item(EntryId(at as u32)).is_some() {
            replayed.push((again.history().len(), again.check()));
        }
    }
    assert_eq!(replayed, live);
    assert!(live.iter().any(|(_, check)| check.is_due()) && live.iter().any(|(_, check)| !check.is_due()));
}

#[test]
fn l120_what_is_switched_off_is_not_announced_as_begun() {
    let mut bed = Maker::new("default", WINDOW).set(|settings| settings.mode = TriggerMode::Off).bed();
    bed.talk(90, 1_000);
    assert!(bed.prepare().is_none());
    assert_eq!(bed.take_events(), []);
    let check = bed.session.check();
    assert_eq!((check.trigger, check.is_due()), (Some(Trigger::Threshold), false));
}

#[test]
fn l121_a_person_compacts_up_to_a_message_or_from_it_on() {
    let mut bed = Bed::new("default", WINDOW);
    let ids = bed.talk(40, 1_000);
    let up_to = compact_part(&mut bed, Range::UpTo(ids[12]));
    // The first thing a person said is kept in any case.
    assert_eq!(up_to, ids[1..12]);

    let mut bed = Bed::new("default", WINDOW);
    let ids = bed.talk(40, 1_000);
    let from = compact_part(&mut bed, Range::From(ids[12]));
    // So are the newest and its answer.
    assert_eq!(from, ids[12..38]);
    assert_eq!(bed.in_view(), [&ids[..12], &ids[38..]].concat());
}

#[test]
fn l121_what_is_compacted_from_somewhere_on_splits_no_exchange() {
    let mut bed = Bed::new("default", WINDOW);
    let before = bed.talk(20, 1_000);
    let (call, result) = bed.exchange("read", r#"{"path":"a.rs"}"#, &"let a = 1; ".repeat(900));
    bed.talk(10, 1_000);
    let from = compact_part(&mut bed, Range::From(result));
    assert_eq!(from[..2], [call, result]);
    assert_eq!(bed.in_view()[..20], before);
}

#[test]
fn l121_a_pinned_message_stays_through_every_compaction() {
    let mut bed = Bed::new("default", WINDOW);
    let pinned = bed.talk(40, 1_000)[7];
    bed.session.options_mut().pins = vec![pinned];
    for _ in 0..3 {
        bed.compact(Trigger::Manual);
        assert!(bed.in_view().contains(&pinned));
        bed.talk(40, 1_000);
    }
}

#[test]
fn l122_pruning_leaves_an_entry_a_record_and_an_event() {
    let mut bed = Maker::new("kaged", WINDOW).no_model().bed();
    bed.user("read it all");
    for number in 0..7 {
        let result = bed.filler(10_000);
        bed.exchange("bash", &format!(r#"{{"command":"cat src/{number}.rs"}}"#), &result);
    }
    let step = bed.step();
    let record = step.record.expect("there is enough to prune");
    let Outcome::Pruned(made) = &record.outcome else { panic!("not {:?}", record.outcome) };
    assert_eq!(made.strategy, Strategy::Prune);
    let entry = step.appended.last().expect("a pass is appended").id;
    let Some(Mark::Edit { edit, record: kept }) = bed.session.log().mark_of(entry) else {
        panic!("pruning is an entry")
    };
    assert_eq!(edit.forms.iter().map(|&(id, _)| id).collect::<Vec<_>>(), made.pruned);
    assert_eq!(kept, &record);
    let freed = record.tokens_before.less(record.tokens_after);
    let pruned = Event::Pruned { entry, messages: made.pruned.len(), freed };
    assert!(bed.take_events().contains(&pruned));
}

#[test]
fn l123_a_smaller_summariser_is_asked_for_no_more_than_its_window_takes() {
    let window = 16_000;
    let mut bed = Maker::new("default", WINDOW).model(|model| model.named("small").with_window(window)).bed();
    bed.talk(80, 1_000);
    let made = change(bed.prepare());
    let requests = bed.model.requests();
    assert!(requests.len() > 4, "{} parts", requests.len());
    for request in &requests {
        let takes = Quarter.text(&written(request)) + request.output_max;
        assert!(takes <= Tokens(window), "{:?} takes {takes}", request.purpose);
    }
    assert_eq!((made.summarizer.as_deref(), made.strategy), (Some("small"), Strategy::Summarize));
}

#[test]
fn l124_a_summary_that_is_too_short_is_asked_for_again_once() {
    let mut bed = Maker::new("default", WINDOW)
        .set(|settings| settings.summary.size_min = Some(Tokens(50)))
        .set(|settings| settings.keep.within_turn = false)
        .bed();
    bed.talk(80, 1_000);
    let about = |part: u32| format!("- what part {part} of the work is about\n");
    let long = format!("## Goal\n{}", (0..20).map(about).collect::<String>());
    bed.model.then(good("## Goal\nwork")).then(good(&long));
    let made = change(bed.prepare());
    assert!(made.summary.is_some_and(|text| text.contains("what part 19 of the work is about")));
    let asked = bed.model.asked();
    assert!(asked.len() == 2 && asked[1].contains("below the least wanted"), "{}", asked.len());
}

#[test]
fn l124_a_summariser_that_fails_for_good_is_named_among_what_was_tried() {
    let mut bed = Bed::new("default", WINDOW);
    bed.talk(80, 1_000);
    bed.model.always(failed(Failure::Refused("no such model".into())));
    let record = bed.prepare().expect("it is due");
    let made = change(Some(record.clone()));
    let tried: Vec<_> = record.fallbacks.iter().map(|fallback| fallback.strategy).collect();
    assert_eq!((made.strategy, tried), (Strategy::Summarize, vec![Strategy::Summarize]));
    assert_eq!(made.summarizer.as_deref(), Some("the embedded summariser"));
    assert!(record.fallbacks[0].why.contains("no such model"));
}
