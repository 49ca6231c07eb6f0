//! Telling formats apart by the beginning of a file.
//!
//! Only the first few megabytes are looked at, whatever the file's size: a line or a document whose
//! end lies beyond them is closed where it stops and judged by what is there. What a format looks like is
//! said in its module; [`FORMATS`] lists them all.

mod prefix;
mod sample;
#[cfg(test)]
mod tests;

pub(crate) use sample::{DetectSample, has_role};

use crate::document::{View, broken};
use crate::jsonl::decoded;
use crate::{ByteSource, FORMATS, Format, ReadError};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// How much of a file is looked at: more than any header, less than anyone waits for.
const WINDOW_BYTES: usize = 4 << 20;
/// How many values or lines are tried before giving up; formats show themselves in the first few.
const VALUES_MAX: usize = 64;

/// The format of a file. `head` is what the caller has already read of its beginning, possibly nothing.
pub fn detect(head: &[u8], source: &dyn ByteSource) -> Result<Format, ReadError> {
    let len = source.len().min(WINDOW_BYTES as u64) as usize;
    let window = if head.len() < len { Cow::Owned(beginning(source, len)?) } else { Cow::Borrowed(head) };
    let (text, fault) = prefix::text_of(&window);
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().is_empty() && fault.is_none() {
        return Err(ReadError::Empty);
    }
    let is_cut = fault.is_none() && source.len() > window.len() as u64;
    let (found, broken) = look(text, is_cut);
    // Of a log with a damaged spot, the lines that are whole still tell what it is.
    let found = found.or_else(|| fault.as_ref().and_then(|_| look_at_lines(&decoded(&window))));
    found
        .ok_or_else(|| ReadError::Unknown { why: fault.or(broken).unwrap_or_else(|| prefix::describe(text)) })
}

fn beginning(source: &dyn ByteSource, len: usize) -> Result<Vec<u8>, ReadError> {
    let mut bytes = vec![0; len];
    let got = source.read_at(0, &mut bytes).map_err(ReadError::Read)?;
    bytes.truncate(got);
    Ok(bytes)
}

/// The format of a value: the first that recognises it.
fn format_of(value: View<'_>) -> Option<Format> {
    let sample = DetectSample::from(value);
    FORMATS.iter().find(|row| (row.recognize)(&sample)).map(|row| row.format)
}

/// The format of the first value that has one; else where the JSON breaks, if it does.
fn look(text: &str, is_cut: bool) -> (Option<Format>, Option<String>) {
    if !text.trim_start().starts_with(['{', '[']) {
        return (look_at_lines(text), None);
    }
    for value in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>().take(VALUES_MAX) {
        match value.map(|raw| format_of(View::from(raw))) {
            Ok(None) => {}
            Ok(found) => return (found, None),
            Err(error) if error.is_eof() && is_cut => return (look_at_rest(text), None),
            Err(error) => return (look_at_lines(text), Some(broken(&error))),
        }
    }
    (None, None)
}

/// The format of a value that goes on beyond what was read: the last one, or the only one.
fn look_at_rest(text: &str) -> Option<Format> {
    let start = text.rfind("\n{").map_or(0, |newline| newline + 1);
    let mut closed = [start, 0].into_iter().map(|start| prefix::close(&text[start..]));
    closed.find_map(|json| format_of(View::parse(&json).ok()?))
}

/// The format of the first line that is an object of a known shape. Lines of a document that is
/// merely spread over several are indented, or not whole.
fn look_at_lines(text: &str) -> Option<Format> {
    let lines = text.lines().map(|line| line.trim_matches('\0')).filter(|line| line.starts_with('{'));
    lines.take(VALUES_MAX).find_map(|line| format_of(View::parse(line).ok()?))
}
