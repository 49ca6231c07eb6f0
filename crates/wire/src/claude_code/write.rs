//! Appending a compaction the way Claude Code does.

use super::shape::{Envelope, RecordIds, boundary_line, summary_line, summary_message_line};
use crate::boundary::{AppendedLines, Boundary, BoundaryMark, WriteError, derive, kept_tail, record_uuid};
use crate::jsonl::decoded;
use crate::{ByteSource, Conversation, Format, Span, Transcript};
use epitome_core::EntryId;
use epitome_core::policy::TranscriptEntry;
use serde_json::Value;

/// The bytes that add a compaction to the end of `source`: a boundary record and the summary, or the one
/// record of its document.
///
/// Claude Code shows the summary, then the records kept, then what comes later; messages before the
/// summary are refused.
pub(crate) fn append(
    transcript: &Transcript,
    conversation: usize,
    source: &dyn ByteSource,
    boundary: &Boundary,
) -> Result<Vec<u8>, WriteError> {
    if let Some(&id) = boundary.front.first() {
        return Err(WriteError::NoPlaceBefore { format: Format::ClaudeCode, id });
    }
    let nothing_said = || WriteError::NothingSaid(conversation);
    let conversation = transcript.conversations.get(conversation).ok_or_else(nothing_said)?;
    let (last, follows) = last_record(conversation, source)?.ok_or_else(nothing_said)?;
    let KeptMessages { uuids: kept, unnamed } = kept_messages(conversation, source, boundary)?;
    let ids = RecordIds::new(&last, source.len(), &boundary.summary);
    let mark = BoundaryMark { tail: unnamed, ..BoundaryMark::new(source.len(), boundary.record.as_deref()) };
    let lines = AppendedLines::behind(source)?;
    if boundary.entry == TranscriptEntry::SummaryMessage {
        let mark = BoundaryMark { tail: kept_tail(conversation, boundary)?, ..mark };
        return Ok(lines.with(&summary_message_line(boundary, &mark)).into_bytes());
    }
    let lines = lines.with(&boundary_line(boundary, &ids, &last, follows, &kept, &mark));
    Ok(lines.with(&summary_line(boundary, &ids, &last, &mark)).into_bytes())
}

impl RecordIds {
    fn new(last: &Envelope, original_bytes: u64, summary: &str) -> Self {
        let session = last.session_id.as_ref().and_then(Value::as_str).unwrap_or_default();
        let nth = |nth| record_uuid(derive(session, original_bytes, summary, nth));
        Self { boundary: nth(0), summary: nth(1) }
    }
}

/// The last record of the live branch that is in the file, and the id a boundary follows.
fn last_record(
    conversation: &Conversation,
    source: &dyn ByteSource,
) -> Result<Option<(Envelope, Option<String>)>, WriteError> {
    let branch = conversation.log.path_of(conversation.leaf);
    let mut last = None;
    for &id in branch.iter().rev() {
        let Some(span) = conversation.originals.spans(id).and_then(<[_]>::last) else { continue };
        // A prompt that waited has no record in the chain.
        let envelope = envelope_at(source, id, *span)?;
        if envelope.uuid.is_some() {
            last = Some((id, envelope));
            break;
        }
    }
    let Some((id, envelope)) = last else { return Ok(None) };
    // A compaction may come after the last message; its name is that of its boundary record.
    let mut newer = branch.iter().rev().take_while(|other| **other > id);
    let name = newer.find_map(|id| conversation.names.get(id.index())?.as_deref().map(str::to_owned));
    let follows = name.or_else(|| envelope.uuid.clone());
    Ok(Some((envelope, follows)))
}

fn envelope_at(source: &dyn ByteSource, id: EntryId, span: Span) -> Result<Envelope, WriteError> {
    let bytes = source.slice(span).map_err(WriteError::Read)?;
    serde_json::from_str(&decoded(&bytes)).map_err(|error| WriteError::Changed { id, why: error.to_string() })
}

/// What is kept of a conversation, as a boundary names it.
struct KeptMessages {
    /// The ids of its records, in file order: each line of a reply has its own.
    uuids: Vec<String>,
    /// Messages that have no record in the chain: prompts that waited.
    unnamed: Vec<EntryId>,
}

fn kept_messages(
    conversation: &Conversation,
    source: &dyn ByteSource,
    boundary: &Boundary,
) -> Result<KeptMessages, WriteError> {
    let mut spans: Vec<(EntryId, Span)> = Vec::new();
    for id in kept_tail(conversation, boundary)? {
        let own = conversation.originals.spans(id).ok_or(WriteError::NotInFile(id))?;
        spans.extend(own.iter().map(|span| (id, *span)));
    }
    spans.sort_by_key(|(_, span)| span.offset);
    let mut kept = KeptMessages { uuids: Vec::new(), unnamed: Vec::new() };
    for (id, span) in spans {
        match envelope_at(source, id, span)?.uuid {
            Some(uuid) => kept.uuids.push(uuid),
            None => kept.unnamed.push(id),
        }
    }
    Ok(kept)
}
