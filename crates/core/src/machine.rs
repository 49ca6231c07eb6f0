//! The machine that asks. A plan that has begun hands out questions; an answer uses its question up
//! and leads to the next one, until an outcome is reached. Each answer uses up a strategy, so it ends.

use crate::embedded::Draft;
use crate::record::{Fallback, Outcome, Record};
use crate::{ArchiveError, EntryId, Material, Plan, Strategy, Summary, Tokens, prune, verify};

/// What a plan that has begun wants next.
pub enum Next<'a> {
    /// A summary.
    Summarize(Box<Ask<'a>>),
    /// Nothing more.
    Done(Outcome),
}

/// A question for a summary.
pub struct Ask<'a> {
    plan: Plan<'a>,
    /// The superseded messages the summary is made from.
    readable: Vec<EntryId>,
    /// Summaries to be read as prose.
    prose: Vec<&'a str>,
    /// Always-kept messages that stand inside the summary's frame.
    folded: String,
}

/// Why there is no summary.
#[derive(Debug, thiserror::Error)]
pub enum NoSummary {
    /// The originals could not be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Whoever was asked failed, or what they wrote will not do.
    #[error("{0}")]
    Failed(String),
}

/// Who writes summaries where no model is asked.
const EMBEDDED: &str = "the embedded summariser";
/// The part of the summary's room that repairs may take.
const REPAIR_SHARE: (u64, u64) = (1, 20);

impl<'a> Plan<'a> {
    /// Begins with the first strategy.
    pub fn begin(mut self) -> Result<Next<'a>, ArchiveError> {
        while !self.rungs.is_empty() {
            let strategy = self.rungs.remove(0);
            let made = match strategy {
                Strategy::Trim | Strategy::Prune if !self.job.can.forms => {
                    self.give_up(
                        strategy,
                        "where this is written, a message cannot be shown otherwise than it was said",
                    );
                    continue;
                }
                Strategy::Trim => prune::trim(&self.job)?,
                Strategy::Prune => prune::prune(&self.job)?,
                Strategy::Summarize => return Ok(Next::Summarize(Box::new(Ask::new(self)?))),
                Strategy::Drop => break,
                Strategy::Native | Strategy::Delegate | Strategy::Checkpoint => continue,
            };
            if self.is_enough(made.tokens) {
                return Ok(Next::Done(self.edited(strategy, made)));
            }
            self.give_up(strategy, "this alone does not make enough room");
        }
        Ok(Next::Done(self.dropped()?))
    }

    /// Whether an edit that leaves `tokens` will do: on target, or fitting with nothing but dropping behind it.
    fn is_enough(&self, tokens: Tokens) -> bool {
        let is_last = self.rungs == [Strategy::Drop];
        tokens < self.job.context.tokens()
            && (tokens <= self.target || (is_last && self.job.budget.fits(tokens)))
    }

    fn give_up(&mut self, strategy: Strategy, why: impl Into<String>) {
        self.fallbacks.push(Fallback { strategy, why: why.into() });
    }
}

impl<'a> Ask<'a> {
    fn new(plan: Plan<'a>) -> Result<Self, ArchiveError> {
        let (readable, prose) = (plan.job.readable(&plan.superseded), plan.job.prose());
        let folded = plan.folded()?;
        Ok(Self { plan, readable, prose, folded })
    }

    /// What the summary is to be made from.
    pub fn material(&self) -> Material<'_> {
        self.plan.material(&self.readable, &self.prose)
    }

    /// What the summary may take: the room left, without its frame, what is folded into it, and repairs.
    pub fn budget(&self) -> Tokens {
        let room = self.room();
        room.less(room.share(REPAIR_SHARE.0, REPAIR_SHARE.1))
    }

    fn room(&self) -> Tokens {
        self.plan.summary_room().less(self.plan.frame("", EMBEDDED, &self.folded).tokens)
    }

    /// Takes the answer and goes on: to the outcome, or to the next strategy.
    pub fn answer(self, draft: Result<Draft, NoSummary>) -> Result<Next<'a>, ArchiveError> {
        match draft.and_then(|draft| self.accept(draft)) {
            Ok(outcome) => Ok(Next::Done(outcome)),
            Err(NoSummary::Archive(error)) => Err(error),
            Err(NoSummary::Failed(why)) => {
                let mut plan = self.plan;
                plan.give_up(Strategy::Summarize, why);
                plan.begin()
            }
        }
    }

    /// The gate: what a draft becomes, or why it will not do.
    fn accept(&self, draft: Draft) -> Result<Outcome, NoSummary> {
        if draft.text.trim().is_empty() {
            return Err(NoSummary::Failed("the summary is empty".into()));
        }
        let (summary, loss) = self.check(&draft)?;
        let plan = &self.plan;
        let tokens_after = plan.kept.tokens + summary.tokens;
        if tokens_after >= plan.job.context.tokens() {
            return Err(NoSummary::Failed("the summary takes more than what it replaces".into()));
        }
        if !plan.job.budget.fits(tokens_after) {
            return Err(NoSummary::Failed("with the summary the context would not fit its window".into()));
        }
        let mut record = Record {
            superseded: plan.superseded.clone(),
            summary: Some(summary.text.to_string()),
            ledger: draft.ledger,
            loss,
            ..plan.record(Strategy::Summarize, tokens_after)
        };
        record.notes.extend(draft.notes.into_iter().chain(self.note()));
        Ok(Outcome::Compacted { compaction: plan.compaction(summary), record: Box::new(record) })
    }

    /// Frames the draft, compares it with what it replaces, and puts back what matters and is missing.
    fn check(&self, draft: &Draft) -> Result<(Summary, verify::LossReport), ArchiveError> {
        let material = self.material();
        let shown = format!("{}\n{}{}", draft.text, self.folded, self.plan.visible_text()?);
        let mut loss = verify::verify(&material, &shown, &self.plan.superseded)?;
        let room = self.room().less(self.plan.job.measure.text(&draft.text));
        let mut lines = vec![draft.text.trim_end().to_owned()];
        lines.extend(verify::repair(&material, &mut loss, room)?);
        Ok((self.plan.frame(&lines.join("\n"), EMBEDDED, &self.folded), loss))
    }

    /// What a person should know of how the summary was made.
    fn note(&self) -> Option<String> {
        let unread = self.plan.superseded.len() - self.readable.len();
        (unread > 0).then(|| {
            format!("{unread} messages far back were not read again, and are not in the loss report: their ledger stands for them")
        })
    }
}
