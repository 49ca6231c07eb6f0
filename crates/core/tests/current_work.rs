//! What is being worked on when a compaction comes, by example: what stays word for word, what gives way to a
//! pointer, and what the record says of it. That it holds for any history is `always_holds`'s.

#[allow(dead_code, unused_imports, reason = "always_holds needs more of it")]
mod world;

use epitome_core::{Change, Effect, EntryId, Form, Outcome, Trigger};
use world::{Act, Asked, Order, Session};

/// What changed, and how a message is shown now.
fn compacted(history: &[Act], asked: &Asked) -> (Session, Change) {
    let mut session = Session::of(history);
    let record = session.compact(asked).expect("there is something to compact");
    let change = record.change().expect("something was changed").clone();
    (session, change)
}

fn form(session: &Session, id: EntryId) -> Option<Form> {
    session.context.message_slots().find(|(shown, ..)| *shown == id).map(|(_, form, _)| form)
}

fn calls(size: usize) -> Act {
    Act::Calls(vec![Some(size)], Order::Straight)
}

/// A history of so many bytes that has served its time.
fn old(len: usize) -> Vec<Act> {
    (0..10).flat_map(|_| [Act::Says(len / 20), Act::Answers(len / 20, 0)]).collect()
}

#[test]
fn the_newest_exchange_stays_whole_however_small_the_target() {
    // A target of a quarter of 32,000 would leave 2,600 tokens for the newest part; the result takes 6,000.
    let history = [old(100_000), vec![Act::Says(100), calls(24_000), Act::Reminds(0)]].concat();
    let (session, change) = compacted(&history, &Asked::plainly(32_000));
    let ids: Vec<EntryId> = session.history.iter().rev().take(3).copied().collect();
    let shown: Vec<Option<Form>> = ids.iter().map(|&id| form(&session, id)).collect();
    let plain = Form { thinking: true, ..Form::WHOLE };
    assert_eq!(shown, [Some(Form::WHOLE), Some(Form::WHOLE), Some(plain)]);
    assert_eq!((change.reduced, change.pruned), (vec![], vec![]));
}

#[test]
fn what_alone_takes_over_half_of_the_window_is_reduced_and_the_record_says_so() {
    let history = [old(40_000), vec![Act::Says(100), calls(80_000)]].concat();
    let (session, change) = compacted(&history, &Asked::plainly(32_000));
    let result = *session.history.last().expect("it is there");
    // A quarter of the room, which is 32,000 without the answer's tenth and a system prompt of 20; the call takes 9 of it.
    assert_eq!(form(&session, result).and_then(|form| form.shorten).map(|tokens| tokens.0), Some(7_186));
    assert_eq!((change.reduced, change.pruned), (vec![result], vec![]));
}

#[test]
fn of_instructions_given_again_the_newest_copy_stays() {
    let again = |which| Act::Repeats(which);
    let history =
        [vec![Act::Says(100), again(0), again(1)], old(100_000), vec![again(0), Act::Says(100)]].concat();
    let (session, _) = compacted(&history, &Asked::plainly(32_000));
    let given: Vec<EntryId> = session.instructions().collect();
    assert_eq!(given, [session.history[2], session.history[session.history.len() - 2]]);
}

#[test]
fn a_large_old_result_is_masked_and_does_not_end_the_tail() {
    let work = vec![calls(400), calls(400), calls(22_000), calls(400)];
    let history = [old(100_000), vec![Act::Says(100)], work].concat();
    let (session, change) = compacted(&history, &Asked::plainly(32_000));
    let newest: Vec<EntryId> = session.history[session.history.len() - 8..].to_vec();
    assert!(newest.iter().all(|&id| form(&session, id).is_some()), "{newest:?}");
    assert_eq!(change.pruned, [newest[5]]);
    assert_eq!(form(&session, newest[5]), Some(Form { results: true, ..Form::WHOLE }));
}

#[test]
fn where_hardly_anything_would_leave_nothing_is_done_by_itself_and_a_person_is_told() {
    // The first message takes most of a context that fits, and is kept in any case.
    let conclude = |trigger, beside| {
        let history = [vec![Act::Says(60_000)], old(beside), vec![Act::Says(100)]].concat();
        Session::of(&history).outcome(&Asked { trigger, ..Asked::plainly(32_000) })
    };
    let by_itself = conclude(Trigger::Threshold, 22_000);
    assert!(matches!(by_itself.effect, Effect::Nothing), "{:?}", by_itself.record);
    assert!(
        matches!(&by_itself.record.outcome, Outcome::Noop { why } if why.contains("less than a tenth")),
        "{:?}",
        by_itself.record
    );
    let by_hand = conclude(Trigger::Manual, 8_000).record;
    assert!(by_hand.change().is_some(), "{by_hand:?}");
    assert!(by_hand.notes.iter().any(|note| note.contains("less than a tenth")), "{:?}", by_hand.notes);
    // What the provider refuses is compacted for whatever there is.
    assert!(conclude(Trigger::Overflow, 16_000).record.change().is_some());
}
