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
        self.row().name
    }

    /// How it makes room.
    pub const fn kind(self) -> StrategyKind {
        self.row().kind
    }

    /// What it does, in a sentence of the documents.
    pub const fn about(self) -> &'static str {
        self.row().about
    }

    /// The one table of strategies.
    const fn row(self) -> StrategyRow {
        let (name, kind, about) = match self {
            Self::Trim => ("trim", StrategyKind::Edit, "repeated harness messages: only the newest stays"),
            Self::Prune => (
                "prune",
                StrategyKind::Edit,
                "the bulk of old messages gives way to pointers; no message leaves the context whole",
            ),
            Self::Summarize => (
                "summarize",
                StrategyKind::Cut,
                "the oldest part gives way to a summary, checked fact by fact",
            ),
            Self::Native => (
                "native",
                StrategyKind::Cut,
                "the provider compacts with its own means; a readable twin of the result is kept",
            ),
            Self::Delegate => (
                "delegate",
                StrategyKind::Cut,
                "a [hook](hooks.md) that is a compactor returns the whole new list; without one the next strategy follows",
            ),
            Self::Checkpoint => (
                "checkpoint",
                StrategyKind::Ask,
                "it waits until an operator has decided: the person at the terminal of `compact`, whoever answers through the API of `serve`; without one, or not in time, the next strategy follows",
            ),
            Self::Drop => (
                "drop",
                StrategyKind::Cut,
                "the oldest part leaves without a summary; needs nothing, and always reaches the target",
            ),
        };
        StrategyRow { name, kind, about }
    }
}

/// How a strategy makes room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrategyKind {
    /// Messages are shown otherwise, and none leaves the context: a pass, [`crate::EditPass`].
    Edit,
    /// Messages leave the context.
    Cut,
    /// Somebody is asked about the strategy that follows.
    Ask,
}

/// A strategy's row in the table.
struct StrategyRow {
    name: &'static str,
    kind: StrategyKind,
    about: &'static str,
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
