//! Lessons of others, rows 119 to 124: what people see of compactions, and what they can say about them.

use epitome_core::policy::Mode;
use epitome_core::{Entry, EntryId, Failure, Measure, Moment, Strategy, Tokens, Trigger};
use epitome_engine::{Event, Happened, Session, Wish, now};
use epitome_testbed::{Bed, Maker, Quarter, failed, good, written};

const WINDOW: u64 = 100_000;

/// A compaction of part of the context, asked for by hand.
fn compact_part(bed: &mut Bed, moment: Moment) -> Vec<EntryId> {
    let wish = Wish { moment, ..Wish::default() };
    let report = now(bed.session.compact_as(Trigger::Manual, wish)).expect("all is in memory");
    assert_eq!(report.outcome, Happened::Compacted);
    report.record.expect("it was compacted").superseded
}

#[test]
fn l119_nothing_to_compact_is_an_outcome_and_no_failure() {
    let mut bed = Bed::new("default", WINDOW);
    bed.user("hello");
    let report = bed.compact(Trigger::Manual);
    assert_eq!(
        (report.outcome, report.why.as_deref()),
        (Happened::Noop, Some("the history is too short to be worth a summary"))
    );
    assert!(bed.session.take_events().iter().any(|event| matches!(event, Event::Noop { .. })));
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
    let mut again = Session::new(bed.session.log().clone(), bed.session.setup().clone());
    let mut replayed = Vec::new();
    for at in 0..bed.session.log().len() {
        again.absorb(EntryId(at as u32)).expect("it is in the log");
        if again.log().item(EntryId(at as u32)).is_some() {
            replayed.push((again.history().len(), again.check()));
        }
    }
    assert_eq!(replayed, live);
    assert!(live.iter().any(|(_, check)| check.is_due) && live.iter().any(|(_, check)| !check.is_due));
}

#[test]
fn l120_what_is_switched_off_is_not_announced_as_begun() {
    let mut bed = Maker::new("default", WINDOW).set(|settings| settings.mode = Mode::Off).bed();
    bed.talk(90, 1_000);
    assert!(bed.prepare().is_none());
    assert_eq!(bed.session.take_events(), []);
    let check = bed.session.check();
    assert_eq!((check.trigger, check.is_due), (Some(Trigger::Threshold), false));
}

#[test]
fn l121_a_person_compacts_up_to_a_message_or_from_it_on() {
    let mut bed = Bed::new("default", WINDOW);
    let ids = bed.talk(40, 1_000);
    let up_to = compact_part(&mut bed, Moment { up_to: Some(ids[12]), ..Moment::default() });
    // The first thing a person said is kept in any case.
    assert_eq!(up_to, ids[1..12]);

    let mut bed = Bed::new("default", WINDOW);
    let ids = bed.talk(40, 1_000);
    let from = compact_part(&mut bed, Moment { from: Some(ids[12]), ..Moment::default() });
    // So is the newest, which is the last but one.
    assert_eq!(from, [&ids[12..38], &ids[39..]].concat());
    assert_eq!(bed.in_view(), [&ids[..12], &ids[38..39]].concat());
}

#[test]
fn l121_what_is_compacted_from_somewhere_on_splits_no_exchange() {
    let mut bed = Bed::new("default", WINDOW);
    let before = bed.talk(20, 1_000);
    let (call, result) = bed.exchange("read", r#"{"path":"a.rs"}"#, &"let a = 1; ".repeat(900));
    bed.talk(10, 1_000);
    let from = compact_part(&mut bed, Moment { from: Some(result), ..Moment::default() });
    assert_eq!(from[..2], [call, result]);
    assert_eq!(bed.in_view()[..20], before);
}

#[test]
fn l121_a_pinned_message_stays_through_every_compaction() {
    let mut bed = Bed::new("default", WINDOW);
    let pinned = bed.talk(40, 1_000)[7];
    bed.session.set_pins(vec![pinned]);
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
    let report = bed.prepare().expect("there is enough to prune");
    let made = report.record.expect("it has a record");
    assert_eq!((report.outcome, made.strategy), (Happened::Pruned, Strategy::Prune));
    let entry = bed.session.leaf().expect("there is one");
    let Some(Entry::Edit(edit)) = bed.session.log().get(entry) else { panic!("pruning is an entry") };
    assert_eq!(edit.forms.iter().map(|&(id, _)| id).collect::<Vec<_>>(), made.pruned);
    let freed = report.tokens_before.less(report.tokens_after);
    let pruned = Event::Pruned { entry, messages: made.pruned.len(), freed };
    assert!(bed.session.take_events().contains(&pruned));
}

#[test]
fn l123_a_smaller_summariser_is_asked_for_no_more_than_its_window_takes() {
    let window = 16_000;
    let mut bed = Maker::new("default", WINDOW).model(|model| model.named("small").with_window(window)).bed();
    bed.talk(80, 1_000);
    let made = bed.prepare().and_then(|report| report.record).expect("it is due");
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
    let long = format!("## Goal\n{}", "what the work is about. ".repeat(20));
    bed.model.then(good("## Goal\nwork")).then(good(&long));
    let made = bed.prepare().and_then(|report| report.record).expect("it is due");
    assert!(made.summary.is_some_and(|text| text.contains("what the work is about.")));
    let asked = bed.model.asked();
    assert!(asked.len() == 2 && asked[1].contains("below the least wanted"), "{}", asked.len());
}

#[test]
fn l124_a_summariser_that_fails_for_good_is_named_among_what_was_tried() {
    let mut bed = Bed::new("default", WINDOW);
    bed.talk(80, 1_000);
    bed.model.always(failed(Failure::Refused("no such model".into())));
    let made = bed.prepare().and_then(|report| report.record).expect("it is due");
    let tried: Vec<_> = made.fallbacks.iter().map(|fallback| fallback.strategy).collect();
    assert_eq!((made.strategy, tried), (Strategy::Summarize, vec![Strategy::Summarize]));
    assert_eq!(made.summarizer.as_deref(), Some("the embedded summariser"));
    assert!(made.fallbacks[0].why.contains("no such model"));
}
