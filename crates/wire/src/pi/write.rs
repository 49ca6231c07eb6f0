//! Appending a compaction the way pi does.

use super::message::{MessageReading, bare_summary};
use super::record::PiRecord;
use crate::boundary::{
    AppendedLines, Boundary, BoundaryMark, WriteError, branch_messages, conversation_to_compact, derive,
    kept_tail, read_again, written_out,
};
use crate::jsonl::{JsonText, decoded};
use crate::{ByteSource, Conversation, Format, Lines, ReadError, Transcript};
use epitome_core::EntryId;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeSet;

/// The bytes that add a compaction to the end of `source`: one entry.
///
/// pi shows the summary in a frame of its own (see [`super::shown_summary`]), then everything from the
/// first entry kept; messages before the summary, and tails with gaps, are refused.
pub(crate) fn append(
    transcript: &Transcript,
    conversation: usize,
    source: &dyn ByteSource,
    boundary: &Boundary,
) -> Result<Vec<u8>, WriteError> {
    if let Some(&id) = boundary.front.first() {
        return Err(WriteError::NoPlaceBefore { format: Format::Pi, id });
    }
    let conversation = conversation_to_compact(transcript, conversation)?;
    let first_kept = first_kept(conversation, boundary)?;
    let session = scan(source, conversation, first_kept).map_err(read_again)?;
    let mark = BoundaryMark::new(source.len(), boundary.record.as_deref());
    let retained_tail = match first_kept.filter(|id| session.has_ids && name_of(conversation, *id).is_none())
    {
        Some(_) => Some(messages_of(conversation, source, &kept_tail(conversation, boundary)?)?),
        None => None,
    };
    let line = CompactionLine {
        retained_tail,
        ..compaction_line(boundary, &session, conversation, first_kept, &mark)
    };
    Ok(AppendedLines::behind(source)?.with(&line).into_bytes())
}

/// The first message kept; none where nothing is. Everything on the branch behind it comes along.
fn first_kept(conversation: &Conversation, boundary: &Boundary) -> Result<Option<EntryId>, WriteError> {
    let kept: BTreeSet<EntryId> = kept_tail(conversation, boundary)?.into_iter().collect();
    let Some(&first) = kept.first() else { return Ok(None) };
    let mut behind = branch_messages(conversation).into_iter().filter(|id| *id >= first);
    if let Some(id) = behind.find(|id| !kept.contains(id)) {
        return Err(WriteError::TailHasGaps { format: Format::Pi, id });
    }
    conversation.originals.spans(first).ok_or(WriteError::NotInFile(first))?;
    Ok(Some(first))
}

/// What the entry must fit.
#[derive(Default)]
struct SessionTail {
    id: String,
    has_ids: bool,
    /// The newest entry of all, settings and labels included.
    leaf: Option<String>,
    /// Entries in the file, header included, as version 1 counts.
    entries: usize,
    /// The position of the first message kept.
    first_kept_at: Option<usize>,
}

fn scan(
    source: &dyn ByteSource,
    conversation: &Conversation,
    first_kept: Option<EntryId>,
) -> Result<SessionTail, ReadError> {
    let mut session = header(source)?;
    let offset_of = |id: EntryId| Some(conversation.originals.spans(id)?.first()?.offset);
    let first = first_kept.and_then(offset_of);
    // The newest entry stands at the newest message or behind it; what is before need not be parsed.
    let newest = (0..conversation.log.len() as u32).rev().find_map(|at| offset_of(EntryId(at)));
    let mut lines = Lines::of(source);
    while let Some(line) = lines.next()? {
        if session.has_ids {
            if newest.is_none_or(|newest| line.span.offset >= newest) {
                session.leaf = entry_id(line.bytes).or(session.leaf);
            }
        } else if serde_json::from_str::<IgnoredAny>(&decoded(line.bytes)).is_ok() {
            if first == Some(line.span.offset) {
                session.first_kept_at = Some(session.entries);
            }
            session.entries += 1;
        }
    }
    Ok(session)
}

fn header(source: &dyn ByteSource) -> Result<SessionTail, ReadError> {
    let mut session = SessionTail::default();
    let mut lines = Lines::of(source);
    while let Some(line) = lines.next()? {
        if let Ok(record) = serde_json::from_str::<PiRecord<'_>>(&decoded(line.bytes)) {
            session.id = record.id.as_deref().unwrap_or_default().to_owned();
            session.has_ids = record.version.is_some_and(|version| version > 1);
            break;
        }
    }
    Ok(session)
}

fn entry_id(line: &[u8]) -> Option<String> {
    let text = decoded(line);
    let record: PiRecord<'_> = serde_json::from_str(&text).ok()?;
    record.id.as_deref().filter(|_| &*record.kind != "session").map(str::to_owned)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CompactionLine<'a> {
    r#type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_id: Option<&'a str>,
    timestamp: &'a str,
    summary: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_kept_entry_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_kept_entry_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retained_tail: Option<Vec<Box<RawValue>>>,
    tokens_before: u64,
    details: Details<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_hook: Option<bool>,
    epitome: &'a BoundaryMark,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Details<'a> {
    read_files: &'a [String],
    modified_files: &'a [String],
}

/// pi's id of an entry; messages that a compaction wrote out have none.
fn name_of(conversation: &Conversation, id: EntryId) -> Option<&str> {
    conversation.names.get(id.index())?.as_deref()
}

/// The messages of a tail whose first has no id to name.
fn messages_of(
    conversation: &Conversation,
    source: &dyn ByteSource,
    ids: &[EntryId],
) -> Result<Vec<Box<RawValue>>, WriteError> {
    written_out(conversation, source, ids, |run, id| {
        body_of(run, conversation.originals.part(id).unwrap_or_default())
    })
}

/// The message in a run of bytes, which is an entry or the message itself.
fn body_of(run: &str, part: u32) -> Result<Box<RawValue>, String> {
    #[derive(Deserialize)]
    struct MessageEntry {
        message: Box<RawValue>,
    }
    let body = if MessageReading::of_part(part).is_bare {
        serde_json::from_str(run)
    } else {
        serde_json::from_str::<MessageEntry>(run).map(|entry| entry.message)
    };
    body.map_err(|error| error.to_string())
}

/// Where nothing is kept the entry names itself: pi finds it nowhere before, and keeps nothing.
fn compaction_line<'a>(
    boundary: &'a Boundary,
    session: &'a SessionTail,
    conversation: &Conversation,
    first_kept: Option<EntryId>,
    mark: &'a BoundaryMark,
) -> CompactionLine<'a> {
    let id = session.has_ids.then(|| new_id(session, mark.original_bytes, &boundary.summary, conversation));
    let kept_name = first_kept.and_then(|id| name_of(conversation, id)).map(str::to_owned);
    CompactionLine {
        r#type: "compaction",
        first_kept_entry_id: id.clone().map(|own| kept_name.unwrap_or(own)),
        retained_tail: None,
        first_kept_entry_index: (!session.has_ids).then(|| session.first_kept_at.unwrap_or(session.entries)),
        id,
        parent_id: session.leaf.as_deref(),
        timestamp: &boundary.timestamp,
        summary: bare_summary(&boundary.summary),
        tokens_before: boundary.tokens_before.0,
        details: Details { read_files: &boundary.read_files, modified_files: &boundary.modified_files },
        from_hook: session.has_ids.then_some(boundary.is_by_hook),
        epitome: mark,
    }
}

/// An id of eight hexadecimal digits that no message has.
fn new_id(session: &SessionTail, original_bytes: u64, summary: &str, conversation: &Conversation) -> String {
    let nth = |nth| {
        let bytes = derive(&session.id, original_bytes, summary, nth);
        bytes[..4].iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let is_free = |id: &String| !conversation.names.iter().flatten().any(|name| **name == **id);
    (0..).map(nth).find(is_free).expect("there are more ids than entries")
}

/// The session's id in the header.
pub(crate) fn session_id(line: &str) -> Vec<&RawValue> {
    #[derive(Deserialize)]
    struct PiHeader<'a> {
        #[serde(borrow, rename = "type")]
        kind: JsonText<'a>,
        #[serde(borrow)]
        id: &'a RawValue,
    }
    let header = serde_json::from_str::<PiHeader<'_>>(line).ok();
    header.filter(|header| &*header.kind == "session").map(|header| header.id).into_iter().collect()
}
