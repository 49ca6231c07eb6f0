//! Taking a compaction out of a file of lines.

use super::{BoundaryMark, BoundaryUndo};
use crate::jsonl::{JsonText, JsonlObject, Problems, each_object, part_of};
use crate::{ByteSource, ReadError, Span};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::io;

/// The last compaction of a file.
pub(crate) struct LastCompaction {
    /// Its lines, in order.
    pub spans: Vec<Span>,
    /// Their ids, by which others hang off them.
    pub ids: Vec<String>,
    /// What it hangs off itself.
    pub follows: Option<String>,
    /// How long the file was before it, where it is ours.
    pub original_bytes: Option<u64>,
}

impl LastCompaction {
    /// One that is a line alone; `mark` is what we noted on it, where it is ours.
    pub(crate) fn on_line(
        line: JsonlObject<'_>,
        id: Option<&JsonText<'_>>,
        follows: Option<&JsonText<'_>>,
        mark: Option<&BoundaryMark>,
    ) -> Self {
        Self {
            spans: vec![line.span],
            ids: id.iter().map(|id| id.to_string()).collect(),
            follows: follows.map(|id| id.to_string()),
            original_bytes: mark.map(|mark| mark.original_bytes),
        }
    }
}

/// Reads a line: the compaction it is, if it is one.
pub(crate) type CompactionOn = fn(line: JsonlObject<'_>) -> serde_json::Result<Option<LastCompaction>>;

/// Finds the id of a record's parent, as it stands in the record.
pub(crate) type ParentOf = for<'a> fn(record: &'a str) -> Option<&'a RawValue>;

/// Bytes looked at behind a compaction to see whether anything follows; a line begins well before.
const LOOK_BYTES: usize = 4096;

/// How to take the last compaction out of `source`, where each is a line.
pub(crate) fn take_back_line(
    source: &dyn ByteSource,
    compaction_on: CompactionOn,
    parent_of: ParentOf,
) -> Result<BoundaryUndo, ReadError> {
    let mut last = None;
    each_object(source, &mut Problems::default(), |object, _| {
        last = compaction_on(object)?.or(last.take());
        Ok(())
    })?;
    take_back(source, last, parent_of)
}

/// How to take `found` out of `source`.
pub(crate) fn take_back(
    source: &dyn ByteSource,
    found: Option<LastCompaction>,
    parent_of: ParentOf,
) -> Result<BoundaryUndo, ReadError> {
    let Some(found) = found else { return Ok(BoundaryUndo::Nothing) };
    // A tool that rewrote the file has moved our lines, and what was noted holds no longer.
    if let (Some(original), Some(first), Some(last)) =
        (found.original_bytes, found.spans.first(), found.spans.last())
        && matches!(first.offset.checked_sub(original), Some(0 | 1))
        && is_end(source, last.offset + u64::from(last.len))?
    {
        return Ok(BoundaryUndo::Truncate(original));
    }
    let is_ours = found.original_bytes.is_some();
    let mut edits = removals(source, &found)?;
    edits.extend(new_parents(source, &found, parent_of)?);
    edits.sort_by_key(|edit| edit.offset);
    Ok(BoundaryUndo::Rewrite { bytes: rewrite(source, &edits)?, is_ours })
}

/// A run of bytes and what takes its place.
pub(super) struct ByteEdit {
    pub(super) offset: u64,
    pub(super) len: u64,
    pub(super) by: String,
}

fn is_end(source: &dyn ByteSource, offset: u64) -> Result<bool, ReadError> {
    let mut behind = [0; LOOK_BYTES];
    let got = source.read_at(offset, &mut behind).map_err(ReadError::Read)?;
    Ok(behind[..got].trim_ascii().is_empty() && got < LOOK_BYTES)
}

/// The compaction's lines go, with the newline that ends each.
fn removals(source: &dyn ByteSource, found: &LastCompaction) -> Result<Vec<ByteEdit>, ReadError> {
    let mut edits = Vec::new();
    for span in &found.spans {
        let mut next = [0];
        let end = span.offset + u64::from(span.len);
        let got = source.read_at(end, &mut next).map_err(ReadError::Read)?;
        let newline = u64::from(got == 1 && next == *b"\n");
        edits.push(ByteEdit { offset: span.offset, len: u64::from(span.len) + newline, by: String::new() });
    }
    Ok(edits)
}

/// What hung off the compaction hangs off what it followed.
fn new_parents(
    source: &dyn ByteSource,
    found: &LastCompaction,
    parent_of: ParentOf,
) -> Result<Vec<ByteEdit>, ReadError> {
    let by = serde_json::to_string(&found.follows).expect("a string is JSON");
    let mut edits = Vec::new();
    each_object(source, &mut Problems::default(), |object, _| {
        let hangs_off_it = |parent: &&RawValue| {
            serde_json::from_str::<Cow<'_, str>>(parent.get())
                .is_ok_and(|id| found.ids.iter().any(|ours| *ours == *id))
        };
        if !found.spans.contains(&object.span)
            && let Some(parent) = parent_of(object.text).filter(hangs_off_it)
        {
            let span = part_of(object, parent.get()).span;
            edits.push(ByteEdit { offset: span.offset, len: u64::from(span.len), by: by.clone() });
        }
        Ok(())
    })?;
    Ok(edits)
}

/// The bytes of `source` with edits made, which are in order.
pub(super) fn rewrite(source: &dyn ByteSource, edits: &[ByteEdit]) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::with_capacity(source.len() as usize);
    let mut at = 0;
    for edit in edits {
        copy(source, at, edit.offset, &mut bytes)?;
        bytes.extend_from_slice(edit.by.as_bytes());
        at = edit.offset + edit.len;
    }
    copy(source, at, source.len(), &mut bytes)?;
    Ok(bytes)
}

fn copy(source: &dyn ByteSource, from: u64, to: u64, bytes: &mut Vec<u8>) -> Result<(), ReadError> {
    let old = bytes.len();
    bytes.resize(old + to.saturating_sub(from) as usize, 0);
    let got = source.read_at(from, &mut bytes[old..]).map_err(ReadError::Read)?;
    if old + got < bytes.len() {
        let why = "the file is shorter than it was";
        return Err(ReadError::Read(io::Error::new(io::ErrorKind::UnexpectedEof, why)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{ByteEdit, rewrite};
    use crate::{ByteSource, ReadError};
    use std::io;

    /// A file that lost its end after its length was asked.
    struct Shrunk;

    impl ByteSource for Shrunk {
        fn len(&self) -> u64 {
            8
        }
        fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
            b"1234".to_vec().read_at(offset, into)
        }
    }

    #[test]
    fn a_file_that_shrinks_meanwhile_is_not_written_short() {
        let edits = [ByteEdit { offset: 1, len: 1, by: "x".into() }];
        let error = rewrite(&Shrunk, &edits).expect_err("half of it is gone");
        assert!(matches!(error, ReadError::Read(why) if why.kind() == io::ErrorKind::UnexpectedEof));
    }
}
