//! A session: a log that grows, the context derived from it, and compaction when that is due.

use crate::port::Clock;
use crate::report::{Happened, Report};
use epitome_core::{
    Archive, ArchiveError, Budget, Context, Drafted, Earlier, Entry, EntryId, Expressible, Floor, Job, Log,
    LogError, Measure, Message, Next, NoSummary, Outcome, Plan, Policy, Record, Shelf, Shown, Tokens,
    Trigger, embedded, ledger::Ledger,
};
use std::sync::Arc;

/// What a session is given to work with.
#[derive(Clone)]
pub struct Setup {
    /// Where the originals are.
    pub archive: Arc<dyn Archive>,
    /// How to count.
    pub measure: Arc<dyn Measure>,
    /// The name of that way of counting.
    pub count_method: Arc<str>,
    /// How much room there is.
    pub budget: Budget,
    /// How to compact.
    pub policy: Arc<Policy>,
    /// What the place the result goes to can say.
    pub can: Expressible,
    /// What a summary is to dwell on.
    pub focus: Option<Arc<str>>,
    /// Messages never to be superseded.
    pub pins: Vec<EntryId>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
}

/// A session in the making.
pub struct Session {
    log: Log,
    context: Context,
    history: Vec<EntryId>,
    compactions: Vec<EntryId>,
    earlier: Settled,
    /// The newest entry taken up.
    leaf: Option<EntryId>,
    setup: Setup,
}

/// The oldest part of a history, whose ledger is carried along so that it need not be read again.
#[derive(Default)]
struct Settled {
    count: usize,
    ledger: Ledger,
}

/// A summary is made from originals at most this far back: several windows of most models, and
/// about a second's work. Past it a compaction would cost more the longer a session is.
const MATERIAL_TOKENS_MAX: Tokens = Tokens(300_000);
/// One giant message counts as at most this much of it: it must not hide all that came before.
const MESSAGE_TOKENS_MAX: Tokens = Tokens(30_000);

/// What a look at the context says before a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    /// The history.
    pub tokens: Tokens,
    /// Whether the policy wants it compacted.
    pub is_due: bool,
}

/// A compaction that failed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// An original could not be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// An entry could not be appended.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Nothing we may do would make it fit.
    #[error(transparent)]
    CannotFit(#[from] Box<Floor>),
}

impl Session {
    /// A session over `log` that has taken up none of it yet.
    pub fn new(log: Log, setup: Setup) -> Self {
        Self {
            log,
            context: Context::default(),
            history: Vec::new(),
            compactions: Vec::new(),
            earlier: Settled::default(),
            leaf: None,
            setup,
        }
    }

    /// A session that has taken up the branch ending in `leaf`.
    pub fn open(log: Log, leaf: Option<EntryId>, setup: Setup) -> Result<Self, EngineError> {
        let branch = leaf.map(|leaf| log.branch(leaf)).unwrap_or_default();
        let mut session = Self::new(log, setup);
        for id in branch {
            session.absorb(id)?;
        }
        Ok(session)
    }

    /// Takes up one more entry of the log. Costs the same however long the session is.
    pub fn absorb(&mut self, id: EntryId) -> Result<(), EngineError> {
        match self.log.get(id) {
            Some(Entry::Message(_)) => self.history.push(id),
            Some(Entry::Compaction(_)) => self.compactions.push(id),
            Some(Entry::Edit(_) | Entry::Undo { .. } | Entry::Note { .. }) | None => {}
        }
        self.context.take(&self.log, id, &*self.setup.measure, &*self.setup.archive)?;
        self.leaf = Some(id);
        Ok(())
    }

    /// Takes up something that was just said. `shelf` must be the archive the session was given, or feed it.
    pub fn say(&mut self, shelf: &Shelf, message: Message) -> Result<EntryId, EngineError> {
        let entry = Entry::Message(self.setup.measure.weigh(&message));
        let id = self.log.append(self.leaf, entry)?;
        shelf.put(id, message);
        self.absorb(id)?;
        Ok(id)
    }

    /// Looks at the context before a call. Costs the same however long the session is.
    pub fn check(&self) -> Check {
        let tokens = self.context.tokens();
        Check { tokens, is_due: self.setup.budget.is_due(tokens, &self.setup.policy) }
    }

    /// What would be done, and nothing more.
    pub fn draft(&self, trigger: Trigger) -> Result<Drafted<'_>, EngineError> {
        Ok(Plan::draft(self.job(trigger))?)
    }

    fn job(&self, trigger: Trigger) -> Job<'_> {
        let Setup { archive, measure, budget, policy, can, focus, pins, .. } = &self.setup;
        let (log, history, compactions, context) =
            (&self.log, &self.history[..], &self.compactions[..], &self.context);
        let earlier = Earlier { count: self.earlier.count, ledger: &self.earlier.ledger };
        Job {
            earlier,
            log,
            history,
            compactions,
            context,
            archive: &**archive,
            measure: &**measure,
            budget: *budget,
            policy,
            trigger,
            focus: focus.as_deref(),
            pins,
            can: *can,
        }
    }

    /// Compacts and appends what came of it.
    pub fn compact(&mut self, trigger: Trigger) -> Result<Report, EngineError> {
        let began = self.setup.clock.now();
        let tokens_before = self.context.tokens();
        self.settle()?;
        let outcome = self.carry_out(trigger)?;
        let report = match outcome {
            Outcome::Compacted { compaction, record } => {
                self.append(Entry::Compaction(Box::new(compaction)))?;
                self.report(Happened::Compacted, Some(*record), tokens_before, trigger)
            }
            Outcome::Edited { edit, record } => {
                self.append(Entry::Edit(edit))?;
                self.report(Happened::Pruned, Some(*record), tokens_before, trigger)
            }
            Outcome::Unneeded { why } => {
                Report { why: Some(why), ..self.report(Happened::Noop, None, tokens_before, trigger) }
            }
            Outcome::Impossible(floor) => return Err(EngineError::CannotFit(Box::new(floor))),
        };
        let took = self.setup.clock.now().saturating_sub(began);
        Ok(Report { duration_ms: took.as_millis() as u64, ..report })
    }

    /// Takes the ledger of what has come to lie too far back. Each message is read for it once.
    fn settle(&mut self) -> Result<(), EngineError> {
        let mut tokens = Tokens::ZERO;
        let is_near = |id: &&EntryId| {
            let size = self.log.item(**id).map(|item| item.sizes.total()).unwrap_or_default();
            tokens += size.min(MESSAGE_TOKENS_MAX);
            tokens <= MATERIAL_TOKENS_MAX
        };
        let count = self.history.len() - self.history.iter().rev().take_while(is_near).count();
        for &id in self.history.get(self.earlier.count..count).unwrap_or_default() {
            self.earlier.ledger.update(id, &*self.setup.archive.message(id)?);
        }
        self.earlier.count = self.earlier.count.max(count);
        Ok(())
    }

    /// Asks the plan's questions until it is done. Each answer uses up a strategy, so this ends.
    fn carry_out(&self, trigger: Trigger) -> Result<Outcome, EngineError> {
        let mut next = match self.draft(trigger)? {
            Drafted::Plan(plan) => plan.begin()?,
            Drafted::Settled(outcome) => return Ok(outcome),
        };
        loop {
            next = match next {
                Next::Summarize(ask) => {
                    let draft = embedded::summarize(&ask.material(), ask.budget()).map_err(NoSummary::from);
                    ask.answer(draft)?
                }
                Next::Done(outcome) => return Ok(outcome),
            };
        }
    }

    fn append(&mut self, entry: Entry) -> Result<EntryId, EngineError> {
        let id = self.log.append(self.leaf, entry)?;
        self.absorb(id)?;
        Ok(id)
    }

    /// A report on one basis: system prompt, tools and history, before and after.
    pub(crate) fn report(
        &self,
        outcome: Happened,
        record: Option<Record>,
        tokens_before: Tokens,
        trigger: Trigger,
    ) -> Report {
        let fixed = self.setup.budget.fixed;
        Report {
            outcome,
            trigger,
            why: None,
            budget: self.setup.budget,
            tokens_before: fixed + tokens_before,
            tokens_after: fixed + self.context.tokens(),
            count_method: self.setup.count_method.to_string(),
            record: record.map(Into::into),
            cost: 0.0,
            duration_ms: 0,
        }
    }

    /// Everything in view, as messages.
    pub fn shown(&self) -> Result<Vec<Shown>, EngineError> {
        Ok(self.context.shown(&self.log, &*self.setup.measure, &*self.setup.archive)?)
    }

    /// What the model sees.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The log.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The messages taken up so far.
    pub fn history(&self) -> &[EntryId] {
        &self.history
    }

    /// What the session was given.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }
}
