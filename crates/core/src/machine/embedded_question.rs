//! The question that the embedded summariser answers, and the acceptance of a finished summary,
//! whoever wrote it: framed, verified against the originals, repaired, held to its room, and
//! recorded. Whether a model's answer is a summary at all is `gate`'s.

use super::{Next, compose};
use crate::embedded::{self, EmbeddedSummary};
use crate::ledger::Ledger;
use crate::policy::Verify;
use crate::record::{Change, Conclusion, Effect, Outcome, Record};
use crate::side_thread::do_both;
use crate::sources::MaterialSources;
use crate::statement_source::{self, SourcedText};
use crate::verify::{self, Groundwork};
use crate::{
    ArchiveError, Material, Opaque, Plan, Strategy, Tokens, finish::FramedSummary, keep::summary_min,
};

/// A question for a summary by the embedded summariser.
pub struct EmbeddedQuestion<'a> {
    pub(super) plan: Plan<'a>,
    strategy: Strategy,
    /// What the summary is made from, read once.
    sources: MaterialSources<'a>,
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

/// A summary's text on its way through the gate.
pub(super) struct CandidateSummary<'t> {
    /// Without its frame.
    pub text: String,
    /// Files, commands and todos of the whole history.
    pub ledger: Ledger,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// What of it the machine copied, and from where.
    pub statements: Vec<SourcedText>,
    /// Who wrote it.
    pub by: &'t str,
    /// A line or two for lists.
    pub short: Option<String>,
    /// The provider's own item, which the text is the readable twin of.
    pub native: Option<Opaque>,
    /// What it may take with its repairs, without its frame.
    pub room: Tokens,
}

/// Who writes summaries where no model is asked.
const EMBEDDED: &str = "the embedded summariser";
/// A summary of the embedded summariser takes at most this part of the room, frame and repairs included; a target bounds
/// it further.
const EMBEDDED_SHARE_MAX: (u64, u64) = (2, 5);
/// The same where a policy has no target, with a limit that is as much as a summary of a long session needs.
const UNTARGETED_SHARE_MAX: (u64, u64) = (1, 4);
const EMBEDDED_MAX: Tokens = Tokens(16_000);
/// It takes at most this part of what it replaces, or little would be gained.
const GAIN_SHARE: (u64, u64) = (3, 4);
/// The part of the summary's room that repairs may take.
const REPAIR_SHARE: (u64, u64) = (1, 20);

impl<'a> EmbeddedQuestion<'a> {
    pub(super) fn new(plan: Plan<'a>) -> Result<Self, ArchiveError> {
        Self::of(plan, Strategy::Summarize)
    }

    pub(super) fn of(plan: Plan<'a>, strategy: Strategy) -> Result<Self, ArchiveError> {
        let (sources, folded) = (plan.sources()?, plan.folded()?);
        Ok(Self { plan, strategy, sources, folded })
    }

    /// What the summary is to be made from.
    pub fn material(&self) -> Material<'_> {
        self.sources.material(&self.plan.job)
    }

    /// The same for what stands beside a model's prose.
    pub(super) fn beside_prose(&self) -> Material<'_> {
        self.sources.beside_prose(&self.plan.job)
    }

    /// What the embedded summariser may write: the room left, without the summary's frame, what is folded
    /// into it, what hooks put behind it, and repairs; and never more than its own cap.
    pub fn budget(&self) -> Tokens {
        self.budget_within(self.embedded_room())
    }

    /// What a model may write: the same without the cap, since its own limit bounds it.
    pub(super) fn model_budget(&self) -> Tokens {
        self.budget_within(self.room())
    }

    fn budget_within(&self, room: Tokens) -> Tokens {
        let room = room.less(self.injected_tokens());
        room.less(room.share(REPAIR_SHARE.0, REPAIR_SHARE.1))
    }

    /// The room of a summary that the embedded summariser writes. It fills whatever it is given, so where a
    /// policy leaves it all the room there is, the next request would be due again.
    pub(super) fn embedded_room(&self) -> Tokens {
        let job = &self.plan.job;
        let share = |(part, of)| job.room().share(part, of);
        let most = match job.policy.trigger.target {
            Some(_) => share(EMBEDDED_SHARE_MAX),
            None => share(UNTARGETED_SHARE_MAX).min(EMBEDDED_MAX),
        };
        let leaving = job.context.tokens().less(self.plan.kept.tokens);
        let most = most.min(leaving.share(GAIN_SHARE.0, GAIN_SHARE.1));
        let most = most.less(self.plan.frame("", EMBEDDED, "").tokens).min(self.room());
        self.undue_room().filter(|undue| *undue < most).map_or(most, |undue| undue.share(1, 2))
    }

    /// The room of a summary with which the context is not due again, where that is room enough for one; half of it
    /// leaves the next turns some.
    fn undue_room(&self) -> Option<Tokens> {
        let Plan { job, kept, .. } = &self.plan;
        let beside = kept.tokens + self.plan.frame("", EMBEDDED, &self.folded).tokens;
        let undue = job.budget.undue(job.policy).less(beside);
        (undue.share(1, 2) >= summary_min(job)).then_some(undue)
    }

    fn injected_tokens(&self) -> Tokens {
        self.plan.changes.inject.iter().map(|text| self.plan.job.measure.text(text)).sum()
    }

    pub(super) fn room(&self) -> Tokens {
        let plan = &self.plan;
        let frame = |folded| plan.frame("", EMBEDDED, folded).tokens;
        // What is told inside the frame is kept in any case and stands outside the target; not outside the window.
        let free = plan.job.room().less(plan.kept.tokens + frame(&self.folded));
        plan.summary_room().less(frame("")).min(free)
    }

    /// Takes the answer and goes on: to the outcome, or to the next strategy.
    pub fn answer(self, draft: Result<EmbeddedSummary, NoSummary>) -> Result<Next<'a>, ArchiveError> {
        let written = draft.and_then(|draft| self.accept(self.candidate(draft)));
        self.settle(written)
    }

    /// Has the embedded summariser write, takes what it wrote and goes on. What the comparison needs of the messages alone
    /// is found meanwhile, on a thread of its own: that takes about as long as reading them does.
    pub fn summarize(self) -> Result<Next<'a>, ArchiveError> {
        let written = {
            let messages = self.sources.compared(&self.plan.job);
            let (draft, groundwork) = do_both(
                || embedded::summarize(&self.material(), self.budget()),
                || Groundwork::of(&messages),
            );
            self.accept_compared(self.candidate(draft), groundwork)
        };
        self.settle(written)
    }

    fn candidate(&self, draft: EmbeddedSummary) -> CandidateSummary<'static> {
        let EmbeddedSummary { text, ledger, notes, statements } = draft;
        CandidateSummary {
            text: compose::with_injected(text, &self.plan.changes.inject),
            ledger,
            notes,
            statements,
            by: EMBEDDED,
            short: None,
            native: None,
            room: self.embedded_room(),
        }
    }

    /// A summary by a hook, a compactor or an operator.
    pub(super) fn take_supplied(self, by: &str, text: &str) -> Result<Next<'a>, ArchiveError> {
        let harmless = embedded::harmless(&self.material());
        let text = compose::with_injected(harmless(text), &self.plan.changes.inject);
        let ledger = embedded::ledger(&self.material());
        let (notes, statements, room) = (Vec::new(), Vec::new(), self.room());
        let written =
            CandidateSummary { text, ledger, notes, statements, by, short: None, native: None, room };
        let outcome = self.accept(written);
        self.settle(outcome)
    }

    fn settle(self, conclusion: Result<Conclusion, NoSummary>) -> Result<Next<'a>, ArchiveError> {
        match conclusion {
            Ok(conclusion) => Ok(Next::Done(conclusion)),
            Err(NoSummary::Archive(error)) => Err(error),
            Err(NoSummary::Failed(why)) => {
                let mut plan = self.plan;
                plan.changes.summary = None;
                // Where messages are only cut and none leaves the view, there was nothing to summarise.
                if !plan.superseded.is_empty() {
                    plan.give_up(self.strategy, why);
                }
                plan.try_next()
            }
        }
    }

    /// The gate: what a text becomes, or why it will not do.
    pub(super) fn accept(&self, written: CandidateSummary<'_>) -> Result<Conclusion, NoSummary> {
        let messages = self.sources.compared(&self.plan.job);
        self.accept_compared(written, Groundwork::of(&messages))
    }

    fn accept_compared(
        &self,
        written: CandidateSummary<'_>,
        groundwork: Groundwork<'_>,
    ) -> Result<Conclusion, NoSummary> {
        if written.text.trim().is_empty() {
            return Err(NoSummary::Failed("the summary is empty".into()));
        }
        let (summary, loss, repairs) = self.check(&written, groundwork);
        let tokens_after = self.plan.kept.tokens + summary.tokens;
        self.check_size(tokens_after)?;
        let plan = &self.plan;
        let change = Change {
            superseded: plan.superseded.clone(),
            summary: Some(summary.text.clone()),
            statements: statement_source::locate(&summary.text, written.statements.iter().chain(&repairs)),
            summary_tokens: plan.job.budget.scale.theirs(summary.tokens),
            ledger: written.ledger.recorded(),
            loss,
            short: written.short,
            summarizer: Some(written.by.to_owned()),
            ..plan.change(self.strategy)
        };
        let mut record = plan.record(Outcome::Compacted(Box::new(change)), tokens_after);
        record.notes.extend(written.notes.into_iter().chain(self.note()));
        let silent = record.change().and_then(|change| says_nothing(&change.loss));
        let odd = stands_in(&record).into_iter().chain(silent).collect::<Vec<_>>();
        record.notes.extend(odd);
        let compaction = crate::Compaction { native: written.native, ..plan.compaction(Some(summary.text)) };
        Ok(Conclusion { effect: Effect::Compact(Box::new(compaction)), record: Box::new(record) })
    }

    /// A compaction is judged by what it leaves: shorter, fitting, and, where it ran by itself, not due again.
    fn check_size(&self, tokens_after: Tokens) -> Result<(), NoSummary> {
        let job = &self.plan.job;
        let why = if tokens_after >= job.context.tokens() {
            "the summary takes more than what it replaces"
        } else if !job.budget.fits(tokens_after) {
            "with the summary the context would not fit its window"
        } else if !job.trigger.is_manual() && self.is_due_for_summary(tokens_after) {
            "with the summary the context would be due again at once"
        } else {
            return Ok(());
        };
        Err(NoSummary::Failed(why.into()))
    }

    /// Whether the context is due again where a shorter summary would have helped, or where the trigger is so
    /// low that no history is ever below it: counted as success, the latter would run at every step.
    fn is_due_for_summary(&self, tokens_after: Tokens) -> bool {
        let Plan { job, kept, .. } = &self.plan;
        let undue = job.budget.undue(job.policy);
        let is_avoidable = undue.less(kept.tokens) >= summary_min(job);
        job.budget.is_due(tokens_after, job.policy) && (is_avoidable || undue < summary_min(job))
    }

    /// Frames the text, compares it with what it replaces, and puts back what matters and is missing.
    fn check(
        &self,
        written: &CandidateSummary<'_>,
        groundwork: Groundwork<'_>,
    ) -> (FramedSummary, verify::LossReport, Vec<SourcedText>) {
        let material = self.material();
        let mut found = groundwork.verify(&self.head(&written.text), &written.ledger);
        let repairs = match self.plan.job.policy.rebuild.verify {
            Verify::Repair => {
                let room = written.room.less(self.plan.job.measure.text(&written.text));
                verify::repair(&material, &mut found, room)
            }
            Verify::Report => Vec::new(),
        };
        let lines = std::iter::once(written.text.trim_end()).chain(repairs.iter().map(|line| &*line.text));
        let text = lines.collect::<Vec<_>>().join("\n");
        (self.plan.frame(&text, written.by, &self.folded), found.report, repairs)
    }

    /// How many facts of what goes, whose ledger is this one, stand in the new context with this text.
    pub(super) fn facts_in(&self, text: &str, ledger: &Ledger) -> u64 {
        let messages = self.sources.compared(&self.plan.job);
        Groundwork::of(&messages).verify(&self.head(text), ledger).report.kept
    }

    /// What stands in front of the messages that stay.
    fn head(&self, text: &str) -> String {
        format!("{text}\n{}", self.folded)
    }

    /// What a person should know of how the summary was made.
    fn note(&self) -> Option<String> {
        let unread = self.sources.unread;
        (unread > 0).then(|| {
            format!(
                "{unread} old messages, which earlier compactions took out of view, were not read again: of them the summary has \
                 the files, commands and todos, and the figures of facts leave them out"
            )
        })
    }
}

/// Fewer facts than this may all be lost to a good summary.
const FACTS_MIN: u64 = 20;

/// Says so where a model was paid and the embedded summariser wrote.
fn stands_in(record: &Record) -> Option<String> {
    let is_embedded = record.change()?.summarizer.as_deref() == Some(EMBEDDED);
    (is_embedded && record.spent.calls > 0)
        .then(|| "the model wrote no summary that would do; the embedded summariser did".to_owned())
}

/// Says so where a summary holds nothing of what went.
fn says_nothing(loss: &verify::LossReport) -> Option<String> {
    (loss.kept == 0 && loss.recoverable == 0 && loss.lost >= FACTS_MIN).then(|| {
        format!(
            "of {} facts that went, the summary holds none; read it, or try another summariser",
            loss.lost
        )
    })
}

#[cfg(test)]
mod tests {
    use super::says_nothing;
    use crate::verify::LossReport;

    #[test]
    fn a_summary_that_holds_none_of_many_facts_is_told_of() {
        let told = |kept, recoverable, lost| {
            says_nothing(&LossReport { kept, recoverable, lost, ..LossReport::default() })
        };
        let why = "of 20 facts that went, the summary holds none; read it, or try another summariser";
        assert_eq!(told(0, 0, 20).as_deref(), Some(why));
        assert_eq!([told(0, 0, 19), told(1, 0, 20), told(0, 1, 20)], [None, None, None]);
    }
}
