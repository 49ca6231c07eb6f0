//! Finding the last compaction of a session file, to take it back.

use crate::boundary::{BoundaryMark, BoundaryUndo, LastCompaction, take_back};
use crate::jsonl::{JsonText, JsonlObject, Problems, each_object};
use crate::{ByteSource, ReadError};
use serde::Deserialize;
use serde_json::value::RawValue;

/// How to take back the last compaction of `source`.
pub(crate) fn undo(source: &dyn ByteSource) -> Result<BoundaryUndo, ReadError> {
    let mut last = None;
    each_object(source, &mut Problems::default(), |object, _| {
        last = found(object)?.or(last.take());
        Ok(())
    })?;
    take_back(source, last, parent_of)
}

fn parent_of(entry: &str) -> Option<&RawValue> {
    #[derive(Deserialize)]
    struct ChildEntry<'a> {
        #[serde(borrow, rename = "parentId")]
        parent_id: &'a RawValue,
    }
    serde_json::from_str::<ChildEntry<'_>>(entry).ok().map(|child| child.parent_id)
}

fn found(object: JsonlObject<'_>) -> serde_json::Result<Option<LastCompaction>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct EntryHead<'a> {
        #[serde(borrow, rename = "type")]
        kind: JsonText<'a>,
        #[serde(borrow, default)]
        id: Option<JsonText<'a>>,
        #[serde(borrow, default)]
        parent_id: Option<JsonText<'a>>,
        #[serde(default)]
        epitome: Option<BoundaryMark>,
    }
    let entry: EntryHead<'_> = serde_json::from_str(object.text)?;
    let is_compaction = &*entry.kind == "compaction";
    Ok(is_compaction.then(|| LastCompaction {
        spans: vec![object.span],
        ids: entry.id.iter().map(|id| id.to_string()).collect(),
        follows: entry.parent_id.map(|id| id.to_string()),
        original_bytes: entry.epitome.map(|mark| mark.original_bytes),
    }))
}
