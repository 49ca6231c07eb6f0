//! Entries as rows: their kind, which the database can check by itself, and their light half as JSON. What was said lies apart,
//! under its hash, or in the row itself where it is shorter than its hash would be worth.

use crate::fault::damaged;
use crate::hash::{BodyHash, Secret};
use crate::packed::{pack, unpack};
use epitome_core::{Entry, EntryId, Mark, Message};
use epitome_engine::store::StoreError;
use epitome_wire::native::WrittenMark;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What kind of entry a row is. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Message = 0,
    Note = 1,
    Recorded = 2,
    /// A mark that is a compaction or an edit.
    Pass = 3,
    /// Any other mark.
    Mark = 4,
}

impl EntryKind {
    /// Every kind.
    pub(crate) const ALL: [Self; 5] = [Self::Message, Self::Note, Self::Recorded, Self::Pass, Self::Mark];

    /// Of an entry.
    pub(crate) fn of(entry: &Entry) -> Self {
        match entry {
            Entry::Message(_) => Self::Message,
            Entry::Note { .. } => Self::Note,
            Entry::Recorded(_) => Self::Recorded,
            Entry::Mark(Mark::Compaction { .. } | Mark::Edit { .. }) => Self::Pass,
            Entry::Mark(_) => Self::Mark,
        }
    }

    /// As it was stored.
    pub(crate) fn stored(number: i64) -> Result<Self, StoreError> {
        match number {
            0 => Ok(Self::Message),
            1 => Ok(Self::Note),
            2 => Ok(Self::Recorded),
            3 => Ok(Self::Pass),
            4 => Ok(Self::Mark),
            _ => Err(damaged(format!("an entry is of kind {number}, which this version does not know"))),
        }
    }

    /// Whether it makes a path: whether others may stand below it.
    pub(crate) fn is_on_a_path(self) -> bool {
        match self {
            Self::Message | Self::Note | Self::Recorded => true,
            Self::Pass | Self::Mark => false,
        }
    }
}

/// The light half of an entry, as it is stored: marks hold summaries and lists, and are packed.
pub(crate) fn written(entry: &Entry) -> Vec<u8> {
    let json = entry_json(entry);
    match entry {
        Entry::Message(_) | Entry::Note { .. } => json,
        Entry::Recorded(_) | Entry::Mark(_) => pack(&json),
    }
}

/// The entry in a row.
pub(crate) fn read(kind: EntryKind, body: &[u8]) -> Result<Entry, StoreError> {
    match kind {
        EntryKind::Message | EntryKind::Note => parsed_entry(kind, body),
        EntryKind::Recorded | EntryKind::Pass | EntryKind::Mark => parsed_entry(kind, &unpack(body)?),
    }
}

/// The light half of an entry as JSON.
pub(crate) fn entry_json(entry: &Entry) -> Vec<u8> {
    match entry {
        Entry::Message(item) => json(item),
        Entry::Note { kind } => json(kind),
        Entry::Recorded(compaction) => json(compaction),
        Entry::Mark(mark) => json(&WrittenMark::from(mark.clone())),
    }
}

/// The entry in such JSON.
pub(crate) fn parsed_entry(kind: EntryKind, json: &[u8]) -> Result<Entry, StoreError> {
    Ok(match kind {
        EntryKind::Message => Entry::Message(parsed(json)?),
        EntryKind::Note => Entry::Note { kind: parsed(json)? },
        EntryKind::Recorded => Entry::Recorded(parsed(json)?),
        EntryKind::Pass | EntryKind::Mark => Entry::Mark(parsed::<WrittenMark>(json)?.into()),
    })
}

/// The compaction or edit that a mark names: it must be one.
pub(crate) fn named_pass(entry: &Entry) -> Option<EntryId> {
    match entry {
        Entry::Mark(
            Mark::Apply { of } | Mark::Undo { of } | Mark::Redo { of } | Mark::Judgement { of, .. },
        ) => Some(*of),
        Entry::Mark(_) | Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. } => None,
    }
}

/// What was said, on its way into the tables.
pub(crate) struct Said {
    /// What the entry's own row holds.
    pub(crate) column: Vec<u8>,
    /// What lies under its hash, where it does not lie in the row.
    pub(crate) body: Option<(BodyHash, Vec<u8>)>,
}

/// What the row of a message holds where what was said lies apart: this, and its hash.
const APART: u8 = 0xff;
/// Messages up to this size are stored in their row. What is said twice is mostly larger: files, results of tools; and a hash
/// falls on a page of its own in an index, which a commit has to write whole.
const IN_ROW_MAX: usize = 2_048;

impl Said {
    /// A message, ready to be stored.
    pub(crate) fn new(secret: &Secret, message: &Message) -> Self {
        let json = json(message);
        if json.len() <= IN_ROW_MAX {
            return Self { column: pack(&json), body: None };
        }
        let hash = secret.body(&json);
        let mut column = Vec::with_capacity(1 + hash.len());
        column.push(APART);
        column.extend_from_slice(&hash);
        Self { column, body: Some((hash, pack(&json))) }
    }
}

/// Where what was said lies, by what its entry's row holds.
pub(crate) enum SaidPlace<'c> {
    InRow(&'c [u8]),
    Apart(BodyHash),
}

/// Where what was said lies.
pub(crate) fn place(column: &[u8]) -> Result<SaidPlace<'_>, StoreError> {
    match column.split_first() {
        Some((&APART, hash)) => {
            let hash = hash.try_into().map_err(|_| damaged("a message names no hash"))?;
            Ok(SaidPlace::Apart(hash))
        }
        Some(_) | None => Ok(SaidPlace::InRow(column)),
    }
}

/// The message in a stored body.
pub(crate) fn message(packed: &[u8]) -> Result<Message, StoreError> {
    parsed(&unpack(packed)?)
}

pub(crate) fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("entries, messages and events are always JSON")
}

pub(crate) fn parsed<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, StoreError> {
    serde_json::from_slice(bytes).map_err(|error| damaged(format!("a row cannot be read ({error})")))
}
