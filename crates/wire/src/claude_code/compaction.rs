//! Compactions on their way into a log: a boundary, then a summary that hangs off it.

use super::message::message_of;
use super::record::{ClaudeRecord, CompactMetadata};
use super::session::ClaudeSession;
use crate::RecordedCompaction;
use crate::boundary::BoundaryMark;
use crate::jsonl::{Field, JsonText, JsonlObject, Problems};
use epitome_core::{CallId, Compaction, EntryId, Form, Tail};
use serde::Deserialize;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

impl ClaudeSession<'_> {
    pub(super) fn take_boundary(
        &mut self,
        record: &ClaudeRecord<'_>,
        object: JsonlObject<'_>,
        problems: &mut Problems,
    ) {
        let follows = record.logical_parent_uuid.as_deref().and_then(|uuid| self.stands.get(uuid)).copied();
        let follows = follows.unwrap_or_else(|| self.assembly.newest());
        let kept = record.compact_metadata.as_ref().map(KeptRecords::of).unwrap_or_default();
        let mark = record.mark();
        if mark.as_ref().is_some_and(BoundaryMark::is_copy) {
            self.end_of_copied();
        }
        let unnamed = mark.map_or_else(Vec::new, |mark| mark.tail);
        let tail = with_unnamed(self.tail_of(&kept, object, problems), unnamed, self.assembly.next_id());
        let name = record.uuid.as_ref().map(Arc::from);
        let id = self.assembly.compact(Compaction { tail, ..Compaction::default() }, name);
        self.ups.extend(follows.map(|up| (id, up)));
        self.note_compaction(id, record);
        // From here on the kept records stand behind the summary, and what hangs off them follows it.
        let below = kept.moved.iter().copied().chain(record.uuid.as_deref());
        self.stands.extend(below.map(|uuid| (uuid.into(), Some(id))));
        self.last = Some(id);
    }

    /// What the boundary says of itself. One of ours says what we counted and did, and nothing of Claude Code.
    fn note_compaction(&mut self, entry: EntryId, record: &ClaudeRecord<'_>) {
        let theirs = record.compact_metadata.as_ref().filter(|_| record.mark().is_none());
        let Some(metadata) = theirs else { return };
        let is_automatic = metadata.trigger.as_deref() == Some("auto");
        let tokens_before = *metadata.pre_tokens;
        self.compactions.push(RecordedCompaction { entry, tokens_before, is_automatic });
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

    pub(super) fn take_summary(&mut self, record: &ClaudeRecord<'_>, object: JsonlObject<'_>) {
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
        if epitome.is_copy() {
            self.end_of_copied();
        }
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

    /// Old results and attachments were cleared from the prompt; the file keeps them, and so does the log.
    pub(super) fn take_microcompaction(
        &mut self,
        record: &ClaudeRecord<'_>,
        object: JsonlObject<'_>,
        problems: &mut Problems,
    ) {
        self.take_link(record);
        let at = record.uuid.as_deref().and_then(|uuid| self.stands.get(uuid)).copied().flatten();
        let (Some(at), Some(metadata)) = (at, &*record.microcompact_metadata) else { return };
        let calls: HashSet<CallId> =
            metadata.compacted_tool_ids.iter().flatten().map(|call| CallId(call.into())).collect();
        let attachments = metadata.cleared_attachments.iter().flatten();
        let results: BTreeSet<EntryId> =
            calls.iter().filter_map(|call| self.assembly.answer_to(call)).collect();
        let absent = calls.iter().filter(|call| self.assembly.answer_to(call).is_none()).count();
        if absent > 0 {
            problems.add(object.line, format!("clears {absent} results that are not in the file"));
        }
        // A message that brings other results too stays as it is.
        let is_cleared = |id: &EntryId| {
            self.assembly.item(*id).is_some_and(|item| item.answers.iter().all(|call| calls.contains(call)))
        };
        let cleared = results.into_iter().filter(is_cleared).map(|id| (id, CLEARED));
        let gone = attachments.filter_map(|uuid| self.stands.get(&**uuid).copied().flatten());
        let forms: Vec<(EntryId, Form)> = cleared.chain(gone.map(|id| (id, GONE))).collect();
        if !forms.is_empty() {
            let mark = self.assembly.edit(forms);
            self.ups.push((mark, at));
        }
    }
}

/// A tail with the messages in it that have no record to name, which we noted ourselves.
fn with_unnamed(tail: Tail, mut unnamed: Vec<EntryId>, next: EntryId) -> Tail {
    unnamed.retain(|id| *id < next);
    match tail {
        Tail::These(mut ids) => {
            ids.extend(unnamed);
            ids.sort_unstable();
            ids.dedup();
            Tail::These(ids)
        }
        Tail::Nothing if !unnamed.is_empty() => Tail::These(unnamed),
        Tail::Nothing | Tail::From(_) | Tail::After { .. } => tail,
    }
}

/// How a result is shown that was cleared: by a pointer to it.
const CLEARED: Form = Form { results: true, ..Form::WHOLE };
/// An attachment that was cleared is shown no more.
const GONE: Form = Form { left_out: true, ..Form::WHOLE };

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
        let texts = |uuids: &'r Field<Vec<JsonText<'_>>>| {
            uuids.iter().flatten().map(|uuid| &**uuid).collect::<Vec<_>>()
        };
        if let Some(preserved) = &*metadata.preserved_messages {
            let (listed, all) = (texts(&preserved.uuids), texts(&preserved.all_uuids));
            return Self { moved: [&listed[..], &all].concat(), listed, ends: None };
        }
        let segment = metadata.preserved_segment.as_ref();
        let ends = segment.and_then(|s| Some((s.head_uuid.as_deref()?, s.tail_uuid.as_deref()?)));
        Self { ends, moved: ends.map_or_else(Vec::new, |(head, tail)| vec![head, tail]), listed: Vec::new() }
    }
}
