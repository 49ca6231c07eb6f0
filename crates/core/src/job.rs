//! What a compaction is asked to do: the state it starts from, and the means it is handed.

use crate::{Archive, Author, Budget, Context, Entry, EntryId, Log, Measure, Policy, fence, ledger::Ledger};
use serde::{Deserialize, Serialize};

/// Everything a plan is drafted from.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The log.
    pub log: &'a Log,
    /// The messages of the branch, oldest first, in view or not.
    pub history: &'a [EntryId],
    /// The compactions of the branch, oldest first.
    pub compactions: &'a [EntryId],
    /// How many messages, oldest first, are too far back to be read again, and what is known of them.
    pub earlier: Earlier<'a>,
    /// What the model sees of it now.
    pub context: &'a Context,
    /// Where the originals are.
    pub archive: &'a dyn Archive,
    /// How to count.
    pub measure: &'a dyn Measure,
    /// How much room there is.
    pub budget: Budget,
    /// How to compact.
    pub policy: &'a Policy,
    /// Why now.
    pub trigger: Trigger,
    /// What the person asked the summary to dwell on.
    pub focus: Option<&'a str>,
    /// Messages never to be superseded.
    pub pins: &'a [EntryId],
    /// What the place the result is written to can say.
    pub can: Expressible,
}

/// The oldest part of a history, which a summary represents by what people said in it and by its ledger.
#[derive(Clone, Copy)]
pub struct Earlier<'a> {
    /// How many messages it has.
    pub count: usize,
    /// Their files, commands and todos.
    pub ledger: &'a Ledger,
}

/// Of messages too far back, as many of a person's are read all the same, the newest: their rules still
/// hold, and this many fill any summary.
const FAR_SAID_MAX: usize = 120;

/// Why a compaction runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trigger {
    /// Someone asked for it.
    Manual,
    /// The context reached the policy's threshold.
    Threshold,
}

/// What a format can say about a compacted context. What it cannot say, the summary covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expressible {
    /// Messages kept in front of the summary.
    pub before: bool,
    /// Messages shown in another form than they were written.
    pub forms: bool,
}

impl Expressible {
    /// Everything, as our own form and a live session can.
    pub const ALL: Self = Self { before: true, forms: true };
}

impl<'a> Job<'a> {
    /// The first message a person wrote.
    pub fn first_said(&self) -> Option<EntryId> {
        self.history.iter().copied().find(|&id| self.is_said(id))
    }

    /// The newest message a person wrote.
    pub fn newest_said(&self) -> Option<EntryId> {
        self.history.iter().rev().copied().find(|&id| self.is_said(id))
    }

    fn is_said(&self, id: EntryId) -> bool {
        self.log.item(id).is_some_and(|item| item.author == Author::Person && item.answers.is_empty())
    }

    /// Those of `superseded` that a summary is made from: all but what is too far back, of which it
    /// reads what people said.
    pub(crate) fn readable(&self, superseded: &[EntryId]) -> Vec<EntryId> {
        let first = self.history.get(self.earlier.count);
        let far = first.map_or(0, |first| superseded.partition_point(|id| id < first));
        let said = superseded[..far].iter().rev().copied().filter(|&id| self.is_said(id));
        let mut readable: Vec<EntryId> = said.take(FAR_SAID_MAX).collect();
        readable.reverse();
        readable.extend(&superseded[far..]);
        readable
    }

    /// Summaries to be read as prose, oldest first: those of the transcript's own tool, and our newest
    /// where it stands for messages that are not read again. What our others stand for is
    /// summarised anew from the originals.
    pub(crate) fn prose(&self) -> Vec<&'a str> {
        let mut texts: Vec<&str> =
            self.compactions.iter().filter_map(|&id| summary_text(self.log, id)).collect();
        let ours = texts.iter().rposition(|text| fence::is_ours(text)).filter(|_| self.earlier.count > 0);
        let mut at = 0;
        texts.retain(|text| {
            at += 1;
            !fence::is_ours(text) || ours == Some(at - 1)
        });
        texts
    }
}

fn summary_text(log: &Log, id: EntryId) -> Option<&str> {
    match log.get(id)? {
        Entry::Compaction(compaction) => compaction.summary.as_ref().map(|summary| summary.text.as_ref()),
        Entry::Message(_) | Entry::Edit(_) | Entry::Undo { .. } | Entry::Note { .. } => None,
    }
}
