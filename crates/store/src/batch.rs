//! A batch as rows, made by whoever commits it and not by the one who writes; and what a database can check of it.

use crate::fault::damaged;
use crate::hash::{BodyHash, Secret};
use crate::packed::pack;
use crate::row::{self, EntryKind, Said};
use epitome_core::{EntryId, LogError};
use epitome_engine::AppendedEntry;
use epitome_engine::store::{ChainHash, CommitBatch, StoreError};
use std::collections::{BTreeMap, HashMap};

/// A file is kept in pieces of this size: no row grows with the file.
const CHUNK_BYTES: usize = 1 << 20;

/// A batch as rows.
pub(crate) struct BatchRows {
    pub(crate) entries: Vec<EntryRow>,
    pub(crate) bodies: Vec<(BodyHash, Vec<u8>)>,
    /// Texts of entries that were stored without, in the order of their ids.
    pub(crate) late: Vec<LateText>,
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
    pub(crate) time_ms: Option<i64>,
}

/// What was said in an entry that is stored already.
pub(crate) struct LateText {
    pub(crate) id: EntryId,
    pub(crate) said: Said,
}

impl BatchRows {
    pub(crate) fn new(secret: &Secret, batch: CommitBatch) -> Self {
        let CommitBatch {
            entries,
            messages,
            times,
            hashes,
            leaf,
            events,
            about,
            file,
            delivered,
            durability: _,
            time_ms,
        } = batch;
        let mut said: BTreeMap<EntryId, Said> =
            messages.into_iter().map(|(id, message)| (id, Said::new(secret, &message))).collect();
        let times: HashMap<EntryId, u64> = times.into_iter().collect();
        let time_ms = time_ms.map(|time| time as i64);
        let mut bodies = Vec::new();
        let row = |one: AppendedEntry| EntryRow {
            kind: EntryKind::of(&one.entry),
            names: row::named_pass(&one.entry),
            body: row::written(&one.entry),
            said: said.remove(&one.id).map(|Said { column, body }| {
                bodies.extend(body);
                column
            }),
            time_ms: times.get(&one.id).map(|&time| time as i64).or(time_ms),
            id: one.id,
            parent: one.parent,
        };
        let entries = entries.into_iter().map(row).collect();
        Self {
            entries,
            bodies,
            late: said.into_iter().map(|(id, said)| LateText { id, said }).collect(),
            hashes,
            events: events.iter().map(|event| pack(&row::json(event))).collect(),
            leaf,
            about: about.as_ref().map(row::json),
            file: file.iter().flat_map(|bytes| bytes.chunks(CHUNK_BYTES)).map(pack).collect(),
            delivered: delivered.into_iter().map(|number| number as i64).collect(),
            time_ms,
        }
    }

    /// Refuses entries that stand below nothing, or name what is no compaction or edit, as far as the batch itself tells; what
    /// it leans on of a session of `expected` entries. The rest of what must hold was checked by the log that they were
    /// appended to.
    pub(crate) fn supports(&self, expected: usize) -> Result<Vec<Support>, StoreError> {
        let mut supports = Vec::new();
        for (at, row) in self.entries.iter().enumerate() {
            if row.id.index() != expected + at {
                return Err(damaged(format!(
                    "{} is no next entry of a session of {}",
                    row.id,
                    expected + at
                )));
            }
            let named = [(row.parent, SupportKind::Path), (row.names, SupportKind::Pass)];
            for (entry, kind) in named {
                let Some(entry) = entry else { continue };
                let support = Support { of: row.id, entry, kind };
                match entry.index().checked_sub(expected) {
                    None => supports.push(support),
                    Some(place) if place < at => support.check(Some(self.entries[place].kind))?,
                    Some(_) => return Err(support.refusal()),
                }
            }
        }
        Ok(supports)
    }
}

/// An entry that another of a batch stands below, or names.
pub(crate) struct Support {
    of: EntryId,
    pub(crate) entry: EntryId,
    kind: SupportKind,
}

/// What it must be.
#[derive(Clone, Copy)]
enum SupportKind {
    /// A part of a path.
    Path,
    /// A compaction or an edit.
    Pass,
}

impl Support {
    /// Refuses an entry that is not there, or of another kind.
    pub(crate) fn check(&self, found: Option<EntryKind>) -> Result<(), StoreError> {
        if found.is_some_and(|kind| self.may_be(kind)) { Ok(()) } else { Err(self.refusal()) }
    }

    /// The kinds it may be of, one bit for each, at the place that is its number.
    pub(crate) fn kinds(&self) -> i64 {
        EntryKind::ALL.into_iter().filter(|&kind| self.may_be(kind)).map(|kind| 1 << kind as i64).sum()
    }

    fn may_be(&self, kind: EntryKind) -> bool {
        match self.kind {
            SupportKind::Path => kind.is_on_a_path(),
            SupportKind::Pass => kind == EntryKind::Pass,
        }
    }

    fn refusal(&self) -> StoreError {
        match self.kind {
            SupportKind::Path => LogError::UnknownParent { id: self.of, parent: self.entry }.into(),
            SupportKind::Pass => LogError::NotAPass { what: "a mark", id: self.entry }.into(),
        }
    }
}
