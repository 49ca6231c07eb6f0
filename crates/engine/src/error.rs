//! How an act of the engine fails. What is expected is no error: a compaction that is not needed, or that came to
//! nothing, is an outcome in its record.

use crate::assembly::NoWindow;
use crate::store::StoreError;
use epitome_core::{ArchiveError, EntryId, LogError};

/// An act that failed. What it appended before that stays and is handed out with the next step.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// An original could not be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// An entry could not be appended.
    #[error(transparent)]
    Log(#[from] LogError),
    /// It was asked for in the middle of something.
    #[error("a compaction cannot run now: {0}; ask for one at the end of the turn instead")]
    Busy(&'static str),
    /// A place in the tree that is not there.
    #[error("there is no entry {0} in this session")]
    NoEntry(EntryId),
    /// Something is asked for that is so already.
    #[error("{of} is {standing} on this path; nothing was changed")]
    Unchanged {
        /// The compaction or edit.
        of: EntryId,
        /// How it stands.
        standing: &'static str,
    },
    /// A plan that asks without end.
    #[error("a compaction has more questions than any may have; nothing was changed, please report it")]
    EndlessPlan,
    /// Whoever it was done for has gone.
    #[error("nobody waits for it any more; nothing was changed")]
    NobodyWaits,
    /// Nobody knows the window.
    #[error(transparent)]
    NoWindow(#[from] NoWindow),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<TimelineError> for EngineError {
    fn from(error: TimelineError) -> Self {
        match error {
            TimelineError::Log(error) => Self::Log(error),
            TimelineError::Archive(error) => Self::Archive(error),
        }
    }
}

/// An entry that could not be appended or taken up.
#[derive(Debug, thiserror::Error)]
pub enum TimelineError {
    /// The log refuses it.
    #[error(transparent)]
    Log(#[from] LogError),
    /// An original could not be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}
