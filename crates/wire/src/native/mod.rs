//! Our own form, version 2: a header line, the original file byte for byte, and what was added since,
//! one JSON object per line.
//!
//! ```text
//! {"epitome":"native","version":2,"from":"opencode","original_bytes":N,"conversations":K}
//! the N bytes of the original, then a newline
//! {"conversation":0,"pass":1,"at":"m0055","mark":{"mark":"compaction","compaction":{…},"record":{…}}}
//! {"conversation":0,"at":"m0055","message":{…}}
//! ```
//!
//! Each line is an entry of the log and takes the next id, but for those that say what is sent before the
//! history or move the leaf. A session born here has `"from":"native"` and no original; all it holds is in
//! lines. The file only grows by lines, so a reader can be handed one that is still being written. Lines of
//! version 1 are read wherever they stand ([`v1`]); the next write says version 2 in the header.

mod header;
mod line;
mod mark;
mod read;
mod record;
#[cfg(test)]
mod tests;
mod undo;
mod v1;

pub use header::{Header, VERSION, header, is_native, original, rewrap, wrap};
pub(crate) use header::{NAME, is_header};
pub use line::{AddedLine, LinePlace, fixed_line, leaf_line, mark_line, message_line, next_pass, note_line};
pub use mark::WrittenMark;
pub(crate) use read::decode;
pub use read::read;
pub use undo::{NativeUndo, undo};
