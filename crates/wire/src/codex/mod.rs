//! Codex rollouts: one record per line, `{timestamp, type, payload}`.
//!
//! `response_item` records are what went to and from the model; `event_msg` records repeat much of it
//! for the screen and are not read, but for token counts and turns that were taken back, which leave the
//! branch. A reply is several items. A compaction is a `compacted` record that holds the new history in full.

mod compacted;
mod item;
mod message;
mod read;
mod rollout;
mod write;

pub(crate) use message::{decode, pieces};
pub(crate) use read::{is_line, read};
pub(crate) use write::{append, session_ids, undo};
