//! What is known of one file.

use super::path;
use crate::EntryId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Something done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Its content was shown.
    Read,
    /// It came to be.
    Created,
    /// Its content changed.
    Modified,
    /// It went away.
    Deleted,
}

impl Operation {
    /// The word for it, as summaries and reports show it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
        }
    }
}

/// What was done to one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Its path in one spelling: as the calls first wrote it, from its root on once a call has shown that.
    pub path: Arc<str>,
    /// Whether it was ever read.
    pub read: bool,
    /// Whether it was ever created.
    pub created: bool,
    /// Whether it was ever modified.
    pub modified: bool,
    /// Whether it was ever deleted.
    pub deleted: bool,
    /// The last of these.
    pub last: Operation,
    /// The entry that made the last call.
    pub entry: EntryId,
    /// The entry that last changed it, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<EntryId>,
}

impl FileRecord {
    /// What the session amounts to for it, the word a list of files shows: deleted where it is gone at the end; else
    /// created, whatever was done to it since; else modified; and read only where nothing changed it.
    pub fn standing(&self) -> Operation {
        match self {
            Self { last: Operation::Deleted, .. } => Operation::Deleted,
            Self { created: true, .. } => Operation::Created,
            Self { modified: true, .. } => Operation::Modified,
            Self { .. } => Operation::Read,
        }
    }

    /// Whether the session ever changed it; one that is there again as it was, too.
    pub fn is_changed(&self) -> bool {
        self.created || self.modified || self.deleted
    }

    /// Whether nobody will ask for it again: it lies in a folder for temporary files, or was made here and is gone.
    pub fn is_scratch(&self) -> bool {
        let is_gone = self.standing() == Operation::Deleted;
        path::is_scratch(&self.path) || (is_gone && self.created && !self.modified && !self.read)
    }
}
