//! The messages of a session that are in view, oldest first. The log tells what is dropped by counts alone, and a
//! rewind shows again what was dropped behind the place it goes back to.

use epitome_core::EntryId;
use std::sync::Arc;

/// A message in view.
#[derive(Clone, Copy)]
pub(super) struct ViewEntry {
    pub id: EntryId,
    /// Where the exchange begins that it belongs to: itself, or the reply it answers.
    pub exchange: EntryId,
}

/// What is in view.
#[derive(Clone, Default)]
struct ViewState {
    entries: Vec<ViewEntry>,
    summary: Option<Arc<str>>,
}

/// What is in view now, and what was before each compaction of the path.
#[derive(Default)]
pub(super) struct InView {
    now: ViewState,
    before: Vec<(EntryId, ViewState)>,
}

impl InView {
    pub(super) fn add(&mut self, entry: ViewEntry) {
        self.now.entries.push(entry);
    }

    /// The summary that stands before the messages.
    pub(super) fn summary(&self) -> Option<Arc<str>> {
        self.now.summary.clone()
    }

    pub(super) fn len(&self) -> usize {
        self.now.entries.len()
    }

    /// Where the newest `count` of the messages before `end` begin, whole exchanges kept; `end` where they are none.
    pub(super) fn newest(&self, count: usize, end: EntryId) -> EntryId {
        let mut before: Vec<&ViewEntry> = self.now.entries.iter().filter(|entry| entry.id < end).collect();
        // Results stand where their calls reserved a place, whenever they came.
        before.sort_unstable_by_key(|entry| entry.id);
        let newest = before.iter().rev().take(count);
        newest.map(|entry| entry.exchange).min().unwrap_or(end)
    }

    /// The messages from `first` on stay, behind the summary that the entry `at` records; says how many.
    pub(super) fn keep_from(&mut self, first: EntryId, at: EntryId, summary: Option<Arc<str>>) -> usize {
        let kept = self.now.entries.iter().filter(|entry| entry.id >= first).copied().collect();
        let now = ViewState { entries: kept, summary };
        self.before.push((at, std::mem::replace(&mut self.now, now)));
        self.len()
    }

    /// Takes back what came behind `tip`.
    pub(super) fn go_back(&mut self, tip: Option<EntryId>) {
        while let Some((_, shown)) = self.before.pop_if(|(at, _)| Some(*at) > tip) {
            self.now = shown;
        }
        self.now.entries.retain(|entry| Some(entry.id) <= tip);
    }
}
