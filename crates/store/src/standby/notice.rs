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
    /// The program ends while the store fails.
    Unstored {
        /// Sessions whose newest entries are not in it.
        cut: usize,
        /// Sessions that are not in it at all.
        begun: usize,
    },
}

impl fmt::Display for StandbyNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fails(fault) => write!(f, "{fault}; until then conversations are kept in memory alone"),
            Self::Answers { stored } => {
                write!(f, "the store answers again; {stored} commits that waited are in it")
            }
            Self::Unstored { cut, begun } => write!(
                f,
                "the store still fails: of {cut} conversation{} it lacks the newest part, of {begun} everything",
                if *cut == 1 { "" } else { "s" }
            ),
            Self::Lost { session, batches } => {
                write!(
                    f,
                    "{batches} commits to {session} that waited are lost: others have worked on it since"
                )
            }
        }
    }
}
