//! The log: entries in the order they came, each below its parent, never edited and never removed.

use crate::{Author, CallId, EntryId, Form, Opaque, Role, Sizes, Tokens};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One entry of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "lowercase")]
pub enum Entry {
    /// Someone said something. What they said is in the archive under the same id.
    Message(Item),
    /// Part of the history gave way to a summary, or simply gave way.
    Compaction(Box<Compaction>),
    /// Messages are shown in another form from here on.
    Edit(Edit),
    /// An earlier compaction or edit no longer counts.
    Undo {
        /// The entry taken back.
        of: EntryId,
    },
    /// Something that belongs to the session and not to the context: a model change, a label.
    Note {
        /// Its kind, in the words of the format it came from.
        kind: Arc<str>,
    },
}

/// The light half of a message: all that planning needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// On which side it stands.
    pub role: Role,
    /// Who wrote it.
    pub author: Author,
    /// Its tokens by kind.
    pub sizes: Sizes,
    /// Calls it makes.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub calls: Box<[CallId]>,
    /// Calls it answers.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub answers: Box<[CallId]>,
}

impl Item {
    /// Whether a turn begins here: the user's side speaks, and it is not a tool's answer.
    pub fn opens_turn(&self) -> bool {
        self.role == Role::User && self.author == Author::Person && self.answers.is_empty()
    }
}

/// What one compaction did to the context.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Compaction {
    /// Superseded messages that stay in view all the same, oldest first, before the summary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<EntryId>,
    /// What stands for the rest; none where it was dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    /// What follows the summary.
    pub tail: Tail,
    /// The provider's own item for the same; the summary is its readable twin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Opaque>,
    /// Forms that messages in view take on in the same pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forms: Vec<(EntryId, Form)>,
}

/// The text that stands for what was superseded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// As the model sees it, fence and provenance included.
    pub text: Arc<str>,
    /// Its size, framing included.
    pub tokens: Tokens,
}

/// The messages kept after a summary. Whatever is said later follows them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tail {
    /// None.
    #[default]
    Nothing,
    /// Everything in the context from this message on.
    From(EntryId),
    /// Exactly these.
    These(Vec<EntryId>),
}

/// A change of how messages are shown. Their originals stay where they are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    /// Each message with the form it takes on.
    pub forms: Vec<(EntryId, Form)>,
}

/// Entries, append-only, each below its parent.
#[derive(Clone, Debug, Default)]
pub struct Log {
    entries: Vec<Entry>,
    /// Parent of each entry, by position; `NO_PARENT` at a root.
    parents: Vec<u32>,
}

/// Marks a root among the parents; a log never grows this long.
const NO_PARENT: u32 = u32::MAX;

/// An entry that cannot be appended.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The parent named does not exist yet.
    #[error("entry {id} names {parent} as its parent, which is not in the log; append the parent first")]
    UnknownParent {
        /// The entry refused.
        id: EntryId,
        /// What it asked for.
        parent: EntryId,
    },
}

impl Log {
    /// Appends an entry below the newest one.
    pub fn push(&mut self, entry: Entry) -> EntryId {
        self.insert(self.leaf().map_or(NO_PARENT, |leaf| leaf.0), entry)
    }

    /// Appends an entry below `parent`, or as a root.
    pub fn append(&mut self, parent: Option<EntryId>, entry: Entry) -> Result<EntryId, LogError> {
        match parent {
            Some(parent) if parent.index() >= self.entries.len() => {
                Err(LogError::UnknownParent { id: EntryId(self.entries.len() as u32), parent })
            }
            Some(parent) => Ok(self.insert(parent.0, entry)),
            None => Ok(self.insert(NO_PARENT, entry)),
        }
    }

    fn insert(&mut self, parent: u32, entry: Entry) -> EntryId {
        self.entries.push(entry);
        self.parents.push(parent);
        EntryId(self.entries.len() as u32 - 1)
    }

    /// The newest entry.
    pub fn leaf(&self) -> Option<EntryId> {
        self.entries.len().checked_sub(1).map(|last| EntryId(last as u32))
    }

    /// The entry of this id.
    pub fn get(&self, id: EntryId) -> Option<&Entry> {
        self.entries.get(id.index())
    }

    /// The message of this id, where it is one.
    pub fn item(&self, id: EntryId) -> Option<&Item> {
        match self.get(id)? {
            Entry::Message(item) => Some(item),
            Entry::Compaction(_) | Entry::Edit(_) | Entry::Undo { .. } | Entry::Note { .. } => None,
        }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing was ever said.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// One branch: the ids from the root to `leaf`.
    pub fn branch(&self, leaf: EntryId) -> Vec<EntryId> {
        let mut ids = Vec::new();
        let mut at = leaf.0;
        while let Some(&parent) = self.parents.get(at as usize) {
            ids.push(EntryId(at));
            at = parent;
        }
        ids.reverse();
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, Log, LogError};
    use crate::EntryId;

    fn note() -> Entry {
        Entry::Note { kind: "label".into() }
    }

    #[test]
    fn a_branch_runs_from_its_root_to_its_leaf() {
        let mut log = Log::default();
        let root = log.push(note());
        let left = log.append(Some(root), note()).expect("the root is there");
        let right = log.append(Some(root), note()).expect("the root is there");
        assert_eq!((log.branch(left), log.branch(right)), (vec![root, left], vec![root, right]));
    }

    #[test]
    fn a_parent_must_be_there_first() {
        let refused = Log::default().append(Some(EntryId(7)), note());
        assert_eq!(refused, Err(LogError::UnknownParent { id: EntryId(0), parent: EntryId(7) }));
    }
}
