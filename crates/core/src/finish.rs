//! From a plan to its outcome: the entry that is appended, and the record that is kept.

use crate::fence::{self, Provenance};
use crate::record::{Outcome, Record};
use crate::{
    ArchiveError, Compaction, EntryId, Kept, Plan, Strategy, Summary, Tokens, facts, ledger, prune, verify,
};

impl Plan<'_> {
    /// A record of what this plan keeps; what became of the rest is filled in by the strategy.
    pub(crate) fn record(&self, strategy: Strategy, tokens_after: Tokens) -> Record {
        let Kept { before, folded, tail, forms, .. } = &self.kept;
        let mut kept: Vec<EntryId> = before.iter().chain(folded).chain(tail).copied().collect();
        kept.sort_unstable();
        let reduced = forms.iter().filter(|(_, form)| form.shorten.is_some()).map(|&(id, _)| id).collect();
        Record {
            trigger: self.job.trigger,
            strategy,
            fallbacks: self.fallbacks.clone(),
            tokens_before: self.job.context.tokens(),
            tokens_after,
            target: self.target,
            superseded: Vec::new(),
            dropped: Vec::new(),
            pruned: Vec::new(),
            reduced,
            kept,
            summary: None,
            ledger: ledger::Ledger::default(),
            loss: verify::LossReport::default(),
            notes: Vec::new(),
        }
    }

    /// Messages in other forms, and none gone.
    pub(crate) fn edited(&self, strategy: Strategy, made: prune::Pruning) -> Outcome {
        let kept: Vec<EntryId> = self.job.context.message_slots().map(|(id, ..)| id).collect();
        let pruned = made.edit.forms.iter().map(|&(id, _)| id).collect();
        let record = Record { pruned, kept, reduced: Vec::new(), ..self.record(strategy, made.tokens) };
        Outcome::Edited { edit: made.edit, record: Box::new(record) }
    }

    /// The last rung: what does not fit leaves, and a line says so.
    pub(crate) fn dropped(&self) -> Result<Outcome, ArchiveError> {
        let body =
            "The messages in between were dropped without a summary; each can be recalled by its pointer.";
        let summary = self.frame(body, "nobody (dropped)", &self.folded()?);
        let tokens_after = self.kept.tokens + summary.tokens;
        let tokens_before = self.job.context.tokens();
        if tokens_after > tokens_before && self.job.budget.fits(tokens_before) {
            return Ok(Outcome::Unneeded { why: "compacting would not make the context smaller" });
        }
        let record = Record {
            dropped: self.superseded.clone(),
            summary: Some(summary.text.to_string()),
            ..self.record(Strategy::Drop, tokens_after)
        };
        Ok(Outcome::Compacted { compaction: self.compaction(summary), record: Box::new(record) })
    }

    /// The entry to append.
    pub(crate) fn compaction(&self, summary: Summary) -> Compaction {
        Compaction {
            before: self.kept.before.clone(),
            summary: Some(summary),
            tail: self.kept.tail_entry(),
            forms: self.kept.forms.clone(),
        }
    }

    /// Always-kept messages to be told inside the summary.
    pub(crate) fn folded(&self) -> Result<String, ArchiveError> {
        fence::fold(&self.job, &self.kept.folded, self.kept.limit)
    }

    /// Everything that stays in view, as text.
    pub(crate) fn visible_text(&self) -> Result<String, ArchiveError> {
        let mut text = String::new();
        for &id in self.kept.before.iter().chain(&self.kept.tail) {
            for passage in facts::passages(&*self.job.archive.message(id)?) {
                text.push_str(&passage.text);
                text.push('\n');
            }
        }
        Ok(text)
    }

    /// A summary in its frame.
    pub(crate) fn frame(&self, body: &str, by: &str, folded: &str) -> Summary {
        let text = fence::frame(body, &Provenance { covers: &self.superseded, by }, folded);
        let tokens = self.job.measure.text(&text) + self.job.measure.framing();
        Summary { text: text.into(), tokens }
    }
}
