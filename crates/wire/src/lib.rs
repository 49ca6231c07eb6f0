//! How things are written: transcript formats, provider protocols, and our own versioned form.
//!
//! Readers turn bytes into a [`Transcript`]: a log of light entries, and an archive that finds each
//! message's original again when it is asked for. Nothing here opens a file; bytes come through [`Source`].

mod format;
mod lines;
mod originals;
mod source;
mod transcript;

pub use format::Format;
pub use lines::{Line, Lines};
pub use originals::{Decode, Originals, Place};
pub use source::{Source, Span, Window};
pub use transcript::{Conversation, Fixed, Problem, ReadError, Reply, Transcript, Usage};
