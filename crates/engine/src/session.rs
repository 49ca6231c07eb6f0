//! A session: a log that grows, the context derived from it, and what is known of both.

use crate::breaker::Breaker;
use crate::event::Event;
use crate::inbox::Inbox;
use crate::setup::Setup;
use crate::speculate::Ready;
use crate::tally::Tally;
use crate::watch::Measured;
use epitome_core::{
    ArchiveError, Budget, Context, Drafted, Earlier, Entry, EntryId, Floor, Job, Log, LogError, Means,
    Message, Moment, Plan, Policy, Shelf, Shown, Summarizer, Tokens, Trigger, ledger::Ledger,
};
use std::sync::Arc;

/// A session in the making.
#[derive(Clone)]
pub struct Session {
    log: Log,
    context: Context,
    history: Vec<EntryId>,
    compactions: Vec<EntryId>,
    earlier: Settled,
    /// The newest entry taken up.
    leaf: Option<EntryId>,
    setup: Setup,
    /// The budget as the policy sees it.
    budget: Budget,
    breaker: Breaker,
    measured: Option<Measured>,
    tally: Tally,
    /// How often the context was rebuilt.
    rebuilds: u64,
    /// Whether someone asked for a compaction at the end of this turn.
    is_requested: bool,
    pub(crate) state: State,
}

/// What a session remembers beside its log.
#[derive(Clone, Default)]
pub(crate) struct State {
    /// What is going on.
    pub phase: Phase,
    /// Recoveries of the call being made.
    pub recoveries: u32,
    /// Whether the warning was given since the last compaction.
    pub is_warned: bool,
    /// A summary made before it was needed.
    pub ready: Option<Ready>,
    /// Summaries made in vain since the last compaction.
    pub wasted: u32,
    /// How often the context had been rebuilt when it was said that pruning is put off.
    pub deferred_at: Option<u64>,
    /// Minutes without a word, where someone said so.
    pub idle_minutes: Option<u64>,
    /// Input that came while nobody could take it.
    pub inbox: Inbox,
    /// What happened and was not told yet.
    pub events: Vec<Event>,
}

/// What a session is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing.
    #[default]
    Idle,
    /// A turn runs.
    Turn,
    /// A compaction runs.
    Compacting,
    /// It waits for an operator.
    Paused,
}

/// The oldest part of a history, whose ledger is carried along so that it need not be read again.
#[derive(Clone, Default)]
struct Settled {
    count: usize,
    ledger: Ledger,
}

/// A summary is made from originals at most this far back: several windows of most models, and
/// about a second's work. Past it a compaction would cost more the longer a session is.
const MATERIAL_TOKENS_MAX: Tokens = Tokens(300_000);
/// One giant message counts as at most this much of it: it must not hide all that came before.
const MESSAGE_TOKENS_MAX: Tokens = Tokens(30_000);

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
    /// It was asked for in the middle of something.
    #[error("a compaction cannot run now: {0}; ask for one at the end of the turn instead")]
    Busy(&'static str),
    /// A place in the tree that is not there.
    #[error("there is no entry {0} in this session; `tree` lists those there are")]
    NoEntry(EntryId),
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
            budget: setup.budget.under(&setup.policy),
            setup,
            breaker: Breaker::default(),
            measured: None,
            tally: Tally::default(),
            rebuilds: 0,
            is_requested: false,
            state: State::default(),
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
        let is_rebuilt = match self.log.get(id) {
            Some(Entry::Message(_)) => {
                self.history.push(id);
                false
            }
            Some(Entry::Compaction(_)) => {
                self.compactions.push(id);
                true
            }
            Some(Entry::Undo { of }) => {
                self.compactions.retain(|known| known != of);
                true
            }
            Some(Entry::Edit(_)) => true,
            Some(Entry::Note { .. }) | None => false,
        };
        if let Some(entry) = self.log.get(id) {
            self.breaker.take(&self.log, entry, &self.setup.policy.guard);
        }
        self.context.take(&self.log, id, &*self.setup.measure, &*self.setup.archive)?;
        self.rebuilds += u64::from(is_rebuilt);
        self.tally.take(id, is_rebuilt, &self.context, &self.setup)?;
        self.leaf = Some(id);
        Ok(())
    }

    /// Takes up something that was just said. `shelf` must be the archive the session was given, or feed it.
    pub fn say(&mut self, shelf: &Shelf, message: Message) -> Result<EntryId, EngineError> {
        let entry = Entry::Message(self.setup.measure.weigh(&message));
        let id = self.log.append(self.leaf, entry)?;
        let is_reply = message.role == epitome_core::Role::Assistant;
        shelf.put(id, message);
        self.absorb(id)?;
        if is_reply {
            self.state.recoveries = 0;
        }
        Ok(id)
    }

    /// What would be done, and nothing more.
    pub fn draft(&self, trigger: Trigger) -> Result<Drafted<'_>, EngineError> {
        Ok(Plan::draft(self.job(trigger, Moment::default()))?)
    }

    pub(crate) fn job(&self, trigger: Trigger, moment: Moment) -> Job<'_> {
        let Setup { archive, measure, policy, can, focus, pins, .. } = &self.setup;
        let usage_percent = self.measured_now().map_or(0, |measured| measured.percent);
        Job {
            earlier: Earlier { count: self.earlier.count, ledger: &self.earlier.ledger },
            log: &self.log,
            history: &self.history,
            compactions: &self.compactions,
            context: &self.context,
            archive: &**archive,
            measure: &**measure,
            budget: self.budget,
            policy,
            trigger,
            focus: focus.as_deref(),
            pins,
            can: *can,
            means: self.means(),
            moment: Moment { usage_percent, ..moment },
        }
    }

    fn means(&self) -> Means<'_> {
        let asks = &self.setup.asks;
        let summarizer = asks.model.as_deref().map(|model| Summarizer {
            name: model.name(),
            window: model.window(),
            output_max: model.output_max(),
            takes_parallel: model.takes_parallel(),
            is_warm: asks.is_warm,
        });
        Means {
            summarizer,
            native: asks.native,
            hooks: !asks.hooks.is_empty(),
            compactor: asks.hooks.iter().any(|hook| hook.is_compactor()),
            prompts: &asks.prompts,
        }
    }

    /// Takes the ledger of what has come to lie too far back. Each message is read for it once.
    pub(crate) fn settle(&mut self) -> Result<(), EngineError> {
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

    /// Takes up the branch ending in `leaf` in place of the one taken up so far.
    pub(crate) fn reopen(&mut self, leaf: EntryId) -> Result<(), EngineError> {
        let state = std::mem::take(&mut self.state);
        let fresh = Self::open(self.log.clone(), Some(leaf), self.setup.clone())?;
        *self = Self { state: State { ready: None, ..state }, ..fresh };
        Ok(())
    }

    pub(crate) fn append(&mut self, entry: Entry) -> Result<EntryId, EngineError> {
        let id = self.log.append(self.leaf, entry)?;
        self.absorb(id)?;
        Ok(id)
    }

    /// Uses another policy from the next check on.
    pub fn set_policy(&mut self, policy: Arc<Policy>) {
        self.budget = self.setup.budget.under(&policy);
        self.setup.policy = policy;
    }

    /// Uses another budget from the next check on: the model, its tools or its window have changed.
    pub fn set_budget(&mut self, budget: Budget) {
        self.budget = budget.under(&self.setup.policy);
        self.setup.budget = budget;
    }

    /// Uses other means from the next compaction on.
    pub fn set_asks(&mut self, asks: crate::setup::Asks) {
        self.setup.asks = asks;
    }

    /// Changes what summaries are to dwell on.
    pub fn set_focus(&mut self, focus: Option<Arc<str>>) {
        self.setup.focus = focus;
    }

    /// Changes which messages are never superseded.
    pub fn set_pins(&mut self, pins: Vec<EntryId>) {
        self.setup.pins = pins;
    }

    /// Asks for a compaction at the end of the turn.
    pub fn request_compaction(&mut self) {
        self.is_requested = true;
    }

    /// Says how long nobody has spoken; providers' caches grow cold meanwhile.
    pub fn set_idle_minutes(&mut self, minutes: Option<u64>) {
        self.state.idle_minutes = minutes;
    }

    pub(crate) fn idle_minutes(&self) -> Option<u64> {
        self.state.idle_minutes
    }

    pub(crate) fn is_requested(&self) -> bool {
        self.is_requested
    }

    pub(crate) fn clear_request(&mut self) {
        self.is_requested = false;
    }

    pub(crate) fn measured(&self) -> Option<Measured> {
        self.measured
    }

    pub(crate) fn set_measured(&mut self, measured: Option<Measured>) {
        self.measured = measured;
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    pub(crate) fn rebuilds(&self) -> u64 {
        self.rebuilds
    }

    /// The newest entry taken up.
    pub fn leaf(&self) -> Option<EntryId> {
        self.leaf
    }

    /// Compactions of this branch, oldest first.
    pub fn compactions(&self) -> &[EntryId] {
        &self.compactions
    }

    /// The budget as the policy sees it.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// What stops a loop, and whether it has.
    pub fn breaker(&self) -> &Breaker {
        &self.breaker
    }

    /// What is going on.
    pub fn phase(&self) -> Phase {
        self.state.phase
    }

    /// A handle for input that may come at any time.
    pub fn inbox(&self) -> Inbox {
        self.state.inbox.clone()
    }

    /// What happened since this was last asked.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.state.events)
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
