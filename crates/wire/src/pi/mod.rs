//! pi's session files, versions 1 to 3: a header, then one entry per line.
//!
//! From version 2 on entries have ids and form a tree; in version 1 their order is all there is. Each
//! message is a line of its own, results included. A compaction names the first entry it keeps, which
//! lies before it, or writes the messages it keeps out, and pi wraps its summary before showing it. A
//! `context_edit` changes what is shown of an earlier entry.

mod edit;
mod message;
mod read;
mod record;
mod session;
mod undo;
mod weigh;
mod write;

pub(crate) use message::decode;
pub use message::shown_summary;
pub(crate) use read::{is_entry, read};
pub(crate) use undo::undo;
pub(crate) use write::{append, session_id};
