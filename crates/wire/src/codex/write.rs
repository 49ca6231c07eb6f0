//! Appending a compaction the way Codex does, and finding the last one to take it back.

use super::item::Item;
use super::message::{ItemKind, item_on, kind_of, message_of};
use crate::boundary::{
    Boundary, BoundaryMark, BoundaryUndo, LastCompaction, WriteError, begin_line, kept_tail, read_again,
    take_back,
};
use crate::jsonl::{Field, JsonText, JsonlObject, Problems, decoded, each_object};
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
    let nothing_said = WriteError::NothingSaid(conversation);
    let conversation =
        transcript.conversations.get(conversation).filter(|c| c.leaf.is_some()).ok_or(nothing_said)?;
    let tail = kept_tail(conversation, boundary)?;
    let mut history = items_of(conversation, source, &boundary.front)?;
    history.push(user_item(&boundary.summary));
    history.extend(items_of(conversation, source, &tail)?);
    let mark = BoundaryMark {
        front: boundary.front.clone(),
        tail,
        ..BoundaryMark::new(source.len(), boundary.record.as_deref())
    };
    let payload = EventPayload { message: &boundary.summary, replacement_history: history };
    let ordinal = next_ordinal(source)?;
    let line =
        NewLine { timestamp: &boundary.timestamp, ordinal, r#type: "compacted", payload, epitome: mark };
    let mut bytes = begin_line(source)?;
    serde_json::to_writer(&mut bytes, &line)
        .expect("strings and numbers are JSON, and memory can be written");
    bytes.push(b'\n');
    Ok(bytes)
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

/// The items of these messages, as they stand in the file.
fn items_of(
    conversation: &Conversation,
    source: &dyn ByteSource,
    ids: &[EntryId],
) -> Result<Vec<Box<RawValue>>, WriteError> {
    let mut items = Vec::new();
    for &id in ids {
        let spans = conversation.originals.spans(id).ok_or(WriteError::NotInFile(id))?;
        for span in spans {
            let bytes = source.slice(*span).map_err(WriteError::Read)?;
            let item = item_of(&decoded(&bytes), conversation, id);
            items.push(item.map_err(|why| WriteError::Changed { id, why })?);
        }
    }
    Ok(items)
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
    let mut last = None;
    each_object(source, &mut Problems::default(), |object, _| {
        last = found(object)?.or(last.take());
        Ok(())
    })?;
    take_back(source, last, |_| None)
}

fn found(object: JsonlObject<'_>) -> serde_json::Result<Option<LastCompaction>> {
    #[derive(Deserialize)]
    struct LineHead<'a> {
        #[serde(borrow, rename = "type")]
        kind: JsonText<'a>,
        #[serde(default)]
        epitome: Option<BoundaryMark>,
    }
    let line: LineHead<'_> = serde_json::from_str(object.text)?;
    let is_compaction = &*line.kind == "compacted";
    Ok(is_compaction.then(|| LastCompaction {
        spans: vec![object.span],
        ids: Vec::new(),
        follows: None,
        original_bytes: line.epitome.map(|mark| mark.original_bytes),
    }))
}

/// The session's id in the header line: newer versions write it twice.
pub(crate) fn session_ids(line: &str) -> Vec<&RawValue> {
    #[derive(Deserialize)]
    struct HeaderLine<'a> {
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
    let header = serde_json::from_str::<HeaderLine<'_>>(line).ok();
    let header = header.filter(|header| &*header.kind == "session_meta");
    header.into_iter().flat_map(|header| [header.payload.id, header.payload.session_id]).flatten().collect()
}
