//! A session's summaries in the background: at most one is under way, begun before it is needed, taken up
//! when it is done, waited for where the trigger fires first, and let go where the branch moves.
//!
//! Who runs the work is handed in, so that the engine needs no runtime of its own.

use crate::compacting::now;
use crate::port::Pending;
use crate::recover::Recovery;
use crate::report::Report;
use crate::session::{EngineError, Session};
use crate::speculate::{Bond, MOVED, OUTGROWN, Ready};
use epitome_core::Tokens;
use std::future::poll_fn;
use std::task::Poll;

/// Has work done beside everything else. What it returns ends when the work does, and cancels it where
/// it is dropped.
///
/// With tokio that is `AbortOnDropHandle::new(tokio::spawn(work))`, or its like.
pub trait Spawn: Send + Sync {
    /// Begins `work`; what comes of it is none where it was lost.
    fn spawn(&self, work: Pending<'static, Option<Ready>>) -> Pending<'static, Option<Ready>>;
}

/// The one summary of a session that may be under way in the background.
#[derive(Default)]
pub struct Background {
    running: Option<Running>,
}

struct Running {
    /// What it was begun from.
    bond: Bond,
    work: Pending<'static, Option<Ready>>,
}

impl Background {
    /// Everything that is to be done before a call, as [`Session::prepare`] does it. Where a compaction
    /// is due and its summary is still being written, that one is waited for if it will be of use; nothing
    /// else of the background ever is. At the end the next summary is begun, where it is time for one.
    pub async fn prepare(
        &mut self,
        session: &mut Session,
        spawn: &dyn Spawn,
    ) -> Result<Option<Report>, EngineError> {
        self.take_up(session);
        if session.check().is_due {
            self.wait(session).await;
        }
        let report = session.prepare().await?;
        self.tend(session, spawn);
        Ok(report)
    }

    /// The same after an overflow: what is under way is of no use for it, and is let go.
    pub async fn recover(
        &mut self,
        session: &mut Session,
        over: Option<Tokens>,
    ) -> Result<Recovery, EngineError> {
        self.let_go(session, "thrown away: the provider's window was full first");
        session.recover(over).await
    }

    /// Looks after the background between calls: takes up what is done, lets go what the branch has
    /// moved away from, begins what it is time for. Takes no time.
    pub fn tend(&mut self, session: &mut Session, spawn: &dyn Spawn) {
        self.take_up(session);
        if self.running.is_some() {
            return;
        }
        let Some(speculation) = session.speculate() else { return };
        let Some(bond) = session.bond() else { return };
        self.running = Some(Running { bond, work: spawn.spawn(Box::pin(speculation.run())) });
    }

    /// Whether a summary is under way.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Takes up what is done, and lets go what can no longer be used.
    fn take_up(&mut self, session: &mut Session) {
        let Some(running) = &mut self.running else { return };
        if !session.is_bound_to(running.bond) {
            self.let_go(session, MOVED);
            return;
        }
        if let Some(made) = now(finished(&mut running.work)) {
            self.running = None;
            offer(session, made);
        }
    }

    /// Waits for what is under way, unless it would be of no use.
    async fn wait(&mut self, session: &mut Session) {
        let Some(running) = &mut self.running else { return };
        if !session.is_worth_waiting_for(running.bond) {
            self.let_go(session, OUTGROWN);
            return;
        }
        // Only once this ends is it over: a caller who gives up waiting finds it still under way.
        let made = running.work.as_mut().await;
        self.running = None;
        offer(session, made.map(Ready::awaited));
    }

    fn let_go(&mut self, session: &mut Session, fate: &str) {
        if self.running.take().is_some() {
            session.waste(fate);
        }
    }
}

fn offer(session: &mut Session, made: Option<Ready>) {
    match made {
        Some(ready) => session.offer(ready),
        None => session.waste("came to nothing"),
    }
}

/// What came of some work, where it is done; it is not waited for.
async fn finished(work: &mut Pending<'static, Option<Ready>>) -> Option<Option<Ready>> {
    poll_fn(|context| {
        Poll::Ready(match work.as_mut().poll(context) {
            Poll::Ready(made) => Some(made),
            Poll::Pending => None,
        })
    })
    .await
}
