//! Finding the last compaction of a session file, to take it back.

use crate::boundary::{BoundaryMark, BoundaryUndo, LastCompaction, take_back_line};
use crate::jsonl::{JsonText, JsonlObject};
use crate::{ByteSource, ReadError};
use serde::Deserialize;
use serde_json::value::RawValue;

/// How to take back the last compaction of `source`.
pub(crate) fn undo(source: &dyn ByteSource) -> Result<BoundaryUndo, ReadError> {
    take_back_line(source, compaction_on, parent_of)
}

fn parent_of(entry: &str) -> Option<&RawValue> {
    #[derive(Deserialize)]
    struct ChildEntry<'a> {
        #[serde(borrow, rename = "parentId")]
        parent_id: &'a RawValue,
    }
    serde_json::from_str::<ChildEntry<'_>>(entry).ok().map(|child| child.parent_id)
}

fn compaction_on(line: JsonlObject<'_>) -> serde_json::Result<Option<LastCompaction>> {
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
    let EntryHead { kind, id, parent_id, epitome } = serde_json::from_str(line.text)?;
    let found = || LastCompaction::on_line(line, id.as_ref(), parent_id.as_ref(), epitome.as_ref());
    Ok((&*kind == "compaction").then(found))
}
