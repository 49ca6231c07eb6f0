//! What a person or a script is told of a compaction.

use crate::restore::Restored;
use crate::session::Session;
use epitome_core::policy::Resume;
use epitome_core::{Budget, EntryId, Fallback, HookRun, Record, Role, Seen, Spent, Tokens, Trigger};
use serde::Serialize;

/// A compaction, as it is printed, stored and sent.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What came of it.
    pub outcome: Happened,
    /// Why it ran.
    pub trigger: Trigger,
    /// The entry that was appended, where one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntryId>,
    /// Why nothing was done, where nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What was tried, where nothing came of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Fallback>,
    /// The window and what is taken of it before the history.
    #[serde(flatten)]
    pub budget: Budget,
    /// The whole request before, without the answer's reserve.
    pub tokens_before: Tokens,
    /// The same after.
    pub tokens_after: Tokens,
    /// How tokens were counted.
    pub count_method: String,
    /// The rest of the record; none where nothing was done.
    #[serde(flatten)]
    pub record: Option<Made>,
    /// What it cost to make, in dollars, failed calls included. The embedded summariser is free.
    pub cost: f64,
    /// The calls of models it took.
    pub spent: Spent,
    /// What was brought back into view.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored: Option<Restored>,
    /// How many turns it covers.
    pub turns: usize,
    /// What the summary takes, without what was brought back behind it.
    pub summary_tokens: Tokens,
    /// What happens next.
    pub resume: Resume,
    /// Hooks that were asked or told, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookRun>,
    /// How long it took.
    pub duration_ms: u64,
}

/// What came of asking for a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Happened {
    /// The context was rebuilt.
    Compacted,
    /// Messages are shown in other forms.
    Pruned,
    /// Nothing had to be done.
    Noop,
    /// The transcript's own tool compacted here.
    Recorded,
    /// A hook or an operator said no.
    Vetoed,
    /// Nothing that was tried made room; the session goes on as it is.
    Abandoned,
}

/// The parts of a record that exist only when something was done.
#[derive(Clone, Debug, Serialize)]
pub struct Made {
    /// What did it.
    pub strategy: epitome_core::Strategy,
    /// What was tried before, and why it was given up.
    pub fallbacks: Vec<epitome_core::Fallback>,
    /// What the history was to come down to.
    pub target: Tokens,
    /// Messages covered by the summary.
    pub superseded: Vec<epitome_core::EntryId>,
    /// Messages that left without one.
    pub dropped: Vec<epitome_core::EntryId>,
    /// Messages in view with a pointer for their bulk.
    pub pruned: Vec<epitome_core::EntryId>,
    /// Messages in view cut to head and tail.
    pub reduced: Vec<epitome_core::EntryId>,
    /// Messages in view.
    pub kept: Vec<epitome_core::EntryId>,
    /// The summary as the model sees it.
    pub summary: Option<String>,
    /// Files, commands and todos of what was superseded.
    pub ledger: epitome_core::ledger::Ledger,
    /// What survived.
    pub loss: epitome_core::verify::LossReport,
    /// What a person should know.
    pub notes: Vec<String>,
    /// Who wrote the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summarizer: Option<String>,
    /// How much of the material they were shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<Seen>,
    /// A line or two for lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short: Option<String>,
}

impl From<Record> for Made {
    fn from(record: Record) -> Self {
        let Record {
            strategy,
            fallbacks,
            target,
            superseded,
            dropped,
            pruned,
            reduced,
            kept,
            summary,
            ledger,
            loss,
            notes,
            short,
            trail,
            ..
        } = record;
        Self {
            strategy,
            fallbacks,
            target,
            superseded,
            dropped,
            pruned,
            reduced,
            kept,
            summary,
            ledger,
            loss,
            notes,
            summarizer: trail.summarizer,
            shown: trail.shown,
            short,
        }
    }
}

impl Session {
    /// A report on one basis: system prompt, tools and history, before and after.
    pub(crate) fn report(
        &self,
        outcome: Happened,
        record: Option<Record>,
        tokens_before: Tokens,
        trigger: Trigger,
    ) -> Report {
        let budget = self.budget();
        let summary = record.as_ref().and_then(|record| record.summary.as_deref());
        let summary_tokens = summary.map_or(Tokens::ZERO, |text| self.setup().measure.text(text));
        let trail = record.as_ref().map(|record| record.trail.clone()).unwrap_or_default();
        Report {
            outcome,
            trigger,
            entry: None,
            why: None,
            tried: Vec::new(),
            tokens_before: budget.fixed + tokens_before,
            tokens_after: budget.fixed + self.context().tokens(),
            budget,
            count_method: self.setup().count_method.to_string(),
            record: record.map(Into::into),
            cost: trail.spent.dollars,
            spent: trail.spent,
            hooks: trail.hooks,
            restored: None,
            turns: 0,
            summary_tokens,
            resume: self.resume(),
            duration_ms: 0,
        }
    }

    /// What happens next: where the model has said its last word, nothing goes on by itself.
    fn resume(&self) -> Resume {
        let newest = self.history().last().and_then(|&id| self.log().item(id));
        let is_done = newest.is_some_and(|item| item.role == Role::Assistant && item.calls.is_empty());
        match self.setup().policy.rebuild.resume {
            Resume::Continue if is_done => Resume::Wait,
            Resume::Continue => Resume::Continue,
            Resume::Ask => Resume::Ask,
            Resume::Wait => Resume::Wait,
        }
    }
}
