//! Reading a file of ours: the original by its own reader, then what was added, below each leaf.

use super::added::{self, Added};
use super::header::Layout;
use crate::jsonl::Problems;
use crate::{
    ByteSource, Conversation, Fixed, Format, Originals, Place, Problem, ReadError, RecordedReply, Span,
    Transcript,
};
use epitome_core::{Author, Compaction, Entry, EntryId, Log, Measure, Message, Role, Tail};
use std::sync::Arc;

/// Reads a file of ours; `inner` reads the original inside, in the format it is said to have.
pub fn read(
    source: Arc<dyn ByteSource>,
    measure: &dyn Measure,
    inner: impl Fn(Arc<dyn ByteSource>, Format, &dyn Measure) -> Result<Transcript, ReadError>,
) -> Result<Transcript, ReadError> {
    let layout = Layout::of(&*source)?;
    let mut transcript = match layout.is_born_native() {
        true => born(&source, layout.header.conversations),
        false => inner(Arc::new(layout.original(source.clone())), layout.header.from, measure)?,
    };
    transcript.format = Format::Native;
    transcript.problems.extend(differing_count(&transcript, &layout));
    let is_born_native = layout.is_born_native();
    let mut growth = Growth { transcript, measure, is_born_native, problems: Problems::default() };
    let problem = added::each(&source, &layout, |span, added| growth.take(span, added))?;
    let Growth { mut transcript, problems, .. } = growth;
    transcript.problems.extend(problems.told().into_iter().chain(problem));
    Ok(transcript)
}

/// A transcript of empty conversations, to be filled from lines alone.
fn born(source: &Arc<dyn ByteSource>, count: usize) -> Transcript {
    let conversation = || Conversation {
        log: Log::default(),
        leaf: None,
        fixed: Fixed::default(),
        replies: Vec::new(),
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
    let added: Added = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    added.message.ok_or_else(|| "its line holds no message".to_owned())
}

fn differing_count(transcript: &Transcript, layout: &Layout) -> Option<Problem> {
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
    fn take(&mut self, span: Span, added: Added) {
        let Some(conversation) = self.transcript.conversations.get_mut(added.conversation) else {
            let what =
                format!("something was added to conversation {}, which is not there", added.conversation);
            return self.problems.add_overall(what);
        };
        if let Some(fixed) = added.fixed {
            conversation.fixed = fixed;
        }
        let Some(entry) = added.entry else { return };
        match (entry, added.message) {
            (Entry::Message(_), Some(message)) => {
                // Counted anew: the file may have been written with another model's counter.
                let id = push(conversation, Entry::Message(self.measure.weigh(&message)));
                conversation.replies.extend(reply_of(id, &message));
                let place = if self.is_born_native { in_line(span) } else { Place::Held(message.into()) };
                conversation.originals.put(id, place);
            }
            (Entry::Message(_), None) => {
                let id = push(conversation, Entry::Note { kind: "message without text".into() });
                let what = format!("the message of added entry {id} is missing; a note stands in its place");
                self.problems.add_overall(what);
            }
            (
                entry @ (Entry::Compaction(_) | Entry::Edit(_) | Entry::Undo { .. } | Entry::Note { .. }),
                _,
            ) => self.take_pass(added.conversation, entry),
        }
    }

    /// Takes up something that names earlier entries, which must be there.
    fn take_pass(&mut self, number: usize, mut entry: Entry) {
        let conversation = &mut self.transcript.conversations[number];
        if let Some(unknown) = named(&entry).into_iter().find(|id| id.index() >= conversation.log.len()) {
            let id = push(conversation, Entry::Note { kind: "names what is not there".into() });
            let what = format!("added entry {id} names {unknown}, which is not before it; it is passed over");
            return self.problems.add_overall(what);
        }
        if let Entry::Compaction(compaction) = &mut entry
            && let Some(summary) = &mut compaction.summary
        {
            summary.tokens = self.measure.text(&summary.text) + self.measure.framing();
        }
        push(conversation, entry);
    }
}

/// The entries that an entry names.
fn named(entry: &Entry) -> Vec<EntryId> {
    match entry {
        Entry::Compaction(compaction) => named_by_compaction(compaction),
        Entry::Edit(edit) => edit.forms.iter().map(|(id, _)| *id).collect(),
        Entry::Undo { of } => vec![*of],
        Entry::Message(_) | Entry::Note { .. } => Vec::new(),
    }
}

fn named_by_compaction(compaction: &Compaction) -> Vec<EntryId> {
    let mut ids = compaction.before.clone();
    ids.extend(compaction.forms.iter().map(|(id, _)| *id));
    match &compaction.tail {
        Tail::Nothing => {}
        Tail::From(first) => ids.push(*first),
        Tail::These(these) => ids.extend(these),
    }
    ids
}

fn push(conversation: &mut Conversation, entry: Entry) -> EntryId {
    let parent = conversation.leaf;
    let id = conversation.log.append(parent, entry).expect("the leaf is in its own log");
    conversation.leaf = Some(id);
    if conversation.names.len() == id.index() {
        conversation.names.push(None);
    }
    id
}

fn in_line(span: Span) -> Place {
    Place::Spans { spans: Box::new([span]), part: 0 }
}

fn reply_of(entry: EntryId, message: &Message) -> Option<RecordedReply> {
    let is_reply = message.role == Role::Assistant && message.author == Author::Model;
    is_reply.then_some(RecordedReply { entry, model: None, usage: None })
}
