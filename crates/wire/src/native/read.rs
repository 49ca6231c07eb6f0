//! Reading a file of ours: the original by its own reader, then what was added, below each leaf.

use super::header::FileLayout;
use super::line::{self, AddedLine};
use super::v1::UpgradedEntry;
use crate::boundary::branch_messages;
use crate::jsonl::{Problems, decoded};
use crate::{
    ByteSource, Conversation, FixedParts, Format, OriginalPlace, Originals, Problem, ReadError,
    RecordedReply, Span, Transcript,
};
use epitome_core::{Author, Entry, EntryId, Log, Mark, Measure, MeasuredItem, Message, Role, SizeTable};
use std::collections::HashMap;
use std::sync::Arc;

/// Reads a file of ours; `inner` reads the original inside, in the format it is said to have.
pub fn read(
    source: Arc<dyn ByteSource>,
    measure: &dyn Measure,
    inner: impl Fn(Arc<dyn ByteSource>, Format, &dyn Measure) -> Result<Transcript, ReadError>,
) -> Result<Transcript, ReadError> {
    let layout = FileLayout::of(&*source)?;
    let mut transcript = match layout.is_born_native() {
        true => born(&source, layout.header.conversations),
        false => inner(Arc::new(layout.original(source.clone())), layout.header.from, measure)?,
    };
    transcript.format = Format::Native;
    transcript.problems.extend(differing_count(&transcript, &layout));
    let is_born_native = layout.is_born_native();
    let mut growth = Growth { transcript, measure, is_born_native, problems: Problems::default() };
    let ends = line::each(&source, &layout, |span, added| growth.take(span, added))?;
    let Growth { mut transcript, problems, .. } = growth;
    transcript.problems.extend(problems.told().into_iter().chain(ends));
    Ok(transcript)
}

/// A transcript of empty conversations, to be filled from lines alone.
fn born(source: &Arc<dyn ByteSource>, count: usize) -> Transcript {
    let conversation = || Conversation {
        log: Log::default(),
        sizes: SizeTable::default(),
        leaf: None,
        fixed: FixedParts::default(),
        replies: Vec::new(),
        side_calls: Vec::new(),
        added_times: HashMap::new(),
        compactions: Vec::new(),
        originals: Originals::new(source.clone(), Format::Native),
        names: Vec::new(),
    };
    let conversations = std::iter::repeat_with(conversation).take(count.min(BORN_MAX)).collect();
    Transcript { format: Format::Native, conversations, problems: Vec::new() }
}

/// A header may promise anything; a session of ours holds one conversation, and this is room for many.
const BORN_MAX: usize = 4096;

/// The message of an entry line.
pub(crate) fn decode(runs: &[Vec<u8>], _part: u32) -> Result<Message, String> {
    let line = runs.first().map_or(&[][..], Vec::as_slice);
    let added: AddedLine = serde_json::from_str(&decoded(line)).map_err(|error| error.to_string())?;
    added.message.ok_or_else(|| "its line holds no message".to_owned())
}

fn differing_count(transcript: &Transcript, layout: &FileLayout) -> Option<Problem> {
    let (said, found) = (layout.header.conversations, transcript.conversations.len());
    let what = format!("the header promises {said} conversations and the original holds {found}");
    (said != found).then_some(Problem { line: None, what })
}

/// A transcript that takes up what was added.
struct Growth<'m> {
    transcript: Transcript,
    measure: &'m dyn Measure,
    is_born_native: bool,
    problems: Problems,
}

impl Growth<'_> {
    fn take(&mut self, span: Span, added: AddedLine) {
        let number = added.conversation;
        let Some(conversation) = self.transcript.conversations.get_mut(number) else {
            let what = format!("something was added to conversation {number}, which is not there");
            return self.problems.add_overall(what);
        };
        if let Some(fixed) = added.fixed {
            conversation.fixed = fixed;
        }
        if let Some(leaf) = added.leaf {
            match conversation.log.get(leaf) {
                Some(Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. }) => {
                    conversation.leaf = Some(leaf)
                }
                Some(Entry::Mark(_)) | None => self.problems.add_overall(moved_astray(number, leaf)),
            }
        }
        let at = if added.root { None } else { added.at.or(conversation.leaf) };
        let (next, time_ms) = (EntryId(conversation.log.len() as u32), added.time_ms);
        let upgraded = added.entry.map(|entry| entry.upgrade(added.record, || branch_messages(conversation)));
        match (upgraded, added.mark, added.message, added.note) {
            (Some(UpgradedEntry::Mark(mark)), ..) => self.take_mark(number, at, *mark),
            (_, Some(mark), ..) => self.take_mark(number, at, mark.into()),
            (Some(UpgradedEntry::Message) | None, None, Some(message), _) => {
                self.take_message(number, at, message, span)
            }
            (Some(UpgradedEntry::Message), None, None, _) => self.take_nothing(number, at),
            (Some(UpgradedEntry::Note(kind)), ..) | (None, None, None, Some(kind)) => {
                self.take_entry(number, at, Entry::Note { kind });
            }
            (None, None, None, None) => {}
        }
        self.note_time(number, next, time_ms);
    }

    /// Keeps when the entry `id` was added, if the line that was just taken added it.
    fn note_time(&mut self, number: usize, id: EntryId, time_ms: Option<u64>) {
        let conversation = &mut self.transcript.conversations[number];
        if let Some(time_ms) = time_ms.filter(|_| conversation.log.get(id).is_some()) {
            conversation.added_times.insert(id, time_ms);
            let reply = conversation.replies.last_mut().filter(|reply| reply.entry == id);
            reply.into_iter().for_each(|reply| reply.time_ms = Some(time_ms));
        }
    }

    fn take_message(&mut self, number: usize, at: Option<EntryId>, message: Message, span: Span) {
        // Counted anew: the file may have been written with another model's counter.
        let MeasuredItem { item, sizes } = self.measure.weigh(&message);
        let id = self.take_entry(number, at, Entry::Message(item));
        let is_born_native = self.is_born_native;
        let conversation = &mut self.transcript.conversations[number];
        conversation.sizes.set(id, sizes);
        conversation.replies.extend(reply_of(id, &message));
        let place = if is_born_native { in_line(span) } else { OriginalPlace::Held(message.into()) };
        conversation.originals.put(id, place);
    }

    fn take_nothing(&mut self, number: usize, at: Option<EntryId>) {
        let id = self.take_entry(number, at, Entry::Note { kind: "message without text".into() });
        let what = format!("the message of added entry {id} is missing; a note stands in its place");
        self.problems.add_overall(what);
    }

    /// Takes up a path entry. One whose parent is not there goes on from the leaf, and that is said.
    fn take_entry(&mut self, number: usize, at: Option<EntryId>, entry: Entry) -> EntryId {
        let conversation = &mut self.transcript.conversations[number];
        let id = match conversation.log.append(at, entry.clone()) {
            Ok(id) => id,
            Err(error) => {
                self.problems.add_overall(format!("{error}; it goes on from the leaf"));
                conversation.log.append(conversation.leaf, entry).expect("the leaf is in its own log")
            }
        };
        conversation.leaf = Some(id);
        if conversation.names.len() == id.index() {
            conversation.names.push(None);
        }
        id
    }

    /// Takes up a mark; one that is not sound is passed over, and a note keeps its place.
    fn take_mark(&mut self, number: usize, at: Option<EntryId>, mark: Mark) {
        let conversation = &mut self.transcript.conversations[number];
        match conversation.log.mark(at, mark) {
            Ok(id) if conversation.names.len() == id.index() => conversation.names.push(None),
            Ok(_) => {}
            Err(error) => {
                let leaf = conversation.leaf;
                let id = self.take_entry(number, leaf, Entry::Note { kind: "an unsound mark".into() });
                self.problems.add_overall(format!("added entry {id} is passed over: {error}"));
            }
        }
    }
}

fn moved_astray(number: usize, leaf: EntryId) -> String {
    format!(
        "conversation {number} is moved to {leaf}, which is no entry of a path; it goes on from where it was"
    )
}

fn in_line(span: Span) -> OriginalPlace {
    OriginalPlace::Spans { spans: Box::new([span]), part: 0 }
}

fn reply_of(entry: EntryId, message: &Message) -> Option<RecordedReply> {
    let is_reply = message.role == Role::Assistant && message.author == Author::Model;
    is_reply.then_some(RecordedReply { entry, model: None, usage: None, time_ms: None, is_copied: false })
}
