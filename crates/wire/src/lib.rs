//! How things are written: transcript formats, provider protocols, and our own versioned form.
//!
//! Readers turn bytes into a [`Transcript`]: a log of light entries, and an archive that finds each
//! message's original again when it is asked for. Nothing here opens a file; bytes come through [`Source`].

mod assembly;
mod boundary;
pub mod claude_code;
pub mod codex;
pub mod copilot_cli;
mod detect;
mod document;
mod format;
pub mod gemini_cli;
mod jsonl;
pub mod langgraph;
mod lines;
pub mod mini_swe_agent;
pub mod native;
pub mod opencode;
pub mod openhands;
mod originals;
pub mod overflow;
pub mod pi;
pub mod protocol;
mod read;
mod source;
pub mod sse;
pub mod swe_agent;
mod transcript;
mod unpaired;
pub mod validate;

pub use boundary::{Boundary, Undo, WriteError, append, can_express, undo};
pub use detect::detect;
pub use format::Format;
pub use lines::{Line, Lines};
pub use originals::{Decode, Originals, Place};
pub use protocol::{Protocol, encode};
pub use read::read;
pub use source::{Source, Span, Window};
pub use transcript::{Conversation, Fixed, Problem, ReadError, Reply, Transcript, Usage};
