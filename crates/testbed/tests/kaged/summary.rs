//! What is summarised, by whom, and how to go back.

use super::{full, kaged, made};
use epitome_core::{EntryId, Purpose, Slot, Strategy, SummaryInput, Tokens, Trigger};
use epitome_engine::Event;
use epitome_settings::prompts;
use epitome_testbed::{Bed, good};
use std::sync::Arc;

/// Goes back, or forward, to a message.
fn go_to(bed: &mut Bed, id: EntryId) {
    bed.session.move_to(Some(id)).expect("all is in memory");
}

/// A bed whose context is what a model would be sent, byte for byte.
fn context(bed: &Bed) -> Vec<String> {
    bed.shown()
}

#[test]
fn k10_twenty_older_messages_are_summarised_and_the_newest_stay() {
    let mut bed = kaged().bed();
    let ids = bed.talk(50, 1_800);
    let record = made(Some(bed.compact(Trigger::Manual)));
    assert_eq!((record.strategy, &record.superseded[..]), (Strategy::Summarize, &ids[1..21]));
    assert_eq!(record.kept, [&ids[..1], &ids[21..]].concat());
    let requests = bed.model.requests();
    let [request] = &requests[..] else { panic!("one call was to be made") };
    assert_eq!((request.purpose, request.output_max), (Purpose::History, Tokens(1_500)));
    let SummaryInput::Messages { messages, .. } = &request.body else { panic!("as messages") };
    let originals: Vec<_> = ids[1..21].iter().map(|&id| bed.original(id)).collect();
    assert_eq!(*messages, originals);
}

#[test]
fn k10_a_summary_over_1500_tokens_is_not_taken() {
    let made_of = |tokens: u64| {
        let mut bed = kaged().bed();
        bed.talk(50, 1_800);
        let mut called = good(&bed.filler(tokens));
        called.spent.output = Tokens(tokens);
        bed.model.always(called);
        let record = bed.compact(Trigger::Manual);
        let given_up: Vec<String> = record.fallbacks.iter().map(|fallback| fallback.why.clone()).collect();
        (made(Some(record)).strategy, given_up)
    };
    assert_eq!(made_of(1_500), (Strategy::Summarize, vec![]));
    let why = "the summary takes 1,501, over its limit of 1,500".to_owned();
    assert_eq!(made_of(1_501), (Strategy::Drop, vec![why]));
}

#[test]
fn k11_the_sessions_own_model_is_asked_with_the_seven_sections() {
    let prompts = Arc::new(prompts::built_in("kaged").expect("the prompt is built in"));
    let (mut bed, _) = full(kaged().ports(|ports| ports.prompts = prompts));
    assert_eq!(made(bed.prepare()).summarizer.as_deref(), Some("test-model"));
    assert_eq!(bed.session.policy().summary.prompt, "config:/prompts/compaction-summary.md");
    let asked = bed.model.asked().concat();
    let sections: Vec<&str> = asked.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let seven = [
        "Goal",
        "Constraints & Preferences",
        "Progress",
        "Key Decisions",
        "Next Steps",
        "Critical Context",
        "Additional Notes",
    ];
    assert_eq!(sections, seven);
}

#[test]
fn k12_originals_are_superseded_and_nothing_is_deleted() {
    let (mut bed, ids) = full(kaged());
    let before = bed.session.log().len();
    let record = made(bed.prepare());
    assert_eq!(record.superseded, ids[1..21]);
    assert_eq!((bed.session.log().len(), bed.session.history()), (before + 1, &ids[..]));
    let newest = EntryId(before as u32);
    let compaction = bed.session.log().compaction(newest).expect("it is an entry");
    assert_eq!(compaction.summary, record.summary);
    assert_eq!(bed.session.context().slots()[1], Slot::Summary { id: newest });
}

#[test]
fn k13_taking_a_compaction_back_restores_the_context() {
    let (mut bed, ids) = full(kaged());
    let before = context(&bed);
    bed.prepare();
    let compaction = bed.session.compactions()[0];
    bed.take_events();
    bed.session.undo(compaction).expect("it is there");
    assert_eq!((context(&bed), bed.in_view()), (before, ids));
    assert_eq!(bed.take_events(), [Event::Undone { of: compaction }]);
    assert_eq!(bed.session.compactions(), []);
}

#[test]
fn k14_taking_two_back_restores_the_first_context_byte_for_byte() {
    let (mut bed, _) = full(kaged());
    let first = context(&bed);
    bed.prepare();
    let second = context(&bed);
    let later = bed.talk(20, 1_000);
    bed.prepare();
    let &[inner, outer] = bed.session.compactions() else { panic!("two were made") };
    bed.session.undo(outer).expect("it is there");
    assert_eq!(context(&bed)[..second.len()], second);
    bed.session.undo(inner).expect("it is there");
    assert_eq!(context(&bed)[..first.len()], first);
    assert_eq!(bed.in_view()[first.len()..], later);
}

#[test]
fn k13_going_back_to_before_a_compaction_restores_the_context() {
    let (mut bed, ids) = full(kaged());
    let before = context(&bed);
    let superseded = made(bed.prepare()).superseded;
    let after = context(&bed);
    let later = bed.talk(2, 1_000);
    let newest = context(&bed);
    // The compaction is anchored at the newest message of its time; the message before lies before it.
    go_to(&mut bed, ids[88]);
    assert_eq!((context(&bed), bed.in_view()), (before[..89].to_vec(), ids[..89].to_vec()));
    assert!(superseded.iter().all(|id| bed.in_view().contains(id)) && bed.session.compactions().is_empty());
    go_to(&mut bed, ids[89]);
    assert_eq!(context(&bed), after);
    go_to(&mut bed, later[1]);
    assert_eq!((context(&bed), bed.session.compactions().len()), (newest, 1));
}

#[test]
fn k14_going_back_past_two_restores_the_first_context_byte_for_byte() {
    let (mut bed, ids) = full(kaged());
    let first = context(&bed);
    bed.prepare();
    let later = bed.talk(20, 1_000);
    let second = context(&bed);
    bed.prepare();
    let third = context(&bed);
    assert_eq!(bed.session.compactions().len(), 2);
    go_to(&mut bed, later[18]);
    assert_eq!(context(&bed), second[..second.len() - 1]);
    go_to(&mut bed, ids[88]);
    assert_eq!(context(&bed), first[..89]);
    go_to(&mut bed, later[19]);
    assert_eq!((context(&bed), bed.session.compactions().len()), (third, 2));
}

#[test]
fn k14_one_can_be_taken_back_while_what_came_after_it_stays() {
    let (mut bed, ids) = full(kaged());
    let first = context(&bed);
    bed.prepare();
    let later = bed.talk(2, 1_000);
    let kept = context(&bed);
    let compaction = bed.session.compactions()[0];
    bed.session.undo(compaction).expect("it is there");
    let said: Vec<String> = later.iter().map(|&id| bed.original(id).said()).collect();
    assert_eq!((context(&bed), bed.in_view()), ([first, said].concat(), [ids, later].concat()));
    bed.session.redo(compaction).expect("it was taken back");
    assert_eq!((context(&bed), bed.session.compactions()), (kept, &[compaction][..]));
    assert_eq!(bed.take_events().pop(), Some(Event::Redone { of: compaction }));
}

#[test]
fn k14_the_inner_of_two_can_be_taken_back_and_the_outer_still_counts() {
    let (mut bed, _) = full(kaged());
    bed.prepare();
    bed.talk(20, 1_000);
    bed.prepare();
    let both = context(&bed);
    let &[inner, outer] = bed.session.compactions() else { panic!("two were made") };
    bed.session.undo(inner).expect("it is there");
    assert_eq!((context(&bed), bed.session.compactions()), (both.clone(), &[outer][..]));
    bed.session.redo(inner).expect("it was taken back");
    assert_eq!(context(&bed), both);
}

#[test]
fn k15_the_model_sees_no_superseded_message_and_the_operator_all() {
    let (mut bed, ids) = full(kaged());
    let said = context(&bed);
    let record = made(bed.prepare());
    assert_eq!(bed.in_view(), record.kept);
    assert!(record.superseded.iter().all(|id| !context(&bed).contains(&said[id.index()])));
    let history = bed.session.history().iter();
    let all: Vec<String> = history.map(|&id| bed.original(id).said()).collect();
    assert_eq!((bed.session.history(), all), (&ids[..], said));
}
