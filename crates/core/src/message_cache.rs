//! A cache of originals for the life of one plan: each is asked of the archive once, however many steps of the
//! plan look at it. For a file each reading is a parse, for a database a query. What is read is bounded by
//! what a plan reads at all; see [`crate::FarHistory`].

use crate::{Archive, ArchiveError, EntryId, Message};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Originals read so far. Clones share what they have read.
#[derive(Clone)]
pub(crate) struct MessageCache<'a> {
    archive: &'a dyn Archive,
    read: Arc<Mutex<HashMap<EntryId, Arc<Message>>>>,
}

impl<'a> MessageCache<'a> {
    pub(crate) fn new(archive: &'a dyn Archive) -> Self {
        Self { archive, read: Arc::default() }
    }

    fn read(&self) -> MutexGuard<'_, HashMap<EntryId, Arc<Message>>> {
        // Whoever panicked while it was locked left whole messages behind.
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Archive for MessageCache<'_> {
    fn message(&self, id: EntryId) -> Result<Arc<Message>, ArchiveError> {
        if let Some(known) = self.read().get(&id) {
            return Ok(known.clone());
        }
        let message = self.archive.message(id)?;
        self.read().insert(id, message.clone());
        Ok(message)
    }

    fn messages(&self, ids: &[EntryId]) -> Result<Vec<Arc<Message>>, ArchiveError> {
        let unknown: Vec<EntryId> = {
            let read = self.read();
            ids.iter().copied().filter(|id| !read.contains_key(id)).collect()
        };
        let messages = self.archive.messages(&unknown)?;
        self.read().extend(unknown.into_iter().zip(messages));
        ids.iter().map(|&id| self.message(id)).collect()
    }
}
