//! Writing a compaction behind the transcript it compacts, and taking one back.
//!
//! What is written is appended: the original bytes stay as they are, and each line of ours notes how
//! many there were, so that undoing gives exactly those back.

mod kept;
mod lines;
mod mark;
mod session_id;
mod take_back;

pub(crate) use kept::{branch_messages, conversation_to_compact, kept_tail, written_out};
pub(crate) use lines::AppendedLines;
pub(crate) use mark::{BoundaryMark, derive};
pub use session_id::with_session_id;
pub(crate) use session_id::{SessionIdPlace, record_parent, record_session_id, record_uuid};
pub(crate) use take_back::{LastCompaction, take_back, take_back_line};

use crate::format::names;
use crate::{ByteSource, FORMATS, Format, ReadError, Transcript};
use epitome_core::policy::TranscriptEntry;
use epitome_core::{ArchiveError, EntryId, Expressible, Tail, Tokens, Trigger};
use std::io;
use std::sync::Arc;

/// A compaction to be written in the words of the transcript's own tool.
#[derive(Clone, Debug)]
pub struct Boundary {
    /// What stands for the superseded messages, as the model is to see it.
    pub summary: Arc<str>,
    /// Superseded messages shown verbatim before the summary; see [`can_express`].
    pub front: Vec<EntryId>,
    /// What is kept after the summary.
    pub tail: Tail,
    /// The context before.
    pub tokens_before: Tokens,
    /// The context after.
    pub tokens_after: Tokens,
    /// What set it off.
    pub trigger: Trigger,
    /// When, as RFC 3339 with milliseconds, such as `2026-01-31T09:30:00.000Z`.
    pub timestamp: String,
    /// Files read in what is superseded.
    pub read_files: Vec<String>,
    /// Files changed there.
    pub modified_files: Vec<String>,
    /// How long it took.
    pub duration_ms: u64,
    /// How many turns it covers.
    pub turns: usize,
    /// Whether a hook wrote it.
    pub is_by_hook: bool,
    /// In which of its forms, where the tool has several.
    pub entry: TranscriptEntry,
    /// The record of it, as JSON, to be found again in the file.
    pub record: Option<Arc<str>>,
}

/// What a compaction written in `format` can say; the rest must go into the summary's text. A format that is
/// not appended to can say nothing.
pub fn can_express(format: Format) -> Expressible {
    format.row().resume.as_ref().map_or(Expressible { front: false, forms: false }, |resume| resume.can)
}

/// A compaction that cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// Only the formats of tools that can go on from it are written.
    #[error("a {0} transcript cannot be appended to; write it as native instead")]
    NotResumable(Format),
    /// The transcript has no such conversation, or nothing in it.
    #[error("conversation {0} has no messages; there is nothing to compact")]
    NothingSaid(usize),
    /// Messages before the summary, where the tool has no place for them.
    #[error("{format} shows nothing before a summary; put {id} into the summary's text")]
    NoPlaceBefore {
        /// The format.
        format: Format,
        /// The first of them.
        id: EntryId,
    },
    /// A tail with gaps, where the tool keeps everything from one entry on.
    #[error(
        "{format} keeps everything from one entry on, and {id} would come along; keep it or cut after it"
    )]
    TailHasGaps {
        /// The format.
        format: Format,
        /// The message that is not to be kept.
        id: EntryId,
    },
    /// An entry that is not a message of the file.
    #[error("{0} is not a message of this file; keep only what its reader found")]
    NotInFile(EntryId),
    /// The original could not be read again.
    #[error("cannot read the transcript again to append to it")]
    Read(#[source] io::Error),
    /// A message that is shown shortened could not be read again.
    #[error("cannot tell which messages are in view; read the file again")]
    Original(#[from] ArchiveError),
    /// A line is not what it was when the transcript was read.
    #[error("the line of {id} has changed since it was read ({why}); read the file again")]
    Changed {
        /// Whose line.
        id: EntryId,
        /// What is wrong with it.
        why: String,
    },
}

/// The error of reading a file once more to append to it.
pub(crate) fn read_again(error: ReadError) -> WriteError {
    match error {
        ReadError::Read(error) => WriteError::Read(error),
        other => WriteError::Read(io::Error::other(other)),
    }
}

/// How to take back the last compaction of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoundaryUndo {
    /// There is none.
    Nothing,
    /// Cut the file to this many bytes: it is then what it was before a compaction of ours.
    Truncate(u64),
    /// Write other bytes instead: the compaction's lines are gone, and what hung off them hangs off
    /// what they followed.
    Rewrite {
        /// What to write.
        bytes: Vec<u8>,
        /// Whether the compaction is ours; else the tool made it itself.
        is_ours: bool,
    },
}

/// The bytes that add a compaction to the end of `source`, from which `transcript` was read.
pub fn append(
    transcript: &Transcript,
    conversation: usize,
    source: &dyn ByteSource,
    boundary: &Boundary,
) -> Result<Vec<u8>, WriteError> {
    let format = transcript.format;
    let resume = format.row().resume.as_ref().ok_or(WriteError::NotResumable(format))?;
    (resume.append)(transcript, conversation, source, boundary)
}

/// How to take back the last compaction of `source`, a file of a format that can be appended to.
pub fn undo(format: Format, source: &dyn ByteSource) -> Result<BoundaryUndo, ReadError> {
    let Some(resume) = &format.row().resume else {
        let resumable = FORMATS.iter().filter(|row| row.resume.is_some());
        let why = format!("only {} are taken back", names(resumable.map(|row| row.name)));
        return Err(ReadError::NotThis { format, why });
    };
    (resume.undo)(source)
}
