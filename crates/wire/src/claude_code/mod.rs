//! Claude Code's session files: one record per line, appended as the session goes.
//!
//! A reply is written as a line for each of its blocks, sharing `message.id`; results, progress and
//! attachments come between. Records hang together by `parentUuid`, a tree with harmless forks and
//! real rewinds. A compaction is a `compact_boundary` record and a summary; all before it stays. A
//! `microcompact_boundary` clears old results from the prompt, and is an edit here.

mod attachment;
mod branch;
mod compaction;
mod message;
mod queue;
mod read;
mod record;
mod session;
mod shape;
mod undo;
mod write;

pub(crate) use message::{decode, pieces};
pub(crate) use read::{is_record, read};
pub(crate) use undo::undo;
pub(crate) use write::append;
