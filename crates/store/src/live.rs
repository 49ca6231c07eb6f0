//! The live part of a session as it is stored: one body, packed. What is kept is only a short cut: where it cannot be used, the
//! session is opened whole.

use crate::fault::damaged;
use crate::packed::{pack, unpack};
use crate::row::{self, EntryKind};
use epitome_core::{Entry, EntryId, Log, Mark, SizeTable, Sizes, Tokens};
use epitome_engine::store::StoreError;
use epitome_engine::{AppendedEntry, LivePart};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A live part on its way to or from a table.
#[derive(Serialize, Deserialize)]
struct WrittenLive {
    leaf: EntryId,
    method: Arc<str>,
    hidden: Tokens,
    entries: Vec<WrittenEntry>,
    sizes: Vec<(EntryId, WrittenSizes)>,
}

#[derive(Serialize, Deserialize)]
struct WrittenEntry {
    id: EntryId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<EntryId>,
    kind: i64,
    body: Box<serde_json::value::RawValue>,
}

/// Sizes in the order of their kinds: text, thinking, calls, results, images, opaque, framing.
type WrittenSizes = [Tokens; 7];

/// What a table keeps of a live part: how many entries it is of, itself, and the sizes of all messages.
pub(crate) struct LiveRow {
    pub(crate) entries: i64,
    pub(crate) body: Vec<u8>,
    /// None where they are stored already, from when the session was whole in memory.
    pub(crate) sizes: Option<Vec<u8>>,
}

impl LiveRow {
    pub(crate) fn new(live: &LivePart) -> Self {
        let written = WrittenLive {
            leaf: live.leaf,
            method: live.method.clone(),
            hidden: live.hidden,
            entries: live.entries.iter().map(written_entry).collect(),
            sizes: written_sizes(&live.sizes),
        };
        let sizes = (live.method.clone(), written_sizes(&live.all_sizes));
        Self {
            entries: live.len as i64,
            body: pack(&row::json(&written)),
            sizes: (!live.all_sizes.is_empty()).then(|| pack(&row::json(&sizes))),
        }
    }
}

fn written_entry(one: &AppendedEntry) -> WrittenEntry {
    let json = row::entry_json(&one.entry);
    let body =
        String::from_utf8(json).ok().and_then(|json| serde_json::value::RawValue::from_string(json).ok());
    WrittenEntry {
        id: one.id,
        parent: one.parent,
        kind: EntryKind::of(&one.entry) as i64,
        body: body.expect("entries are always JSON"),
    }
}

fn written_sizes(sizes: &[(EntryId, Sizes)]) -> Vec<(EntryId, WrittenSizes)> {
    let all = |sizes: &Sizes| {
        let Sizes { text, thinking, calls, results, images, opaque, framing } = *sizes;
        [text, thinking, calls, results, images, opaque, framing]
    };
    sizes.iter().map(|(id, sizes)| (*id, all(sizes))).collect()
}

fn read_sizes(sizes: Vec<(EntryId, WrittenSizes)>) -> impl Iterator<Item = (EntryId, Sizes)> {
    sizes.into_iter().map(|(id, [text, thinking, calls, results, images, opaque, framing])| {
        (id, Sizes { text, thinking, calls, results, images, opaque, framing })
    })
}

/// A session of which what is live is at hand.
pub(crate) struct LiveLog {
    pub(crate) log: Log,
    pub(crate) leaf: EntryId,
    pub(crate) sizes: (Arc<str>, SizeTable),
}

impl LiveLog {
    /// What a table keeps of the first `entries` of a session.
    pub(crate) fn read(entries: usize, body: &[u8]) -> Result<Self, StoreError> {
        let written: WrittenLive = row::parsed(&unpack(body)?)?;
        let entry = |one: WrittenEntry| {
            let entry = row::parsed_entry(EntryKind::stored(one.kind)?, one.body.get().as_bytes())?;
            Ok((one.id, one.parent, entry))
        };
        let all: Result<Vec<_>, StoreError> = written.entries.into_iter().map(entry).collect();
        let sizes = SizeTable::partial(entries, read_sizes(written.sizes).collect(), written.hidden);
        Ok(Self { log: Log::partial(entries, all?)?, leaf: written.leaf, sizes: (written.method, sizes) })
    }

    /// Whether its entries are those of the whole log, records of what left view apart.
    pub(crate) fn agrees_with(&self, whole: &Log) -> bool {
        let is_same = |(id, entry): (EntryId, &Entry)| match (entry, whole.get(id)) {
            (Entry::Mark(Mark::Compaction { compaction, .. }), Some(Entry::Mark(known))) => {
                matches!(known, Mark::Compaction { compaction: other, .. } if other == compaction)
            }
            (Entry::Mark(Mark::Edit { edit, .. }), Some(Entry::Mark(known))) => {
                matches!(known, Mark::Edit { edit: other, .. } if other == edit)
            }
            (entry, known) => known == Some(entry),
        };
        self.log.len() == whole.len() && self.log.iter().all(is_same)
    }

    /// Takes up an entry that stands behind it; an error where that may bring into view what is not at hand.
    pub(crate) fn append(&mut self, parent: Option<EntryId>, entry: Entry) -> Result<(), StoreError> {
        if !LivePart::bears(&entry) {
            return Err(damaged("what is live of the session was kept before it was changed"));
        }
        Ok(self.log.append(parent, entry).map(drop)?)
    }
}

/// The sizes of all messages, by the way they were counted.
pub(crate) fn all_sizes(body: &[u8]) -> Result<(Arc<str>, SizeTable), StoreError> {
    let (method, sizes): (Arc<str>, Vec<(EntryId, WrittenSizes)>) = row::parsed(&unpack(body)?)?;
    let mut table = SizeTable::default();
    read_sizes(sizes).for_each(|(id, sizes)| table.set(id, sizes));
    Ok((method, table))
}
