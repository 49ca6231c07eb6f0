//! The lines of what was added: entries, each with its message and the record of its making.

use super::header::Layout;
use crate::{ByteSource, Fixed, Lines, Problem, ReadError, Slice, Span};
use epitome_core::{Entry, Message};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// One line of what was added.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Added {
    /// The conversation it belongs to.
    pub conversation: usize,
    /// Which pass of compaction left it, counted from 1; older files do not say.
    #[serde(default)]
    pub pass: Option<u64>,
    /// An entry below that conversation's leaf.
    #[serde(default)]
    pub entry: Option<Entry>,
    /// What was said, where the entry is a message.
    #[serde(default)]
    pub message: Option<Message>,
    /// What is kept of how the entry came about.
    #[serde(default)]
    pub record: Option<Value>,
    /// What is sent before the history from here on.
    #[serde(default)]
    pub fixed: Option<Fixed>,
}

#[derive(Serialize)]
struct EntryLine<'a> {
    conversation: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pass: Option<u64>,
    entry: &'a Entry,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a Message>,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<&'a Value>,
}

#[derive(Serialize)]
struct FixedLine<'a> {
    conversation: usize,
    fixed: &'a Fixed,
}

/// The line of an added entry, newline included.
pub fn entry_line(
    conversation: usize,
    entry: &Entry,
    message: Option<&Message>,
    record: Option<&Value>,
) -> Vec<u8> {
    line(&EntryLine { conversation, pass: None, entry, message, record })
}

/// The line of an entry that a pass of compaction left, newline included; [`next_pass`] numbers passes.
pub fn pass_line(pass: u64, conversation: usize, entry: &Entry, record: Option<&Value>) -> Vec<u8> {
    line(&EntryLine { conversation, pass: Some(pass), entry, message: None, record })
}

/// The line that says what is sent before the history, newline included; for sessions born here.
pub fn fixed_line(conversation: usize, fixed: &Fixed) -> Vec<u8> {
    line(&FixedLine { conversation, fixed })
}

fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("entries and messages are always JSON");
    line.push(b'\n');
    line
}

/// Everything that was added, in order; a line cut off at the end is not among it.
pub fn added(source: Arc<dyn ByteSource>) -> Result<Vec<Added>, ReadError> {
    let layout = Layout::of(&*source)?;
    let mut all = Vec::new();
    each(&source, &layout, |_, added| all.push(added))?;
    Ok(all)
}

/// The number of the next pass over a file of ours.
pub fn next_pass(source: Arc<dyn ByteSource>) -> Result<u64, ReadError> {
    let layout = Layout::of(&*source)?;
    let mut last = 0;
    each(&source, &layout, |_, added| last = last.max(added.pass.unwrap_or_default()))?;
    Ok(last.saturating_add(1))
}

/// Hands out each added line with where it stands in the file; a problem where they end badly.
pub(super) fn each(
    source: &Arc<dyn ByteSource>,
    layout: &Layout,
    mut take: impl FnMut(Span, Added),
) -> Result<Option<Problem>, ReadError> {
    let start = layout.added_start();
    let window = Slice::new(source.clone(), start, source.len().saturating_sub(start));
    let mut lines = Lines::of(&window);
    while let Some(line) = lines.next()? {
        match serde_json::from_slice(line.bytes) {
            Ok(added) => take(Span { offset: start + line.span.offset, len: line.span.len }, added),
            Err(_) if line.bytes.is_empty() => {}
            Err(_) if !line.is_ended => return Ok(Some(cut_off(line.number))),
            Err(error) => return Ok(Some(unreadable(line.number, &error))),
        }
    }
    Ok(None)
}

fn cut_off(number: u64) -> Problem {
    Problem { line: None, what: format!("added entry {number} is cut off and was left out") }
}

/// Later entries name earlier ones by their place, so after a gap they would name the wrong ones.
fn unreadable(number: u64, error: &serde_json::Error) -> Problem {
    let what = format!("added entry {number} cannot be read ({error}); it and all after it were left out");
    Problem { line: None, what }
}
