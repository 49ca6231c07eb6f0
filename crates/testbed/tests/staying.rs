//! What a record and a sketch say of the messages that stay: in view, inside the summary, or back from out of view.

use epitome_core::fence::{Provenance, frame};
use epitome_core::{Author, Block, EntryId, Expressible, Message, Role, Trigger};
use epitome_engine::{CompactOptions, PlanSketch};
use epitome_testbed::{Bed, Maker, change};

fn sketch(bed: &Bed) -> PlanSketch {
    let sketch = bed.driver.sketch(&bed.session, Trigger::Manual, CompactOptions::default());
    sketch.expect("all is in memory").expect("there is something to do")
}

fn without(ids: &[EntryId], others: &[EntryId]) -> Vec<EntryId> {
    ids.iter().copied().filter(|id| !others.contains(id)).collect()
}

#[test]
fn a_message_inside_the_summary_is_told_apart_from_those_in_view() {
    let can = Expressible { front: false, forms: false };
    let mut bed = Maker::new("default", 32_000).no_model().can(can).bed();
    let first = bed.user("rename the parser");
    bed.talk(60, 500);
    let planned = sketch(&bed);
    let made = change(Some(bed.compact(Trigger::Manual)));
    assert_eq!((&planned.folded, &made.folded), (&vec![first], &vec![first]));
    assert_eq!((&planned.staying, planned.returning.len()), (&made.kept, 0));
    assert_eq!(bed.in_view(), without(&made.kept, &made.folded));
}

#[test]
fn a_message_that_comes_back_into_view_is_told_apart_from_those_that_stay_there() {
    let can = Expressible { front: false, forms: false };
    let mut bed = Maker::new("default", 32_000).no_model().can(can).bed();
    let first = bed.user("rename the parser");
    bed.talk(60, 500);
    bed.compact(Trigger::Manual);
    bed.talk(40, 500);
    bed.session.options_mut().can = Expressible::ALL;
    let planned = sketch(&bed);
    assert_eq!((&planned.returning, &planned.folded), (&vec![first], &vec![]));
    let mut before = [planned.leaving.clone(), without(&planned.staying, &planned.returning)].concat();
    before.sort_unstable();
    assert_eq!(bed.in_view(), before);
    bed.compact(Trigger::Manual);
    assert_eq!(bed.in_view(), planned.staying);
}

#[test]
fn a_summary_that_a_request_body_carries_is_named_with_what_to_do() {
    let noted = |texts: &[&str]| {
        let mut bed = Maker::new("default", 32_000).no_model().bed();
        let blocks = texts.iter().map(|text| Block::Text { text: (*text).into() }).collect();
        let mut message = Message::text(Role::User, Author::Person, "");
        message.blocks = blocks;
        bed.say(message);
        bed.talk(60, 500);
        let notes = bed.compact(Trigger::Manual).notes.clone();
        notes.into_iter().filter(|note| note.contains("an earlier compaction")).collect::<Vec<_>>()
    };
    let earlier =
        frame("## Goal\nrename the parser", &Provenance { covers: &[], by: "nobody", recall: None }, "");
    let said = "m0000 holds the summary of an earlier compaction, which stays as it is and whose ids are those of the \
                session it was made of; compact that session instead";
    assert_eq!(noted(&["rename the parser", &earlier, "go on"]), [said]);
    assert_eq!(noted(&["rename the parser", "what does <epitome-summary> mean?"]), [""; 0]);
}
