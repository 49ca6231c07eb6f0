//! What a context shows: pins, edits, and what a transcript's own tool did.

use super::{Context, LogReader, Slot};
use crate::{
    Author, Block, Call, Compaction, Edit, Entry, EntryId, Form, Item, Log, Mark, MemoryArchive, Message,
    Role, SizeTable, Tail, ToolResult, ZeroMeasure,
};
use std::sync::Arc;

fn slots(log: &Log) -> Vec<Slot> {
    let (sizes, archive) = (SizeTable::default(), MemoryArchive::default());
    let reader = LogReader { log, sizes: &sizes, measure: &ZeroMeasure, archive: &archive };
    Context::of(log.newest(), reader).expect("no original is needed").slots().to_vec()
}

#[test]
fn a_result_that_comes_after_its_call_was_pinned_is_pinned_with_it() {
    let call = Call { id: "a".into(), name: "run".into(), input: "{}".into(), freeform: false };
    let result = ToolResult { call: "a".into(), parts: Vec::new(), is_error: false };
    let (mut log, sizes, archive) = (Log::default(), SizeTable::default(), MemoryArchive::default());
    let mut context = Context::default();
    let mut take = |log: &Log, id| {
        let reader = LogReader { log, sizes: &sizes, measure: &ZeroMeasure, archive: &archive };
        context.take(id, reader).expect("all is in memory");
        (context.pins().to_vec(), Context::of(log.newest(), reader).expect("it is").pins().to_vec())
    };
    let says = |role, author, block| Entry::Message(Item::of(&Message { role, author, blocks: vec![block] }));
    let made = log.push(says(Role::Assistant, Author::Model, Block::Call(call)));
    take(&log, made);
    let pin = log.mark(Some(made), Mark::Pin { of: made }).expect("it is on the path");
    assert_eq!(take(&log, pin), (vec![made], vec![made]));
    let answered = log.push(says(Role::Tool, Author::Tool, Block::Result(result)));
    assert_eq!(take(&log, answered), (vec![made, answered], vec![made, answered]));
}

fn summary(text: &str, tail: Tail) -> Compaction {
    Compaction { summary: Some(text.into()), tail, ..Compaction::default() }
}

#[test]
fn a_message_that_its_tool_shows_again_can_be_kept_by_ours() {
    let mut log = Log::default();
    let message = Item::of(&Message::text(Role::User, Author::Person, "go"));
    let [_, again, kept] = [(); 3].map(|()| log.push(Entry::Message(message.clone())));
    log.push(Entry::Recorded(Box::new(summary("a", Tail::Nothing))));
    log.push(Entry::Recorded(Box::new(summary("b", Tail::These(vec![again, kept])))));
    let ours = Mark::compaction(summary("c", Tail::After { anchor: again, kept: Vec::new() }));
    let id: EntryId = log.mark(log.newest(), ours).expect("it covers whole messages");
    assert_eq!(slots(&log), [Slot::Summary { id }, Slot::Message { id: kept, form: Form::WHOLE }]);
}

#[test]
fn what_was_edited_is_shown_so_behind_a_compaction_that_keeps_it() {
    let mut log = Log::default();
    let message = Item::of(&Message::text(Role::User, Author::Person, "go"));
    let [gone, kept, newest] = [(); 3].map(|()| log.push(Entry::Message(message.clone())));
    let form = Form { results: true, ..Form::WHOLE };
    let edit = Mark::Edit { edit: Edit { forms: vec![(kept, form)] }, record: Arc::default() };
    let edit = log.mark(log.newest(), edit).expect("it is in view");
    let context = |log: &Log| {
        let (sizes, archive) = (SizeTable::default(), MemoryArchive::default());
        for id in [kept, newest] {
            archive.put(id, Message::text(Role::User, Author::Person, "go"));
        }
        let reader = LogReader { log, sizes: &sizes, measure: &ZeroMeasure, archive: &archive };
        Context::of(log.newest(), reader).expect("all is in memory")
    };
    assert_eq!(context(&log).newest_edit(), Some(edit));
    let ours = Mark::compaction(summary("a", Tail::After { anchor: gone, kept: Vec::new() }));
    let id = log.mark(log.newest(), ours).expect("it covers whole messages");
    let shown = [
        Slot::Summary { id },
        Slot::Message { id: kept, form },
        Slot::Message { id: newest, form: Form::WHOLE },
    ];
    assert_eq!(context(&log).slots(), shown);
    assert_eq!((context(&log).newest_edit(), context(&log).anchor()), (Some(edit), Some(gone)));
}

#[test]
fn the_newest_that_a_transcripts_own_tool_hid_is_where_ours_may_begin() {
    let mut log = Log::default();
    let message = Item::of(&Message::text(Role::User, Author::Person, "go"));
    let [_, hidden, kept] = [(); 3].map(|()| log.push(Entry::Message(message.clone())));
    log.push(Entry::Recorded(Box::new(summary("a", Tail::From(kept)))));
    let (sizes, archive) = (SizeTable::default(), MemoryArchive::default());
    let reader = LogReader { log: &log, sizes: &sizes, measure: &ZeroMeasure, archive: &archive };
    let context = Context::of(log.newest(), reader).expect("no original is needed");
    assert_eq!(context.anchor(), Some(hidden));
}
