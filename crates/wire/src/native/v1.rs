//! Version 1 of our own form, frozen: what its lines held, and what that means today.
//!
//! There a compaction was an entry of the path like a message, and named what it kept. Read today it is a
//! mark that covers the same messages, so that the context is what it was.

use epitome_core::{Compaction, Edit, EntryId, Flag, Form, Judgement, Mark, Opaque, Tail, Tokens};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// An entry of version 1.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "entry", rename_all = "lowercase")]
pub(super) enum EntryV1 {
    /// What was said stands beside it.
    Message {},
    Compaction(CompactionV1),
    Edit {
        forms: Vec<(EntryId, Form)>,
    },
    Undo {
        of: EntryId,
    },
    Note {
        kind: Arc<str>,
    },
}

/// A compaction of version 1.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct CompactionV1 {
    before: Vec<EntryId>,
    summary: Option<SummaryV1>,
    tail: TailV1,
    native: Option<Opaque>,
    forms: Vec<(EntryId, Form)>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct SummaryV1 {
    text: Arc<str>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TailV1 {
    #[default]
    Nothing,
    From(EntryId),
    These(Vec<EntryId>),
}

/// What an entry of version 1 is today.
pub(super) enum UpgradedEntry {
    /// A message, where its line brings one.
    Message,
    /// A mark at the end of the path.
    Mark(Box<Mark>),
    /// Something of the path that is no part of the context.
    Note(Arc<str>),
}

impl EntryV1 {
    /// Whether a pass of compaction left it.
    pub(super) fn is_pass(&self) -> bool {
        match self {
            Self::Compaction(_) | Self::Edit { .. } => true,
            Self::Message {} | Self::Undo { .. } | Self::Note { .. } => false,
        }
    }

    /// What it is today; `history` gives the messages before it, oldest first.
    pub(super) fn upgrade(
        self,
        record: Option<Value>,
        history: impl FnOnce() -> Vec<EntryId>,
    ) -> UpgradedEntry {
        let record =
            || Arc::new(record.and_then(|json| serde_json::from_value(json).ok()).unwrap_or_default());
        match self {
            Self::Message {} => UpgradedEntry::Message,
            Self::Compaction(compaction) => {
                let compaction = Box::new(compaction.upgrade(&history()));
                UpgradedEntry::Mark(Box::new(Mark::Compaction { compaction, record: record() }))
            }
            Self::Edit { forms } => {
                UpgradedEntry::Mark(Box::new(Mark::Edit { edit: Edit { forms }, record: record() }))
            }
            Self::Undo { of } => UpgradedEntry::Mark(Box::new(Mark::Undo { of })),
            Self::Note { kind } => match noted(&kind) {
                Some(mark) => UpgradedEntry::Mark(Box::new(mark)),
                None => UpgradedEntry::Note(kind),
            },
        }
    }
}

impl CompactionV1 {
    fn upgrade(self, history: &[EntryId]) -> Compaction {
        let shown: BTreeSet<EntryId> = match &self.tail {
            TailV1::Nothing => BTreeSet::new(),
            TailV1::From(first) => history.iter().copied().filter(|id| id >= first).collect(),
            TailV1::These(ids) => ids.iter().copied().collect(),
        };
        let covered = history.iter().rev().find(|id| !shown.contains(id) || self.before.contains(id));
        let tail = match covered {
            Some(&anchor) => {
                let is_kept = |id: &EntryId| *id <= anchor && !self.before.contains(id);
                Tail::After { anchor, kept: shown.into_iter().filter(is_kept).collect() }
            }
            None => Tail::These(shown.into_iter().collect()),
        };
        let summary = self.summary.map(|summary| summary.text);
        Compaction {
            front: self.before,
            summary,
            tail,
            native: self.native,
            forms: self.forms,
            uncut: Vec::new(),
        }
    }
}

/// The marks that version 1 told as words.
fn noted(kind: &str) -> Option<Mark> {
    match kind {
        "epitome.compaction-failed" => return Some(Mark::Failure),
        "epitome.refilled" => return Some(Mark::Refill),
        "epitome.breaker-closed" => return Some(Mark::Reset),
        _ => {}
    }
    if let Some(why) = kind.strip_prefix("epitome.held ") {
        return Some(Mark::Hold { why: why.into() });
    }
    if let Some(tokens) = kind.strip_prefix("epitome.compaction-impossible ") {
        return tokens.parse().ok().map(|tokens| Mark::Floor { tokens: Tokens(tokens) });
    }
    let (number, told) = kind.strip_prefix("epitome.judged ")?.split_once(' ')?;
    let judgement: Judgement =
        serde_json::from_str(told).unwrap_or(Judgement { flag: Flag::Neutral, notes: told.into() });
    Some(Mark::Judgement { of: EntryId(number.parse().ok()?), judgement })
}
