//! What one pass did to a context: a compaction around a cut, or an edit in place. Whether it may be
//! appended to a log is checked by [`crate::Mark`].

use crate::{EntryId, Form, Opaque};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What one compaction did to the context.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Compaction {
    /// Covered messages that stay in view all the same, oldest first, in front of the summary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub front: Vec<EntryId>,
    /// What stands for the rest, as the model sees it, fence and provenance included; none where it was
    /// dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Arc<str>>,
    /// What follows the summary.
    pub tail: Tail,
    /// The provider's own item for the same; the summary is its readable twin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Opaque>,
    /// Forms that messages in view take on in the same pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forms: Vec<(EntryId, Form)>,
    /// Messages in view that an earlier pass cut for want of room, and that stand uncut again before `forms` apply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncut: Vec<EntryId>,
}

/// The messages kept after a summary. Whatever is said later follows them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tail {
    /// None of those before the entry that records it.
    #[default]
    Nothing,
    /// Everything in the context from this message on.
    From(EntryId),
    /// Exactly these.
    These(Vec<EntryId>),
    /// Everything on the path behind the last message covered. Ours are written so: they belong to the
    /// prefix they cover, and hold whatever is said behind it.
    After {
        /// The last message covered.
        anchor: EntryId,
        /// Messages up to it that stand behind the summary all the same, oldest first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<EntryId>,
    },
}

impl Compaction {
    /// The last message covered, where the compaction belongs to a prefix; none for those that a
    /// transcript records, which belong to their place.
    pub fn anchor(&self) -> Option<EntryId> {
        match &self.tail {
            Tail::After { anchor, .. } => Some(*anchor),
            Tail::Nothing | Tail::From(_) | Tail::These(_) => None,
        }
    }

    /// Whether a message said before it is out of view by it.
    pub fn hides(&self, id: EntryId) -> bool {
        let is_in_tail = match &self.tail {
            Tail::Nothing => false,
            Tail::From(first) => id >= *first,
            Tail::These(ids) => ids.contains(&id),
            Tail::After { anchor, kept } => id > *anchor || kept.contains(&id),
        };
        !is_in_tail && !self.front.contains(&id)
    }
}

/// A change of how messages are shown. Their originals stay where they are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    /// Each message with the form it takes on.
    pub forms: Vec<(EntryId, Form)>,
}
