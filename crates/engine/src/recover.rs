//! The walk of one call: what is done before it, after an overflow, and when a turn ends.

use crate::breaker::REFILLED;
use crate::compacting::Wish;
use crate::event::Event;
use crate::port::Hook;
use crate::report::{Happened, Report};
use crate::session::{EngineError, Phase, Session};
use crate::watch::{Check, Point};
use epitome_core::policy::Mode;
use epitome_core::{Entry, Moment, Tokens, Trigger};
use std::sync::Arc;

/// What to do after a provider refused a request as too long.
#[derive(Debug)]
pub enum Recovery {
    /// Room was made: send once more.
    Retry(Box<Report>),
    /// Nothing was done that would help: the provider's error goes back as it came.
    Surface {
        /// Why.
        why: String,
    },
}

impl Session {
    /// Everything that is to be done before a call: pre-passes, the warning, a compaction where it is due.
    pub async fn prepare(&mut self) -> Result<Option<Report>, EngineError> {
        self.prepare_at(Point::Call).await
    }

    /// The same at another point.
    pub async fn prepare_at(&mut self, point: Point) -> Result<Option<Report>, EngineError> {
        let pruned = self.prepass(point).await?;
        let check = self.check_at(point);
        self.warn(&check).await;
        let Some(trigger) = check.trigger else { return Ok(pruned) };
        if !check.is_due {
            self.remind();
            return Ok(pruned);
        }
        if self.stop_refilling()? {
            return Ok(pruned);
        }
        if trigger == Trigger::Requested {
            self.clear_request();
        }
        if let Some(mut report) = self.swap_in(trigger)? {
            self.tell_after(&mut report).await;
            return Ok(Some(report));
        }
        let moment = Moment { is_passed: pruned.is_some(), ..Moment::default() };
        self.compact_as(trigger, Wish { moment, ..Wish::default() }).await.map(Some)
    }

    /// Ends automatic compaction where the context keeps filling up right after it, and says so.
    fn stop_refilling(&mut self) -> Result<bool, EngineError> {
        if !self.breaker().is_refilled_too_often(&self.setup().policy.guard) {
            return Ok(false);
        }
        self.append(Entry::Note { kind: REFILLED.into() })?;
        self.tell_stopped();
        Ok(true)
    }

    /// Warns once that the context is nearly full.
    async fn warn(&mut self, check: &Check) {
        if !check.is_approaching || self.state.is_warned || self.setup().policy.mode == Mode::Off {
            return;
        }
        self.state.is_warned = true;
        self.state.events.push(Event::Approaching { tokens: check.request, limit: check.limit });
        let hooks: Vec<Arc<dyn Hook>> = self.setup().asks.hooks.clone();
        for hook in hooks {
            let (_observed, _) = self.timed(hook.approaching(check)).await;
        }
    }

    /// What to do after a provider refused the request as too long by `over`: one compaction for each
    /// call, and none where automatic compaction is off.
    pub async fn recover(&mut self, over: Option<Tokens>) -> Result<Recovery, EngineError> {
        let surface = |why: &str| Ok(Recovery::Surface { why: why.into() });
        let guard = &self.setup().policy.guard;
        let is_spent = self.state.recoveries >= guard.recoveries_max;
        if self.setup().policy.mode == Mode::Off {
            return surface("compaction is off");
        }
        if is_spent {
            return surface("this request was compacted and sent again already");
        }
        self.state.recoveries += 1;
        let moment = Moment { over, is_passed: true, ..Moment::default() };
        let wish = Wish { moment, ..Wish::default() };
        let report = match self.compact_as(Trigger::Overflow, wish).await {
            Ok(report) => report,
            Err(EngineError::CannotFit(floor)) => return surface(&floor.to_string()),
            Err(error) => return Err(error),
        };
        match report.outcome {
            Happened::Compacted | Happened::Pruned => Ok(Recovery::Retry(Box::new(report))),
            Happened::Noop | Happened::Recorded | Happened::Vetoed | Happened::Abandoned => {
                surface(report.why.as_deref().unwrap_or("nothing could be done"))
            }
        }
    }

    /// Takes up a window that a provider's error named; the smaller of this and the known one counts.
    pub fn learn_window(&mut self, window: Tokens) {
        let mut budget = self.setup().budget;
        if (WINDOW_MIN..=WINDOW_MAX).contains(&window) && window < budget.window {
            budget.window = window;
            self.set_budget(budget);
            self.state.events.push(Event::Learned { window });
        }
    }

    /// A turn begins: nothing is compacted by hand until it ends.
    pub fn begin_turn(&mut self) {
        self.state.phase = Phase::Turn;
    }

    /// A turn has ended. After a good one a look is taken, and what was asked for during it is done;
    /// after a failed one, or one that was stopped, nothing.
    pub async fn end_turn(&mut self, is_good: bool) -> Result<Option<Report>, EngineError> {
        self.state.phase = Phase::Idle;
        if !is_good {
            return Ok(None);
        }
        if self.is_requested() && self.setup().policy.mode != Mode::Off {
            self.clear_request();
            return self.compact(Trigger::Requested).await.map(Some);
        }
        self.prepare_at(Point::TurnEnd).await
    }
}

/// A number outside this is no window but a slip in reading one.
const WINDOW_MIN: Tokens = Tokens(1_024);
/// The same at the other end.
const WINDOW_MAX: Tokens = Tokens(10_000_000);
