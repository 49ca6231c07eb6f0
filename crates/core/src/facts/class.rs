//! The table of fact classes, one row each, and what a fact is. Adding a class is its row here, its finder
//! beside this file and its test; summarising and verification read the row.

use crate::{Author, EntryId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// All that is particular to a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ClassRow {
    /// The word for it, as reports show it.
    pub name: &'static str,
    /// Whether a newer value for the same key makes the older one untrue.
    pub latest_wins: bool,
    /// Where it stands in the order of repair.
    pub tier: Tier,
    /// For a token inside a line, how likely one with no history is to be needed again, as a logistic score;
    /// none for a whole sentence, which has parts of a summary of its own.
    pub score: Option<f64>,
    /// When it counts as in view.
    pub evidence: Evidence,
    /// How its line is written when it is put back.
    pub repair: RepairLine,
}

/// The order in which lost facts are put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tier {
    /// What the person demanded and what is still to do.
    Duty,
    /// What was changed.
    Change,
    /// What went wrong, waits or runs.
    Trouble,
    /// What later work refers to.
    Reference,
    /// What can be seen elsewhere, or counts for little.
    Rest,
}

/// What shows that a fact is in view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// Its value, as a whole word.
    Word,
    /// Its value by its form: an address goes on past what ends a word.
    Address,
    /// Its value beside its key.
    Pair,
    /// Its value as the word beside its path.
    Beside,
    /// Its sentence.
    Sentence,
}

/// How a lost fact's line is written when it is put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RepairLine {
    /// As a rule.
    Rule,
    /// As it stood.
    Bare,
    /// As a question that waits.
    Question,
    /// Behind the pointer to its entry.
    Pointed,
}

/// Makes the enum, its list and its rows from one table, so that no class can be without one.
macro_rules! classes {
    ($($(#[$doc:meta])* $class:ident: $row:expr;)*) => {
        /// What kind of thing a fact states. The order is the order in which loss reports list them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Class {
            $($(#[$doc])* $class,)*
        }

        impl Class {
            /// Every class, in order.
            pub const ALL: [Self; [$(stringify!($class)),*].len()] = [$(Self::$class),*];

            /// Its row of the table.
            pub(crate) const fn row(self) -> ClassRow {
                match self {
                    $(Self::$class => $row,)*
                }
            }
        }
    };
}

/// A token that later work refers to, known by its value.
const TOKEN: ClassRow = ClassRow {
    name: "",
    latest_wins: false,
    tier: Tier::Reference,
    score: None,
    evidence: Evidence::Word,
    repair: RepairLine::Pointed,
};
/// A value with what it is a value of.
const VALUE: ClassRow = ClassRow { latest_wins: true, evidence: Evidence::Pair, ..TOKEN };
/// A sentence somebody said.
const SENTENCE: ClassRow = ClassRow { evidence: Evidence::Sentence, ..TOKEN };
/// A rule of the person's.
const RULE: ClassRow = ClassRow { tier: Tier::Duty, repair: RepairLine::Rule, ..SENTENCE };

// The scores were set by judgement; that of `Number` was then moved by a search on half of the corpus's
// sessions, checked on the other half. Around where they stand the figures are flat (`bench/RETENTION.md`).
classes! {
    /// A file's path.
    Path: ClassRow { name: "path", score: Some(-2.6), ..TOKEN };
    /// What was last done to a file.
    Operation: ClassRow {
        name: "operation",
        tier: Tier::Change,
        evidence: Evidence::Beside,
        repair: RepairLine::Bare,
        ..VALUE
    };
    /// A name in code.
    Identifier: ClassRow { name: "identifier", score: Some(-3.2), ..TOKEN };
    /// A URL, or a method with its path.
    Url: ClassRow { name: "url", score: Some(-3.8), evidence: Evidence::Address, ..TOKEN };
    /// A hash, or an id somebody gave.
    Id: ClassRow { name: "id", score: Some(-3.8), ..TOKEN };
    /// A command that was run.
    Command: ClassRow { name: "command", tier: Tier::Rest, score: Some(-3.2), ..SENTENCE };
    /// A number with what it counts.
    Number: ClassRow { name: "number", tier: Tier::Rest, score: Some(-3.2), ..VALUE };
    /// A version with what it is a version of.
    Version: ClassRow { name: "version", score: Some(-4.5), ..VALUE };
    /// An error's first line.
    Error: ClassRow { name: "error", tier: Tier::Trouble, score: Some(-3.0), ..SENTENCE };
    /// Something the person asked for.
    Requirement: ClassRow { name: "requirement", ..RULE };
    /// Something the person forbade.
    Prohibition: ClassRow { name: "prohibition", ..RULE };
    /// A choice that was made.
    Decision: ClassRow { name: "decision", ..SENTENCE };
    /// An item of a todo list.
    Todo: ClassRow {
        name: "todo",
        latest_wins: true,
        tier: Tier::Duty,
        repair: RepairLine::Bare,
        ..SENTENCE
    };
    /// A value that holds until it changes: a branch, a port, a mode.
    State: ClassRow { name: "state", score: Some(-3.8), ..VALUE };
    /// What the person typed, whole.
    UserMessage: ClassRow { name: "user-message", tier: Tier::Rest, ..SENTENCE };
    /// A question nobody has answered.
    Question: ClassRow {
        name: "question",
        tier: Tier::Trouble,
        repair: RepairLine::Question,
        ..SENTENCE
    };
    /// A task or process still running.
    LiveWork: ClassRow { name: "live-work", tier: Tier::Trouble, ..SENTENCE };
}

impl Class {
    /// Whether a newer value for the same key makes the older one untrue.
    pub fn latest_wins(self) -> bool {
        self.row().latest_wins
    }

    /// The word for it, as reports show it.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Whether its facts are tokens inside a line, as against whole lines.
    pub fn is_token(self) -> bool {
        self.row().score.is_some()
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

impl Fact {
    /// What it states, without where.
    pub(crate) fn mention(&self) -> super::Mention<'_> {
        super::Mention { class: self.class, key: &self.key, value: &self.value }
    }
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
