//! How much of what clients say a store keeps: a word of the operator's, which settings read and the engine goes by.

use serde::{Deserialize, Serialize};

/// Which texts of clients that say them again with each request are stored. What nobody says again is stored in any case:
/// summaries, texts of our own, what was imported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeptBodies {
    /// Every text, as it comes.
    #[default]
    All,
    /// A text when it leaves the view, or is shown in part, in the commit of the compaction or edit that does it.
    Superseded,
    /// None.
    None,
}

impl KeptBodies {
    /// Every one, the most first.
    pub const ALL: [Self; 3] = [Self::All, Self::Superseded, Self::None];

    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Superseded => "superseded",
            Self::None => "none",
        }
    }
}
