//! A file is wrapped, grows, and comes back: the original exactly, the additions as they were made.

use super::{
    NativeUndo, fixed_line, leaf_line, mark_line, message_line, next_pass, original, read, rewrap, undo, wrap,
};
use crate::{
    ByteSource, Conversation, FixedParts, Format, OriginalPlace, Originals, Problem, ReadError, Span,
    Transcript,
};
use epitome_core::{
    Archive, Author, Compaction, Edit, Entry, EntryId, Form, Image, Item, Log, Mark, Measure, Message,
    Record, Role, SizeTable, Tail, Tokens,
};
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

struct Letters;

impl Measure for Letters {
    fn text(&self, text: &str) -> Tokens {
        Tokens(text.len() as u64)
    }
    fn image(&self, _image: &Image) -> Tokens {
        Tokens(1)
    }
    fn framing(&self) -> Tokens {
        Tokens::ZERO
    }
}

fn message(text: &str) -> Message {
    Message::text(Role::Assistant, Author::Model, text)
}

fn said(text: &str) -> Entry {
    Entry::Message(Item::of(&message(text)))
}

/// A compaction that covers the first message.
fn compaction(text: &str) -> Mark {
    let tail = Tail::After { anchor: EntryId(0), kept: Vec::new() };
    Mark::compaction(Compaction { summary: Some(text.into()), tail, ..Compaction::default() })
}

fn pruning() -> Mark {
    let edit = Edit { forms: vec![(EntryId(0), Form { results: true, ..Form::WHOLE })] };
    Mark::Edit { edit, record: Arc::default() }
}

fn mark(pass: u64, conversation: usize, mark: &Mark) -> Vec<u8> {
    mark_line(pass, conversation, Some(EntryId(0)), mark)
}

fn note(kind: &str) -> Entry {
    Entry::Note { kind: kind.into() }
}

/// Reads anything as one message per conversation, two conversations in all.
fn inner(
    source: Arc<dyn ByteSource>,
    format: Format,
    measure: &dyn Measure,
) -> Result<Transcript, ReadError> {
    let conversation = || {
        let mut log = Log::default();
        let mut originals = Originals::new(source.clone(), format);
        let mut sizes = SizeTable::default();
        let first = log.push(said("original"));
        sizes.set(first, measure.sizes(&message("original")));
        originals.put(first, OriginalPlace::Held(message("original").into()));
        let (leaf, fixed) = (log.newest(), FixedParts::default());
        Conversation {
            log,
            sizes,
            leaf,
            fixed,
            replies: Vec::new(),
            side_calls: Vec::new(),
            added_times: HashMap::new(),
            compactions: Vec::new(),
            originals,
            names: Vec::new(),
        }
    };
    Ok(Transcript { format, conversations: vec![conversation(), conversation()], problems: Vec::new() })
}

fn wrapped(bytes: &[u8], lines: &[Vec<u8>]) -> Vec<u8> {
    let mut file = wrap(Format::Opencode, bytes.len() as u64, 2);
    file.extend_from_slice(bytes);
    file.push(b'\n');
    file.extend(lines.concat());
    file
}

fn born(lines: &[Vec<u8>]) -> Vec<u8> {
    let mut file = wrap(Format::Native, 0, 1);
    file.push(b'\n');
    file.extend(lines.concat());
    file
}

fn read_back(file: Vec<u8>) -> Transcript {
    read(Arc::new(file), &Letters, inner).expect("the file is ours")
}

fn bytes_of(source: &dyn ByteSource) -> Vec<u8> {
    source.slice(Span { offset: 0, len: source.len() as u32 }).expect("memory can be read")
}

/// Everything in the log, marks included, in the order it was read.
fn entries(conversation: &Conversation) -> Vec<Entry> {
    conversation.log.iter().map(|(_, entry)| entry.clone()).collect()
}

/// The bytes after an undo, with how they came about.
fn undone(file: &[u8]) -> (&'static str, Vec<u8>) {
    match undo(Arc::new(file.to_vec())).expect("the file is ours") {
        NativeUndo::Nothing => ("nothing", Vec::new()),
        NativeUndo::Original(window) => ("original", bytes_of(&window)),
        NativeUndo::Shorter(window) => ("shorter", bytes_of(&window)),
        NativeUndo::Blanked { before, notes, after } => {
            ("blanked", [bytes_of(&before), notes, bytes_of(&after)].concat())
        }
    }
}

#[test]
fn additions_come_where_they_say_in_their_conversation() {
    let lines = [
        mark(1, 0, &compaction("so far")),
        mark(1, 1, &pruning()),
        message_line(0, Some(EntryId(0)), &message("and then")),
        mark_line(2, 0, Some(EntryId(2)), &Mark::Undo { of: EntryId(1) }),
        mark_line(2, 1, Some(EntryId(0)), &Mark::Label { text: "here".into() }),
    ];
    let transcript = read_back(wrapped(b"[1,\n2]", &lines));
    let undone = Entry::Mark(Mark::Undo { of: EntryId(1) });
    let first = [said("original"), Entry::Mark(compaction("so far")), said("and then"), undone];
    let label = Entry::Mark(Mark::Label { text: "here".into() });
    let second = [said("original"), Entry::Mark(pruning()), label];
    assert_eq!(transcript.format, Format::Native);
    assert_eq!(transcript.problems, []);
    assert_eq!(
        transcript.conversations.iter().map(entries).collect::<Vec<_>>(),
        [first.to_vec(), second.to_vec()]
    );
    let conversation = &transcript.conversations[0];
    assert_eq!(
        (conversation.leaf, conversation.log.path(EntryId(2))),
        (Some(EntryId(2)), vec![EntryId(0), EntryId(2)])
    );
    let anchors = [1, 3].map(|mark| conversation.log.parent(EntryId(mark)));
    assert_eq!(anchors, [Some(EntryId(0)), Some(EntryId(2))]);
    let told = conversation.originals.message(EntryId(2)).expect("it came with its line");
    assert_eq!(*told, message("and then"));
}

#[test]
fn every_mark_reads_back_as_it_was_written() {
    let of = EntryId(1);
    let judgement = epitome_core::Judgement { flag: epitome_core::Flag::Bad, notes: "lost the plan".into() };
    let usage = epitome_core::UsageMark {
        tokens: Tokens(9),
        counted: Tokens(8),
        prompt: Tokens(7),
        prompt_counted: Tokens(6),
        cache_read: Tokens(5),
        cache_write: Tokens(1),
        model: "opus".into(),
        is_estimated: true,
    };
    let marks = vec![
        compaction("so far"),
        Mark::Edit {
            edit: Edit::default(),
            record: Arc::new(Record { duration_ms: 7, ..Record::default() }),
        },
        Mark::Apply { of },
        Mark::Undo { of },
        Mark::Redo { of },
        Mark::Pin { of: EntryId(0) },
        Mark::Unpin { of: EntryId(0) },
        Mark::Label { text: "here".into() },
        Mark::Judgement { of, judgement },
        Mark::Usage(usage),
        Mark::Failure,
        Mark::Floor { tokens: Tokens(3) },
        Mark::Refill,
        Mark::Hold { why: "look".into() },
        Mark::Reset,
        Mark::Request { is_open: true },
        Mark::Observation {
            record: Arc::new(Record { duration_ms: 8, ..Record::default() }),
            saved: Tokens(4),
        },
    ];
    let lines: Vec<Vec<u8>> = marks.iter().map(|one| mark(1, 0, one)).collect();
    let transcript = read_back(wrapped(b"x", &lines));
    assert_eq!(transcript.problems, []);
    let expected: Vec<Entry> =
        [said("original")].into_iter().chain(marks.into_iter().map(Entry::Mark)).collect();
    assert_eq!(entries(&transcript.conversations[0]), expected);
}

#[test]
fn a_conversation_can_be_moved_to_another_leaf() {
    let lines = [message_line(0, Some(EntryId(0)), &message("on")), leaf_line(0, EntryId(0))];
    assert_eq!(read_back(wrapped(b"x", &lines)).conversations[0].leaf, Some(EntryId(0)));
}

#[test]
fn a_conversation_is_moved_to_any_entry_of_a_path_and_to_nothing_else() {
    let moved = |to| {
        let lines = [
            b"{\"conversation\":0,\"note\":\"model change\"}\n".to_vec(),
            message_line(0, None, &message("on")),
            mark(1, 0, &Mark::Reset),
            leaf_line(0, EntryId(to)),
        ];
        let transcript = read_back(wrapped(b"x", &lines));
        let problems: Vec<String> = transcript.problems.into_iter().map(|problem| problem.what).collect();
        (transcript.conversations[0].leaf, problems)
    };
    let astray = |to| {
        format!("conversation 0 is moved to {to}, which is no entry of a path; it goes on from where it was")
    };
    assert_eq!(moved(1), (Some(EntryId(1)), vec![]));
    assert_eq!(moved(3), (Some(EntryId(2)), vec![astray("m0003")]));
    assert_eq!(moved(9), (Some(EntryId(2)), vec![astray("m0009")]));
}

#[test]
fn a_session_born_here_needs_no_original() {
    let fixed = FixedParts { system: vec!["be brief".into()], ..FixedParts::default() };
    let lines = [fixed_line(0, &fixed), message_line(0, None, &message("hello"))];
    let transcript = read_back(born(&lines));
    let conversation = &transcript.conversations[0];
    assert_eq!((&conversation.fixed, entries(conversation)), (&fixed, vec![said("hello")]));
    assert_eq!(conversation.replies.len(), 1);
    assert!(conversation.originals.spans(EntryId(0)).is_some(), "what was said stays in the file");
    assert_eq!(*conversation.originals.message(EntryId(0)).expect("its line is there"), message("hello"));
}

#[test]
fn a_last_line_cut_off_is_survived() {
    let mut file = wrapped(b"x", &[mark(1, 0, &pruning()), message_line(0, None, &message("b"))]);
    file.truncate(file.len() - 9);
    let transcript = read_back(file);
    let what = "added entry 2 is cut off and was left out".to_owned();
    assert_eq!(transcript.problems, [Problem { line: None, what }]);
    assert_eq!(entries(&transcript.conversations[0]), [said("original"), Entry::Mark(pruning())]);
}

#[test]
fn nothing_is_read_past_a_broken_line() {
    let broken = b"{\"conversation\":0,\n".to_vec();
    let transcript = read_back(wrapped(b"x", &[broken, mark(1, 0, &pruning())]));
    assert_eq!(transcript.problems.len(), 1);
    assert_eq!(entries(&transcript.conversations[0]), [said("original")]);
}

#[test]
fn additions_that_fit_nowhere_are_problems() {
    let lines = [mark(1, 7, &pruning()), message_line(0, Some(EntryId(9)), &message("a"))];
    let transcript = read_back(wrapped(b"x", &lines));
    let whats: Vec<&str> = transcript.problems.iter().map(|problem| problem.what.as_str()).collect();
    let astray = "entry m0001 names m0009 as its parent, which is no entry of a path; append the parent first; it goes on from the leaf";
    assert_eq!(whats, ["something was added to conversation 7, which is not there", astray]);
}

#[test]
fn a_mark_that_is_not_sound_is_passed_over_and_keeps_its_place() {
    let lines = [mark(1, 0, &Mark::Undo { of: EntryId(0) }), mark(1, 0, &compaction("so far"))];
    let transcript = read_back(wrapped(b"x", &lines));
    let expected = [said("original"), note("an unsound mark"), Entry::Mark(compaction("so far"))];
    assert_eq!(entries(&transcript.conversations[0]), expected);
    let what =
        "added entry m0001 is passed over: an undo names m0000, which is no compaction or edit".to_owned();
    assert_eq!(transcript.problems, [Problem { line: None, what }]);
}

#[test]
fn a_header_that_promises_too_much_is_told() {
    let transcript = read_back(wrap(Format::Native, 0, usize::MAX));
    assert_eq!((transcript.conversations.len(), transcript.problems.len()), (4096, 1));
}

#[test]
fn undoing_the_only_pass_gives_the_original_back() {
    let lines = [mark(1, 0, &compaction("a")), mark(1, 1, &compaction("b"))];
    assert_eq!(undone(&wrapped(b"the\noriginal", &lines)), ("original", b"the\noriginal".to_vec()));
}

#[test]
fn undoing_takes_back_one_pass_whichever_conversations_it_touched() {
    let once = wrapped(b"x", &[mark(1, 0, &compaction("a"))]);
    let second = [mark(2, 1, &pruning()), mark(2, 1, &compaction("b"))];
    assert_eq!(undone(&[once.clone(), second.concat()].concat()), ("shorter", once));
}

#[test]
fn undoing_takes_back_what_a_pass_pinned_or_noted_beside_its_compaction() {
    let pin = Mark::Pin { of: EntryId(0) };
    let pinned_before = wrapped(b"x", &[mark(1, 0, &pin)]);
    let pass = [mark(2, 0, &pin), mark(2, 0, &compaction("so far")), mark(2, 0, &Mark::Failure)];
    assert_eq!(undone(&[pinned_before.clone(), pass.concat()].concat()), ("shorter", pinned_before));
    assert_eq!(undone(&wrapped(b"x", &pass)), ("original", b"x".to_vec()));
}

#[test]
fn passes_are_numbered_on_from_the_last() {
    let next = |lines: &[Vec<u8>]| next_pass(Arc::new(wrapped(b"x", lines))).expect("the file is ours");
    assert_eq!(next(&[]), 1);
    assert_eq!(next(&[mark(4, 0, &pruning()), message_line(0, None, &message("a"))]), 5);
}

#[test]
fn undoing_loses_no_message_that_came_after() {
    let later = message_line(0, Some(EntryId(0)), &message("later"));
    let file = wrapped(b"x", &[mark(1, 0, &compaction("a")), later.clone()]);
    let blank = b"{\"conversation\":0,\"note\":\"undone\"}\n".to_vec();
    assert_eq!(undone(&file), ("blanked", wrapped(b"x", &[blank, later])));
}

#[test]
fn without_a_pass_there_is_nothing_to_undo() {
    assert_eq!(undone(&wrapped(b"x", &[])).0, "nothing");
    let hello = message_line(0, None, &message("hello"));
    let file = born(&[hello.clone(), mark(1, 0, &pruning())]);
    assert_eq!(undone(&file), ("shorter", born(&[hello])));
}

/// Lines as version 1 wrote them.
const V1: &str = concat!(
    r#"{"conversation":0,"entry":{"entry":"message","role":"assistant","author":"model","sizes":{"text":1,"thinking":0,"calls":0,"results":0,"images":0,"opaque":0,"framing":0}},"message":{"role":"assistant","author":"model","blocks":[{"block":"text","text":"second"}]}}"#,
    "\n",
    r#"{"conversation":0,"pass":1,"entry":{"entry":"compaction","before":["m0000"],"summary":{"text":"so far","tokens":9},"tail":{"these":["m0001"]},"forms":[["m0001",{"thinking":true}]]},"record":{"outcome":"compacted"}}"#,
    "\n",
    r#"{"conversation":0,"pass":2,"entry":{"entry":"edit","forms":[["m0001",{"results":true}]]}}"#,
    "\n",
    r#"{"conversation":0,"entry":{"entry":"undo","of":"m0003"}}"#,
    "\n",
    r#"{"conversation":0,"entry":{"entry":"note","kind":"epitome.compaction-failed"}}"#,
    "\n",
    r#"{"conversation":0,"entry":{"entry":"note","kind":"label"}}"#,
    "\n",
);

#[test]
fn lines_of_version_1_are_read_as_what_they_are_today() {
    let file = wrapped(b"x", &[V1.as_bytes().to_vec()]);
    let transcript = read_back(file.clone());
    let forms = vec![(EntryId(1), Form { thinking: true, ..Form::WHOLE })];
    let tail = Tail::After { anchor: EntryId(0), kept: Vec::new() };
    let compaction = Compaction {
        front: vec![EntryId(0)],
        summary: Some("so far".into()),
        tail,
        forms,
        ..Compaction::default()
    };
    let edit = Edit { forms: vec![(EntryId(1), Form { results: true, ..Form::WHOLE })] };
    let expected = [
        said("original"),
        said("second"),
        Entry::Mark(Mark::compaction(compaction)),
        Entry::Mark(Mark::Edit { edit, record: Arc::default() }),
        Entry::Mark(Mark::Undo { of: EntryId(3) }),
        Entry::Mark(Mark::Failure),
        note("label"),
    ];
    assert_eq!(transcript.problems, []);
    assert_eq!(entries(&transcript.conversations[0]), expected);
    assert_eq!(next_pass(Arc::new(file)).expect("the file is ours"), 3);
}

#[test]
fn an_older_file_is_given_a_newer_header_around_the_same_bytes() {
    let older = b"{\"epitome\":\"native\",\"version\":1,\"from\":\"opencode\",\"original_bytes\":1,\"conversations\":2}\nx\n".to_vec();
    let (header, start) = rewrap(&older).expect("the file is ours");
    assert_eq!([header, older[start as usize..].to_vec()].concat(), wrapped(b"x", &[]));
}

proptest! {
    #[test]
    fn the_original_comes_back_exactly(bytes: Vec<u8>, texts in prop::collection::vec(".{0,9}", 0..5)) {
        let mut lines: Vec<Vec<u8>> = Vec::new();
        for (text, at) in texts.iter().zip(0..) {
            lines.push(message_line(0, Some(EntryId(at)), &message(text)));
            lines.push(mark(1, 1, &compaction(text)));
        }
        let file = wrapped(&bytes, &lines);
        let inside = original(Arc::new(file.clone())).expect("the file is ours");
        prop_assert_eq!(bytes_of(&inside), bytes);
        let mut told = vec![said("original")];
        told.extend(texts.iter().map(|text| said(text)));
        let mut compacted = vec![said("original")];
        compacted.extend(texts.iter().map(|text| Entry::Mark(compaction(text))));
        let transcript = read_back(file);
        prop_assert_eq!(transcript.conversations.iter().map(entries).collect::<Vec<_>>(), [told, compacted]);
    }
}
