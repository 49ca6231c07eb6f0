//! The ids in a session's records: giving a copy of a session one of its own, so that its tool takes it for another
//! session, and what Claude Code's records and qwen-code's have in common.

use super::take_back::{ByteEdit, rewrite};
use crate::format::ResumeRow;
use crate::jsonl::{Problems, each_object, part_of};
use crate::{ByteSource, Format, ReadError};
use serde_json::value::RawValue;

/// Finds the session's id in a record, wherever it stands there.
pub(crate) type SessionIdsIn = for<'a> fn(record: &'a str) -> Vec<&'a RawValue>;

/// Which records say whose session they are of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SessionIdPlace {
    /// Each of them.
    EveryRecord(SessionIdsIn),
    /// The first that does: another one behind it is that of a session this one was made from.
    Header(SessionIdsIn),
}

/// The bytes of `source` as those of the session `id`, and otherwise the same; for a format whose tool resumes what we
/// write.
pub fn with_session_id(format: Format, source: &dyn ByteSource, id: &str) -> Result<Vec<u8>, ReadError> {
    let Some(ResumeRow { session_id, .. }) = &format.row().resume else {
        let why = "its tool resumes nothing that others write".to_owned();
        return Err(ReadError::NotThis { format, why });
    };
    let (ids_in, is_first_only) = match *session_id {
        SessionIdPlace::EveryRecord(ids_in) => (ids_in, false),
        SessionIdPlace::Header(ids_in) => (ids_in, true),
    };
    let by = serde_json::to_string(id).expect("a string is JSON");
    let mut edits: Vec<ByteEdit> = Vec::new();
    each_object(source, &mut Problems::default(), |object, _| {
        let ids = if is_first_only && !edits.is_empty() { Vec::new() } else { ids_in(object.text) };
        edits.extend(ids.into_iter().map(|id| {
            let span = part_of(object, id.get()).span;
            ByteEdit { offset: span.offset, len: u64::from(span.len), by: by.clone() }
        }));
        Ok(())
    })?;
    if edits.is_empty() {
        return Err(ReadError::NotThis { format, why: "no record says which session it is of".to_owned() });
    }
    edits.sort_by_key(|edit| edit.offset);
    rewrite(source, &edits)
}

/// The `sessionId` of a record, as Claude Code and qwen-code write it.
pub(crate) fn record_session_id(record: &str) -> Vec<&RawValue> {
    #[derive(serde::Deserialize)]
    struct SessionRecord<'a> {
        #[serde(borrow, rename = "sessionId")]
        session_id: &'a RawValue,
    }
    serde_json::from_str::<SessionRecord<'_>>(record)
        .ok()
        .map(|record| record.session_id)
        .into_iter()
        .collect()
}

/// The `parentUuid` of such a record.
pub(crate) fn record_parent(record: &str) -> Option<&RawValue> {
    #[derive(serde::Deserialize)]
    struct ChildRecord<'a> {
        #[serde(borrow, rename = "parentUuid")]
        parent_uuid: &'a RawValue,
    }
    serde_json::from_str::<ChildRecord<'_>>(record).ok().map(|child| child.parent_uuid)
}

/// A version 4 UUID of these bytes.
pub(crate) fn record_uuid(mut bytes: [u8; 32]) -> String {
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
