//! The live part of a session: the entries that what is in view follows from, without what has been superseded. A store keeps it, so
//! that opening a session costs what its context costs, however long its history is.
//!
//! Which entries those are is a guess that is checked: what is derived from them must be what is derived from the whole log, or there
//! is no live part, and the session is opened whole.

use crate::session::{AppendedEntry, Session};
use crate::timeline::Timeline;
use epitome_core::{Entry, EntryId, Log, Mark, Record, SizeTable, Sizes, Tokens};
use std::collections::HashSet;
use std::sync::Arc;

/// The live part of a session.
#[derive(Clone, Debug)]
pub struct LivePart {
    /// Where the path it is of ends.
    pub leaf: EntryId,
    /// How many entries the session has; those from here on are no part of it, and stand behind it.
    pub len: usize,
    /// The entries, each below the one before it that is at hand, in the order of their ids.
    pub entries: Vec<AppendedEntry>,
    /// The way messages were counted.
    pub method: Arc<str>,
    /// What each of them takes.
    pub sizes: Vec<(EntryId, Sizes)>,
    /// What messages of the path take that are no part of it.
    pub hidden: Tokens,
    /// What every message takes that was counted, for when the session is opened whole.
    pub all_sizes: Vec<(EntryId, Sizes)>,
}

/// Below so many entries that could be left out, a session is as well opened whole.
const HIDDEN_MIN: usize = 64;

impl LivePart {
    /// The log and the sizes that are at hand by it.
    pub fn at_hand(&self) -> Option<(Log, SizeTable)> {
        let entries = self.entries.iter().map(|one| (one.id, one.parent, one.entry.clone())).collect();
        let log = Log::partial(self.len, entries).ok()?;
        Some((log, SizeTable::partial(self.len, self.sizes.clone(), self.hidden)))
    }

    /// Whether an entry that stands behind it leaves it what it is. What takes something back, or puts something to use, may
    /// bring into view what is no part of it.
    pub fn bears(entry: &Entry) -> bool {
        match entry {
            Entry::Message(_) => true,
            Entry::Mark(mark) => match mark {
                Mark::Label { .. }
                | Mark::Judgement { .. }
                | Mark::Usage(_)
                | Mark::Failure
                | Mark::Floor { .. }
                | Mark::Refill
                | Mark::Hold { .. }
                | Mark::Reset
                | Mark::Request { .. }
                | Mark::Observation { .. } => true,
                Mark::Compaction { .. }
                | Mark::Edit { .. }
                | Mark::Apply { .. }
                | Mark::Undo { .. }
                | Mark::Redo { .. }
                | Mark::Pin { .. }
                | Mark::Unpin { .. } => false,
            },
            Entry::Recorded(_) | Entry::Note { .. } => false,
        }
    }
}

impl Session {
    /// The live part of the path; none where little would be left out, or what follows from it is not what follows from the whole.
    pub fn live_part(&self) -> Option<LivePart> {
        let (log, timeline) = (self.log(), self.timeline());
        let leaf = timeline.leaf()?;
        let path = log.path(leaf);
        let in_view: HashSet<EntryId> = timeline.context().message_slots().map(|(id, ..)| id).collect();
        let is_message = |id: &EntryId| log.item(*id).is_some();
        if path.len() < in_view.len() + HIDDEN_MIN || timeline.ignores_any() || !path.iter().all(is_message) {
            return None;
        }
        let marks = self.live_marks(&path, &in_view)?;
        let anchors = marks.iter().filter_map(|&id| log.parent(id));
        let kept: HashSet<EntryId> = in_view.iter().copied().chain(anchors).collect();
        let sizes = timeline.sizes();
        let hidden = path.iter().filter(|id| !kept.contains(id)).map(|&id| sizes.total(id)).sum::<Tokens>();
        let part = LivePart {
            leaf,
            len: log.len(),
            entries: entries(log, &path, &kept, marks),
            method: self.assembly().sizes_key().clone(),
            sizes: sizes.iter().filter(|(id, _)| kept.contains(id)).collect(),
            hidden: hidden + sizes.hidden(),
            all_sizes: if log.is_whole() { sizes.iter().collect() } else { Vec::new() },
        };
        self.is_borne_out(&part).then_some(part)
    }

    /// Marks of the path that what is in view may follow from; none where one was made elsewhere.
    fn live_marks(&self, path: &[EntryId], in_view: &HashSet<EntryId>) -> Option<Vec<EntryId>> {
        let (log, newest) = (self.log(), self.compactions().last().copied());
        let shows = |id: EntryId| {
            let forms = log.mark_of(id).and_then(Mark::forms).unwrap_or_default();
            let uncut = log.compaction(id).map(|compaction| compaction.uncut.as_slice()).unwrap_or_default();
            forms.iter().map(|(id, _)| id).chain(uncut).any(|id| in_view.contains(id))
        };
        let is_live_pass = |id: EntryId| (Some(id) == newest || shows(id)) && !self.context().is_undone(id);
        let usage = self.timeline().usage().map(|usage| usage.id);
        let mut live = Vec::new();
        for id in log.marks_on(path) {
            let is_live = match log.mark_of(id)? {
                Mark::Compaction { .. } | Mark::Edit { .. } => is_live_pass(id),
                Mark::Apply { of } if is_live_pass(*of) => return None,
                Mark::Undo { of } | Mark::Redo { of } => is_live_pass(*of),
                Mark::Pin { of } | Mark::Unpin { of } => in_view.contains(of),
                Mark::Usage(_) => Some(id) == usage,
                Mark::Apply { .. } | Mark::Label { .. } | Mark::Judgement { .. } => false,
                Mark::Failure
                | Mark::Floor { .. }
                | Mark::Refill
                | Mark::Hold { .. }
                | Mark::Reset
                | Mark::Request { .. }
                | Mark::Observation { .. } => true,
            };
            if is_live {
                live.push(id);
            }
        }
        Some(live)
    }

    /// Whether what follows from a live part is what follows from the whole.
    fn is_borne_out(&self, part: &LivePart) -> bool {
        let Some((log, sizes)) = part.at_hand() else { return false };
        let derived = Timeline::open(Arc::new(log), Arc::new(sizes), Some(part.leaf), self.lens());
        derived.is_ok_and(|derived| derived.shows_the_same(self.timeline()))
    }
}

/// The entries of a live part, in the order of their ids: those of the path each below the one before it.
fn entries(log: &Log, path: &[EntryId], kept: &HashSet<EntryId>, marks: Vec<EntryId>) -> Vec<AppendedEntry> {
    let mut parent = None;
    let mut entries = Vec::with_capacity(kept.len() + marks.len());
    for &id in path.iter().filter(|id| kept.contains(id)) {
        if let Some(entry) = log.get(id) {
            entries.push(AppendedEntry { id, parent, entry: entry.clone() });
            parent = Some(id);
        }
    }
    let mark =
        |id: EntryId| Some(AppendedEntry { id, parent: log.parent(id), entry: without_lists(log.get(id)?) });
    entries.extend(marks.into_iter().filter_map(mark));
    entries.sort_unstable_by_key(|one| one.id);
    entries
}

/// A mark without what its record lists of what was superseded: that grows with the history, and nothing in view follows from it.
fn without_lists(entry: &Entry) -> Entry {
    let light = |record: &Arc<Record>| {
        let mut record = Record::clone(record);
        if let Some(change) = record.change_mut() {
            (change.superseded, change.dropped) = (Vec::new(), Vec::new());
            (change.ledger, change.loss) = Default::default();
        }
        Arc::new(record)
    };
    match entry {
        Entry::Mark(Mark::Compaction { compaction, record }) => {
            Entry::Mark(Mark::Compaction { compaction: compaction.clone(), record: light(record) })
        }
        Entry::Mark(Mark::Edit { edit, record }) => {
            Entry::Mark(Mark::Edit { edit: edit.clone(), record: light(record) })
        }
        other @ (Entry::Mark(_) | Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. }) => {
            other.clone()
        }
    }
}
