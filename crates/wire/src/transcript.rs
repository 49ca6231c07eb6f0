//! The result of reading a file: its conversations, each a log with sizes, originals and fixed
//! parts, and the problems that reading survived. What they mean is each format's reader's.

use crate::{Format, Originals};
use epitome_core::{EntryId, Log, LogReader, Measure, SizeTable};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// A file, read: its conversations, and what was odd about it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Transcript {
    /// How it is written.
    pub format: Format,
    /// Usually one.
    pub conversations: Vec<Conversation>,
    /// What was survived on the way, in the order met.
    pub problems: Vec<Problem>,
}

/// One conversation of a file.
#[derive(Debug)]
#[non_exhaustive]
pub struct Conversation {
    /// Its entries.
    pub log: Log,
    /// What its messages take, by the counter they were read with.
    pub sizes: SizeTable,
    /// The entry the conversation has got to.
    pub leaf: Option<EntryId>,
    /// What is sent before the history, where the file records it.
    pub fixed: FixedParts,
    /// The model calls the file records, in order.
    pub replies: Vec<RecordedReply>,
    /// When entries were added that came behind the file's own, where our own form says so; milliseconds since 1970.
    pub added_times: HashMap<EntryId, u64>,
    /// Calls of subagents that stand between its own, where those are no conversations themselves.
    pub side_calls: Vec<SideCall>,
    /// What the file says of compactions its own tool made, in order.
    pub compactions: Vec<RecordedCompaction>,
    /// Where the messages' originals are.
    pub originals: Originals,
    /// The tool's own ids of entries (`uuid` and the like), by entry, where the format has them.
    pub names: Vec<Option<Arc<str>>>,
}

impl Conversation {
    /// What a context of it is derived with; `measure` counts what is not shown whole.
    pub fn reader<'c>(&'c self, measure: &'c dyn Measure) -> LogReader<'c> {
        LogReader { log: &self.log, sizes: &self.sizes, measure, archive: &self.originals }
    }

    /// When entries were said, in milliseconds since 1970: replies where the file says it, and what was added to it.
    pub fn recorded_times(&self) -> HashMap<EntryId, u64> {
        let replied = self.replies.iter().filter_map(|reply| Some((reply.entry, reply.time_ms?)));
        replied.chain(self.added_times.iter().map(|(entry, time_ms)| (*entry, *time_ms))).collect()
    }
}

/// The part of a request that stands before the history.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FixedParts {
    /// The system prompt; its pieces where it has several.
    pub system: Vec<Arc<str>>,
    /// Tool definitions as they came: JSON text.
    pub tools: Vec<Arc<str>>,
    /// The model last used.
    pub model: Option<Arc<str>>,
    /// The output limit asked for.
    pub max_tokens: Option<u64>,
    /// The window the tool worked with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// The other fields of a request body, in order: each one's key, and its value as it came, JSON text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rest: Vec<(Arc<str>, Arc<str>)>,
}

/// One recorded answer of the model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RecordedReply {
    /// Its message.
    pub entry: EntryId,
    /// Who answered.
    pub model: Option<Arc<str>>,
    /// What the provider said it took; none where nothing usable is recorded.
    pub usage: Option<ReportedUsage>,
    /// When, in milliseconds since 1970; none where the file does not say.
    pub time_ms: Option<u64>,
    /// Whether it was made in the session that this one is a copy of, and paid for there.
    pub is_copied: bool,
}

/// A call that a subagent made: it costs, and nothing of it is in the conversation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SideCall {
    /// Who answered.
    pub model: Option<Arc<str>>,
    /// What the provider said it took; none where nothing usable is recorded.
    pub usage: Option<ReportedUsage>,
    /// When, in milliseconds since 1970; none where the file does not say.
    pub time_ms: Option<u64>,
    /// Whether it was made in the session that this one is a copy of, and paid for there.
    pub is_copied: bool,
}

/// All that was answered so far was answered in the session that this one is a copy of.
pub(crate) fn end_of_copied(replies: &mut [RecordedReply]) {
    replies.iter_mut().for_each(|reply| reply.is_copied = true);
}

/// What a file says of a compaction that its own tool made, beside what it did to the context.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedCompaction {
    /// Its entry.
    pub entry: EntryId,
    /// What the context took before it, by the tool's own count.
    pub tokens_before: Option<u64>,
    /// Whether the tool began it by itself, because the window was nearly full; not where somebody asked for it, nor
    /// where the file does not say.
    pub is_automatic: bool,
}

/// Tokens of one call as the provider reported them, put on one basis: `prompt` includes what was cached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedUsage {
    /// The whole prompt.
    pub prompt: u64,
    /// What was written, reasoning included.
    pub output: u64,
    /// The part of the prompt read from the cache.
    pub cache_read: u64,
    /// The part of the prompt written to the cache.
    pub cache_write: u64,
}

/// Something wrong in a file that reading survived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Problem {
    /// The line, from 1; none where the format has no lines.
    pub line: Option<u64>,
    /// What was met and what was made of it.
    pub what: String,
}

/// A file that could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The bytes themselves did not come.
    #[error("cannot read the file")]
    Read(#[source] io::Error),
    /// There are none.
    #[error("the file is empty; there is no conversation to read")]
    Empty,
    /// A line beyond all reason.
    #[error("line {line} is longer than {bytes_max} bytes; this is no transcript, or its newlines are lost")]
    LineTooLong {
        /// Its number.
        line: u64,
        /// The limit.
        bytes_max: usize,
    },
    /// Not what it was said to be.
    #[error("this is no {format} transcript: {why}; name the right format, or none to have it found")]
    NotThis {
        /// What was expected.
        format: Format,
        /// What was found instead.
        why: String,
    },
    /// A file of ours, written by an epitome newer than this one.
    #[error(
        "the file is written in version {version} of epitome's own form, and this epitome reads up to {version_max}; use a newer epitome"
    )]
    Newer {
        /// The file's version.
        version: u32,
        /// The newest one read here.
        version_max: u32,
    },
    /// Not recognised as anything.
    #[error("no known format fits: {why}; check that it is the right file and whole, or name its format")]
    Unknown {
        /// What was seen.
        why: String,
    },
}
