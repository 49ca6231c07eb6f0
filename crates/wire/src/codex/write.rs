//! Appending a compaction the way Codex does, and finding the last one to take it back.

use super::item::Item;
use super::message::{ItemKind, item_on, kind_of, message_of};
use crate::boundary::{
    AppendedLines, Boundary, BoundaryMark, BoundaryUndo, LastCompaction, WriteError, conversation_to_compact,
    kept_tail, read_again, take_back_line, written_out,
};
use crate::jsonl::{Field, JsonText, JsonlObject, Problems, each_object};
use crate::{ByteSource, Conversation, ReadError, Transcript};
use epitome_core::EntryId;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The bytes that add a compaction to the end of `source`: one record with the new history in full.
///
/// The items kept stand in it byte for byte, those before the summary first.
pub(crate) fn append(
    transcript: &Transcript,
    conversation: usize,
    source: &dyn ByteSource,
    boundary: &Boundary,
) -> Result<Vec<u8>, WriteError> {
    let conversation = conversation_to_compact(transcript, conversation)?;
    let tail = kept_tail(conversation, boundary)?;
    let items = |ids| written_out(conversation, source, ids, |run, id| item_of(run, conversation, id));
    let mut history = items(&boundary.front)?;
    history.push(user_item(&boundary.summary));
    history.extend(items(&tail)?);
    let mark = BoundaryMark {
        front: boundary.front.clone(),
        tail,
        ..BoundaryMark::new(source.len(), boundary.record.as_deref())
    };
    let payload = EventPayload { message: &boundary.summary, replacement_history: history };
    let ordinal = next_ordinal(source)?;
    let line =
        NewLine { timestamp: &boundary.timestamp, ordinal, r#type: "compacted", payload, epitome: mark };
    Ok(AppendedLines::behind(source)?.with(&line).into_bytes())
}

#[derive(Serialize)]
struct NewLine<'a> {
    timestamp: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ordinal: Option<u64>,
    r#type: &'a str,
    payload: EventPayload<'a>,
    epitome: BoundaryMark,
}

#[derive(Serialize)]
struct EventPayload<'a> {
    message: &'a str,
    replacement_history: Vec<Box<RawValue>>,
}

/// The number of the next line, where the lines of a rollout are numbered: one that repeats, or is missing,
/// ends what newer versions list of a session.
fn next_ordinal(source: &dyn ByteSource) -> Result<Option<u64>, WriteError> {
    #[derive(Deserialize)]
    struct NumberedLine {
        #[serde(default)]
        ordinal: Field<u64>,
    }
    let mut newest = None;
    each_object(source, &mut Problems::default(), |object, _| {
        let line: NumberedLine = serde_json::from_str(object.text)?;
        newest = newest.max(*line.ordinal);
        Ok(())
    })
    .map_err(read_again)?;
    Ok(newest.and_then(|newest: u64| newest.checked_add(1)))
}

/// The item in a run of bytes, which is a line or the item itself. A result without its call, which
/// is shown as text, is written as text too.
fn item_of(run: &str, conversation: &Conversation, id: EntryId) -> Result<Box<RawValue>, String> {
    let json = item_on(run).unwrap_or(Cow::Borrowed(run));
    let item: Item<'_> = serde_json::from_str(&json).map_err(|error| error.to_string())?;
    let answers = conversation.log.item(id).is_some_and(|light| !light.answers.is_empty());
    match kind_of(&item) {
        ItemKind::Output | ItemKind::CarriedOutput if !answers => {
            Ok(user_item(&message_of(&item, &json, true).said()))
        }
        ItemKind::Output
        | ItemKind::CarriedOutput
        | ItemKind::Reply
        | ItemKind::Said
        | ItemKind::Carried
        | ItemKind::Unseen
        | ItemKind::Unknown => serde_json::from_str(&json).map_err(|error| error.to_string()),
    }
}

fn user_item(text: &str) -> Box<RawValue> {
    #[derive(Serialize)]
    struct Item<'a> {
        r#type: &'a str,
        role: &'a str,
        content: [TextPiece<'a>; 1],
    }
    #[derive(Serialize)]
    struct TextPiece<'a> {
        r#type: &'a str,
        text: &'a str,
    }
    let item = Item { r#type: "message", role: "user", content: [TextPiece { r#type: "input_text", text }] };
    serde_json::value::to_raw_value(&item).expect("strings are JSON")
}

/// How to take back the last compaction of `source`.
pub(crate) fn undo(source: &dyn ByteSource) -> Result<BoundaryUndo, ReadError> {
    take_back_line(source, compaction_on, |_| None)
}

fn compaction_on(line: JsonlObject<'_>) -> serde_json::Result<Option<LastCompaction>> {
    #[derive(Deserialize)]
    struct LineHead<'a> {
        #[serde(borrow, rename = "type")]
        kind: JsonText<'a>,
        #[serde(default)]
        epitome: Option<BoundaryMark>,
    }
    let head: LineHead<'_> = serde_json::from_str(line.text)?;
    let is_compaction = &*head.kind == "compacted";
    Ok(is_compaction.then(|| LastCompaction::on_line(line, None, None, head.epitome.as_ref())))
}

/// The session's id in the header line: newer versions write it twice.
pub(crate) fn session_ids(line: &str) -> Vec<&RawValue> {
    #[derive(Deserialize)]
    struct CodexHeader<'a> {
        #[serde(borrow, rename = "type")]
        kind: JsonText<'a>,
        #[serde(borrow)]
        payload: HeaderPayload<'a>,
    }
    #[derive(Deserialize)]
    struct HeaderPayload<'a> {
        #[serde(borrow, default)]
        id: Option<&'a RawValue>,
        #[serde(borrow, default)]
        session_id: Option<&'a RawValue>,
    }
    let header = serde_json::from_str::<CodexHeader<'_>>(line).ok();
    let header = header.filter(|header| &*header.kind == "session_meta");
    header.into_iter().flat_map(|header| [header.payload.id, header.payload.session_id]).flatten().collect()
}
