//! The machine that asks. A plan that has begun hands out questions; an answer uses its question up
//! and leads to the next one, until an outcome is reached. Each answer uses up a strategy, a try or a
//! part of the material, and all calls together are limited, so it ends.

mod checkpoint;
mod complaint;
mod compose;
mod consult;
mod delegate;
mod embedded_question;
mod gate;
mod grounds;
mod model_question;
mod parts;
mod retry;
mod wording;

pub use checkpoint::{Checkpoint, CheckpointView};
pub use consult::Consultation;
pub use delegate::Delegation;
pub use embedded_question::{EmbeddedQuestion, NoSummary};
pub use model_question::ModelQuestion;

use crate::policy::{StrategyKind, Writer};
use crate::record::{Conclusion, Fallback, Outcome};
use crate::{ArchiveError, Job, LogReader, Plan, Strategy, Tokens, prune};

/// Why the session's own model does not write a summary that the policy leaves to it, where nobody knows better.
const NO_SESSION_MODEL: &str = "the session's own model cannot be asked here";

/// What a plan that has begun wants next.
#[derive(Debug)]
pub enum Next<'a> {
    /// The verdicts of hooks.
    Consult(Box<Consultation<'a>>),
    /// A summary by the embedded summariser.
    Summarize(Box<EmbeddedQuestion<'a>>),
    /// One or several calls of a model.
    Call(Box<ModelQuestion<'a>>),
    /// The whole new list, from a compactor.
    Delegate(Box<Delegation<'a>>),
    /// An operator's decision.
    Await(Box<Checkpoint<'a>>),
    /// Nothing more.
    Done(Conclusion),
}

impl<'a> Plan<'a> {
    /// The strategies still to try, in order.
    pub fn strategies(&self) -> &[Strategy] {
        &self.strategies
    }

    /// Begins: with the hooks where there are any, else with the first strategy.
    pub fn begin(self) -> Result<Next<'a>, ArchiveError> {
        if self.job.available.hooks && !self.changes.is_asked && self.concerns_hooks() {
            return Ok(Next::Consult(Box::new(Consultation::new(self))));
        }
        self.try_next()
    }

    /// Whether a message may leave view; what only changes how messages are shown is no affair of
    /// hooks, unless the policy makes it one.
    fn concerns_hooks(&self) -> bool {
        let may_cut = |&strategy: &Strategy| {
            strategy.kind() != StrategyKind::Edit && self.why_unavailable(strategy).is_none()
        };
        self.job.policy.guard.hooks_on_prune || self.strategies.iter().any(may_cut)
    }

    /// Goes on with the next strategy.
    fn try_next(mut self) -> Result<Next<'a>, ArchiveError> {
        while !self.strategies.is_empty() {
            let strategy = self.strategies.remove(0);
            if let Some(pass) = EditPass::of(strategy) {
                match self.edit(pass)? {
                    Some(conclusion) => return Ok(Next::Done(conclusion)),
                    None => continue,
                }
            }
            let cut_for = if strategy.kind() == StrategyKind::Ask { self.first_cut() } else { strategy };
            if self.cut_for != Some(cut_for) {
                self.cut(cut_for, 0)?;
            }
            if let Some(why) = self.gains_too_little() {
                return Ok(Next::Done(self.conclude(Outcome::Noop { why })));
            }
            if let Some(why) = self.why_unavailable(strategy) {
                self.give_up(strategy, why);
                continue;
            }
            return match strategy {
                Strategy::Summarize | Strategy::Native if !self.tells_anything() => {
                    Ok(Next::Done(self.without_summary(Strategy::Prune)?))
                }
                Strategy::Summarize | Strategy::Native => self.summarize(strategy),
                Strategy::Delegate => Ok(Next::Delegate(Box::new(Delegation::new(self)))),
                Strategy::Checkpoint => Ok(Next::Await(Box::new(Checkpoint::new(self)))),
                Strategy::Drop | Strategy::Trim | Strategy::Prune => Ok(Next::Done(self.dropped()?)),
            };
        }
        Ok(Next::Done(self.abandon()))
    }

    /// Why a strategy cannot even be tried.
    fn why_unavailable(&self, strategy: Strategy) -> Option<&'static str> {
        let available = &self.job.available;
        match strategy {
            Strategy::Summarize if self.changes.summary.is_some() => None,
            Strategy::Summarize if self.job.policy.summary.by == Writer::Nobody => {
                Some("nobody is set to write summaries")
            }
            Strategy::Native if !available.native => {
                Some("the session's provider has no compaction of its own, or it was not offered")
            }
            Strategy::Delegate if !available.compactor => Some("no compactor is installed"),
            Strategy::Checkpoint if !available.operator => Some("there is no operator to ask here"),
            Strategy::Summarize | Strategy::Native if !self.moves_anything() => {
                Some("every message in view is one that is kept")
            }
            Strategy::Trim
            | Strategy::Prune
            | Strategy::Summarize
            | Strategy::Native
            | Strategy::Delegate
            | Strategy::Checkpoint
            | Strategy::Drop => None,
        }
    }

    /// Asks for a summary: of the hook that has one, of the model that is set, of the embedded summariser.
    fn summarize(mut self, strategy: Strategy) -> Result<Next<'a>, ArchiveError> {
        if let Some((name, supplied)) = self.changes.summary.clone() {
            return EmbeddedQuestion::new(self)?.take_supplied(&name, &supplied.text);
        }
        match self.job.available.summarizer {
            Some(_) => ModelQuestion::begin(self, strategy),
            None => {
                let is_expected = self.job.policy.summary.by == Writer::Session;
                let why = self.job.available.no_model.or(is_expected.then_some(NO_SESSION_MODEL));
                if let Some(why) = why {
                    self.give_up(strategy, format!("{why}; the embedded summariser writes in its place"));
                }
                Ok(Next::Summarize(Box::new(EmbeddedQuestion::new(self)?)))
            }
        }
    }

    /// An edit in place; none where it alone does not make enough room.
    fn edit(&mut self, pass: EditPass) -> Result<Option<Conclusion>, ArchiveError> {
        if !self.job.can.forms {
            let why = "where this is written, a message cannot be shown otherwise than it was said";
            self.give_up(pass.strategy(), why);
            return Ok(None);
        }
        let made = pass.run(&self.job, self.reader())?;
        if self.is_enough(made.tokens) {
            return Ok(Some(self.edited(pass.strategy(), made)));
        }
        self.give_up(pass.strategy(), "this alone does not make enough room");
        Ok(None)
    }

    /// An edit in place that stands on its own, outside a compaction; none where it is not worth its price.
    pub fn edit_only(job: Job<'a>, pass: EditPass) -> Result<Option<Conclusion>, ArchiveError> {
        if !job.can.forms {
            return Ok(None);
        }
        let plan = Self::bare(job);
        let made = pass.run(&job, plan.reader())?;
        if made.edit.forms.is_empty() {
            return Ok(None);
        }
        Ok(Some(plan.edited(pass.strategy(), made)))
    }

    /// Whether an edit that leaves `tokens` will do: on target, or fitting with nothing but dropping behind it.
    fn is_enough(&self, tokens: Tokens) -> bool {
        let is_last = self.strategies.is_empty() || self.strategies == [Strategy::Drop];
        tokens < self.job.context.tokens()
            && (tokens <= self.target || (is_last && self.job.budget.fits(tokens)))
    }

    pub(crate) fn give_up(&mut self, strategy: Strategy, why: impl Into<String>) {
        self.fallbacks.push(Fallback { strategy, why: why.into() });
    }

    /// The end where nothing made room and the policy would rather go on as it is.
    fn abandon(self) -> Conclusion {
        let last = self.fallbacks.last().map_or("nothing was tried", |fallback| &fallback.why);
        let why = format!(
            "no room was made ({last}); the session goes on as it is: compact by hand with another strategy or summariser, or begin a new session"
        );
        self.conclude(Outcome::Abandoned { why })
    }
}

/// A pass that changes how messages are shown and takes none out of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditPass {
    /// Repeated harness messages give way to their newest copy.
    Trim,
    /// The bulk of old messages gives way to pointers.
    Prune,
    /// Pictures that a provider will not take give way to labels.
    Label {
        /// What one may take; none may stay where nobody knows.
        bytes_max: Option<u64>,
    },
    /// Large results and attachments give way to pointers: the body has more bytes than a provider will take.
    Shed,
}

impl EditPass {
    fn of(strategy: Strategy) -> Option<Self> {
        match strategy {
            Strategy::Trim => Some(Self::Trim),
            Strategy::Prune => Some(Self::Prune),
            Strategy::Summarize
            | Strategy::Native
            | Strategy::Delegate
            | Strategy::Checkpoint
            | Strategy::Drop => None,
        }
    }

    /// The strategy of the same name.
    pub fn strategy(self) -> Strategy {
        match self {
            Self::Trim => Strategy::Trim,
            Self::Prune | Self::Label { .. } | Self::Shed => Strategy::Prune,
        }
    }

    fn run(self, job: &Job<'_>, reader: LogReader<'_>) -> Result<prune::Pruning, ArchiveError> {
        match self {
            Self::Trim => prune::trim(job, reader),
            Self::Prune => prune::prune(job, reader),
            Self::Label { bytes_max } => prune::label(job, reader, bytes_max),
            Self::Shed => prune::shed(job, reader),
        }
    }
}
