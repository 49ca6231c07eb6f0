//! The machine that asks. A plan that has begun hands out questions; an answer uses its question up
//! and leads to the next one, until an outcome is reached. The number of strategies bounds the questions.

use crate::embedded::Draft;
use crate::fence::{self, Provenance};
use crate::record::{Fallback, Outcome, Record};
use crate::{
    ArchiveError, Compaction, EntryId, Kept, Material, Plan, Strategy, Summary, Tokens, facts, prune, verify,
};

/// What a plan that has begun wants next.
pub enum Next<'a> {
    /// A summary.
    Summarize(Ask<'a>),
    /// Nothing more.
    Done(Outcome),
}

/// A question for a summary.
pub struct Ask<'a> {
    plan: Plan<'a>,
    previous: Vec<&'a str>,
    folded: String,
}

/// Why there is no summary.
#[derive(Debug, thiserror::Error)]
pub enum NoSummary {
    /// The originals could not be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Whoever was asked failed.
    #[error("{0}")]
    Failed(String),
}

/// Who writes summaries where no model is asked.
const EMBEDDED: &str = "the embedded summariser";
/// The part of the summary's room that repairs may take.
const REPAIR_SHARE: (u64, u64) = (1, 20);

impl<'a> Plan<'a> {
    /// Begins.
    pub fn begin(mut self) -> Result<Next<'a>, ArchiveError> {
        while !self.rungs.is_empty() {
            let strategy = self.rungs.remove(0);
            match strategy {
                Strategy::Trim => {
                    let made = prune::trim(&self.job)?;
                    if self.is_enough(made.tokens) {
                        return Ok(Next::Done(self.edited(strategy, made)));
                    }
                    self.give_up(strategy, "repeated messages alone do not make enough room");
                }
                Strategy::Prune => {
                    let made = prune::prune(&self.job)?;
                    if self.is_enough(made.tokens) {
                        return Ok(Next::Done(self.edited(strategy, made)));
                    }
                    self.give_up(strategy, "pointers alone do not make enough room");
                }
                Strategy::Summarize => return Ok(Next::Summarize(Ask::new(self)?)),
                Strategy::Drop => break,
            }
        }
        Ok(Next::Done(self.dropped()?))
    }

    /// Whether an edit that leaves `tokens` will do: on target, or fitting with nothing but dropping behind it.
    fn is_enough(&self, tokens: Tokens) -> bool {
        let last = self.rungs == [Strategy::Drop];
        tokens < self.job.context.tokens()
            && (tokens <= self.target || (last && self.job.budget.fits(tokens)))
    }

    fn give_up(&mut self, strategy: Strategy, why: impl Into<String>) {
        self.fallbacks.push(Fallback { strategy, why: why.into() });
    }

    fn record(&self, strategy: Strategy, tokens_after: Tokens) -> Record {
        let Kept { before, folded, tail, .. } = &self.kept;
        let mut kept: Vec<EntryId> = before.iter().chain(folded).chain(tail).copied().collect();
        kept.sort_unstable();
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
            reduced: self
                .kept
                .forms
                .iter()
                .filter(|(_, form)| form.shorten.is_some())
                .map(|&(id, _)| id)
                .collect(),
            kept,
            summary: None,
            ledger: crate::ledger::Ledger::default(),
            loss: verify::LossReport::default(),
            notes: Vec::new(),
        }
    }

    fn edited(&self, strategy: Strategy, made: prune::Pruning) -> Outcome {
        let kept: Vec<EntryId> = self.job.context.message_slots().map(|(id, ..)| id).collect();
        let pruned = made.edit.forms.iter().map(|&(id, _)| id).collect();
        let record = Record { pruned, kept, reduced: Vec::new(), ..self.record(strategy, made.tokens) };
        Outcome::Edited { edit: made.edit, record: Box::new(record) }
    }

    /// The last rung: what does not fit leaves, and a line says so.
    fn dropped(&self) -> Result<Outcome, ArchiveError> {
        let folded = self.folded()?;
        let body =
            "The messages in between were dropped without a summary; each can be recalled by its pointer.";
        let summary = self.frame(body, "nobody (dropped)", &folded);
        let tokens_after = self.kept.tokens + summary.tokens;
        if tokens_after > self.job.context.tokens() && self.job.budget.fits(self.job.context.tokens()) {
            return Ok(Outcome::Unneeded { why: "compacting would not make the context smaller" });
        }
        let superseded = self.superseded.clone();
        let mut record = Record { dropped: superseded, ..self.record(Strategy::Drop, tokens_after) };
        record.summary = Some(summary.text.to_string());
        Ok(Outcome::Compacted { compaction: self.compaction(summary), record: Box::new(record) })
    }

    fn compaction(&self, summary: Summary) -> Compaction {
        Compaction {
            before: self.kept.before.clone(),
            summary: Some(summary),
            tail: self.kept.tail_entry(),
            forms: self.kept.forms.clone(),
        }
    }

    fn folded(&self) -> Result<String, ArchiveError> {
        fence::fold(&self.job, &self.kept.folded, self.kept.limit)
    }

    /// Everything that stays in view, as text.
    fn visible_text(&self) -> Result<String, ArchiveError> {
        let mut text = String::new();
        for &id in self.kept.before.iter().chain(&self.kept.tail) {
            for passage in facts::passages(&*self.job.archive.message(id)?) {
                text.push_str(&passage.text);
                text.push('\n');
            }
        }
        Ok(text)
    }

    fn frame(&self, body: &str, by: &str, folded: &str) -> Summary {
        let text = fence::frame(body, &Provenance { covers: &self.superseded, by }, folded);
        let tokens = self.job.measure.text(&text) + self.job.measure.framing();
        Summary { text: text.into(), tokens }
    }
}

impl<'a> Ask<'a> {
    fn new(plan: Plan<'a>) -> Result<Self, ArchiveError> {
        let previous = plan.job.foreign_summaries();
        let folded = plan.folded()?;
        Ok(Self { plan, previous, folded })
    }

    /// What the summary is to be made from.
    pub fn material(&self) -> Material<'_> {
        let job = &self.plan.job;
        Material {
            superseded: &self.plan.superseded,
            visible: &self.plan.kept.tail,
            previous: &self.previous,
            focus: job.focus,
            archive: job.archive,
            measure: job.measure,
        }
    }

    /// What the summary may take: the room left, without its frame, what is folded into it, and repairs.
    pub fn budget(&self) -> Tokens {
        let room = self.room();
        room.less(room.share(REPAIR_SHARE.0, REPAIR_SHARE.1))
    }

    fn room(&self) -> Tokens {
        self.plan.summary_room().less(self.plan.frame("", EMBEDDED, &self.folded).tokens)
    }

    /// Takes the answer and goes on.
    pub fn answer(self, draft: Result<Draft, NoSummary>) -> Result<Next<'a>, ArchiveError> {
        let Self { mut plan, .. } = match draft {
            Ok(draft) => match self.accept(draft)? {
                Ok(outcome) => return Ok(Next::Done(outcome)),
                Err((ask, why)) => ask.given_up(why),
            },
            Err(NoSummary::Archive(error)) => return Err(error),
            Err(NoSummary::Failed(why)) => self.given_up(why),
        };
        plan.rungs.retain(|&rung| rung != Strategy::Summarize);
        plan.begin()
    }

    fn given_up(mut self, why: String) -> Self {
        self.plan.give_up(Strategy::Summarize, why);
        self
    }

    /// The outcome, or the question back with the reason the draft will not do.
    fn accept(self, draft: Draft) -> Result<Result<Outcome, (Self, String)>, ArchiveError> {
        if draft.text.trim().is_empty() {
            return Ok(Err((self, "the summary is empty".into())));
        }
        let (summary, loss) = self.check(&draft)?;
        let tokens_after = self.plan.kept.tokens + summary.tokens;
        if tokens_after >= self.plan.job.context.tokens() {
            return Ok(Err((self, "the summary takes more than what it replaces".into())));
        }
        let plan = &self.plan;
        let record = Record {
            superseded: plan.superseded.clone(),
            summary: Some(summary.text.to_string()),
            ledger: draft.ledger,
            notes: draft.notes,
            loss,
            ..plan.record(Strategy::Summarize, tokens_after)
        };
        Ok(Ok(Outcome::Compacted { compaction: plan.compaction(summary), record: Box::new(record) }))
    }

    /// Frames the draft, compares it with what it replaces, and puts back what matters and is missing.
    fn check(&self, draft: &Draft) -> Result<(Summary, verify::LossReport), ArchiveError> {
        let material = self.material();
        let shown = format!("{}\n{}{}", draft.text, self.folded, self.plan.visible_text()?);
        let mut loss = verify::verify(&material, &shown, material.superseded)?;
        let repair_room = self.room().less(self.plan.job.measure.text(&draft.text));
        let mut lines = vec![draft.text.trim_end().to_owned()];
        lines.extend(verify::repair(&material, &mut loss, repair_room)?);
        let body = lines.join("\n");
        Ok((self.plan.frame(&body, EMBEDDED, &self.folded), loss))
    }
}
