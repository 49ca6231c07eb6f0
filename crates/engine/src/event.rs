//! What a session tells of itself: each trigger, pass, no-op, fallback and failure, with its inputs.

use crate::judgement::Judgement;
use crate::report::Happened;
use epitome_core::{EntryId, Fallback, Strategy, Tokens, Trigger};
use serde::Serialize;

/// Something that happened in a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event")]
pub enum Event {
    /// A compaction begins.
    #[serde(rename = "compaction.triggered")]
    Triggered {
        /// Why.
        trigger: Trigger,
        /// The request, as measured.
        tokens: Tokens,
        /// The point it was held against.
        limit: Tokens,
        /// The window.
        window: Tokens,
    },
    /// A compaction was made.
    #[serde(rename = "compaction.completed")]
    Completed {
        /// The entry.
        entry: EntryId,
        /// What came of it.
        outcome: Happened,
        /// What did it in the end.
        strategy: Strategy,
        /// What was tried before that, and why it was given up.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        fallbacks: Vec<Fallback>,
        /// Before.
        tokens_before: Tokens,
        /// After.
        tokens_after: Tokens,
    },
    /// A compaction was not made though it was due.
    #[serde(rename = "compaction.failed")]
    Failed {
        /// Why.
        why: String,
        /// How many failed in a row.
        in_a_row: u32,
    },
    /// There was nothing to do.
    #[serde(rename = "compaction.noop")]
    Noop {
        /// Why.
        why: String,
        /// What would have been tried first.
        strategy: Strategy,
    },
    /// Messages give way to pointers.
    #[serde(rename = "compaction.pruned")]
    Pruned {
        /// The entry.
        entry: EntryId,
        /// How many.
        messages: usize,
        /// What it freed.
        freed: Tokens,
    },
    /// Repeated messages give way to their newest copy.
    #[serde(rename = "compaction.trimmed")]
    Trimmed {
        /// The entry.
        entry: EntryId,
        /// How many.
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
    /// An earlier compaction or edit was taken back.
    #[serde(rename = "compaction.undone")]
    Undone {
        /// The entry taken back.
        of: EntryId,
    },
    /// The context is nearly full.
    #[serde(rename = "compaction.approaching")]
    Approaching {
        /// The request, as measured.
        tokens: Tokens,
        /// Where a compaction begins.
        limit: Tokens,
    },
    /// A compaction is due and the policy leaves it to a person.
    #[serde(rename = "compaction.due")]
    Due {
        /// The request, as measured.
        tokens: Tokens,
        /// The point it came to.
        limit: Tokens,
    },
    /// Automatic compaction has stopped.
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
        /// The compaction's entry.
        of: EntryId,
        /// What they said.
        #[serde(flatten)]
        judgement: Judgement,
    },
    /// A session waits for an operator.
    #[serde(rename = "compaction.pending")]
    Pending {
        /// Always `compaction_pending`.
        reason: String,
    },
    /// The window was learned from a provider's error.
    #[serde(rename = "window.learned")]
    Learned {
        /// The window now.
        window: Tokens,
    },
}
