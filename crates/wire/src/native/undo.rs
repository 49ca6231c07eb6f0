//! Taking the last pass of compaction out of a file.

use super::header::FileLayout;
use super::line::{self, AddedLine, note_line};
use crate::{ByteSource, ReadError, Slice, Span};
use std::sync::Arc;

/// The file without its last pass.
#[derive(Debug)]
pub enum NativeUndo {
    /// There was no pass to take back.
    Nothing,
    /// Nothing else was added: the original itself.
    Original(Slice),
    /// The file up to the pass.
    Shorter(Slice),
    /// Messages came after the pass. Their ids are places in the log, so notes stand where the pass was:
    /// these three runs of bytes, one after the other.
    Blanked {
        /// Everything before the pass.
        before: Slice,
        /// A line for each entry of the pass.
        notes: Vec<u8>,
        /// Everything after it.
        after: Slice,
    },
}

/// The file behind `source` without its last pass: the newest compaction or pruning, and all that the same pass
/// left with it, pins included.
pub fn undo(source: Arc<dyn ByteSource>) -> Result<NativeUndo, ReadError> {
    let layout = FileLayout::of(&*source)?;
    let mut lines = Vec::new();
    line::each(&source, &layout, |span, added| lines.push(PlacedLine::of(span, &added)))?;
    let Some(newest) = lines.iter().rposition(|line| line.is_pass) else { return Ok(NativeUndo::Nothing) };
    let (mut first, mut last) = (newest, newest);
    while first > 0 && lines[first - 1].is_left_with(&lines[first]) {
        first -= 1;
    }
    while lines.get(last + 1).is_some_and(|line| line.is_left_with(&lines[last])) {
        last += 1;
    }
    let before = Slice::new(source.clone(), 0, lines[first].span.offset);
    Ok(match (first, last + 1 == lines.len()) {
        (0, true) if !layout.is_born_native() => NativeUndo::Original(layout.original(source)),
        (_, true) => NativeUndo::Shorter(before),
        (_, false) => {
            let notes = lines[first..=last].iter().flat_map(PlacedLine::note).collect();
            let rest = lines[last + 1].span.offset;
            NativeUndo::Blanked {
                before,
                notes,
                after: Slice::new(source.clone(), rest, source.len() - rest),
            }
        }
    })
}

/// An added line: where it stands, and whether a pass left it.
struct PlacedLine {
    span: Span,
    conversation: usize,
    pass: Option<u64>,
    is_pass: bool,
}

impl PlacedLine {
    fn of(span: Span, added: &AddedLine) -> Self {
        let is_pass = added.mark.as_ref().is_some_and(|mark| mark.is_pass())
            || added.entry.as_ref().is_some_and(|entry| entry.is_pass());
        Self { span, conversation: added.conversation, pass: added.pass, is_pass }
    }

    /// Whether one pass left this line and its neighbour. Where the file does not say, a lower conversation does:
    /// one pass takes the conversations in turn.
    fn is_left_with(&self, neighbour: &Self) -> bool {
        match (self.pass, neighbour.pass) {
            (None, None) => self.is_pass && neighbour.is_pass && self.conversation < neighbour.conversation,
            (Some(_), _) | (None, Some(_)) => self.pass == neighbour.pass,
        }
    }

    fn note(&self) -> Vec<u8> {
        note_line(self.conversation, None, "undone")
    }
}
