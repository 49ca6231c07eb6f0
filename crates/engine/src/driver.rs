//! The driver: the walk of one call. Pre-passes, the check, what was made elsewhere or beforehand, a compaction of its
//! own, the end of a turn. [`recovery`] answers an overflow, [`pictures`] makes room of another kind, [`questions`] puts a
//! plan's questions to the ports, [`waiting`] waits for models, [`sketch`] stops early, and so does [`observation`]; what is decided by
//! is the session's policy, and what is appended is the session's.

mod observation;
mod pictures;
mod questions;
mod recovery;
mod sketch;
mod waiting;

pub use recovery::Recovery;
pub use sketch::{PlanSketch, SketchedCalls};

use crate::check::{Check, FigureSource, LookPoint, Permission};
use crate::error::EngineError;
use crate::event::Event;
use crate::ports::{EventListener, Ports};
use crate::pre_passes::pre_passes;
use crate::restore::bring_back;
use crate::session::{Phase, Session, Step};
use epitome_core::{Circumstances, Conclusion, Range, Record, Trigger};
use futures_util::future::join_all;
use std::sync::Arc;

/// Asks on behalf of sessions.
#[derive(Clone, Default)]
pub struct Driver {
    ports: Ports,
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver").finish_non_exhaustive()
    }
}

/// What a compaction is asked to be, beside why it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactOptions {
    /// Which part of the context is meant.
    pub range: Range,
    /// What else is known.
    pub circumstances: Circumstances,
    /// Who may be asked.
    pub asking: AskScope,
}

/// Who may be asked in the course of a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskScope {
    /// Everybody there is.
    #[default]
    Everybody,
    /// Nobody who takes time or money: the embedded summariser writes, and hooks are passed over.
    Nobody,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// The model said its last word.
    Good,
    /// It failed, or was stopped.
    Broken,
}

impl Driver {
    /// A driver that asks whoever is in `ports`.
    pub fn new(ports: Ports) -> Self {
        Self { ports }
    }

    /// The same, with somebody who hears of a wait when it begins.
    pub(crate) fn heard_by(&self, listener: Arc<dyn EventListener>) -> Self {
        let mut ports = self.ports.clone();
        ports.listener = Some(listener);
        Self { ports }
    }

    /// The same for work that nobody waits for.
    pub(crate) fn unhurried(&self) -> Self {
        let mut ports = self.ports.clone();
        ports.waiter = None;
        Self { ports }
    }

    /// Who is asked.
    pub fn ports(&self) -> &Ports {
        &self.ports
    }

    /// The same, open to change.
    pub fn ports_mut(&mut self) -> &mut Ports {
        &mut self.ports
    }

    /// Everything that is to be done before a call: pre-passes, the warning, a compaction where it is due.
    pub async fn prepare(&self, session: &mut Session) -> Result<Step, EngineError> {
        self.prepare_at(session, LookPoint::Call).await
    }

    /// The same at another point.
    pub async fn prepare_at(&self, session: &mut Session, point: LookPoint) -> Result<Step, EngineError> {
        let record = self.make_room(session, point).await?;
        Ok(session.step(record))
    }

    async fn make_room(
        &self,
        session: &mut Session,
        point: LookPoint,
    ) -> Result<Option<Arc<Record>>, EngineError> {
        let passed = pre_passes(session, point)?;
        let check = session.check_at(point);
        self.warn(session, &check).await;
        let Some(trigger) = check.trigger else { return Ok(passed) };
        let Some(asking) = self.permitted(session, &check)? else { return Ok(passed) };
        if session.check_at(point).trigger.is_none() {
            return Ok(passed);
        }
        if let Some(of) = session.available()? {
            let record = session.apply(of, trigger)?;
            if session.check_at(point).trigger.is_none() {
                return Ok(Some(record));
            }
            // What was made elsewhere is not enough here: the compaction to come stands on it.
        }
        let must_ask = check.permission == Permission::Ask;
        if !must_ask && let Some(mut ready) = session.take_ready(trigger, None)? {
            self.restore(session, &mut ready);
            return self.conclude(session, ready).await.map(Some);
        }
        // Where the provider's figures say that the request will be refused, ours say too little of what to free.
        let is_told = trigger == Trigger::Overflow && check.source != FigureSource::Count;
        let over = is_told.then(|| check.tokens.less(check.window));
        let circumstances =
            Circumstances { over, is_passed: passed.is_some(), must_ask, ..Circumstances::default() };
        let options = CompactOptions { circumstances, asking, ..CompactOptions::default() };
        let record = self.carry_out(session, trigger, options).await?;
        session.state.is_refused = must_ask && !record.outcome.is_rebuilt();
        Ok(Some(record))
    }

    /// Who may be asked about a context that is due. None where it is left as it is; where that is for a person to decide,
    /// they are reminded.
    fn permitted(&self, session: &mut Session, check: &Check) -> Result<Option<AskScope>, EngineError> {
        Ok(match check.permission {
            Permission::Nothing => None,
            Permission::Remind => {
                remind(session, check, LEFT_TO_A_PERSON);
                None
            }
            Permission::Ask if self.ports.operator.is_none() => {
                remind(session, check, NOBODY_TO_ASK);
                None
            }
            Permission::Ask => Some(AskScope::Everybody),
            Permission::Mechanical => Some(AskScope::Nobody),
            // The breaker opens here, and what must fit is made to fit without asking anybody.
            Permission::Compact if session.stop_refilling()? => Some(AskScope::Nobody),
            Permission::Compact => Some(AskScope::Everybody),
        })
    }

    /// Compacts and appends what came of it.
    pub async fn compact(&self, session: &mut Session, trigger: Trigger) -> Result<Step, EngineError> {
        self.compact_with(session, trigger, CompactOptions::default()).await
    }

    /// The same for part of the context, or with fewer to ask.
    pub async fn compact_with(
        &self,
        session: &mut Session,
        trigger: Trigger,
        options: CompactOptions,
    ) -> Result<Step, EngineError> {
        let record = self.carry_out(session, trigger, options).await?;
        Ok(session.step(Some(record)))
    }

    async fn carry_out(
        &self,
        session: &mut Session,
        trigger: Trigger,
        options: CompactOptions,
    ) -> Result<Arc<Record>, EngineError> {
        let conclusion = {
            let under_way = PhaseGuard::enter(session, trigger)?;
            match ready_for_asking(under_way.session, trigger, options)? {
                Some(mut ready) => {
                    self.restore(under_way.session, &mut ready);
                    ready
                }
                None => self.conclusion(under_way.session, trigger, options).await?,
            }
        };
        self.conclude(session, conclusion).await
    }

    /// Takes up what came of a plan. The hooks are told first: a record is appended with its mark and never changed
    /// after, so what came of telling them must be in it by then.
    async fn conclude(
        &self,
        session: &mut Session,
        mut conclusion: Conclusion,
    ) -> Result<Arc<Record>, EngineError> {
        session.judge_progress(&mut conclusion);
        let failed = self.tell_after(session, &conclusion.record).await;
        conclusion.record.hooks.extend(failed.iter().cloned());
        let record = session.conclude(conclusion)?;
        session.state.events.extend(failed.into_iter().map(|run| Event::HookFailed { run }));
        Ok(record)
    }

    async fn conclusion(
        &self,
        session: &mut Session,
        trigger: Trigger,
        options: CompactOptions,
    ) -> Result<Conclusion, EngineError> {
        let began = self.ports.clock.now();
        announce(session, trigger);
        extend_far_ledger(session)?;
        let mut conclusion = {
            let mut untold = UntoldEvents::of(session);
            let UntoldEvents { session, events } = &mut untold;
            self.drive(session, trigger, options, events).await?
        };
        self.restore(session, &mut conclusion);
        let took = self.ports.clock.now().saturating_sub(began);
        conclusion.record.duration_ms = took.as_millis() as u64;
        conclusion.record.time_ms = self.ports.clock.unix_ms();
        Ok(conclusion)
    }

    /// Brings back what the policy wants in view, as it is now.
    fn restore(&self, session: &Session, conclusion: &mut Conclusion) {
        if let Some(restorer) = self.ports.restorer.as_deref() {
            bring_back(restorer, session, conclusion);
        }
    }

    /// Warns once that the context is nearly full.
    async fn warn(&self, session: &mut Session, check: &Check) {
        if !session.is_warning_due(check) {
            return;
        }
        session.state.is_warned = true;
        session.state.events.push(Event::Approaching { tokens: check.tokens, limit: check.limit });
        let told = self.ports.hooks().iter().map(|hook| self.within(session, hook.approaching(check)));
        let _observed = join_all(told).await;
    }

    /// A turn has ended. After a good one a look is taken, and what was asked for during it is done;
    /// after a failed one, or one that was stopped, nothing.
    pub async fn end_turn(&self, session: &mut Session, end: TurnEnd) -> Result<Step, EngineError> {
        session.state.phase = Phase::Idle;
        match end {
            TurnEnd::Broken => Ok(session.step(None)),
            // Somebody asked for it by name, so that it is done where nothing is done by itself too.
            TurnEnd::Good if session.is_requested() => self.compact(session, Trigger::Requested).await,
            TurnEnd::Good => self.prepare_at(session, LookPoint::TurnEnd).await,
        }
    }
}

/// A session while it is compacted. However that ends, cancelled or failed too, what went on before goes on after it.
struct PhaseGuard<'s> {
    session: &'s mut Session,
    before: Phase,
}

impl<'s> PhaseGuard<'s> {
    /// One compaction at a time, which holding the session sees to, and none by hand in the middle of a turn.
    fn enter(session: &'s mut Session, trigger: Trigger) -> Result<Self, EngineError> {
        let before = session.state.phase;
        if before == Phase::Turn && trigger.is_manual() {
            return Err(EngineError::Busy("a turn runs"));
        }
        session.state.phase = Phase::Compacting;
        Ok(Self { session, before })
    }
}

impl Drop for PhaseGuard<'_> {
    fn drop(&mut self) {
        self.session.state.phase = self.before;
    }
}

/// What happened in a session and was not told yet, while somebody is asked. However that ends, given up too, what nobody
/// was told goes back to the session.
struct UntoldEvents<'s> {
    session: &'s mut Session,
    events: Vec<Event>,
}

impl<'s> UntoldEvents<'s> {
    fn of(session: &'s mut Session) -> Self {
        let events = std::mem::take(&mut session.state.events);
        Self { session, events }
    }
}

impl Drop for UntoldEvents<'_> {
    fn drop(&mut self) {
        self.session.state.events = std::mem::take(&mut self.events);
    }
}

pub(crate) fn announce(session: &mut Session, trigger: Trigger) {
    let (tokens, _) = session.figure();
    let budget = session.budget();
    let limit = budget.trigger_point(session.policy());
    session.state.events.push(Event::Triggered { trigger, tokens, limit, window: budget.window });
}

pub(crate) fn extend_far_ledger(session: &mut Session) -> Result<(), EngineError> {
    let archive = session.archive().clone();
    Ok(session.timeline_mut().extend_far_ledger(&*archive)?)
}

/// What was made beforehand, for a compaction that somebody asked for: what they would wait for is there already, as long
/// as it covers nearly all and they want nothing in particular, no other policy either.
fn ready_for_asking(
    session: &mut Session,
    trigger: Trigger,
    options: CompactOptions,
) -> Result<Option<Conclusion>, EngineError> {
    let is_asked_for = trigger.is_manual() || trigger == Trigger::Requested;
    let is_plain = options == CompactOptions::default() && session.options().focus.is_none();
    if !is_asked_for || !is_plain || !session.is_ready_by_policy() {
        return Ok(None);
    }
    session.take_ready(trigger, None)
}

/// Why a compaction that is due is not begun.
const LEFT_TO_A_PERSON: &str = "these settings leave it to a person: compact by hand";
/// The same where a person is to be asked first.
const NOBODY_TO_ASK: &str =
    "nobody can be asked here (`mode = \"ask\"`): the session goes on as it is; compact by hand";

/// A compaction that the policy leaves to a person is announced, once.
fn remind(session: &mut Session, check: &Check, why: &str) {
    if !session.state.is_reminded {
        session.state.is_reminded = true;
        let (tokens, limit) = (check.tokens, check.limit);
        session.state.events.push(Event::Due { tokens, limit, why: why.into() });
    }
}
