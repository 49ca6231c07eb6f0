//! Compactions on their way into a log.
//!
//! Codex writes the whole new history into the compaction. Its items are messages of their own here,
//! since Codex may have shortened them. A compaction of ours notes which entries it kept, and they are
//! shown as they stand.

use super::item::{CompactedItem, Item};
use super::message::{BARE, message_of};
use super::rollout::Rollout;
use crate::boundary::BoundaryMark;
use crate::jsonl::{JsonlObject, Problems, part_of};
use epitome_core::{Author, Compaction, EntryId, Role, Tail};
use serde_json::value::RawValue;
use std::sync::Arc;

impl Rollout<'_> {
    /// Takes a compaction, which stands on the line `object`.
    pub(super) fn take_compacted<'a>(
        &mut self,
        compacted: &CompactedItem<'a>,
        mark: Option<&BoundaryMark>,
        object: JsonlObject<'a>,
        problems: &mut Problems,
    ) {
        self.end_reply();
        if mark.is_some_and(BoundaryMark::is_copy) {
            self.end_of_copied();
        }
        let summary = compacted.message.as_deref().filter(|text| !text.is_empty()).map(Arc::from);
        let next = self.assembly.next_id();
        if let Some(mark) = mark.filter(|mark| mark.kept().all(|id| id < next)) {
            let tail = if mark.tail.is_empty() { Tail::Nothing } else { Tail::These(mark.tail.clone()) };
            self.compact(mark.front.clone(), summary, tail);
            return;
        }
        let Some(history) = compacted.history() else {
            return self.compact(
                self.assembly.messages_by(Role::User, Author::Person),
                summary,
                Tail::Nothing,
            );
        };
        // Where the summary stands in the new history, what is before it stays before it.
        let (before, after) =
            history.split_at(summary_at(&history, compacted.message.as_deref()).unwrap_or(0));
        let first = self.assembly.next_id();
        self.take_history(before, object, problems);
        let before = (first.0..self.assembly.next_id().0).map(EntryId).collect();
        let skipped = usize::from(is_summary(after.first(), compacted.message.as_deref()));
        self.compact(before, summary, Tail::Nothing);
        self.take_history(&after[skipped..], object, problems);
    }

    fn compact(&mut self, front: Vec<EntryId>, summary: Option<Arc<str>>, tail: Tail) {
        self.assembly.compact(Compaction { front, summary, tail, ..Compaction::default() }, None);
    }

    fn take_history<'a>(&mut self, items: &[&'a RawValue], object: JsonlObject<'a>, problems: &mut Problems) {
        for raw in items {
            match serde_json::from_str::<Item<'_>>(raw.get()) {
                Ok(item) => {
                    self.take_item(&item, raw.get(), part_of(object, raw.get()), BARE, problems);
                }
                Err(error) => {
                    problems.add(object.line, format!("holds an item that cannot be read ({error})"))
                }
            }
        }
        self.end_reply();
    }
}

/// Where in a new history its summary stands, being one of the user messages.
fn summary_at(history: &[&RawValue], summary: Option<&str>) -> Option<usize> {
    history.iter().position(|raw| is_summary(Some(raw), summary))
}

fn is_summary(raw: Option<&&RawValue>, summary: Option<&str>) -> bool {
    let (Some(raw), Some(summary)) = (raw, summary.filter(|summary| !summary.is_empty())) else {
        return false;
    };
    let Ok(item) = serde_json::from_str::<Item<'_>>(raw.get()) else { return false };
    let message = message_of(&item, raw.get(), false);
    let said: Arc<str> = message.said().into();
    message.role == Role::User && *said == *summary
}
