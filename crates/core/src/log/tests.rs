//! What a log takes, refuses, and finds again.

use super::{Entry, Log, LogError};
use crate::mark::Mark;
use crate::{Author, Block, Call, CallId, Compaction, EntryId, Message, ResultPart, Role, Tail, ToolResult};

fn note() -> Entry {
    Entry::Note { kind: "label".into() }
}

fn said(log: &mut Log, role: Role, blocks: Vec<Block>) -> EntryId {
    let author = if role == Role::User { Author::Person } else { Author::Model };
    log.push(Entry::Message(super::Item::of(&Message { role, author, blocks })))
}

fn exchange(log: &mut Log) -> (EntryId, EntryId) {
    let id = CallId::from("c");
    let call = Call { id: id.clone(), name: "read".into(), input: "{}".into(), freeform: false };
    let parts = vec![ResultPart::Text { text: "ok".into() }];
    let call = said(log, Role::Assistant, vec![Block::Call(call)]);
    (call, said(log, Role::Tool, vec![Block::Result(ToolResult { call: id, parts, is_error: false })]))
}

fn compaction(front: Vec<EntryId>, anchor: EntryId) -> Mark {
    let compaction =
        Compaction { front, tail: Tail::After { anchor, kept: Vec::new() }, ..Compaction::default() };
    Mark::compaction(compaction)
}

#[test]
fn a_path_runs_from_its_root_to_its_leaf_and_past_no_mark() {
    let mut log = Log::default();
    let root = log.push(note());
    let left = log.append(Some(root), note()).expect("the root is there");
    let mark = log.mark(Some(left), Mark::Label { text: "a".into() }).expect("the anchor is there");
    let right = log.append(Some(root), note()).expect("the root is there");
    assert_eq!((log.path(left), log.path(mark)), (vec![root, left], vec![root, left]));
    assert_eq!(log.path(right), [root, right]);
    assert_eq!((log.marks_on(&[root, left]), log.marks_on(&[root, right])), (vec![mark], vec![]));
}

#[test]
fn a_parent_must_be_a_path_entry_that_is_there_first() {
    let mut log = Log::default();
    let refused = log.append(Some(EntryId(7)), note());
    assert_eq!(refused, Err(LogError::UnknownParent { id: EntryId(0), parent: EntryId(7) }));
    let mark = log.mark(None, Mark::Label { text: "a".into() }).expect("an empty log can be labelled");
    assert_eq!(log.append(Some(mark), note()), Err(LogError::UnknownParent { id: EntryId(1), parent: mark }));
}

#[test]
fn only_a_compaction_or_an_edit_can_be_undone() {
    let mut log = Log::default();
    let first = said(&mut log, Role::User, vec![Block::text("a")]);
    let (call, _) = exchange(&mut log);
    let newest = log.newest();
    for of in [first, call, EntryId(99)] {
        let refused = log.mark(newest, Mark::Undo { of });
        assert_eq!(refused, Err(LogError::NotAPass { what: "an undo", id: of }));
    }
    let made = log.mark(newest, compaction(vec![], first)).expect("it covers a whole message");
    assert!(log.mark(newest, Mark::Undo { of: made }).is_ok());
}

#[test]
fn an_answer_that_comes_when_its_call_has_left_view_stands_in_the_way_of_no_compaction() {
    for is_recorded in [false, true] {
        let mut log = Log::default();
        let id = CallId::from("c");
        let call = Call { id: id.clone(), name: "read".into(), input: "{}".into(), freeform: false };
        let call = said(&mut log, Role::Assistant, vec![Block::Call(call)]);
        let next = said(&mut log, Role::User, vec![Block::text("never mind")]);
        if is_recorded {
            log.push(Entry::Recorded(Box::default()));
        } else {
            log.mark(Some(next), compaction(vec![], call)).expect("no answer has come yet");
        }
        let parts = vec![ResultPart::Text { text: "ok".into() }];
        let result = Block::Result(ToolResult { call: id, parts, is_error: false });
        let late = said(&mut log, Role::Tool, vec![result]);
        assert!(log.mark(Some(late), compaction(vec![], next)).is_ok());
    }
}

#[test]
fn a_compaction_is_refused_that_splits_repeats_or_leaves_the_path() {
    let mut log = Log::default();
    let first = said(&mut log, Role::User, vec![Block::text("a")]);
    let (call, answer) = exchange(&mut log);
    let newest = log.newest();
    let mut refusal = |mark| log.mark(newest, mark).expect_err("it is refused");
    assert_eq!(refusal(compaction(vec![], call)), LogError::SplitExchange { call, answer });
    assert_eq!(refusal(compaction(vec![answer], answer)), LogError::SplitExchange { call, answer });
    assert_eq!(refusal(compaction(vec![first, first], answer)), LogError::Disorder { id: first });
    let unknown = LogError::NotOnPath { what: "a compaction", id: EntryId(9) };
    assert_eq!(refusal(compaction(vec![], EntryId(9))), unknown);
}
