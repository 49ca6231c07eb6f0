//! How things are written: transcript formats, provider protocols, and our own versioned form.
//!
//! Readers turn bytes into a [`Transcript`]: a log of light entries, and an archive that finds each
//! message's original again when it is asked for. [`FORMATS`] lists what can be read. Nothing here opens a
//! file; bytes come through [`ByteSource`].
//!
//! ```
//! use epitome_core::{Archive, Context, ZeroMeasure};
//! use epitome_wire::encode::{self, RequestParts};
//! use epitome_wire::protocol::reply;
//! use epitome_wire::{Format, Protocol, read};
//! use std::sync::Arc;
//!
//! // A file of any format, found by its looks; here the body of a request.
//! let file = br#"{"model":"gpt-5","messages":[{"role":"user","content":"where is main?"}]}"#;
//! let transcript = read(Arc::new(file.to_vec()), None, &ZeroMeasure)?;
//! assert_eq!(transcript.format, Format::Body(Protocol::OpenaiChat));
//! let conversation = &transcript.conversations[0];
//! let first = conversation.log.path_of(conversation.leaf)[0];
//! assert_eq!(conversation.originals.message(first)?.said(), "where is main?");
//!
//! // What the model sees of it, for another provider.
//! let reader = conversation.reader(&ZeroMeasure);
//! let shown = Context::of(conversation.leaf, reader)?.shown(reader)?;
//! let parts = RequestParts { model: Some("claude-sonnet-4-5"), max_tokens: Some(1_024), ..RequestParts::default() };
//! let body = String::from_utf8(encode::body(Protocol::Anthropic, &parts, &shown)?)?;
//! assert!(body.starts_with(r#"{"model":"claude-sonnet-4-5","max_tokens":1024,"#), "{body}");
//!
//! // And what comes back.
//! let answer = reply(Protocol::Anthropic, br#"{"content":[{"type":"text","text":"in src"}],"stop_reason":"end_turn"}"#);
//! assert_eq!(answer.message.said(), "in src");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_debug_implementations)]

mod boundary;
mod claude_code;
mod codex;
mod copilot_cli;
mod detect;
mod document;
mod format;
mod gemini_cli;
mod gemini_parts;
mod held;
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
mod qwen_code;
mod read;
mod source;
pub mod sse;
mod swe_agent;
mod timestamp;
mod transcript;
mod unpaired;
pub mod validate;

pub use boundary::{Boundary, BoundaryUndo, WriteError, append, can_express, undo, with_session_id};
pub use detect::detect;
pub use format::{FORMATS, Format, FormatRow, UnknownFormat};
pub use originals::Originals;
pub use protocol::{ElementError, Protocol, UnknownProtocol, decode, decode_fixed, encode};
pub use read::read;
pub use source::{ByteSource, Slice, Span};
pub use transcript::{
    Conversation, FixedParts, Problem, ReadError, RecordedCompaction, RecordedReply, ReportedUsage, SideCall,
    Transcript,
};

pub(crate) use lines::{Lines, SourceLine};
pub(crate) use originals::OriginalPlace;
