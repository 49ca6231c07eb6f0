//! Splitting a source into lines, one chunk in memory at a time. What a line holds is the reader's.

use crate::{ByteSource, ReadError, Span};

/// One line, without its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceLine<'a> {
    /// Its number, from 1.
    pub(crate) number: u64,
    /// Where it stands.
    pub(crate) span: Span,
    /// Its bytes.
    pub(crate) bytes: &'a [u8],
    /// Whether a newline ends it. Only a last line can lack one: it may still be being written.
    pub is_ended: bool,
}

/// Reads a source line by line.
pub(crate) struct Lines<'s> {
    source: &'s dyn ByteSource,
    buffer: Vec<u8>,
    /// Offset in the source of the buffer's first byte.
    base: u64,
    /// Where in the buffer the next line begins.
    start: usize,
    number: u64,
}

/// Read at once: large enough that a read costs little beside parsing, small beside any file that matters.
const CHUNK_BYTES: usize = 1 << 20;
/// The longest line we take. A tool result with several images comes near a tenth of it.
const LINE_BYTES_MAX: usize = 512 << 20;

impl<'s> Lines<'s> {
    /// The lines of `source` from its start.
    pub(crate) fn of(source: &'s dyn ByteSource) -> Self {
        Self { source, buffer: Vec::new(), base: 0, start: 0, number: 0 }
    }

    /// The next line, or none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<SourceLine<'_>>, ReadError> {
        let mut searched = self.start;
        loop {
            if let Some(found) = memchr::memchr(b'\n', &self.buffer[searched..]) {
                return Ok(Some(self.take(searched + found, true)));
            }
            searched = self.buffer.len() - self.start;
            if !self.fill()? {
                let end = self.buffer.len();
                return Ok((end > self.start).then(|| self.take(end, false)));
            }
        }
    }

    fn take(&mut self, end: usize, is_ended: bool) -> SourceLine<'_> {
        let start = std::mem::replace(&mut self.start, if is_ended { end + 1 } else { end });
        self.number += 1;
        let span = Span { offset: self.base + start as u64, len: (end - start) as u32 };
        SourceLine { number: self.number, span, bytes: &self.buffer[start..end], is_ended }
    }

    /// Moves what is left to the front and reads more behind it; false at the end.
    fn fill(&mut self) -> Result<bool, ReadError> {
        self.buffer.drain(..self.start);
        self.base += self.start as u64;
        self.start = 0;
        let old = self.buffer.len();
        if old > LINE_BYTES_MAX {
            return Err(ReadError::LineTooLong { line: self.number + 1, bytes_max: LINE_BYTES_MAX });
        }
        let left = self.source.len().saturating_sub(self.base + old as u64);
        let chunk = left.min(CHUNK_BYTES.max(old) as u64) as usize;
        self.buffer.resize(old + chunk, 0);
        let got =
            self.source.read_at(self.base + old as u64, &mut self.buffer[old..]).map_err(ReadError::Read)?;
        self.buffer.truncate(old + got);
        Ok(got > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK_BYTES, Lines};

    fn lines_of(bytes: Vec<u8>) -> Vec<(u64, u64, usize, bool)> {
        let mut lines = Lines::of(&bytes);
        let mut all = Vec::new();
        while let Some(line) = lines.next().expect("memory can be read") {
            all.push((line.number, line.span.offset, line.bytes.len(), line.is_ended));
        }
        all
    }

    #[test]
    fn a_last_line_may_lack_its_end() {
        assert_eq!(lines_of(b"ab\n\nc".to_vec()), [(1, 0, 2, true), (2, 3, 0, true), (3, 4, 1, false)]);
        assert_eq!(lines_of(Vec::new()), []);
    }

    #[test]
    fn a_line_longer_than_a_chunk_is_one_line() {
        let mut bytes = vec![b'x'; 3 * CHUNK_BYTES];
        bytes.extend(b"\ny\n");
        let long = 3 * CHUNK_BYTES;
        assert_eq!(lines_of(bytes), [(1, 0, long, true), (2, long as u64 + 1, 1, true)]);
    }
}
