//! What each line of ours notes beside what its tool writes, and the ids we give.

use epitome_core::EntryId;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The `epitome` field of a line we appended.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BoundaryMark {
    /// How long the file was before.
    pub original_bytes: u64,
    /// Entries kept before the summary, where the tool's own fields do not name them.
    #[serde(default, rename = "before", skip_serializing_if = "Vec::is_empty")]
    pub front: Vec<EntryId>,
    /// Entries kept after it, likewise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tail: Vec<EntryId>,
    /// The record of the compaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Box<RawValue>>,
}

impl BoundaryMark {
    /// A mark on a file of this length; a record that is not JSON is left out.
    pub(crate) fn new(original_bytes: u64, record: Option<&str>) -> Self {
        let record = record.and_then(|json| serde_json::from_str(json).ok());
        Self { original_bytes, front: Vec::new(), tail: Vec::new(), record }
    }

    /// Whether the file was a copy of another session when the compaction was appended: what stands before was paid there.
    pub(crate) fn is_copy(&self) -> bool {
        #[derive(Deserialize)]
        struct CopyField<'a> {
            #[serde(borrow)]
            copy: Option<&'a RawValue>,
        }
        let record =
            self.record.as_ref().and_then(|json| serde_json::from_str::<CopyField<'_>>(json.get()).ok());
        record.is_some_and(|record| record.copy.is_some())
    }

    /// Every entry it names.
    pub(crate) fn kept(&self) -> impl Iterator<Item = EntryId> + '_ {
        self.front.iter().chain(&self.tail).copied()
    }
}

/// The `nth` id of a compaction: no dice, so that the same compaction gets the same ids.
pub(crate) fn derive(session: &str, original_bytes: u64, summary: &str, nth: u32) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for part in [session.as_bytes(), &original_bytes.to_le_bytes(), summary.as_bytes(), &nth.to_le_bytes()] {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    *hasher.finalize().as_bytes()
}
