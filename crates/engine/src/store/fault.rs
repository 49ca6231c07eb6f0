//! What a store says when what it stands on fails: a kind that can be acted on, and what to do.

use serde::Serialize;

/// A disk or a database that did not do its part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {}", kind.remedy())]
pub struct StoreFault {
    /// What kind of failure it is.
    pub kind: FaultKind,
    /// Which store, and what it said.
    pub what: String,
}

/// Why a disk or a database did not do its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FaultKind {
    /// There is no room.
    Full,
    /// Nothing may be written there.
    ReadOnly,
    /// It is not there, or does not answer.
    Gone,
    /// Others hold it, or it is slow.
    Busy,
    /// A later version of this program wrote it.
    Newer,
    /// What it holds cannot be read.
    Damaged,
    /// Something else.
    Other,
}

impl FaultKind {
    /// Whether it passes by itself: what is damaged, or of a later version, stays so.
    pub const fn is_passing(self) -> bool {
        match self {
            Self::Full | Self::ReadOnly | Self::Gone | Self::Busy => true,
            Self::Newer | Self::Damaged | Self::Other => false,
        }
    }

    /// What is to be done about it.
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Full => "make room there, and nothing is lost",
            Self::ReadOnly => "allow this program to write there, or name another store",
            Self::Gone => "see that it is there and answers; what comes meanwhile is not kept",
            Self::Busy => "try again when whoever holds it is done",
            Self::Newer => "use the version of epitome that wrote it, or a later one",
            Self::Damaged => "`epitome doctor` tells what can be read",
            Self::Other => "nothing was changed",
        }
    }
}
