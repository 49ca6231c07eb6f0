//! A batch as rows, made by whoever commits it and not by the one who writes; and what a database can check of it.

use crate::fault::damaged;
use crate::hash::{BodyHash, Secret};
use crate::packed::pack;
use crate::row::{self, EntryKind, Said};
use epitome_core::{EntryId, LogError};
use epitome_engine::AppendedEntry;
use epitome_engine::store::{ChainHash, CommitBatch, StoreError};
use std::collections::HashMap;

/// A file is kept in pieces of this size: no row grows with the file.
const CHUNK_BYTES: usize = 1 << 20;

/// A batch as rows.
pub(crate) struct BatchRows {
    pub(crate) entries: Vec<EntryRow>,
    pub(crate) bodies: Vec<(BodyHash, Vec<u8>)>,
    pub(crate) hashes: Vec<(ChainHash, EntryId)>,
    pub(crate) events: Vec<Vec<u8>>,
    pub(crate) leaf: Option<EntryId>,
    pub(crate) about: Option<Vec<u8>>,
    pub(crate) file: Vec<Vec<u8>>,
    pub(crate) delivered: Vec<i64>,
    pub(crate) time_ms: Option<i64>,
}

/// One entry of it.
pub(crate) struct EntryRow {
    pub(crate) id: EntryId,
    pub(crate) parent: Option<EntryId>,
    pub(crate) kind: EntryKind,
    pub(crate) names: Option<EntryId>,
    pub(crate) body: Vec<u8>,
    pub(crate) said: Option<Vec<u8>>,
}

impl BatchRows {
    pub(crate) fn new(secret: &Secret, batch: CommitBatch) -> Self {
        let CommitBatch {
            entries,
            messages,
            hashes,
            leaf,
            events,
            about,
            file,
            delivered,
            durability: _,
            time_ms,
        } = batch;
        let mut bodies = Vec::new();
        let mut said: HashMap<EntryId, Vec<u8>> = HashMap::with_capacity(messages.len());
        for (id, message) in messages {
            let Said { column, body } = Said::new(secret, &message);
            said.insert(id, column);
            bodies.extend(body);
        }
        let row = |one: AppendedEntry| EntryRow {
            kind: EntryKind::of(&one.entry),
            names: row::named_pass(&one.entry),
            body: row::written(&one.entry),
            said: said.remove(&one.id),
            id: one.id,
            parent: one.parent,
        };
        Self {
            entries: entries.into_iter().map(row).collect(),
            bodies,
            hashes,
            events: events.iter().map(|event| pack(&row::json(event))).collect(),
            leaf,
            about: about.as_ref().map(row::json),
            file: file.iter().flat_map(|bytes| bytes.chunks(CHUNK_BYTES)).map(pack).collect(),
            delivered: delivered.into_iter().map(|number| number as i64).collect(),
            time_ms: time_ms.map(|time| time as i64),
        }
    }

    /// Refuses entries that stand below nothing, or name what is no compaction or edit; `stored` tells the kind of those that
    /// are there already. The rest of what must hold was checked by the log that they were appended to.
    pub(crate) fn check(
        &self,
        expected: usize,
        mut stored: impl FnMut(EntryId) -> Result<Option<EntryKind>, StoreError>,
    ) -> Result<(), StoreError> {
        let mut kind_of = |id: EntryId| match id.index().checked_sub(expected) {
            Some(at) => Ok(self.entries.get(at).map(|row| row.kind)),
            None => stored(id),
        };
        for (at, row) in self.entries.iter().enumerate() {
            let id = row.id;
            if id.index() != expected + at {
                return Err(damaged(format!("{id} is no next entry of a session of {}", expected + at)));
            }
            if let Some(parent) = row.parent
                && (parent >= id || !kind_of(parent)?.is_some_and(EntryKind::is_on_a_path))
            {
                return Err(LogError::UnknownParent { id, parent }.into());
            }
            if let Some(named) = row.names
                && (named >= id || kind_of(named)? != Some(EntryKind::Pass))
            {
                return Err(LogError::NotAPass { what: "a mark", id: named }.into());
            }
        }
        Ok(())
    }
}
