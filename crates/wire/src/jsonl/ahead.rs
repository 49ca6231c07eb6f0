//! Lines parsed ahead, several chunks at once, and taken up in their order.
//!
//! Parsing a line takes most of the time of reading and needs nothing but the line; what a line means
//! for those after it is found out on one thread, in order. How many threads there are and how they
//! take turns makes no difference to what comes out.

use super::line_text::has_half_pair;
use crate::{ByteSource, ReadError, Span};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

/// Cut at once: it stays in a core's own cache from the first look to the last.
const CHUNK_BYTES: usize = 512 << 10;
/// The longest line we take. A tool result with several images comes near a tenth of it.
const LINE_BYTES_MAX: usize = 512 << 20;
/// Threads that parse. More than there are cores do no harm; more than this would wait for the one that takes up.
const PARSERS: usize = 8;
/// Chunks a parser may be ahead of the taker, so that neither waits for a moment's delay of the other.
const CHUNKS_AHEAD: usize = 2;

/// A line that is not blank, parsed ahead or as it stands.
pub(super) struct AheadLine<T> {
    pub line: u64,
    pub span: Span,
    pub found: LineContent<T>,
}

/// What was made of a line.
pub(super) enum LineContent<T> {
    /// What parsing it gave.
    Parsed(T),
    /// Nothing: its bytes, and whether a newline ends them.
    Bytes { bytes: Box<[u8]>, is_ended: bool },
}

/// The lines of one chunk, numbered from 1 within it.
struct LineBatch<T> {
    lines: u64,
    ahead: Vec<AheadLine<T>>,
}

/// Hands each line of `source` that is not blank to `take`, in order, with what `parse` made of it.
pub(super) fn each_line_ahead<T: Send>(
    source: &dyn ByteSource,
    parse: &(impl Fn(&str) -> Option<T> + Sync),
    mut take: impl FnMut(AheadLine<T>),
) -> Result<(), ReadError> {
    let mut lines = 0;
    let mut take_batch = |batch: Result<LineBatch<T>, ReadError>| {
        let batch = batch.map_err(|error| behind(lines, error))?;
        batch.ahead.into_iter().for_each(|ahead| take(AheadLine { line: lines + ahead.line, ..ahead }));
        lines += batch.lines;
        Ok(())
    };
    let mut cutter = Cutter { source, offset: 0 };
    if source.len() <= CHUNK_BYTES as u64 {
        let mut chunk = Vec::new();
        while let Some(offset) = cutter.cut(&mut chunk)? {
            take_batch(Ok(parse_chunk(offset, &chunk, parse)))?;
        }
        return Ok(());
    }
    let cutter = Mutex::new(cutter);
    thread::scope(|scope| {
        let (turn, turns) = channel();
        let parsers: [Receiver<_>; PARSERS] = std::array::from_fn(|number| {
            let (batch, batches) = sync_channel(CHUNKS_AHEAD);
            let parser = Parser { number, cutter: &cutter, turn: turn.clone(), batch };
            scope.spawn(|| parser.run(parse));
            batches
        });
        drop(turn);
        // A parser that panics sends no batch; the scope passes the panic on.
        turns.iter().map_while(|number: usize| parsers[number].recv().ok()).try_for_each(take_batch)
    })
}

/// An error of a line whose number was counted from the start of its chunk.
fn behind(lines: u64, error: ReadError) -> ReadError {
    match error {
        ReadError::LineTooLong { line, bytes_max } => {
            ReadError::LineTooLong { line: lines + line, bytes_max }
        }
        other => other,
    }
}

/// One thread's part.
struct Parser<'s, T> {
    number: usize,
    cutter: &'s Mutex<Cutter<'s>>,
    /// Told who has the next chunk, while the cutter is held.
    turn: Sender<usize>,
    batch: SyncSender<Result<LineBatch<T>, ReadError>>,
}

impl<T> Parser<'_, T> {
    /// Cuts and parses until the source ends, it cannot be read, or nobody takes any more.
    fn run(self, parse: &impl Fn(&str) -> Option<T>) {
        let mut chunk = Vec::new();
        while let Some(cut) = self.cut(&mut chunk) {
            let batch = cut.map(|offset| parse_chunk(offset, &chunk, parse));
            if self.batch.send(batch).is_err() {
                return;
            }
        }
    }

    fn cut(&self, chunk: &mut Vec<u8>) -> Option<Result<u64, ReadError>> {
        let mut cutter = self.cutter.lock().expect("a source that panics ends the reading");
        let cut = cutter.cut(chunk).transpose()?;
        self.turn.send(self.number).ok()?;
        Some(cut)
    }
}

/// Cuts a source into chunks of whole lines.
struct Cutter<'s> {
    source: &'s dyn ByteSource,
    offset: u64,
}

impl Cutter<'_> {
    /// Reads the next chunk and says where it begins; none at the end, and after an error.
    fn cut(&mut self, chunk: &mut Vec<u8>) -> Result<Option<u64>, ReadError> {
        let begin = self.offset;
        // Whatever goes wrong, nothing is cut after it.
        self.offset = self.source.len();
        let mut wanted = CHUNK_BYTES;
        while begin < self.source.len() {
            chunk.resize(wanted, 0);
            let got = self.source.read_at(begin, chunk).map_err(ReadError::Read)?;
            chunk.truncate(got);
            let end = if got < wanted { Some(got) } else { memchr::memrchr(b'\n', chunk).map(|at| at + 1) };
            if let Some(end) = end {
                chunk.truncate(end);
                self.offset = begin + end as u64;
                return Ok((end > 0).then_some(begin));
            }
            if wanted > LINE_BYTES_MAX {
                return Err(ReadError::LineTooLong { line: 1, bytes_max: LINE_BYTES_MAX });
            }
            wanted *= 2;
        }
        Ok(None)
    }
}

/// Parses the lines of a chunk that begins at `offset`.
fn parse_chunk<T>(offset: u64, chunk: &[u8], parse: &impl Fn(&str) -> Option<T>) -> LineBatch<T> {
    let text = str::from_utf8(chunk).ok();
    let (mut start, mut batch) = (0, LineBatch { lines: 0, ahead: Vec::new() });
    while start < chunk.len() {
        let newline = memchr::memchr(b'\n', &chunk[start..]).map(|at| start + at);
        let end = newline.unwrap_or(chunk.len());
        let bytes = &chunk[start..end];
        batch.lines += 1;
        if !bytes.trim_ascii_start().is_empty() {
            let line = text.map_or_else(|| str::from_utf8(bytes).ok(), |text| text.get(start..end));
            let sound = line.filter(|line| !has_half_pair(line));
            let found = match sound.and_then(parse) {
                Some(parsed) => LineContent::Parsed(parsed),
                None => LineContent::Bytes { bytes: bytes.into(), is_ended: newline.is_some() },
            };
            let span = Span { offset: offset + start as u64, len: (end - start) as u32 };
            batch.ahead.push(AheadLine { line: batch.lines, span, found });
        }
        start = end + 1;
    }
    batch
}

#[cfg(test)]
mod tests {
    use super::{AheadLine, CHUNK_BYTES, LineContent, each_line_ahead};
    use crate::{ByteSource, Lines, ReadError};

    /// Lines as they were met: number, offset, length, and what parsing gave where it gave anything.
    fn ahead(bytes: &Vec<u8>) -> Vec<(u64, u64, u32, Option<usize>)> {
        let parse = |line: &str| line.starts_with('{').then_some(line.len());
        let mut all = Vec::new();
        each_line_ahead(bytes, &parse, |ahead: AheadLine<usize>| {
            let parsed = match ahead.found {
                LineContent::Parsed(len) => Some(len),
                LineContent::Bytes { .. } => None,
            };
            all.push((ahead.line, ahead.span.offset, ahead.span.len, parsed));
        })
        .expect("memory can be read");
        all
    }

    fn one_by_one(bytes: &Vec<u8>) -> Vec<(u64, u64, u32, Option<usize>)> {
        let (mut lines, mut all) = (Lines::of(bytes), Vec::new());
        while let Some(line) = lines.next().expect("memory can be read") {
            let parsed = line.bytes.starts_with(b"{") && str::from_utf8(line.bytes).is_ok();
            if !line.bytes.trim_ascii_start().is_empty() {
                let len = line.bytes.len();
                all.push((line.number, line.span.offset, len as u32, parsed.then_some(len)));
            }
        }
        all
    }

    #[test]
    fn lines_come_in_their_order_whoever_parsed_them() {
        let mut bytes = Vec::new();
        for n in 0..40_000_usize {
            let end: &[u8] = if n % 1000 == 7 { b"\xff\n\n" } else { b"\n" };
            bytes.extend(if n.is_multiple_of(5) { "no object" } else { "{object" }.bytes());
            bytes.extend(vec![b'x'; n % 211]);
            bytes.extend(end);
        }
        bytes.extend(vec![b'y'; 3 * CHUNK_BYTES]);
        bytes.extend(b"\n{the last");
        assert!(bytes.len() > 10 * CHUNK_BYTES);
        assert_eq!(ahead(&bytes), one_by_one(&bytes));
        assert_eq!(ahead(&b"{a\n\nb\n{c".to_vec()), one_by_one(&b"{a\n\nb\n{c".to_vec()));
        assert_eq!(ahead(&Vec::new()), []);
    }

    /// A file that breaks off behind its first megabyte.
    struct Broken;

    impl ByteSource for Broken {
        fn len(&self) -> u64 {
            10 << 20
        }
        fn read_at(&self, offset: u64, into: &mut [u8]) -> std::io::Result<usize> {
            into.fill(b'\n');
            if offset >= 1 << 20 { Err(std::io::Error::other("gone")) } else { Ok(into.len()) }
        }
    }

    #[test]
    fn a_source_that_breaks_off_ends_the_reading() {
        let read = each_line_ahead(&Broken, &|_: &str| None::<()>, |_| {});
        assert!(matches!(read, Err(ReadError::Read(_))));
    }
}
