//! From a plan to its outcome: the entry that is appended, and the record that is kept.

use crate::fence::{self, Provenance};
use crate::plan::floor_of;
use crate::record::{Floor, Outcome, Record};
use crate::{
    ArchiveError, Compaction, EntryId, Form, Job, Kept, Material, Message, Plan, Strategy, Summary, Tokens,
    facts, ledger, prune, verify,
};
use std::sync::Arc;

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
            notes: self.target_note().into_iter().collect(),
            short: None,
            trail: self.trail.clone(),
        }
    }

    /// Says so where the target is not the policy's own.
    fn target_note(&self) -> Option<String> {
        let Job { budget, policy, .. } = &self.job;
        let wanted = policy.trigger.target?.of(budget.window).less(budget.fixed);
        if self.target == wanted {
            return None;
        }
        let why = if wanted == Tokens::ZERO {
            "system prompt and tools alone take as much as the target"
        } else if self.target == budget.target(policy) {
            "a history gets at least a quarter and at most three quarters of its room"
        } else {
            "it was below that already, and was halved: someone asked, or it was full of something else"
        };
        Some(format!("the target of {wanted} for the history became {}: {why}", self.target))
    }

    /// Messages in other forms, and none gone.
    pub(crate) fn edited(&self, strategy: Strategy, made: prune::Pruning) -> Outcome {
        let kept: Vec<EntryId> = self.job.context.message_slots().map(|(id, ..)| id).collect();
        let pruned = made.edit.forms.iter().map(|&(id, _)| id).collect();
        let record = Record { pruned, kept, reduced: Vec::new(), ..self.record(strategy, made.tokens) };
        Outcome::Edited { edit: made.edit, record: Box::new(record) }
    }

    /// The last rung: what does not fit leaves, and a line says so.
    pub(crate) fn dropped(mut self) -> Result<Outcome, ArchiveError> {
        self.cut(Strategy::Drop, 0)?;
        let summary = self.line()?;
        let tokens_after = self.kept.tokens + summary.tokens;
        let tokens_before = self.job.context.tokens();
        if tokens_after > tokens_before && self.job.budget.fits(tokens_before) {
            return Ok(Outcome::Unneeded { why: "compacting would not make the context smaller" });
        }
        if !self.job.budget.fits(tokens_after) {
            return Ok(Outcome::Impossible(floor_of(&self.job, tokens_after)));
        }
        let record = Record {
            dropped: self.superseded.clone(),
            summary: Some(summary.text.to_string()),
            loss: self.loss(&summary)?,
            ..self.record(Strategy::Drop, tokens_after)
        };
        Ok(Outcome::Compacted { compaction: self.compaction(summary), record: Box::new(record) })
    }

    /// What cannot fit whatever is tried, known before anybody is asked: neither what this plan keeps nor
    /// what dropping keeps leaves room for the line that stands for the rest.
    pub(crate) fn floor(&self) -> Result<Option<Floor>, ArchiveError> {
        let mut dropping = self.clone();
        dropping.cut(Strategy::Drop, 0)?;
        let line = |plan: &Self| Ok::<_, ArchiveError>(plan.kept.tokens + plan.line()?.tokens);
        let least = line(self)?.min(line(&dropping)?);
        let is_hopeless = !self.edits_first() && !self.job.budget.fits(least);
        Ok(is_hopeless.then(|| floor_of(&self.job, least)))
    }

    /// The line that stands for messages that were dropped.
    fn line(&self) -> Result<Summary, ArchiveError> {
        let body =
            "The messages in between were dropped without a summary; each can be recalled by its pointer.";
        Ok(self.frame(body, "nobody (dropped)", &self.folded()?))
    }

    /// What of the dropped messages can still be seen or looked up.
    fn loss(&self, summary: &Summary) -> Result<verify::LossReport, ArchiveError> {
        let readable = self.job.readable(&self.superseded);
        let shown = format!("{}\n{}", summary.text, self.visible_text()?);
        verify::verify(&self.material(&readable, &[]), &shown, &self.superseded)
    }

    /// What a summary of this plan is made from, and checked against.
    pub(crate) fn material<'m>(&'m self, readable: &'m [EntryId], prose: &'m [&'m str]) -> Material<'m> {
        let job = &self.job;
        Material {
            superseded: readable,
            addressable: &self.superseded,
            visible: &self.visible,
            earlier: Some(job.earlier.ledger),
            previous: prose,
            focus: job.focus,
            archive: job.archive,
            measure: job.measure,
        }
    }

    /// The entry to append.
    pub(crate) fn compaction(&self, summary: Summary) -> Compaction {
        Compaction {
            before: self.kept.before.clone(),
            summary: Some(summary),
            tail: self.kept.tail_entry(),
            forms: self.kept.forms.clone(),
            native: None,
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
            for passage in facts::passages(&*self.shown(id)?) {
                text.push_str(&passage.text);
                text.push('\n');
            }
        }
        Ok(text)
    }

    /// A kept message in the form it will be shown in.
    fn shown(&self, id: EntryId) -> Result<Arc<Message>, ArchiveError> {
        let Job { context, log, archive, measure, .. } = self.job;
        let now = context.form_of(log, id).map_or(Form::WHOLE, |(form, _)| form);
        let new = self.kept.forms.iter().filter(|(kept, _)| *kept == id).map(|&(_, form)| form);
        Ok(new.fold(now, Form::and).apply(id, &archive.message(id)?, measure))
    }

    /// A summary in its frame.
    pub(crate) fn frame(&self, body: &str, by: &str, folded: &str) -> Summary {
        let text = fence::frame(body, &Provenance { covers: &self.superseded, by }, folded);
        let tokens = self.job.measure.text(&text) + self.job.measure.framing();
        Summary { text: text.into(), tokens }
    }
}
