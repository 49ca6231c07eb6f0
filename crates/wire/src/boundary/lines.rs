//! The lines that a compaction puts behind a file.

use super::WriteError;
use crate::{ByteSource, Span};
use serde::Serialize;

/// Lines to be written behind a file, one record each.
pub(crate) struct AppendedLines {
    bytes: Vec<u8>,
}

impl AppendedLines {
    /// None yet, behind `source`: a file that ends without a newline is given one first.
    pub(crate) fn behind(source: &dyn ByteSource) -> Result<Self, WriteError> {
        let Some(last) = source.len().checked_sub(1) else { return Ok(Self { bytes: Vec::new() }) };
        let end = source.slice(Span { offset: last, len: 1 }).map_err(WriteError::Read)?;
        Ok(Self { bytes: if end == b"\n" { Vec::new() } else { vec![b'\n'] } })
    }

    /// With one more.
    pub(crate) fn with(mut self, record: &impl Serialize) -> Self {
        serde_json::to_writer(&mut self.bytes, record)
            .expect("strings and numbers are JSON, and memory can be written");
        self.bytes.push(b'\n');
        self
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
