//! The summary of a path that is under way in the background: when it is begun, taken up, waited for and let go. What it
//! is bound to, and whether it is used, is the session's.

use super::{LATE, MOVED, OUTGROWN, PrefixBinding, PreparedCompaction};
use crate::check::LookPoint;
use crate::driver::{CompactOptions, Driver, Recovery, TurnEnd};
use crate::error::EngineError;
use crate::ports::{BoxFuture, Spawn};
use crate::session::{Session, Step};
use epitome_core::{Tokens, Trigger};
use std::sync::{Arc, Mutex, PoisonError};

/// The one summary of a session that may be under way in the background: begun before it is needed, taken up when
/// it is done, waited for where the trigger fires first, and let go where the path moves.
#[derive(Default)]
pub struct Background {
    running: Option<BackgroundSummary>,
    known: Option<SpeculationMemory>,
}

/// What a session knew of summaries made beforehand. A client that changes its last message goes on with a session
/// that has seen none of them.
struct SpeculationMemory {
    binding: PrefixBinding,
    ready: Option<Arc<PreparedCompaction>>,
    wasted: u32,
}

struct BackgroundSummary {
    /// What it was begun from.
    binding: PrefixBinding,
    work: BoxFuture<'static, ()>,
    /// What came of it; none where it was lost.
    result: Arc<Mutex<Option<PreparedCompaction>>>,
    is_done: bool,
}

impl Background {
    /// Everything that is to be done before a call, as [`Driver::prepare`] does it. Where a compaction
    /// is due and its summary is still being written, that one is waited for if it will be of use; nothing
    /// else of the background ever is. At the end the next summary is begun, where it is time for one.
    pub async fn prepare(
        &mut self,
        driver: &Driver,
        session: &mut Session,
        spawn: &dyn Spawn,
    ) -> Result<Step, EngineError> {
        self.prepare_at(driver, session, LookPoint::Call, spawn).await
    }

    /// The same at another point.
    pub async fn prepare_at(
        &mut self,
        driver: &Driver,
        session: &mut Session,
        point: LookPoint,
        spawn: &dyn Spawn,
    ) -> Result<Step, EngineError> {
        self.catch_up(driver, session, point).await?;
        let step = driver.prepare_at(session, point).await?;
        Ok(self.go_on(driver, session, spawn, step))
    }

    /// A turn has ended, as [`Driver::end_turn`] takes it; after a broken one the background is left as it is.
    pub async fn end_turn(
        &mut self,
        driver: &Driver,
        session: &mut Session,
        end: TurnEnd,
        spawn: &dyn Spawn,
    ) -> Result<Step, EngineError> {
        match end {
            TurnEnd::Broken => driver.end_turn(session, end).await,
            TurnEnd::Good => {
                self.catch_up(driver, session, LookPoint::TurnEnd).await?;
                let step = driver.end_turn(session, end).await?;
                Ok(self.go_on(driver, session, spawn, step))
            }
        }
    }

    /// Takes up what is done, and waits for what is under way where a compaction is due that can use it.
    async fn catch_up(
        &mut self,
        driver: &Driver,
        session: &mut Session,
        point: LookPoint,
    ) -> Result<(), EngineError> {
        self.remind(session);
        self.take_up(session);
        // What was asked for uses what is ready, and waits for nothing that covers less than it would itself.
        let is_asked_for = point == LookPoint::TurnEnd && session.is_requested();
        if !is_asked_for && session.needs_compaction(point)? {
            self.wait(driver, session).await;
        }
        Ok(())
    }

    /// Begins the next summary where it is time for one, and tells what came of the last.
    fn go_on(&mut self, driver: &Driver, session: &mut Session, spawn: &dyn Spawn, mut step: Step) -> Step {
        self.begin(driver, session, spawn);
        step.events.extend(session.take_events());
        step
    }

    /// The same after an overflow: what is ready is used, what is still under way is let go.
    pub async fn recover(
        &mut self,
        driver: &Driver,
        session: &mut Session,
        over: Option<Tokens>,
    ) -> Result<Recovery, EngineError> {
        self.remind(session);
        self.take_up(session);
        self.let_go(session, "thrown away: the provider's window was full first");
        let recovery = driver.recover(session, over).await;
        self.remember(session);
        recovery
    }

    /// A compaction that somebody asks for, as [`Driver::compact_with`] makes it. What is ready is used where they want
    /// nothing in particular; what is under way goes on, and is let go when it no longer fits.
    pub async fn compact_with(
        &mut self,
        driver: &Driver,
        session: &mut Session,
        trigger: Trigger,
        options: CompactOptions,
    ) -> Result<Step, EngineError> {
        self.remind(session);
        self.take_up(session);
        let step = driver.compact_with(session, trigger, options).await;
        self.remember(session);
        step
    }

    /// Looks after the background between calls: takes up what is done, lets go what the path has
    /// moved away from, begins what it is time for. Takes no time.
    pub fn tend(&mut self, driver: &Driver, session: &mut Session, spawn: &dyn Spawn) {
        self.remind(session);
        self.begin(driver, session, spawn);
    }

    fn begin(&mut self, driver: &Driver, session: &mut Session, spawn: &dyn Spawn) {
        self.take_up(session);
        self.remember(session);
        if self.running.is_some() {
            return;
        }
        let Some((speculation, binding)) = session.speculate().zip(session.binding()) else { return };
        let result = Arc::new(Mutex::new(None));
        let (driver, kept) = (driver.unhurried(), result.clone());
        let work = Box::pin(async move {
            let made = speculation.run(&driver).await;
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = made;
        });
        self.running = Some(BackgroundSummary { binding, work: spawn.spawn(work), result, is_done: false });
    }

    /// Whether a summary is under way.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Whether there is nothing in it that a later request could use.
    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_none() && self.known.is_none()
    }

    /// Whether a summary is lost with it.
    pub(crate) fn has_summary(&self) -> bool {
        self.running.is_some() || self.known.as_ref().is_some_and(|known| known.ready.is_some())
    }

    /// Tells a session what the one before it knew, as long as it goes on from the same messages.
    fn remind(&self, session: &mut Session) {
        let Some(known) = self.known.as_ref().filter(|known| session.may_be_bound_to(known.binding)) else {
            return;
        };
        session.state.wasted = session.state.wasted.max(known.wasted);
        if known.ready.is_some() {
            session.state.ready = known.ready.clone();
        }
    }

    fn remember(&mut self, session: &Session) {
        let (ready, wasted) = (session.state.ready.clone(), session.state.wasted);
        let is_any = ready.is_some() || wasted > 0;
        let binding = session.binding().filter(|_| is_any);
        self.known = binding.map(|binding| SpeculationMemory { binding, ready, wasted });
    }

    /// Takes up what is done, and lets go what can no longer be used.
    fn take_up(&mut self, session: &mut Session) {
        let Some(running) = &mut self.running else { return };
        if !session.may_be_bound_to(running.binding) {
            self.let_go(session, MOVED);
            return;
        }
        if running.poll() {
            let made = running.take();
            self.running = None;
            offer(session, made);
        }
    }

    /// Waits for what is under way, unless it would be of no use.
    async fn wait(&mut self, driver: &Driver, session: &mut Session) {
        let Some(running) = &mut self.running else { return };
        if !session.is_worth_waiting_for(running.binding) {
            self.let_go(session, OUTGROWN);
            return;
        }
        // Only once this ends is it over: a caller who gives up waiting finds it still under way.
        if !driver.in_time(session, running.work.as_mut()).await {
            self.let_go(session, LATE);
            return;
        }
        running.is_done = true;
        let made = running.take();
        self.running = None;
        offer(session, made.map(PreparedCompaction::awaited));
    }

    fn let_go(&mut self, session: &mut Session, fate: &str) {
        if self.running.take().is_some() {
            session.waste(fate);
        }
    }
}

impl BackgroundSummary {
    /// Whether the work is done; it is not waited for.
    fn poll(&mut self) -> bool {
        if !self.is_done {
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            self.is_done = self.work.as_mut().poll(&mut context).is_ready();
        }
        self.is_done
    }

    fn take(&self) -> Option<PreparedCompaction> {
        self.result.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

fn offer(session: &mut Session, made: Option<PreparedCompaction>) {
    match made {
        Some(ready) => session.offer(ready),
        None => session.waste("came to nothing"),
    }
}
