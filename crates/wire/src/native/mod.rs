//! Our own form, version 1: a header line, the original file byte for byte, and what was added since,
//! one JSON object per line.
//!
//! ```text
//! {"epitome":"native","version":1,"from":"opencode","original_bytes":N,"conversations":K}
//! the N bytes of the original, then a newline
//! {"conversation":0,"pass":1,"entry":{"entry":"compaction",…},"record":{…}}
//! {"conversation":0,"entry":{"entry":"message",…},"message":{…}}
//! ```
//!
//! A session born here has `"from":"native"` and no original; all it holds is in lines. The file only
//! grows by lines, so a reader can be handed one that is still being written.

mod added;
mod header;
mod read;
#[cfg(test)]
mod tests;
mod undo;

pub use added::{Added, added, entry_line, fixed_line, next_pass, pass_line};
pub use header::{Header, VERSION, header, is_native, original, wrap};
pub(crate) use header::{NAME, is_header};
pub(crate) use read::decode;
pub use read::read;
pub use undo::{Undo, undo};
