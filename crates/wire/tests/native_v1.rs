//! A file that the last release of version 1 wrote: the model sees of it today what it saw then.

use epitome_core::{Context, Entry, EntryId, Mark, Record, Tail, Tokens, ZeroMeasure};
use epitome_wire::encode::{self, RequestParts};
use epitome_wire::{ByteSource, Format, Protocol, Span, Transcript, native, read};
use serde_json::Value;
use std::sync::Arc;

/// One compaction by version 1 behind a body of fourteen exchanges.
const FILE: &[u8] = include_bytes!("native_v1/one.native");
/// The request that version 1 derived from it.
const REQUEST: &str = include_str!("native_v1/one.context.json");

fn transcript(file: &[u8]) -> Transcript {
    read(Arc::new(file.to_vec()), None, &ZeroMeasure).expect("the file is ours")
}

/// The messages of the request to Anthropic that the file comes to.
fn messages(file: &[u8]) -> Value {
    let transcript = transcript(file);
    let conversation = &transcript.conversations[0];
    let reader = conversation.reader(&ZeroMeasure);
    let context = Context::of(conversation.leaf, reader).expect("originals can be read");
    let shown = context.shown(reader).expect("originals can be read");
    let parts = RequestParts { model: Some("m"), max_tokens: Some(1), ..RequestParts::default() };
    let body = encode::body(Protocol::Anthropic, &parts, &shown).expect("a context can be encoded");
    messages_of(&body)
}

fn messages_of(body: &[u8]) -> Value {
    let mut body: Value = serde_json::from_slice(body).expect("a body is JSON");
    body["messages"].take()
}

#[test]
fn a_file_of_version_1_shows_what_it_showed() {
    assert_eq!(transcript(FILE).problems, []);
    assert_eq!(messages(FILE), messages_of(REQUEST.as_bytes()));
}

#[test]
fn a_file_of_version_1_with_a_header_of_today_shows_the_same() {
    let (mut file, start) = native::rewrap(&FILE.to_vec()).expect("the file is ours");
    file.extend_from_slice(&FILE[start as usize..]);
    assert_eq!(native::header(&file).expect("it was just written").version, native::VERSION);
    assert_eq!(messages(&file), messages_of(REQUEST.as_bytes()));
}

/// The compaction in the file, with its record.
fn compaction(transcript: &Transcript) -> &Mark {
    let marks = transcript.conversations[0].log.iter().filter_map(|(_, entry)| match entry {
        Entry::Mark(mark) => Some(mark),
        Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. } => None,
    });
    let marks: Vec<&Mark> = marks.collect();
    assert_eq!(marks.len(), 1);
    marks[0]
}

#[test]
fn the_record_of_version_1_is_kept() {
    let line = FILE.rsplit(|&byte| byte == b'\n').find(|line| !line.is_empty()).expect("a line was added");
    let written: Value = serde_json::from_slice(line).expect("it is JSON");
    let expected: Record = serde_json::from_value(written["record"].clone()).expect("its fields are today's");
    let Mark::Compaction { record, .. } = compaction(&transcript(FILE)).clone() else {
        panic!("the file holds a compaction")
    };
    assert_eq!(*record, expected);
    let change = record.change().expect("something was changed");
    assert_eq!((record.tokens_before, record.tokens_after), (Tokens(9982), Tokens(1906)));
    assert_eq!((change.superseded.len(), change.kept.len(), change.turns), (51, 5, 12));
}

/// What the compaction of a file shows in front of its summary and behind it.
fn front_and_tail(file: &[u8]) -> (Vec<EntryId>, Tail) {
    let Mark::Compaction { compaction, .. } = compaction(&transcript(file)).clone() else {
        panic!("the file holds a compaction")
    };
    (compaction.front, compaction.tail)
}

#[test]
fn a_compaction_of_version_1_belongs_to_the_prefix_it_covers() {
    let to_52 = || Tail::After { anchor: EntryId(52), kept: Vec::new() };
    assert_eq!(front_and_tail(FILE), (vec![EntryId(0), EntryId(52)], to_52()));
    let text = std::str::from_utf8(FILE).expect("the file is text");
    let without = text.replace(r#""before":["m0000","m0052"]"#, r#""before":["m0000"]"#);
    assert_eq!(front_and_tail(without.as_bytes()), (vec![EntryId(0)], to_52()));
}

#[test]
fn a_compaction_of_version_1_is_written_in_version_2_as_it_was() {
    let old = transcript(FILE);
    let original = native::original(Arc::new(FILE.to_vec())).expect("the file is ours");
    let bytes = original.slice(Span { offset: 0, len: original.len() as u32 }).expect("memory can be read");
    let mut file = native::wrap(Format::Body(Protocol::Anthropic), original.len(), 1);
    file.extend(bytes);
    file.push(b'\n');
    file.extend(native::mark_line(1, 0, old.conversations[0].leaf, compaction(&old)));
    assert_eq!(compaction(&transcript(&file)), compaction(&old));
    assert_eq!(messages(&file), messages_of(REQUEST.as_bytes()));
}
