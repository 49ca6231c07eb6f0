//! What came of a plan, and what is kept of that. A record is complete but for what only the engine knows:
//! the time, how long it took, who asked, and what was brought back into view.

use crate::policy::Resume;
use crate::statement_source::StatementSource;
use crate::{
    Budget, CallCost, Compaction, Dollars, Edit, EntryId, HookRun, Strategy, Tokens, Trigger, ledger::Ledger,
    verify::LossReport,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The end of a plan: what is to be appended, and what is kept of how it came about.
#[derive(Clone, Debug)]
pub struct Conclusion {
    /// What is to be appended.
    pub effect: Effect,
    /// How it came about.
    pub record: Box<Record>,
}

/// What a plan changes.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// The context is rebuilt around a cut.
    Compact(Box<Compaction>),
    /// Messages are shown in other forms.
    Edit(Edit),
    /// Nothing.
    Nothing,
}

/// What came of asking for a compaction. Every enum of that kind in the house is this one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum Outcome {
    /// The context was rebuilt around a cut.
    Compacted(Box<Change>),
    /// Messages are shown in other forms.
    Pruned(Box<Change>),
    /// A compaction made on another path through the same prefix was put to use.
    Applied {
        /// The compaction or edit.
        of: EntryId,
    },
    /// There was nothing to do.
    Noop {
        /// Why, in a few words.
        why: String,
    },
    /// The transcript's own tool compacted here.
    Recorded,
    /// A hook or an operator said no. Nothing was changed.
    Vetoed {
        /// Who.
        by: String,
        /// In their words.
        why: String,
    },
    /// Nothing that was tried made room; the session goes on as it is.
    Abandoned {
        /// In a few words, with what to do.
        why: String,
    },
    /// Nothing we may do would make it fit.
    Impossible(Floor),
}

impl Default for Outcome {
    fn default() -> Self {
        Self::Noop { why: "nothing was tried".into() }
    }
}

/// The parts of a record that exist only where something was changed. Its figures are in the provider's tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Change {
    /// What did it in the end.
    pub strategy: Strategy,
    /// What the history was to come down to, beside what is kept in any case.
    pub target: Tokens,
    /// What that takes: first and newest message, newest exchange, pins. None where no message was to leave.
    #[serde(default, skip_serializing_if = "Tokens::is_zero")]
    pub always_kept: Tokens,
    /// Messages that left the view and are covered by the summary.
    pub superseded: Vec<EntryId>,
    /// Messages that left the view and are covered by nothing.
    pub dropped: Vec<EntryId>,
    /// Messages in view with a pointer in place of their bulk.
    pub pruned: Vec<EntryId>,
    /// Messages in view cut to head and tail.
    pub reduced: Vec<EntryId>,
    /// Messages that stay: in view, but for those in `folded`.
    pub kept: Vec<EntryId>,
    /// Of these, the ones that are told inside the summary, and are no messages of their own any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folded: Vec<EntryId>,
    /// The summary as the model sees it.
    pub summary: Option<Arc<str>>,
    /// What the machine wrote of it, statement by statement, with the entries each was made from. A model's prose, and
    /// what is carried from an earlier summary that names no entries, is not among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<StatementSource>,
    /// What it takes, without what was brought back behind it.
    pub summary_tokens: Tokens,
    /// How many turns it covers.
    pub turns: usize,
    /// Files, commands and todos of what was superseded.
    pub ledger: Ledger,
    /// What of the superseded part can still be seen, looked up, or neither.
    pub loss: LossReport,
    /// Who wrote the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarizer: Option<String>,
    /// How much of the material they were shown; less than all is no secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Coverage>,
    /// A line or two for lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short: Option<String>,
    /// What was brought back into view behind the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored: Option<RestoreReport>,
}

/// How much of its material a summariser was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Messages shown, whole or cut.
    pub messages: usize,
    /// Of so many.
    pub of: usize,
    /// Of those shown, cut.
    pub cut: usize,
}

/// What came back into view after a compaction, and what did not for want of room.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreReport {
    /// Files, the newest first.
    pub files: Vec<String>,
    /// Files of rules that came with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// Skills, the most used first.
    pub skills: Vec<String>,
    /// Servers of tools.
    pub servers: Vec<String>,
    /// What all of it takes.
    pub tokens: Tokens,
    /// What was left out, and why.
    pub omitted: Vec<String>,
}

/// The parts that cannot be reduced, and the window they do not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error(
    "cannot fit {window} tokens: system prompt and tools take {fixed}{}, the answer's reserve {reserve}, \
     messages that are always kept {kept}; use a larger window, a shorter system prompt, or fewer pins",
    unrecorded_text(*unrecorded)
)]
pub struct Floor {
    /// The window.
    pub window: Tokens,
    /// System prompt and tools.
    pub fixed: Tokens,
    /// What a sender adds that nobody here can see.
    #[serde(default, skip_serializing_if = "Tokens::is_zero")]
    pub unrecorded: Tokens,
    /// Kept free for the answer.
    pub reserve: Tokens,
    /// Messages always kept, shortened as far as they go.
    pub kept: Tokens,
}

fn unrecorded_text(tokens: Tokens) -> String {
    if tokens.is_zero() {
        return String::new();
    }
    format!(", what the agent adds that is not recorded about {tokens}")
}

/// What is kept of one compaction that was asked for, whatever came of it. It lives with its mark. Its figures are all in
/// the provider's tokens, as our count and what was learned of the provider's tell them, so that they add up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Why it ran.
    pub trigger: Trigger,
    /// Who asked for it.
    pub source: RecordSource,
    /// When it ended, in milliseconds since 1970; none where nobody looked at a calendar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u64>,
    /// How long it took.
    pub duration_ms: u64,
    /// The window and what is taken of it before the history.
    #[serde(flatten)]
    pub budget: Budget,
    /// The whole request before, without the answer's reserve.
    pub tokens_before: Tokens,
    /// The same after.
    pub tokens_after: Tokens,
    /// How tokens were counted.
    pub count_method: Arc<str>,
    /// What was tried, and why it was given up.
    pub fallbacks: Vec<Fallback>,
    /// Hooks that were asked or told, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookRun>,
    /// The calls of models it took, failed ones included.
    pub spent: CallCost,
    /// What it cost to make, failed calls included. The embedded summariser is free.
    pub cost: Dollars,
    /// What a person should know.
    pub notes: Vec<String>,
    /// What happens next.
    pub resume: Resume,
}

/// Who asked for a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordSource {
    /// The policy's own trigger.
    #[default]
    Policy,
    /// A person, by a command or a request.
    Person,
    /// The provider, which refused a request as too long.
    Provider,
    /// A hook or a tool.
    Hook,
    /// The transcript, which records one of its own tool's.
    Transcript,
}

/// A way that was tried and given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fallback {
    /// What was tried.
    pub strategy: Strategy,
    /// Why it was given up.
    pub why: String,
}

impl Outcome {
    /// Its name, as it is stored and told.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Compacted(_) => "compacted",
            Self::Pruned(_) => "pruned",
            Self::Applied { .. } => "applied",
            Self::Noop { .. } => "noop",
            Self::Recorded => "recorded",
            Self::Vetoed { .. } => "vetoed",
            Self::Abandoned { .. } => "abandoned",
            Self::Impossible(_) => "impossible",
        }
    }

    /// The parts that exist only where something was changed.
    pub fn change(&self) -> Option<&Change> {
        match self {
            Self::Compacted(change) | Self::Pruned(change) => Some(change),
            Self::Applied { .. }
            | Self::Noop { .. }
            | Self::Recorded
            | Self::Vetoed { .. }
            | Self::Abandoned { .. }
            | Self::Impossible(_) => None,
        }
    }

    /// Whether the context is another one now.
    pub fn is_rebuilt(&self) -> bool {
        match self {
            Self::Compacted(_) | Self::Pruned(_) | Self::Applied { .. } | Self::Recorded => true,
            Self::Noop { .. } | Self::Vetoed { .. } | Self::Abandoned { .. } | Self::Impossible(_) => false,
        }
    }

    /// Why nothing was changed, where nothing was.
    pub fn why(&self) -> Option<String> {
        match self {
            Self::Noop { why } | Self::Abandoned { why } => Some(why.clone()),
            Self::Vetoed { by, why } => Some(format!("{by} said no: {why}")),
            Self::Impossible(floor) => Some(floor.to_string()),
            Self::Compacted(_) | Self::Pruned(_) | Self::Applied { .. } | Self::Recorded => None,
        }
    }
}

impl Record {
    /// The parts that exist only where something was changed.
    pub fn change(&self) -> Option<&Change> {
        self.outcome.change()
    }

    /// Whether a hook wrote the summary or the whole list, and not the one who is set to.
    pub fn is_by_hook(&self) -> bool {
        self.change().is_some_and(|change| {
            let is_supplier =
                |run: &HookRun| Some(&*run.name) == change.summarizer.as_deref() && run.supplies_summary();
            change.strategy == Strategy::Delegate || self.hooks.iter().any(is_supplier)
        })
    }

    /// The same, open to change.
    pub fn change_mut(&mut self) -> Option<&mut Change> {
        match &mut self.outcome {
            Outcome::Compacted(change) | Outcome::Pruned(change) => Some(change),
            Outcome::Applied { .. }
            | Outcome::Noop { .. }
            | Outcome::Recorded
            | Outcome::Vetoed { .. }
            | Outcome::Abandoned { .. }
            | Outcome::Impossible(_) => None,
        }
    }
}
