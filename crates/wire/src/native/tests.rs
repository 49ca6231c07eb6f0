//! A file is wrapped, grows, and comes back: the original exactly, the additions as they were made.

use super::{Undo, added, entry_line, fixed_line, next_pass, original, pass_line, read, undo, wrap};
use crate::{
    ByteSource, Conversation, Fixed, Format, Originals, Place, Problem, ReadError, Span, Transcript,
};
use epitome_core::{
    Archive, Author, Compaction, Edit, Entry, EntryId, Form, Image, Log, Measure, Message, Role, Summary,
    Tail, Tokens,
};
use proptest::prelude::*;
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
    Entry::Message(Letters.weigh(&message(text)))
}

fn compaction(text: &str) -> Entry {
    let summary = Some(Summary { text: text.into(), tokens: Tokens(text.len() as u64) });
    let tail = Tail::From(EntryId(0));
    Entry::Compaction(Box::new(Compaction { summary, tail, ..Compaction::default() }))
}

fn pruning() -> Entry {
    Entry::Edit(Edit { forms: vec![(EntryId(0), Form { results: true, ..Form::WHOLE })] })
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
        let first = log.push(Entry::Message(measure.weigh(&message("original"))));
        originals.put(first, Place::Held(message("original").into()));
        let (leaf, fixed) = (log.leaf(), Fixed::default());
        Conversation { log, leaf, fixed, replies: Vec::new(), originals, names: Vec::new() }
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

fn entries(conversation: &Conversation) -> Vec<Entry> {
    let branch = conversation.log.branch(conversation.leaf.expect("it is not empty"));
    branch.into_iter().filter_map(|id| conversation.log.get(id).cloned()).collect()
}

/// The bytes after an undo, with how they came about.
fn undone(file: &[u8]) -> (&'static str, Vec<u8>) {
    match undo(Arc::new(file.to_vec())).expect("the file is ours") {
        Undo::Nothing => ("nothing", Vec::new()),
        Undo::Original(window) => ("original", bytes_of(&window)),
        Undo::Shorter(window) => ("shorter", bytes_of(&window)),
        Undo::Blanked { before, notes, after } => {
            ("blanked", [bytes_of(&before), notes, bytes_of(&after)].concat())
        }
    }
}

#[test]
fn additions_come_below_the_leaf_of_their_conversation() {
    let lines = [
        entry_line(0, &compaction("so far"), None, Some(&serde_json::json!({"outcome": "done"}))),
        entry_line(1, &pruning(), None, None),
        entry_line(0, &said("and then"), Some(&message("and then")), None),
        entry_line(0, &Entry::Undo { of: EntryId(1) }, None, None),
        entry_line(1, &Entry::Note { kind: "label".into() }, None, None),
    ];
    let transcript = read_back(wrapped(b"[1,\n2]", &lines));
    let first = [said("original"), compaction("so far"), said("and then"), Entry::Undo { of: EntryId(1) }];
    let second = [said("original"), pruning(), Entry::Note { kind: "label".into() }];
    assert_eq!(transcript.format, Format::Native);
    assert_eq!(transcript.problems, []);
    assert_eq!(
        transcript.conversations.iter().map(entries).collect::<Vec<_>>(),
        [first.to_vec(), second.to_vec()]
    );
    let told = transcript.conversations[0].originals.message(EntryId(2)).expect("it came with its line");
    assert_eq!(*told, message("and then"));
}

#[test]
fn records_can_be_had_without_reading_the_original() {
    let record = serde_json::json!({"outcome": "done", "tokens_before": 9});
    let file = wrapped(b"anything", &[entry_line(1, &pruning(), None, Some(&record))]);
    let all = added(Arc::new(file)).expect("the file is ours");
    let found: Vec<_> = all.into_iter().map(|one| (one.conversation, one.entry, one.record)).collect();
    assert_eq!(found, [(1, Some(pruning()), Some(record))]);
}

#[test]
fn a_session_born_here_needs_no_original() {
    let fixed = Fixed { system: vec!["be brief".into()], ..Fixed::default() };
    let lines = [fixed_line(0, &fixed), entry_line(0, &said("hello"), Some(&message("hello")), None)];
    let transcript = read_back(born(&lines));
    let conversation = &transcript.conversations[0];
    assert_eq!((&conversation.fixed, entries(conversation)), (&fixed, vec![said("hello")]));
    assert_eq!(conversation.replies.len(), 1);
    assert!(conversation.originals.spans(EntryId(0)).is_some(), "what was said stays in the file");
    assert_eq!(*conversation.originals.message(EntryId(0)).expect("its line is there"), message("hello"));
}

#[test]
fn a_last_line_cut_off_is_survived() {
    let mut file =
        wrapped(b"x", &[entry_line(0, &pruning(), None, None), entry_line(0, &said("b"), None, None)]);
    file.truncate(file.len() - 9);
    let transcript = read_back(file);
    let what = "added entry 2 is cut off and was left out".to_owned();
    assert_eq!(transcript.problems, [Problem { line: None, what }]);
    assert_eq!(entries(&transcript.conversations[0]), [said("original"), pruning()]);
}

#[test]
fn nothing_is_read_past_a_broken_line() {
    let broken = b"{\"conversation\":0,\n".to_vec();
    let transcript = read_back(wrapped(b"x", &[broken, entry_line(0, &pruning(), None, None)]));
    assert_eq!(transcript.problems.len(), 1);
    assert_eq!(entries(&transcript.conversations[0]), [said("original")]);
}

#[test]
fn additions_that_fit_nowhere_are_problems() {
    let lines = [entry_line(7, &pruning(), None, None), entry_line(0, &said("a"), None, None)];
    let transcript = read_back(wrapped(b"x", &lines));
    let whats: Vec<&str> = transcript.problems.iter().map(|problem| problem.what.as_str()).collect();
    let missing = "the message of added entry m0001 is missing; a note stands in its place";
    assert_eq!(whats, ["something was added to conversation 7, which is not there", missing]);
}

#[test]
fn a_pass_that_names_what_is_not_there_is_passed_over() {
    let lines = [
        entry_line(0, &Entry::Undo { of: EntryId(9) }, None, None),
        entry_line(0, &compaction("so far"), None, None),
    ];
    let transcript = read_back(wrapped(b"x", &lines));
    let note = Entry::Note { kind: "names what is not there".into() };
    assert_eq!(entries(&transcript.conversations[0]), [said("original"), note, compaction("so far")]);
    let what = "added entry m0001 names m0009, which is not before it; it is passed over".to_owned();
    assert_eq!(transcript.problems, [Problem { line: None, what }]);
}

#[test]
fn a_summary_is_counted_anew() {
    let Entry::Compaction(mut made) = compaction("so far") else { return };
    made.summary = Some(Summary { text: "so far".into(), tokens: Tokens(u64::MAX) });
    let transcript = read_back(wrapped(b"x", &[entry_line(0, &Entry::Compaction(made), None, None)]));
    assert_eq!(entries(&transcript.conversations[0])[1], compaction("so far"));
}

#[test]
fn a_header_that_promises_too_much_is_told() {
    let transcript = read_back(wrap(Format::Native, 0, usize::MAX));
    assert_eq!((transcript.conversations.len(), transcript.problems.len()), (4096, 1));
}

#[test]
fn undoing_the_only_pass_gives_the_original_back() {
    let lines = [entry_line(0, &compaction("a"), None, None), entry_line(1, &compaction("b"), None, None)];
    assert_eq!(undone(&wrapped(b"the\noriginal", &lines)), ("original", b"the\noriginal".to_vec()));
}

#[test]
fn undoing_a_later_pass_leaves_the_earlier_ones() {
    let pass = [entry_line(0, &compaction("a"), None, None), entry_line(1, &compaction("b"), None, None)];
    let once = wrapped(b"x", &pass);
    assert_eq!(undone(&wrapped(b"x", &[pass.concat(), pass.concat()])), ("shorter", once.clone()));
    assert_eq!(undone(&[once.clone(), pass[0].clone()].concat()), ("shorter", once));
}

#[test]
fn undoing_takes_back_one_pass_whichever_conversations_it_touched() {
    let once = wrapped(b"x", &[pass_line(1, 0, &compaction("a"), None)]);
    let second = [pass_line(2, 1, &pruning(), None), pass_line(2, 1, &compaction("b"), None)];
    assert_eq!(undone(&[once.clone(), second.concat()].concat()), ("shorter", once));
}

#[test]
fn passes_are_numbered_on_from_the_last() {
    let next = |lines: &[Vec<u8>]| next_pass(Arc::new(wrapped(b"x", lines))).expect("the file is ours");
    assert_eq!(next(&[]), 1);
    let lines = [pass_line(4, 0, &pruning(), None), entry_line(0, &compaction("a"), None, None)];
    assert_eq!(next(&lines), 5);
}

#[test]
fn undoing_loses_no_message_that_came_after() {
    let later = entry_line(0, &said("later"), Some(&message("later")), None);
    let file = wrapped(b"x", &[entry_line(0, &compaction("a"), None, None), later.clone()]);
    let note = entry_line(0, &Entry::Note { kind: "undone".into() }, None, None);
    assert_eq!(undone(&file), ("blanked", wrapped(b"x", &[note, later])));
}

#[test]
fn without_a_pass_there_is_nothing_to_undo() {
    assert_eq!(undone(&wrapped(b"x", &[])).0, "nothing");
    let hello = entry_line(0, &said("hello"), Some(&message("hello")), None);
    let file = born(&[hello.clone(), entry_line(0, &pruning(), None, None)]);
    assert_eq!(undone(&file), ("shorter", born(&[hello])));
}

proptest! {
    #[test]
    fn the_original_comes_back_exactly(bytes: Vec<u8>, texts in prop::collection::vec(".{0,9}", 0..5)) {
        let mut lines: Vec<Vec<u8>> = Vec::new();
        for text in &texts {
            lines.push(entry_line(0, &said(text), Some(&message(text)), None));
            lines.push(entry_line(1, &compaction(text), None, None));
        }
        let file = wrapped(&bytes, &lines);
        let inside = original(Arc::new(file.clone())).expect("the file is ours");
        prop_assert_eq!(bytes_of(&inside), bytes);
        let mut told = vec![said("original")];
        told.extend(texts.iter().map(|text| said(text)));
        let mut compacted = vec![said("original")];
        compacted.extend(texts.iter().map(|text| compaction(text)));
        let transcript = read_back(file);
        prop_assert_eq!(transcript.conversations.iter().map(entries).collect::<Vec<_>>(), [told, compacted]);
    }
}
