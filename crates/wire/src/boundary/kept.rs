//! Which messages a compaction keeps, spelled out.

use super::{Boundary, WriteError};
use crate::jsonl::decoded;
use crate::{ByteSource, Conversation, Transcript};
use epitome_core::{Context, EntryId, ZeroMeasure};
use serde_json::value::RawValue;

/// A conversation in which something was said.
pub(crate) fn conversation_to_compact(
    transcript: &Transcript,
    conversation: usize,
) -> Result<&Conversation, WriteError> {
    let found = transcript.conversations.get(conversation).filter(|found| found.leaf.is_some());
    found.ok_or(WriteError::NothingSaid(conversation))
}

/// The messages of the branch that ends in the conversation's leaf.
pub(crate) fn branch_messages(conversation: &Conversation) -> Vec<EntryId> {
    let branch = conversation.log.path_of(conversation.leaf);
    branch.into_iter().filter(|id| conversation.log.item(*id).is_some()).collect()
}

/// The messages that stand after the summary, in order.
pub(crate) fn kept_tail(
    conversation: &Conversation,
    boundary: &Boundary,
) -> Result<Vec<EntryId>, WriteError> {
    let context = Context::of(conversation.leaf, conversation.reader(&ZeroMeasure))?;
    let tail = context.tail_of(&boundary.tail).into_iter();
    Ok(tail.filter(|id| !boundary.front.contains(id)).collect())
}

/// These messages as a compaction writes them out, for a tool that is given its new history in full. `piece` makes a
/// piece of that history from each run of bytes that a message stands in.
pub(crate) fn written_out(
    conversation: &Conversation,
    source: &dyn ByteSource,
    ids: &[EntryId],
    piece: impl Fn(&str, EntryId) -> Result<Box<RawValue>, String>,
) -> Result<Vec<Box<RawValue>>, WriteError> {
    let mut pieces = Vec::new();
    for &id in ids {
        for span in conversation.originals.spans(id).ok_or(WriteError::NotInFile(id))? {
            let bytes = source.slice(*span).map_err(WriteError::Read)?;
            let piece = piece(&decoded(&bytes), id);
            pieces.push(piece.map_err(|why| WriteError::Changed { id, why })?);
        }
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::kept_tail;
    use crate::{Boundary, Conversation, FixedParts, Format, Originals};
    use epitome_core::policy::TranscriptEntry;
    use epitome_core::{
        Author, Compaction, Entry, EntryId, Item, Log, Message, Role, SizeTable, Tail, Tokens, Trigger,
    };
    use std::collections::HashMap;
    use std::sync::Arc;

    fn boundary(tail: Tail) -> Boundary {
        Boundary {
            summary: "so far".into(),
            front: Vec::new(),
            tail,
            tokens_before: Tokens(9),
            tokens_after: Tokens(7),
            trigger: Trigger::Manual,
            timestamp: "2026-01-31T09:30:00.000Z".into(),
            read_files: Vec::new(),
            modified_files: Vec::new(),
            duration_ms: 0,
            turns: 0,
            is_by_hook: false,
            entry: TranscriptEntry::Boundary,
            record: None,
        }
    }

    #[test]
    fn a_tail_does_not_reach_past_an_earlier_summary() {
        let message = || Entry::Message(Item::of(&Message::text(Role::User, Author::Person, "go")));
        let earlier =
            Compaction { front: vec![EntryId(1)], summary: Some("earlier".into()), ..Compaction::default() };
        let mut log = Log::default();
        for entry in [message(), message(), Entry::Recorded(Box::new(earlier)), message()] {
            log.push(entry);
        }
        let originals = Originals::new(Arc::new(Vec::new()), Format::Native);
        let (leaf, fixed) = (log.newest(), FixedParts::default());
        let names = Vec::new();
        let conversation = Conversation {
            log,
            sizes: SizeTable::default(),
            leaf,
            fixed,
            replies: Vec::new(),
            side_calls: Vec::new(),
            added_times: HashMap::new(),
            compactions: Vec::new(),
            originals,
            names,
        };
        let kept = kept_tail(&conversation, &boundary(Tail::From(EntryId(1))));
        assert_eq!(kept.expect("no original is needed"), [EntryId(3)]);
    }
}
