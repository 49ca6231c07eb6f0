//! Paths that share a prefix: a compaction belongs to the messages it covers, so that whoever says something
//! else behind them uses it, byte for byte, and nobody else's work is touched.

use epitome_core::policy::PruneWhen;
use epitome_core::{Budget, EntryId, Form, Outcome, Tokens};
use epitome_engine::{Recovery, Session};
use epitome_testbed::{Bed, Maker, change, word};

const WINDOW: u64 = 20_000;

/// A session of 79 messages of 200 tokens, one short of its trigger, and what they are.
fn nearly_due(maker: Maker) -> (Bed, Vec<EntryId>) {
    let mut bed = maker.bed();
    let ids = bed.talk(79, 200);
    (bed, ids)
}

/// The same session, in a window of so many tokens.
fn in_window(bed: &mut Bed, window: u64) {
    bed.use_budget(Budget { window: Tokens(window), ..bed.session.budget() });
}

/// Up to and with its summary, a context as text.
fn head(session: &Session) -> Vec<String> {
    let shown = session.shown().expect("all is in memory");
    let summary = shown.iter().position(|shown| shown.id.is_none()).expect("there is a summary");
    shown[..=summary].iter().map(|shown| shown.message.said()).collect()
}

#[test]
fn a_last_message_that_changes_leaves_one_compaction_and_its_head_as_it_is() {
    let (mut bed, ids) = nearly_due(Maker::new("default", WINDOW));
    bed.user(&"what time is it? 10:00 ".repeat(40));
    assert_eq!(bed.prepare().map(|record| word(&record)), Some("compacted"));
    let (made, calls) = (bed.session.compactions().to_vec(), bed.model.requests().len());
    let first = head(&bed.session);

    for minute in 1..4 {
        bed.session.move_to(ids.last().copied()).expect("it is in the log");
        assert_eq!((bed.in_view(), bed.session.compactions()), (ids.clone(), &[][..]));
        let volatile = bed.user(&format!("what time is it? 10:0{minute} ").repeat(40));
        let record = bed.prepare().expect("it is due on this path too");
        assert_eq!(record.outcome, Outcome::Applied { of: made[0] });
        assert_eq!(record.tokens_after, bed.session.check().tokens);
        assert_eq!((head(&bed.session), bed.session.compactions()), (first.clone(), &made[..]));
        assert_eq!(bed.in_view().last(), Some(&volatile));
        assert_eq!(bed.prepare(), None);
    }
    assert_eq!(bed.model.requests().len(), calls);
}

#[test]
fn a_path_that_says_more_behind_the_prefix_has_its_own_tail_behind_the_same_head() {
    let (mut bed, ids) = nearly_due(Maker::new("default", WINDOW));
    bed.talk(2, 300);
    let made = change(bed.prepare());
    let (first, anchor) = (head(&bed.session), made.superseded.last().copied());
    bed.session.move_to(Some(ids[76])).expect("it is in the log");
    let own = bed.talk(10, 200);
    assert_eq!(bed.prepare().map(|record| word(&record)), Some("applied"));
    let tail: Vec<EntryId> = bed.in_view().into_iter().filter(|id| Some(*id) > anchor).collect();
    let expected: Vec<EntryId> =
        ids[..77].iter().chain(&own).copied().filter(|id| Some(*id) > anchor).collect();
    assert_eq!((head(&bed.session), tail), (first, expected));
}

#[test]
fn a_path_that_leaves_before_the_last_message_covered_makes_its_own() {
    let (mut bed, ids) = nearly_due(Maker::new("default", WINDOW));
    bed.talk(2, 300);
    let made = change(bed.prepare());
    let covered = *made.superseded.last().expect("something is covered");
    let before = ids.iter().position(|id| *id == covered).expect("it was said") - 1;
    bed.session.move_to(Some(ids[before])).expect("it is in the log");
    bed.talk(40, 200);
    assert_eq!(bed.prepare().map(|record| word(&record)), Some("compacted"));
}

#[test]
fn a_sibling_with_a_larger_window_keeps_its_whole_history() {
    let (mut bed, ids) = nearly_due(Maker::new("default", WINDOW));
    bed.talk(2, 300);
    change(bed.prepare());
    bed.session.move_to(ids.last().copied()).expect("it is in the log");
    in_window(&mut bed, 10 * WINDOW);
    let own = bed.talk(2, 300);
    assert_eq!((bed.prepare(), bed.in_view()), (None, [ids.clone(), own.clone()].concat()));
    // Until its own request is over its own trigger.
    in_window(&mut bed, WINDOW);
    assert_eq!(bed.prepare().map(|record| word(&record)), Some("applied"));
}

#[test]
fn a_larger_window_that_is_full_makes_its_own_and_not_what_it_would_do_without() {
    let (mut bed, ids) = nearly_due(Maker::new("default", WINDOW));
    bed.talk(2, 300);
    change(bed.prepare());
    let made = bed.session.compactions().to_vec();
    bed.session.move_to(ids.last().copied()).expect("it is in the log");
    in_window(&mut bed, 10 * WINDOW);
    // The provider refuses what has room by our count.
    bed.user("go on");
    let recovery = bed.recover(None);
    let Recovery::Retry(step) = recovery else { panic!("it can be compacted: {recovery:?}") };
    assert_eq!(step.record.as_deref().map(word), Some("compacted"));
    assert!(!bed.session.compactions().iter().any(|one| made.contains(one)));
    let reopened = bed.reopened();
    assert_eq!(reopened.context().slots(), bed.session.context().slots());
}

#[test]
fn an_undo_on_one_path_does_not_touch_another() {
    let (mut bed, ids) = nearly_due(Maker::new("default", WINDOW));
    let one = bed.user(&"one ".repeat(300));
    change(bed.prepare());
    let made = bed.session.compactions()[0];
    let first = bed.shown();

    bed.session.move_to(ids.last().copied()).expect("it is in the log");
    let other = bed.user(&"other ".repeat(300));
    assert_eq!(bed.prepare().map(|record| record.outcome.clone()), Some(Outcome::Applied { of: made }));
    bed.session.undo(made).expect("it is a compaction");
    let whole = [ids, vec![other]].concat();
    assert_eq!((bed.in_view(), bed.session.compactions()), (whole.clone(), &[][..]));

    bed.session.move_to(Some(one)).expect("it is in the log");
    assert_eq!((bed.shown(), bed.session.compactions()), (first, &[made][..]));

    // Where it was taken back it is not put to use again by itself, until a person says so.
    bed.session.move_to(Some(other)).expect("it is in the log");
    assert_eq!(bed.in_view(), whole);
    assert_eq!(bed.prepare().map(|record| word(&record)), Some("compacted"));
}

#[test]
fn what_was_cut_out_of_another_paths_message_is_not_told_here() {
    let (mut bed, ids) = nearly_due(Maker::new("default", WINDOW).no_model());
    let around = "and so on. ".repeat(3_000);
    let giant = bed.user(&format!("{around}\nsee src/of_that_path_alone.rs\n{around}"));
    assert_eq!(bed.prepare().map(|record| word(&record)), Some("compacted"));
    let made = bed.session.log().compaction(bed.session.compactions()[0]).expect("it was made");
    assert!(made.forms.iter().any(|(id, _)| *id == giant), "it stays cut: {:?}", made.forms);
    assert!(bed.shown().join("\n").contains("src/of_that_path_alone.rs"), "{:?}", bed.shown());

    bed.session.move_to(ids.last().copied()).expect("it is in the log");
    bed.user(&"something else. ".repeat(200));
    assert_eq!(bed.prepare().map(|record| word(&record)), Some("compacted"));
    assert!(!bed.shown().join("\n").contains("src/of_that_path_alone.rs"));
}

/// A session that prunes after each round of tools, with one round too many behind it.
fn pruned() -> (Bed, EntryId, Vec<String>) {
    let mut bed = Maker::new("default", 10 * WINDOW)
        .no_model()
        .set(|settings| settings.prune.when = PruneWhen::ToolRound)
        .set(|settings| settings.prune.protect = Some("3000".parse().expect("a threshold")))
        .bed();
    bed.user("read it all");
    let mut last = EntryId(0);
    for number in 0..6 {
        let result = bed.filler(1_500);
        last = bed.exchange("read", &format!(r#"{{"path":"src/{number}.rs"}}"#), &result).1;
    }
    let shown = bed.shown();
    (bed, last, shown)
}

#[test]
fn an_edit_holds_on_each_path_through_what_it_edits() {
    let (mut bed, last, whole) = pruned();
    let record = bed.prepare().expect("there is something to prune");
    let edited = bed.shown();
    assert_eq!(word(&record), "pruned");
    let edit = bed.session.log().edits().next().expect("one was made");
    let newest = bed.session.log().parent(edit).expect("it is anchored at what it edits");
    let is_edited = bed.session.context().message_slots().rev().find(|(_, form, _)| *form != Form::WHOLE);
    assert_eq!(is_edited.map(|(id, ..)| id), Some(newest));

    // What a prefix looks like follows from the prefix: the same on a path that goes on otherwise.
    let parent = bed.session.log().parent(last).expect("it answers a call");
    bed.session.move_to(bed.session.log().parent(parent)).expect("it is in the log");
    let shared = edited.len() - 2;
    assert_eq!(bed.shown(), edited[..shared]);
    let result = bed.filler(1_500);
    bed.exchange("read", r#"{"path":"src/other.rs"}"#, &result);
    let marks = bed.session.log().len();
    assert!(bed.prepare().is_none(), "there is nothing left to prune");
    assert_eq!(bed.session.log().len(), marks, "and nothing to be applied");

    // Taken back here, it still holds there.
    bed.session.undo(edit).expect("it is an edit");
    assert_eq!(bed.shown()[..shared], whole[..shared]);
    bed.session.move_to(Some(last)).expect("it is in the log");
    assert_eq!(bed.shown(), edited);

    // A path that parts before the newest of what it edits sees everything whole.
    bed.session.move_to(bed.session.log().parent(newest)).expect("it is in the log");
    assert_eq!(bed.shown(), whole[..bed.shown().len()]);
}
