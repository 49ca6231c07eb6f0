//! What a session tells of itself: each trigger, pass, no-op, fallback and failure, with its inputs. Who hears it
//! is the engine's affair.

use epitome_core::{CheckpointView, EntryId, HookRun, Judgement, Record, Strategy, Tokens, Trigger};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Something that happened in a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event")]
pub enum Event {
    /// A compaction begins.
    #[serde(rename = "compaction.triggered")]
    Triggered {
        /// Why it runs.
        trigger: Trigger,
        /// The whole request, as measured.
        tokens: Tokens,
        /// The point it was held against.
        limit: Tokens,
        /// The window.
        window: Tokens,
    },
    /// A compaction was made, or one made elsewhere was put to use.
    #[serde(rename = "compaction.completed")]
    Completed {
        /// Its mark, on whichever path that was made.
        entry: EntryId,
        /// How it came about.
        record: Arc<Record>,
    },
    /// A compaction would have been made, and nothing was changed.
    #[serde(rename = "compaction.observed")]
    Observed {
        /// The mark of it.
        entry: EntryId,
        /// How it would have come about.
        record: Arc<Record>,
    },
    /// A compaction was not made though it was due.
    #[serde(rename = "compaction.failed")]
    Failed {
        /// What stood in the way.
        why: String,
        /// How many failed in a row.
        in_a_row: u32,
    },
    /// There was nothing to do.
    #[serde(rename = "compaction.noop")]
    Noop {
        /// In a few words.
        why: String,
        /// What was tried, or would have been, behind what was given up.
        strategy: Strategy,
    },
    /// Messages give way to pointers.
    #[serde(rename = "compaction.pruned")]
    Pruned {
        /// The mark.
        entry: EntryId,
        /// How many messages.
        messages: usize,
        /// What it freed.
        freed: Tokens,
    },
    /// Repeated messages give way to their newest copy.
    #[serde(rename = "compaction.trimmed")]
    Trimmed {
        /// The mark.
        entry: EntryId,
        /// How many messages.
        messages: usize,
        /// What it freed.
        freed: Tokens,
    },
    /// A summary was made before it was needed.
    #[serde(rename = "compaction.speculated")]
    Speculated {
        /// What became of it.
        fate: String,
    },
    /// A compaction or edit was taken back.
    #[serde(rename = "compaction.undone")]
    Undone {
        /// Which.
        of: EntryId,
    },
    /// One that was taken back counts again.
    #[serde(rename = "compaction.redone")]
    Redone {
        /// Which.
        of: EntryId,
    },
    /// The context is nearly full.
    #[serde(rename = "compaction.approaching")]
    Approaching {
        /// The whole request, as measured.
        tokens: Tokens,
        /// Where a compaction begins.
        limit: Tokens,
    },
    /// A compaction is due and the policy leaves it to a person.
    #[serde(rename = "compaction.due")]
    Due {
        /// The whole request, as measured.
        tokens: Tokens,
        /// The point it came to.
        limit: Tokens,
        /// Why it is not begun, with what to do.
        why: String,
    },
    /// Automatic compaction waits from now on until the window itself is full, and asks no model.
    #[serde(rename = "compaction.stopped")]
    Stopped {
        /// Why, with what to do.
        why: String,
    },
    /// The work does not go on by itself until a person speaks.
    #[serde(rename = "compaction.held")]
    Held {
        /// Why, with what to do.
        why: String,
    },
    /// A person has judged a compaction.
    #[serde(rename = "compaction.flagged")]
    Flagged {
        /// The compaction.
        of: EntryId,
        /// What they said.
        #[serde(flatten)]
        judgement: Judgement,
    },
    /// A compaction waits for an operator.
    #[serde(rename = "compaction.pending")]
    Pending {
        /// What the operator is shown.
        #[serde(flatten)]
        pending: CheckpointView,
    },
    /// A hook that was told of a compaction failed. Nothing else comes of it.
    #[serde(rename = "compaction.hook-failed")]
    HookFailed {
        /// Which, how long it took, and what it said.
        #[serde(flatten)]
        run: HookRun,
    },
    /// The window was learned from a provider's error.
    #[serde(rename = "window.learned")]
    Learned {
        /// The window now.
        window: Tokens,
    },
}

impl Event {
    /// Calls the entries it names otherwise.
    pub(crate) fn renumber(&mut self, name: impl Fn(EntryId) -> EntryId) {
        match self {
            Self::Completed { entry: id, .. }
            | Self::Pruned { entry: id, .. }
            | Self::Trimmed { entry: id, .. }
            | Self::Observed { entry: id, .. }
            | Self::Undone { of: id }
            | Self::Redone { of: id }
            | Self::Flagged { of: id, .. } => *id = name(*id),
            Self::Triggered { .. }
            | Self::Failed { .. }
            | Self::Noop { .. }
            | Self::Speculated { .. }
            | Self::Approaching { .. }
            | Self::Due { .. }
            | Self::Stopped { .. }
            | Self::Held { .. }
            | Self::Pending { .. }
            | Self::HookFailed { .. }
            | Self::Learned { .. } => {}
        }
    }
}
