//! The log: an append-only tree. Messages, and what a transcript's own tool recorded between them, make
//! paths; everything this program decides is a [`Mark`] anchored at a message, and lies on no path.
//!
//! What the model sees of a path is derived by [`crate::Context`]; who stores a log is not decided here.

use crate::id_table::IdTable;
use crate::mark::Mark;
use crate::{Author, CallId, Compaction, EntryId, Message, Role, pair};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One entry of a log.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// Someone said something. What they said is in the archive under the same id.
    Message(Item),
    /// The transcript's own tool compacted here: it holds on paths through this entry, as it does there.
    Recorded(Box<Compaction>),
    /// Something of the transcript's own that is no part of the context: a model change, a label.
    Note {
        /// Its kind, in the words of the format it came from.
        kind: Arc<str>,
    },
    /// Something decided about the path it is anchored in.
    Mark(Mark),
}

/// The light half of a message: all that planning needs, sizes apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// On which side it stands.
    pub role: Role,
    /// Who wrote it.
    pub author: Author,
    /// Calls it makes.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub calls: Box<[CallId]>,
    /// Calls it answers.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub answers: Box<[CallId]>,
}

impl Item {
    /// The light half of a message.
    pub fn of(message: &Message) -> Self {
        Self {
            role: message.role,
            author: message.author,
            calls: pair::calls(message),
            answers: pair::answers(message),
        }
    }

    /// Whether it is part of an exchange: it makes calls, or answers some.
    pub fn is_exchange(&self) -> bool {
        !(self.calls.is_empty() && self.answers.is_empty())
    }

    /// Whether a harness put it in on the user's side: a reminder, a hook's note, an attachment. It belongs
    /// to the exchange it follows.
    pub fn is_appended(&self) -> bool {
        self.role == Role::User && self.author == Author::Harness && !self.is_exchange()
    }

    /// Whether a turn begins here: the user's side speaks, and it is not a tool's answer.
    pub fn opens_turn(&self) -> bool {
        self.role == Role::User && self.author == Author::Person && self.answers.is_empty()
    }
}

/// Entries, append-only, each below its parent or, for marks, at its anchor.
#[derive(Clone, Debug, Default)]
pub struct Log {
    nodes: IdTable<Node>,
    /// The entry of a path that was appended last.
    newest: Option<EntryId>,
    /// Marks anchored before the first entry, in the order they were appended.
    root_marks: Vec<EntryId>,
    /// Marks that are compactions or edits.
    passes: Vec<EntryId>,
}

#[derive(Clone, Debug)]
struct Node {
    entry: Entry,
    /// The parent of a path entry, the anchor of a mark.
    parent: Option<EntryId>,
    /// Marks anchored at it, in the order they were appended.
    marks: Vec<EntryId>,
}

impl Node {
    fn new(parent: Option<EntryId>, entry: Entry) -> Self {
        Self { entry, parent, marks: Vec::new() }
    }

    fn is_on_a_path(&self) -> bool {
        match self.entry {
            Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. } => true,
            Entry::Mark(_) => false,
        }
    }
}

/// An entry that cannot be appended.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The parent named does not exist yet, or is a mark.
    #[error("entry {id} names {parent} as its parent, which is no entry of a path; append the parent first")]
    UnknownParent {
        /// The entry refused.
        id: EntryId,
        /// What it asked for.
        parent: EntryId,
    },
    /// Something that must be a message of the path is none.
    #[error("{what} names {id}, which is no message of the path it is anchored in")]
    NotOnPath {
        /// The mark refused.
        what: &'static str,
        /// What it names.
        id: EntryId,
    },
    /// Something that must be a compaction or an edit is none.
    #[error("{what} names {id}, which is no compaction or edit")]
    NotAPass {
        /// The mark refused.
        what: &'static str,
        /// What it names.
        id: EntryId,
    },
    /// A compaction or edit that has no place on the path.
    #[error("{what} names {id}, which covers other messages than those of the path it is anchored in")]
    NotHeld {
        /// The mark refused.
        what: &'static str,
        /// What it names.
        id: EntryId,
    },
    /// A compaction that shows a message twice, or out of order.
    #[error("the compaction shows {id} twice or out of order")]
    Disorder {
        /// The message.
        id: EntryId,
    },
    /// A compaction that shows a call without its result, or a result without its call.
    #[error("the compaction splits the exchange of {call} and {answer}")]
    SplitExchange {
        /// The reply that calls.
        call: EntryId,
        /// What answers it.
        answer: EntryId,
    },
}

impl Log {
    /// The compaction or edit that a mark puts to use: itself, or the one it applies or uses again.
    pub fn pass_of(&self, mark: EntryId) -> EntryId {
        match self.mark_of(mark) {
            Some(Mark::Apply { of } | Mark::Redo { of }) => *of,
            Some(_) | None => mark,
        }
    }

    /// Whether a compaction or edit can be used on the path that ends in `leaf`.
    pub fn can_apply(&self, pass: EntryId, leaf: Option<EntryId>) -> bool {
        Mark::Apply { of: pass }.check(self, leaf).is_ok()
    }

    /// A log of `len` entries of which only `entries` are at hand, in the order of their ids: those of one path, each below the
    /// one before it that is at hand, and marks at anchors among them.
    ///
    /// # Errors
    /// Where an entry stands below nothing that is at hand.
    pub fn partial(len: usize, entries: Vec<(EntryId, Option<EntryId>, Entry)>) -> Result<Self, LogError> {
        let mut log = Self::default();
        let mut nodes: Vec<(EntryId, Node)> = Vec::with_capacity(entries.len());
        for (id, parent, entry) in entries {
            let place = parent.map(|parent| nodes.binary_search_by_key(&parent, |(id, _)| *id));
            let below = match (parent, place) {
                (Some(_), Some(Ok(at))) if nodes[at].1.is_on_a_path() => Some(&mut nodes[at].1),
                (Some(parent), _) => return Err(LogError::UnknownParent { id, parent }),
                (None, _) => None,
            };
            if matches!(entry, Entry::Mark(_)) {
                below.map_or(&mut log.root_marks, |node| &mut node.marks).push(id);
            }
            log.register(id, &entry);
            nodes.push((id, Node::new(parent, entry)));
        }
        log.nodes = IdTable::partial(len, nodes);
        Ok(log)
    }

    /// Appends a path entry below the newest one.
    ///
    /// # Panics
    /// On a mark: those are checked, by [`Log::mark`].
    pub fn push(&mut self, entry: Entry) -> EntryId {
        assert!(!matches!(entry, Entry::Mark(_)), "a mark is appended by `Log::mark`, which checks it");
        self.insert(self.newest, entry)
    }

    /// Appends a path entry below `parent`, or as a root; a mark is anchored there, and checked.
    pub fn append(&mut self, parent: Option<EntryId>, entry: Entry) -> Result<EntryId, LogError> {
        if let Entry::Mark(mark) = entry {
            return self.mark(parent, mark);
        }
        self.check_parent(parent)?;
        Ok(self.insert(parent, entry))
    }

    /// Appends a mark anchored at `anchor`, the newest entry of the path it is decided about.
    pub fn mark(&mut self, anchor: Option<EntryId>, mark: Mark) -> Result<EntryId, LogError> {
        self.check_parent(anchor)?;
        mark.check(self, anchor)?;
        Ok(self.insert(anchor, Entry::Mark(mark)))
    }

    fn check_parent(&self, parent: Option<EntryId>) -> Result<(), LogError> {
        match parent {
            Some(parent) if !self.is_on_a_path(parent) => {
                Err(LogError::UnknownParent { id: EntryId(self.nodes.len() as u32), parent })
            }
            Some(_) | None => Ok(()),
        }
    }

    fn is_on_a_path(&self, id: EntryId) -> bool {
        self.nodes.get(id).is_some_and(Node::is_on_a_path)
    }

    fn insert(&mut self, parent: Option<EntryId>, entry: Entry) -> EntryId {
        let id = EntryId(self.nodes.len() as u32);
        if matches!(entry, Entry::Mark(_)) {
            let anchor = parent.and_then(|anchor| self.nodes.get_mut(anchor));
            anchor.map_or(&mut self.root_marks, |node| &mut node.marks).push(id);
        }
        self.register(id, &entry);
        self.nodes.push(Node::new(parent, entry));
        id
    }

    /// Takes an entry up in what is found by other ways than its id.
    fn register(&mut self, id: EntryId, entry: &Entry) {
        match entry {
            Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. } => self.newest = Some(id),
            Entry::Mark(Mark::Compaction { .. } | Mark::Edit { .. }) => self.passes.push(id),
            Entry::Mark(_) => {}
        }
    }

    /// The path entry that was appended last. A session names its own leaf.
    pub fn newest(&self) -> Option<EntryId> {
        self.newest
    }

    /// The entry of this id.
    pub fn get(&self, id: EntryId) -> Option<&Entry> {
        self.nodes.get(id).map(|node| &node.entry)
    }

    /// The parent of a path entry, the anchor of a mark; none at a root.
    pub fn parent(&self, id: EntryId) -> Option<EntryId> {
        self.nodes.get(id)?.parent
    }

    /// The message of this id, where it is one.
    pub fn item(&self, id: EntryId) -> Option<&Item> {
        match self.get(id)? {
            Entry::Message(item) => Some(item),
            Entry::Recorded(_) | Entry::Note { .. } | Entry::Mark(_) => None,
        }
    }

    /// The compaction of this id: a mark of ours, or the transcript's own.
    pub fn compaction(&self, id: EntryId) -> Option<&Compaction> {
        match self.get(id)? {
            Entry::Recorded(compaction) | Entry::Mark(Mark::Compaction { compaction, .. }) => {
                Some(compaction)
            }
            Entry::Message(_) | Entry::Note { .. } | Entry::Mark(_) => None,
        }
    }

    /// The mark of this id, where it is one.
    pub fn mark_of(&self, id: EntryId) -> Option<&Mark> {
        match self.get(id)? {
            Entry::Mark(mark) => Some(mark),
            Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. } => None,
        }
    }

    /// Every entry with its id, in the order they were appended.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (EntryId, &Entry)> {
        self.nodes.iter().map(|(id, node)| (id, &node.entry))
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nothing was ever said.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 0
    }

    /// Whether every entry is at hand. Of a log of which only what is in view is at hand, one path can be derived and gone on
    /// with; whatever looks further back needs the whole.
    pub fn is_whole(&self) -> bool {
        self.nodes.is_whole()
    }

    /// One path: the ids from the root to `leaf`. A mark stands for its anchor.
    pub fn path(&self, leaf: EntryId) -> Vec<EntryId> {
        self.path_behind(Some(leaf), |_| false).1
    }

    /// The end of a path: the last entry of it that `is_known`, and what stands behind that, oldest first; all of it where none is.
    /// Costs what stands behind.
    pub fn path_behind(
        &self,
        leaf: Option<EntryId>,
        is_known: impl Fn(EntryId) -> bool,
    ) -> (Option<EntryId>, Vec<EntryId>) {
        let mut ids = Vec::new();
        let mut next =
            leaf.and_then(|leaf| if self.is_on_a_path(leaf) { leaf.into() } else { self.parent(leaf) });
        while let Some(id) = next.filter(|id| !is_known(*id)) {
            ids.push(id);
            next = self.parent(id);
        }
        ids.reverse();
        (next, ids)
    }

    /// The same for a path that may not have begun.
    pub fn path_of(&self, leaf: Option<EntryId>) -> Vec<EntryId> {
        leaf.map(|leaf| self.path(leaf)).unwrap_or_default()
    }

    /// Every compaction that belongs to a prefix, with the last message it covers.
    pub fn compactions(&self) -> impl Iterator<Item = (EntryId, EntryId)> {
        self.passes.iter().filter_map(|&id| Some((id, self.compaction(id)?.anchor()?)))
    }

    /// Every edit.
    pub fn edits(&self) -> impl Iterator<Item = EntryId> {
        self.passes.iter().copied().filter(|&id| self.compaction(id).is_none())
    }

    /// Marks anchored at an entry, or before the first one, in the order they were appended.
    pub fn marks_at(&self, anchor: Option<EntryId>) -> &[EntryId] {
        match anchor {
            None => &self.root_marks,
            Some(id) => self.nodes.get(id).map_or(&[], |node| &node.marks),
        }
    }

    /// The anchors of the marks among the entries from `first` on.
    pub fn anchors_from(&self, first: usize) -> impl Iterator<Item = Option<EntryId>> {
        let marks = (first..self.len()).map(|at| EntryId(at as u32)).filter(|&id| self.mark_of(id).is_some());
        marks.map(|id| self.parent(id))
    }

    /// Every mark that holds on a path, in the order they were appended.
    pub fn marks_on(&self, path: &[EntryId]) -> Vec<EntryId> {
        let anchors = std::iter::once(None).chain(path.iter().copied().map(Some));
        let mut marks: Vec<EntryId> = anchors.flat_map(|anchor| self.marks_at(anchor)).copied().collect();
        marks.sort_unstable();
        marks
    }
}

#[cfg(test)]
mod tests;
