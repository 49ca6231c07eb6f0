//! What came of a plan, and what is kept of that.

use crate::{
    Compaction, Edit, EntryId, HookRun, Spent, Strategy, Tokens, Trigger, ledger::Ledger, verify::LossReport,
};
use serde::{Deserialize, Serialize};

/// What came of a plan.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The context was rebuilt around a cut.
    Compacted {
        /// The entry to append.
        compaction: Compaction,
        /// What to keep of it.
        record: Box<Record>,
    },
    /// Messages are shown in other forms.
    Edited {
        /// The entry to append.
        edit: Edit,
        /// What to keep of it.
        record: Box<Record>,
    },
    /// There was nothing to do, and this is why.
    Unneeded {
        /// In a few words.
        why: &'static str,
    },
    /// Nothing we may do would make it fit.
    Impossible(Floor),
    /// A hook or an operator said no. Nothing was changed.
    Vetoed {
        /// Who.
        by: String,
        /// In their words.
        why: String,
        /// What happened up to then.
        trail: Box<Trail>,
    },
    /// Nothing that was tried made room, and the session goes on as it is.
    Abandoned {
        /// In a few words, with what to do.
        why: String,
        /// What was tried, and why it was given up.
        fallbacks: Vec<Fallback>,
        /// What happened up to then.
        trail: Box<Trail>,
    },
}

/// What happened in the course of a compaction, whatever came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trail {
    /// Who wrote the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarizer: Option<String>,
    /// What calls of models took, failed ones included.
    pub spent: Spent,
    /// Hooks that were asked, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookRun>,
    /// How many of the messages that left view the summariser was shown in full; less than all is no secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Seen>,
}

/// How much of its material a summariser was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Messages shown, whole or cut.
    pub messages: usize,
    /// Of so many.
    pub of: usize,
    /// Of those shown, cut.
    pub cut: usize,
}

/// The parts that cannot be reduced, and the window they do not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot fit {window} tokens: system prompt and tools take {fixed}, the answer's reserve {reserve}, \
     messages that are always kept {kept}; use a larger window, a shorter system prompt, or fewer pins"
)]
pub struct Floor {
    /// The window.
    pub window: Tokens,
    /// System prompt and tools.
    pub fixed: Tokens,
    /// Kept free for the answer.
    pub reserve: Tokens,
    /// Messages always kept, shortened as far as they go.
    pub kept: Tokens,
}

/// What is kept of one compaction. The engine adds what only it knows: time, cost, method of counting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Why it ran.
    pub trigger: Trigger,
    /// What did it in the end.
    pub strategy: Strategy,
    /// What was tried before that, and why it was given up.
    pub fallbacks: Vec<Fallback>,
    /// The history before, system prompt and tools not counted.
    pub tokens_before: Tokens,
    /// The history after.
    pub tokens_after: Tokens,
    /// What it was to come down to.
    pub target: Tokens,
    /// Messages that left the view and are covered by the summary.
    pub superseded: Vec<EntryId>,
    /// Messages that left the view and are covered by nothing.
    pub dropped: Vec<EntryId>,
    /// Messages in view with a pointer in place of their bulk.
    pub pruned: Vec<EntryId>,
    /// Messages in view cut to head and tail.
    pub reduced: Vec<EntryId>,
    /// Messages in view.
    pub kept: Vec<EntryId>,
    /// The summary as the model sees it.
    pub summary: Option<String>,
    /// Files, commands and todos of what was superseded.
    pub ledger: Ledger,
    /// What of the superseded part can still be seen, looked up, or neither.
    pub loss: LossReport,
    /// What a person should know.
    pub notes: Vec<String>,
    /// A line or two for lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short: Option<String>,
    /// Who was asked, and what that took.
    #[serde(flatten)]
    pub trail: Trail,
}

/// A way that was tried and given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fallback {
    /// What was tried.
    pub strategy: Strategy,
    /// Why it was given up.
    pub why: String,
}
