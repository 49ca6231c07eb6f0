//! Finding the last compaction of a session file, to take it back.

use super::record::ClaudeRecord;
use super::shape::SUMMARY_MESSAGE;
use crate::boundary::{BoundaryMark, BoundaryUndo, LastCompaction, record_parent, take_back};
use crate::jsonl::{JsonlObject, Problems, each_object};
use crate::{ByteSource, ReadError};
use serde::Deserialize;
use std::collections::HashSet;

/// How to take back the last compaction of `source`: its boundary record and its summary.
pub(crate) fn undo(source: &dyn ByteSource) -> Result<BoundaryUndo, ReadError> {
    let mut search = Search::default();
    each_object(source, &mut Problems::default(), |object, _| search.look(object))?;
    take_back(source, search.found, record_parent)
}

#[derive(Default)]
struct Search {
    found: Option<LastCompaction>,
    uuids: HashSet<String>,
    newest: Option<String>,
}

impl Search {
    fn look(&mut self, object: JsonlObject<'_>) -> serde_json::Result<()> {
        let record: ClaudeRecord<'_> = serde_json::from_str(object.text)?;
        let is_boundary = record.subtype.as_deref() == Some("compact_boundary");
        if is_boundary {
            let logical = record.logical_parent_uuid.as_deref().filter(|uuid| self.uuids.contains(*uuid));
            let follows = logical.map(str::to_owned).or_else(|| self.newest.clone());
            self.found = Some(found(object, &record, follows));
        } else if &*record.kind == SUMMARY_MESSAGE {
            let ours = found(object, &record, self.newest.clone());
            self.found = ours.original_bytes.is_some().then_some(ours).or(self.found.take());
        } else if *record.is_compact_summary == Some(true) {
            self.look_at_summary(object, &record);
        }
        if let Some(uuid) = record.uuid.as_deref() {
            self.uuids.insert(uuid.to_owned());
            self.newest = Some(uuid.to_owned());
        }
        Ok(())
    }

    /// A summary belongs to the boundary it hangs off; in old files it stands alone.
    fn look_at_summary(&mut self, object: JsonlObject<'_>, record: &ClaudeRecord<'_>) {
        let parent = record.parent_uuid.as_deref();
        match &mut self.found {
            Some(found) if found.ids.first().map(String::as_str) == parent => {
                found.spans.push(object.span);
                found.ids.extend(record.uuid.as_deref().map(str::to_owned));
            }
            Some(_) | None => self.found = Some(found(object, record, parent.map(str::to_owned))),
        }
    }
}

fn found(object: JsonlObject<'_>, record: &ClaudeRecord<'_>, follows: Option<String>) -> LastCompaction {
    #[derive(Deserialize)]
    struct MarkField {
        epitome: BoundaryMark,
    }
    let ours = serde_json::from_str::<MarkField>(object.text).ok();
    LastCompaction {
        spans: vec![object.span],
        ids: record.uuid.as_deref().map(str::to_owned).into_iter().collect(),
        follows,
        original_bytes: ours.map(|ours| ours.epitome.original_bytes),
    }
}
