//! The classes of facts, and what a fact is.

use crate::{Author, EntryId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What kind of thing a fact states. The order is the order in which loss reports list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// A file's path.
    Path,
    /// What was last done to a file.
    Operation,
    /// A name in code.
    Identifier,
    /// A URL, or a method with its path.
    Url,
    /// A hash, or an id somebody gave.
    Id,
    /// A command that was run.
    Command,
    /// A number with what it counts.
    Number,
    /// A version with what it is a version of.
    Version,
    /// An error's first line.
    Error,
    /// Something the person asked for.
    Requirement,
    /// Something the person forbade.
    Prohibition,
    /// A choice that was made.
    Decision,
    /// An item of a todo list.
    Todo,
    /// A value that holds until it changes: a branch, a port, a mode.
    State,
    /// What the person typed, whole.
    UserMessage,
    /// A question nobody has answered.
    Question,
    /// A task or process still running.
    LiveWork,
}

impl Class {
    /// Every class, in order.
    pub const ALL: [Self; 17] = [
        Self::Path,
        Self::Operation,
        Self::Identifier,
        Self::Url,
        Self::Id,
        Self::Command,
        Self::Number,
        Self::Version,
        Self::Error,
        Self::Requirement,
        Self::Prohibition,
        Self::Decision,
        Self::Todo,
        Self::State,
        Self::UserMessage,
        Self::Question,
        Self::LiveWork,
    ];

    /// Whether a newer value for the same key makes the older one untrue.
    pub fn latest_wins(self) -> bool {
        match self {
            Self::Operation | Self::Number | Self::Version | Self::Todo | Self::State => true,
            Self::Path
            | Self::Identifier
            | Self::Url
            | Self::Id
            | Self::Command
            | Self::Error
            | Self::Requirement
            | Self::Prohibition
            | Self::Decision
            | Self::UserMessage
            | Self::Question
            | Self::LiveWork => false,
        }
    }

    /// The word for it, as reports show it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Operation => "operation",
            Self::Identifier => "identifier",
            Self::Url => "url",
            Self::Id => "id",
            Self::Command => "command",
            Self::Number => "number",
            Self::Version => "version",
            Self::Error => "error",
            Self::Requirement => "requirement",
            Self::Prohibition => "prohibition",
            Self::Decision => "decision",
            Self::Todo => "todo",
            Self::State => "state",
            Self::UserMessage => "user-message",
            Self::Question => "question",
            Self::LiveWork => "live-work",
        }
    }

    /// Whether its facts are the person's own rules.
    pub fn is_rule(self) -> bool {
        matches!(self, Self::Requirement | Self::Prohibition)
    }
}

/// Something stated that a machine can check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// What kind of thing it states.
    pub class: Class,
    /// What it is about; the value itself where the class has no key of its own.
    pub key: Arc<str>,
    /// What is stated.
    pub value: Arc<str>,
    /// The entry it was found in.
    pub source: EntryId,
    /// The line it stood in, shortened where it is very long.
    pub line: Arc<str>,
    /// Who wrote it.
    pub author: Author,
}

#[cfg(test)]
mod tests {
    use super::Class;

    #[test]
    fn a_class_is_called_the_same_everywhere() {
        for class in Class::ALL {
            assert_eq!(serde_json::to_value(class).expect("a plain word"), class.name());
        }
    }
}
