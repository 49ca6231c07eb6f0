//! The table of strategies: the ways to make room, by name, in the order people are shown them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One way to make room. A policy names several; each is tried when the one before it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Repeated harness messages: only the newest stays.
    Trim,
    /// The bulk of old messages gives way to pointers; nothing leaves the context whole.
    Prune,
    /// The oldest part gives way to a summary.
    Summarize,
    /// The provider compacts with its own means; a readable twin of the result is kept.
    Native,
    /// A hook returns the whole new list.
    Delegate,
    /// The session pauses until an operator has decided; what they approve is the summary that follows.
    Checkpoint,
    /// The oldest part leaves without a summary. Needs nothing, and always reaches the target.
    Drop,
}

impl Strategy {
    /// Every strategy, in the order they are listed to people.
    pub const ALL: [Self; 7] = [
        Self::Trim,
        Self::Prune,
        Self::Summarize,
        Self::Native,
        Self::Delegate,
        Self::Checkpoint,
        Self::Drop,
    ];

    /// The name people and scripts use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trim => "trim",
            Self::Prune => "prune",
            Self::Summarize => "summarize",
            Self::Native => "native",
            Self::Delegate => "delegate",
            Self::Checkpoint => "checkpoint",
            Self::Drop => "drop",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Strategy {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|strategy| strategy.name() == name);
        found.ok_or_else(|| {
            format!("`{name}` is no strategy; there are {}", Self::ALL.map(Self::name).join(", "))
        })
    }
}
