//! The protocol of hooks and operators as data: what they are told before a compaction, verdicts
//! with changes to the plan, a compactor's list, an operator's decision. Asking is the engine's,
//! acting on an answer the machine's.

use crate::{EntryId, Strategy, Tokens, Trigger};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a hook is told before a compaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UpcomingCompaction {
    /// Which compaction of the session this is, from 1.
    pub ordinal: u32,
    /// Why it runs.
    pub trigger: Trigger,
    /// Whether it runs to recover from an overflow; whoever says no then gets the provider's error.
    pub is_recovery: bool,
    /// What is tried first.
    pub strategy: Strategy,
    /// The whole request before, without the answer's reserve.
    pub tokens: Tokens,
    /// The window.
    pub window: Tokens,
    /// What the history is to come down to.
    pub target: Tokens,
    /// Messages that will leave view, oldest first.
    pub leaving: Vec<EntryId>,
    /// Messages that stay, oldest first.
    pub staying: Vec<EntryId>,
    /// Where a turn is cut, its first message.
    pub cut_turn: Option<EntryId>,
    /// The summary made before, as the model sees it.
    pub previous: Option<Arc<str>>,
    /// What the person asked the summary to dwell on.
    pub focus: Option<String>,
}

/// What a hook says before a compaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// Go on, with these changes.
    Proceed(PlanChanges),
    /// Do not compact now.
    Veto {
        /// In the hook's words.
        why: String,
    },
}

/// What a hook changes about a compaction that goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlanChanges {
    /// Messages to keep in view.
    pub retain: Vec<EntryId>,
    /// Text to stand in the context after the summary.
    pub inject: Option<String>,
    /// Text for whoever writes the summary; it never enters the context.
    pub guidance: Option<String>,
    /// A finished summary: nobody is asked for one then.
    pub summary: Option<HookSummary>,
}

/// A summary that a hook has written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookSummary {
    /// Its text.
    pub text: String,
    /// The first message kept, where the hook names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_from: Option<EntryId>,
}

/// What one hook answered, and how long it took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookAnswer {
    /// The hook.
    pub name: Arc<str>,
    /// How long it took.
    pub duration_ms: u64,
    /// Its verdict; none where it has nothing to say.
    pub result: Result<Option<Verdict>, String>,
}

/// What is kept of one hook in a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRun {
    /// The hook.
    pub name: Arc<str>,
    /// How long it took.
    pub duration_ms: u64,
    /// What came of it, in a few words.
    pub told: String,
}

/// What is noted of a hook whose summary was taken.
pub(crate) const SUPPLIES_SUMMARY: &str = "supplies the summary";

impl HookRun {
    /// Whether its own summary was taken.
    pub fn supplies_summary(&self) -> bool {
        self.told.split("; ").any(|said| said == SUPPLIES_SUMMARY)
    }
}

/// The list a compactor returns in place of the context: what it keeps, and what it wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactorReply {
    /// Oldest first.
    pub list: Vec<CompactorPiece>,
    /// What it supersedes by that, where it says so: then each message in view is in one of the two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub superseded: Vec<EntryId>,
}

impl CompactorReply {
    /// A list that supersedes whatever it does not keep.
    pub fn of(list: impl IntoIterator<Item = CompactorPiece>) -> Self {
        Self { list: list.into_iter().collect(), superseded: Vec::new() }
    }
}

/// One element of a compactor's list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CompactorPiece {
    /// A message of the session.
    Keep(EntryId),
    /// Text of the compactor's own.
    Write(String),
}

/// What an operator decides about a compaction that waits for them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "kebab-case")]
pub enum Decision {
    /// Go on.
    Approve,
    /// Go on with this summary.
    Edit {
        /// Its text.
        summary: String,
    },
    /// Leave everything as it is.
    Reject,
    /// Nobody decided in time.
    TimedOut,
}
