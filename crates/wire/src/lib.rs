//! How things are written: transcript formats, provider protocols, and our own versioned form.
//!
//! Readers turn bytes into a [`Transcript`]: a log of light entries, and an archive that finds each
//! message's original again when it is asked for. [`FORMATS`] lists what can be read. Nothing here opens a
//! file; bytes come through [`ByteSource`].

#![warn(missing_debug_implementations)]

mod boundary;
mod claude_code;
mod codex;
mod copilot_cli;
mod detect;
mod document;
mod format;
mod gemini_cli;
mod jsonl;
mod langgraph;
mod lines;
mod log_builder;
mod mini_swe_agent;
pub mod native;
mod opencode;
mod openhands;
mod originals;
pub mod overflow;
pub mod pi;
pub mod protocol;
mod read;
mod source;
pub mod sse;
mod swe_agent;
mod transcript;
mod unpaired;
pub mod validate;

pub use boundary::{Boundary, BoundaryUndo, WriteError, append, can_express, undo};
pub use detect::detect;
pub use format::{FORMATS, Format, FormatRow, UnknownFormat};
pub use originals::Originals;
pub use protocol::{ElementError, Protocol, UnknownProtocol, decode, decode_fixed, encode};
pub use read::read;
pub use source::{ByteSource, Slice, Span};
pub use transcript::{
    Conversation, FixedParts, Problem, ReadError, RecordedReply, ReportedUsage, Transcript,
};

pub(crate) use lines::{Lines, SourceLine};
pub(crate) use originals::OriginalPlace;
