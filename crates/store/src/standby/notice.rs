//! What whoever runs the program is told of a store that fails.

use epitome_engine::store::{SessionId, StoreFault};
use std::fmt;

/// What whoever runs the program should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StandbyNotice {
    /// The store fails: what is said from now on is kept in memory.
    Fails(StoreFault),
    /// It answers again; so many batches that waited are stored now.
    Answers {
        /// Batches.
        stored: usize,
    },
    /// What waited for a session could not be stored, because others have worked on it since.
    Lost {
        /// The session.
        session: SessionId,
        /// Batches.
        batches: usize,
    },
}

impl fmt::Display for StandbyNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fails(fault) => write!(f, "{fault}; until then conversations are kept in memory alone"),
            Self::Answers { stored } => {
                write!(f, "the store answers again; {stored} commits that waited are in it")
            }
            Self::Lost { session, batches } => {
                write!(
                    f,
                    "{batches} commits to {session} that waited are lost: others have worked on it since"
                )
            }
        }
    }
}
