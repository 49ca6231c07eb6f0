//! Compactions on their way into a log: a boundary, then a summary that hangs off it.

use super::message::message_of;
use super::record::{CompactMetadata, Record};
use super::session::ClaudeSession;
use crate::boundary::BoundaryMark;
use crate::jsonl::{JsonText, JsonlObject, Problems};
use epitome_core::{Compaction, EntryId, Tail};
use serde::Deserialize;
use std::sync::Arc;

impl ClaudeSession<'_> {
    pub(super) fn take_boundary(
        &mut self,
        record: &Record<'_>,
        object: JsonlObject<'_>,
        problems: &mut Problems,
    ) {
        let follows = record.logical_parent_uuid.as_deref().and_then(|uuid| self.stands.get(uuid)).copied();
        let follows = follows.unwrap_or_else(|| self.assembly.newest());
        let kept = record.compact_metadata.as_ref().map(KeptRecords::of).unwrap_or_default();
        let tail = self.tail_of(&kept, object, problems);
        let name = record.uuid.as_ref().map(Arc::from);
        let id = self.assembly.compact(Compaction { tail, ..Compaction::default() }, name);
        self.ups.extend(follows.map(|up| (id, up)));
        // From here on the kept records stand behind the summary, and what hangs off them follows it.
        let below = kept.moved.iter().copied().chain(record.uuid.as_deref());
        self.stands.extend(below.map(|uuid| (uuid.into(), Some(id))));
        self.last = Some(id);
    }

    fn tail_of(&self, kept: &KeptRecords<'_>, object: JsonlObject<'_>, problems: &mut Problems) -> Tail {
        if let Some((head, tail)) = kept.ends {
            let [head, tail] = [head, tail].map(|uuid| self.stands.get(uuid).copied().flatten());
            let ids =
                head.zip(tail).map_or_else(Vec::new, |(head, tail)| (head.0..=tail.0).map(EntryId).collect());
            return if ids.is_empty() { Tail::Nothing } else { Tail::These(ids) };
        }
        let mut ids: Vec<EntryId> = Vec::new();
        let mut absent = 0;
        for uuid in &kept.listed {
            match self.stands.get(*uuid) {
                Some(id) => ids.extend(id),
                None => absent += 1,
            }
        }
        // In the order of the log: results in the order of their calls, whichever came first.
        ids.sort_unstable();
        ids.dedup();
        if absent > 0 {
            problems.add(object.line, format!("keeps {absent} records that are not in the file"));
        }
        if ids.is_empty() { Tail::Nothing } else { Tail::These(ids) }
    }

    pub(super) fn take_summary(&mut self, record: &Record<'_>, object: JsonlObject<'_>) {
        let Some(message) = message_of(record, object.text, 0) else { return };
        let text: Arc<str> = message.said().into();
        let boundary =
            record.parent_uuid.as_deref().and_then(|uuid| self.stands.get(uuid)).copied().flatten();
        let id = match boundary {
            Some(id) if self.is_bare(id) => id,
            Some(_) | None => self.assembly.compact(Compaction::default(), None),
        };
        if let Some(compaction) = self.assembly.compaction_mut(id) {
            compaction.summary = Some(text);
        }
        if boundary != Some(id) {
            self.link(id, record.parent_uuid.as_deref(), object.line);
        }
        self.stands.extend(record.uuid.as_deref().map(|uuid| (uuid.into(), Some(id))));
        self.last = Some(id);
    }

    /// One of ours behind the newest message: whatever hangs off that follows the summary from here on. Claude Code
    /// itself does not go on from such a record, so one without our mark changes nothing.
    pub(super) fn take_summary_message(&mut self, line: &str) {
        let Ok(SummaryMessageRecord { content, epitome }) = serde_json::from_str(line) else { return };
        let Some(follows) = self.last else { return };
        let tail = if epitome.tail.is_empty() { Tail::Nothing } else { Tail::These(epitome.tail) };
        let summary = Some(content.into());
        let id = self.assembly.compact(Compaction { summary, tail, ..Compaction::default() }, None);
        self.ups.push((id, follows));
        self.stands.values_mut().filter(|stand| **stand == Some(follows)).for_each(|stand| *stand = Some(id));
        self.last = Some(id);
    }

    /// Whether this entry is a compaction that has no summary yet.
    fn is_bare(&mut self, id: EntryId) -> bool {
        self.assembly.compaction_mut(id).is_some_and(|compaction| compaction.summary.is_none())
    }

    /// Old results were cleared from the prompt; the file keeps them, and so do we.
    pub(super) fn take_microcompaction(
        &mut self,
        record: &Record<'_>,
        object: JsonlObject<'_>,
        problems: &mut Problems,
    ) {
        let cleared =
            record.microcompact_metadata.as_ref().map_or(0, |metadata| metadata.compacted_tool_ids.len());
        if cleared > 0 {
            problems
                .add(object.line, format!("cleared {cleared} old results from the prompt; shown here whole"));
        }
        self.take_link(record);
    }
}

/// A `SummaryMessage` of ours.
#[derive(Deserialize)]
struct SummaryMessageRecord {
    content: String,
    epitome: BoundaryMark,
}

/// The records a boundary keeps, and those that move behind it with them.
#[derive(Default)]
struct KeptRecords<'r> {
    listed: Vec<&'r str>,
    moved: Vec<&'r str>,
    /// The two ends, where a version names nothing else.
    ends: Option<(&'r str, &'r str)>,
}

impl<'r> KeptRecords<'r> {
    fn of(metadata: &'r CompactMetadata<'_>) -> Self {
        let texts = |uuids: &'r [JsonText<'_>]| uuids.iter().map(|uuid| &**uuid).collect::<Vec<_>>();
        if let Some(preserved) = &metadata.preserved_messages {
            let (listed, all) = (texts(&preserved.uuids), texts(&preserved.all_uuids));
            return Self { moved: [&listed[..], &all].concat(), listed, ends: None };
        }
        let segment = metadata.preserved_segment.as_ref();
        let ends = segment.and_then(|s| Some((s.head_uuid.as_deref()?, s.tail_uuid.as_deref()?)));
        Self { ends, moved: ends.map_or_else(Vec::new, |(head, tail)| vec![head, tail]), listed: Vec::new() }
    }
}
