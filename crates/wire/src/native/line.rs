//! The lines of what was added: marks, messages, notes, each at its place in the tree.

use super::header::{FileLayout, is_native};
use super::mark::WrittenMark;
use super::v1::EntryV1;
use crate::jsonl::decoded;
use crate::{ByteSource, FixedParts, Lines, Problem, ReadError, Slice, Span};
use epitome_core::{EntryId, Mark, Message};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// One line of what was added, of any version.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct AddedLine {
    /// The conversation it belongs to.
    pub conversation: usize,
    /// Which pass of compaction left it, counted from 1; older files do not say.
    #[serde(default)]
    pub pass: Option<u64>,
    /// The parent of a message or note, the anchor of a mark; the end of the path where it is not said.
    #[serde(default)]
    pub at: Option<EntryId>,
    /// Whether it stands below nothing, though there are entries already: a path of its own from the first message on.
    #[serde(default)]
    pub root: bool,
    /// When it was said or decided, in milliseconds since 1970; files older than the field do not say.
    #[serde(default)]
    pub time_ms: Option<u64>,
    /// A mark.
    #[serde(default)]
    pub mark: Option<WrittenMark>,
    /// What was said.
    #[serde(default)]
    pub message: Option<Message>,
    /// Something of the path that is no part of the context.
    #[serde(default)]
    pub note: Option<Arc<str>>,
    /// Where the conversation has got to from here on.
    #[serde(default)]
    pub leaf: Option<EntryId>,
    /// What is sent before the history from here on.
    #[serde(default)]
    pub fixed: Option<FixedParts>,
    /// An entry as version 1 wrote it.
    #[serde(default)]
    pub(super) entry: Option<EntryV1>,
    /// Its record.
    #[serde(default)]
    pub(super) record: Option<Value>,
}

#[derive(Default, Serialize)]
struct NativeLine<'a> {
    conversation: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pass: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<EntryId>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    root: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<WrittenMark>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a Message>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    leaf: Option<EntryId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fixed: Option<&'a FixedParts>,
}

impl NativeLine<'_> {
    fn bytes(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).expect("marks and messages are always JSON");
        line.push(b'\n');
        line
    }
}

/// Where in the tree an entry was added, and when: what the line of any entry says beside the entry itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinePlace {
    /// The conversation it belongs to.
    pub conversation: usize,
    /// The parent of a message or note, the anchor of a mark.
    pub at: Option<EntryId>,
    /// When it was said or decided, in milliseconds since 1970, where that is known.
    pub time_ms: Option<u64>,
}

impl LinePlace {
    /// The line of a mark, newline included. Those of one pass share its number, which [`next_pass`] gives.
    pub fn mark(self, pass: u64, mark: &Mark) -> Vec<u8> {
        NativeLine { pass: Some(pass), mark: Some(mark.clone().into()), ..self.line() }.bytes()
    }

    /// The line of a message, newline included.
    pub fn message(self, message: &Message) -> Vec<u8> {
        NativeLine { message: Some(message), ..self.line() }.bytes()
    }

    /// The line of a message that stands below nothing, newline included: where others have begun a path already, it is
    /// the beginning of another.
    pub fn root(self, message: &Message) -> Vec<u8> {
        NativeLine { at: None, root: true, message: Some(message), ..self.line() }.bytes()
    }

    /// The line of a note, newline included: something of the path that is no part of the context, or what keeps the
    /// place of something taken out.
    pub fn note(self, note: &str) -> Vec<u8> {
        NativeLine { note: Some(note), ..self.line() }.bytes()
    }

    fn line<'a>(self) -> NativeLine<'a> {
        let Self { conversation, at, time_ms } = self;
        NativeLine { conversation, at, time_ms, ..NativeLine::default() }
    }
}

/// The line of a mark anchored `at` an entry, without a time; see [`LinePlace::mark`].
pub fn mark_line(pass: u64, conversation: usize, at: Option<EntryId>, mark: &Mark) -> Vec<u8> {
    LinePlace { conversation, at, time_ms: None }.mark(pass, mark)
}

/// The line of a message below `at`, without a time; see [`LinePlace::message`].
pub fn message_line(conversation: usize, at: Option<EntryId>, message: &Message) -> Vec<u8> {
    LinePlace { conversation, at, time_ms: None }.message(message)
}

/// The line of a note below `at`, without a time; see [`LinePlace::note`].
pub fn note_line(conversation: usize, at: Option<EntryId>, note: &str) -> Vec<u8> {
    LinePlace { conversation, at, time_ms: None }.note(note)
}

/// The line that moves a conversation to another leaf, newline included.
pub fn leaf_line(conversation: usize, leaf: EntryId) -> Vec<u8> {
    NativeLine { conversation, leaf: Some(leaf), ..NativeLine::default() }.bytes()
}

/// The line that says what is sent before the history, newline included; for sessions born here.
pub fn fixed_line(conversation: usize, fixed: &FixedParts) -> Vec<u8> {
    NativeLine { conversation, fixed: Some(fixed), ..NativeLine::default() }.bytes()
}

/// The number of the next pass over a file of ours.
pub fn next_pass(source: Arc<dyn ByteSource>) -> Result<u64, ReadError> {
    let layout = FileLayout::of(&*source)?;
    let mut last = 0;
    each(&source, &layout, |_, added| last = last.max(added.pass.unwrap_or_default()))?;
    Ok(last.saturating_add(1))
}

/// Hands out each added line with where it stands in the file; what had to be mended, and where they end badly.
pub(super) fn each(
    source: &Arc<dyn ByteSource>,
    layout: &FileLayout,
    mut take: impl FnMut(Span, AddedLine),
) -> Result<Vec<Problem>, ReadError> {
    let start = layout.added_start();
    let window = Slice::new(source.clone(), start, source.len().saturating_sub(start));
    let (mut lines, mut mended, mut end) = (Lines::of(&window), Vec::new(), None);
    while let Some(line) = lines.next()? {
        let text = decoded(line.bytes);
        if matches!(text, Cow::Owned(_)) {
            mended.push(line.number);
        }
        match serde_json::from_str(&text) {
            Ok(added) => take(Span { offset: start + line.span.offset, len: line.span.len }, added),
            Err(_) if line.bytes.is_empty() => {}
            Err(_) if is_native(line.bytes) => {
                end = Some(second_session(start + line.span.offset));
                break;
            }
            Err(_) if !line.is_ended => end = Some(cut_off(line.number)),
            Err(error) => {
                end = Some(unreadable(line.number, &error));
                break;
            }
        }
    }
    Ok(mended_entries(&mended).into_iter().chain(end).collect())
}

fn mended_entries(numbers: &[u64]) -> Option<Problem> {
    let mut what = format!("added entry {} holds what is no text, shown as \u{fffd}", numbers.first()?);
    if numbers.len() > 1 {
        what += &format!(" ({} such entries, this the first)", numbers.len());
    }
    Some(Problem { line: None, what })
}

fn cut_off(number: u64) -> Problem {
    Problem { line: None, what: format!("added entry {number} is cut off and was left out") }
}

/// Two sessions in one file would each name the other's entries.
fn second_session(offset: u64) -> Problem {
    let what = format!(
        "a second session begins at byte {offset}, and all from there was left out; cut the file in two there, and each part is a session"
    );
    Problem { line: None, what }
}

/// Later entries name earlier ones by their place, so after a gap they would name the wrong ones.
fn unreadable(number: u64, error: &serde_json::Error) -> Problem {
    let what = format!("added entry {number} cannot be read ({error}); it and all after it were left out");
    Problem { line: None, what }
}
