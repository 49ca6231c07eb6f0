//! Where bytes come from: anything that can be read at an offset.

use std::io;
use std::sync::Arc;

/// Bytes that can be read again, in part. A file behind it may be larger than memory.
pub trait ByteSource: Send + Sync {
    /// How many bytes there are.
    fn len(&self) -> u64;
    /// Reads at `offset` into the whole of `into`; shorter only at the end.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize>;

    /// Whether there is nothing to read.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of a span.
    fn slice(&self, span: Span) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; span.len as usize];
        let got = self.read_at(span.offset, &mut bytes)?;
        if got < bytes.len() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file is shorter than it was"));
        }
        Ok(bytes)
    }
}

/// A run of bytes in a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Where it begins.
    pub offset: u64,
    /// How many bytes it has.
    pub len: u32,
}

impl ByteSource for Vec<u8> {
    fn len(&self) -> u64 {
        self.as_slice().len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let from = self.get(offset as usize..).unwrap_or_default();
        let count = from.len().min(into.len());
        into[..count].copy_from_slice(&from[..count]);
        Ok(count)
    }
}

/// A part of another source, read as if it were all there is.
pub struct Slice {
    whole: Arc<dyn ByteSource>,
    offset: u64,
    len: u64,
}

impl std::fmt::Debug for Slice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { offset, len, .. } = self;
        f.debug_struct("Slice").field("offset", offset).field("len", len).finish_non_exhaustive()
    }
}

impl Slice {
    /// The `len` bytes of `whole` from `offset` on; fewer where there are fewer.
    pub fn new(whole: Arc<dyn ByteSource>, offset: u64, len: u64) -> Self {
        let len = len.min(whole.len().saturating_sub(offset));
        Self { whole, offset, len }
    }
}

impl ByteSource for Slice {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let room = self.len.saturating_sub(offset).min(into.len() as u64) as usize;
        self.whole.read_at(self.offset + offset, &mut into[..room])
    }
}
