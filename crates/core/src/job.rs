//! What a compaction is asked to do: the state it starts from, and the means it is handed.

use crate::{
    Archive, Author, Budget, Context, Entry, EntryId, Log, Measure, Policy, Prompts, Tokens, fence,
    ledger::Ledger,
};
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
    /// Who can be asked, and what they are told.
    pub means: Means<'a>,
    /// What is known of the moment.
    pub moment: Moment,
}

/// Who can be asked in the course of a plan.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    /// The model that writes summaries; the embedded summariser where there is none.
    pub summarizer: Option<Summarizer<'a>>,
    /// Whether the session's provider compacts by itself.
    pub native: bool,
    /// Whether hooks want to be asked first.
    pub hooks: bool,
    /// Whether one of them returns whole lists.
    pub compactor: bool,
    /// What a summariser is told.
    pub prompts: &'a Prompts,
}

/// A model that writes summaries, as far as a plan must know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summarizer<'a> {
    /// Its name, for the record.
    pub name: &'a str,
    /// All a request to it may take.
    pub window: Tokens,
    /// The longest answer it gives.
    pub output_max: Tokens,
    /// Whether it takes several calls at once.
    pub takes_parallel: bool,
    /// Whether it is the session's own model and still has the session's prompt in its cache.
    pub is_warm: bool,
}

/// What is known of the moment a compaction runs in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// By how much the provider said the request was too long.
    pub over: Option<Tokens>,
    /// What the provider counts where we count a hundred; 0 where nothing is known.
    pub usage_percent: u32,
    /// Minutes since the last word; none where nobody looked at the clock.
    pub idle_minutes: Option<u64>,
    /// Whether the newest edit of the context was a pass before this compaction, and none itself.
    pub is_passed: bool,
    /// Compact only what lies before this message.
    pub up_to: Option<EntryId>,
    /// Compact only what lies from this message on.
    pub from: Option<EntryId>,
}

impl<'a> Means<'a> {
    /// Nobody: what needs a model or a hook is passed over.
    pub fn none(prompts: &'a Prompts) -> Self {
        Self { summarizer: None, native: false, hooks: false, compactor: false, prompts }
    }
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
    /// The provider refused a request as too long.
    Overflow,
    /// A hook or a tool asked for it in the middle of a turn, which has ended now.
    Requested,
    /// Nobody has said anything for a while.
    Idle,
    /// There are too many messages in view.
    Messages,
    /// There are too many bytes in view.
    Bytes,
    /// There are too many pictures in view.
    Media,
    /// The session's model was changed for one with a smaller window.
    Downshift,
}

impl Trigger {
    /// Whether a person asked for it; all others are automatic.
    pub fn is_manual(self) -> bool {
        match self {
            Self::Manual => true,
            Self::Threshold
            | Self::Overflow
            | Self::Requested
            | Self::Idle
            | Self::Messages
            | Self::Bytes
            | Self::Media
            | Self::Downshift => false,
        }
    }
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
