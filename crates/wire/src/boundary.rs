//! Writing a compaction behind the transcript it compacts, and taking one back.
//!
//! What is written is appended: the original bytes stay as they are, and each line of ours notes how
//! many there were, so that undoing gives exactly those back.

mod kept;
mod mark;
mod take_back;

pub(crate) use kept::{branch_messages, kept_tail};
pub(crate) use mark::{Mark, begin_line, derive};
pub(crate) use take_back::{Found, take_back};

use crate::{Format, ReadError, Source, Transcript, claude_code, codex, pi};
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
    /// The record of it, as JSON, to be found again in the file.
    pub record: Option<Arc<str>>,
}

/// What a compaction written in `format` can say; the rest must go into the summary's text.
///
/// Claude Code shows what it preserves after the summary and never before it; pi shows everything from
/// one entry on; Codex shows a history that is written out in full, so messages may stand before the
/// summary. None of them shows a message otherwise than it was said.
pub fn can_express(format: Format) -> Expressible {
    Expressible { front: format == Format::Codex, forms: false }
}

/// A compaction that cannot be written.
#[derive(Debug, thiserror::Error)]
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

/// How to take back the last compaction of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undo {
    /// There is none.
    Nothing,
    /// Cut the file to this many bytes: it is then what it was.
    Truncate(u64),
    /// Write these bytes instead: the compaction's lines are gone, and what hung off them hangs off
    /// what they followed.
    Rewrite(Vec<u8>),
}

/// The bytes that add a compaction to the end of `source`, from which `transcript` was read.
pub fn append(
    transcript: &Transcript,
    conversation: usize,
    source: &dyn Source,
    boundary: &Boundary,
) -> Result<Vec<u8>, WriteError> {
    match transcript.format {
        Format::ClaudeCode => claude_code::append(transcript, conversation, source, boundary),
        Format::Codex => codex::append(transcript, conversation, source, boundary),
        Format::Pi => pi::append(transcript, conversation, source, boundary),
        format @ (Format::Opencode
        | Format::GeminiCli
        | Format::CopilotCli
        | Format::SweAgent
        | Format::MiniSweAgent
        | Format::Openhands
        | Format::Langgraph
        | Format::Anthropic
        | Format::OpenaiChat
        | Format::OpenaiResponses
        | Format::Native) => Err(WriteError::NotResumable(format)),
    }
}

/// How to take back the last compaction of `source`, a file of a format that can be appended to.
pub fn undo(format: Format, source: &dyn Source) -> Result<Undo, ReadError> {
    match format {
        Format::ClaudeCode => claude_code::undo(source),
        Format::Codex => codex::undo(source),
        Format::Pi => pi::undo(source),
        Format::Opencode
        | Format::GeminiCli
        | Format::CopilotCli
        | Format::SweAgent
        | Format::MiniSweAgent
        | Format::Openhands
        | Format::Langgraph
        | Format::Anthropic
        | Format::OpenaiChat
        | Format::OpenaiResponses
        | Format::Native => {
            Err(ReadError::NotThis { format, why: "only claude-code, codex and pi are taken back".into() })
        }
    }
}
