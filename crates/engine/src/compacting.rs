//! Doing it: the plan's questions are put to whoever can answer, and what comes of it is appended.

use crate::event::Event;
use crate::port::{Clock, Hook};
use crate::report::{Happened, Report};
use crate::session::{EngineError, Phase, Session};
use epitome_core::policy::Mode;
use epitome_core::{
    Answer, Called, Checkpoint, Decision, Drafted, EntryId, Errand, HookAnswer, Moment, Next, NoSummary,
    Outcome, Pending as Checkpointed, Plan, Transformed, Trigger, embedded,
};
use futures_util::future::{Either, join_all, select};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// What a compaction is asked to be, beside why it runs.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// What is known of the moment.
    pub moment: Moment,
    /// Answers given before a restart, to be given again.
    pub answers: Vec<Answer>,
}

/// A session that waits for an operator: everything needed to go on after a restart.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Paused {
    /// What the operator is shown.
    pub pending: Checkpointed,
    /// Why the compaction runs.
    pub trigger: Trigger,
    /// The newest entry when it was drafted; the plan holds only while it is the newest.
    pub leaf: Option<EntryId>,
    /// Answers so far.
    pub answers: Vec<Answer>,
}

/// What came of driving a plan.
pub(crate) enum Driven {
    Done(Outcome),
    Waits(Box<Paused>),
}

/// What came of asking for a compaction that may wait for an operator.
pub enum Begun {
    /// It is over.
    Over(Box<Report>),
    /// It waits.
    Waits(Box<Paused>),
}

/// A plan asks at most this often: more than all calls, hooks and checkpoints of any policy together.
const QUESTIONS_MAX: usize = 500;

impl Session {
    /// Compacts and appends what came of it. Where the policy wants an operator's word, nobody's
    /// silence stops it: the plan goes on to its next strategy.
    pub async fn compact(&mut self, trigger: Trigger) -> Result<Report, EngineError> {
        self.compact_as(trigger, Wish::default()).await
    }

    /// The same where nobody is asked who takes time: no model, no hook.
    pub fn compact_now(&mut self, trigger: Trigger) -> Result<Report, EngineError> {
        now(self.compact(trigger))
    }

    /// The same for part of the context, or with answers from before a restart.
    pub async fn compact_as(&mut self, trigger: Trigger, wish: Wish) -> Result<Report, EngineError> {
        let moment = wish.moment;
        match self.begin(trigger, wish).await? {
            Begun::Over(report) => Ok(*report),
            Begun::Waits(paused) => {
                let mut answers = paused.answers;
                answers.push(Answer::Decided(Decision::TimedOut));
                self.state.phase = Phase::Idle;
                Box::pin(self.compact_as(trigger, Wish { moment, answers })).await
            }
        }
    }

    /// Begins a compaction that may wait for an operator.
    pub async fn begin(&mut self, trigger: Trigger, wish: Wish) -> Result<Begun, EngineError> {
        self.enter(trigger)?;
        let began = self.setup().clock.now();
        let tokens_before = self.context().tokens();
        self.announce(trigger);
        self.settle()?;
        let driven = self.drive(trigger, wish).await;
        self.state.phase = Phase::Idle;
        let outcome = match driven? {
            Driven::Done(outcome) => outcome,
            Driven::Waits(paused) => {
                self.state.phase = Phase::Paused;
                self.state.events.push(Event::Pending { reason: paused.pending.reason.clone() });
                return Ok(Begun::Waits(paused));
            }
        };
        let mut report = self.commit(outcome, tokens_before, trigger)?;
        let took = self.setup().clock.now().saturating_sub(began);
        report.duration_ms = took.as_millis() as u64;
        self.tell_after(&mut report).await;
        Ok(Begun::Over(Box::new(report)))
    }

    /// Goes on with a compaction that waited. Where the session has moved on meanwhile, a new plan is drafted.
    pub async fn decide(&mut self, paused: Paused, decision: Decision) -> Result<Begun, EngineError> {
        self.state.phase = Phase::Idle;
        if paused.leaf != self.leaf() {
            return self.begin(paused.trigger, Wish::default()).await;
        }
        let mut answers = paused.answers;
        answers.push(Answer::Decided(decision));
        self.begin(paused.trigger, Wish { answers, ..Wish::default() }).await
    }

    /// One compaction at a time, and none by hand in the middle of a turn.
    fn enter(&mut self, trigger: Trigger) -> Result<(), EngineError> {
        match self.state.phase {
            // Only one can run, since it holds the session; one that was cancelled left this behind.
            Phase::Compacting => {}
            Phase::Paused => return Err(EngineError::Busy("one waits for an operator")),
            Phase::Turn if trigger.is_manual() => return Err(EngineError::Busy("a turn runs")),
            Phase::Turn | Phase::Idle => {}
        }
        self.state.phase = Phase::Compacting;
        Ok(())
    }

    pub(crate) fn announce(&mut self, trigger: Trigger) {
        let (tokens, _) = self.figure();
        let budget = self.budget();
        let limit = budget.limit(&self.setup().policy);
        self.state.events.push(Event::Triggered { trigger, tokens, limit, window: budget.window });
    }

    /// What comes of a plan, with nothing appended.
    pub(crate) async fn outcome(&self, trigger: Trigger, moment: Moment) -> Result<Outcome, EngineError> {
        match self.drive(trigger, Wish { moment, ..Wish::default() }).await? {
            Driven::Done(outcome) => Ok(outcome),
            Driven::Waits(_) => Ok(moved_on()),
        }
    }

    /// Puts the plan's questions to whoever can answer them until it is done.
    pub(crate) async fn drive(&self, trigger: Trigger, wish: Wish) -> Result<Driven, EngineError> {
        let mut stored = wish.answers.into_iter();
        let mut answers = Vec::new();
        let mut next = match Plan::draft(self.job(trigger, wish.moment))? {
            Drafted::Plan(plan) => plan.begin()?,
            Drafted::Settled(outcome) => return Ok(Driven::Done(outcome)),
        };
        for _ in 0..QUESTIONS_MAX {
            let answer = match &next {
                Next::Done(_) | Next::Summarize(_) => None,
                Next::Consult(_) | Next::Call(_) | Next::Delegate(_) | Next::Await(_) => stored.next(),
            };
            next = match (next, answer) {
                (Next::Done(outcome), _) => return Ok(Driven::Done(outcome)),
                (Next::Summarize(ask), _) => {
                    let draft = embedded::summarize(&ask.material(), ask.budget()).map_err(NoSummary::from);
                    ask.answer(draft)?
                }
                (Next::Await(checkpoint), None) => {
                    return Ok(Driven::Waits(Box::new(self.paused(&checkpoint, trigger, answers))));
                }
                (question, Some(answer)) => {
                    answers.push(answer.clone());
                    let Some(next) = question.replay(answer)? else { return Ok(Driven::Done(moved_on())) };
                    next
                }
                (question, None) => {
                    let answer = self.ask(&question).await;
                    answers.push(answer.clone());
                    let Some(next) = question.replay(answer)? else { return Ok(Driven::Done(moved_on())) };
                    next
                }
            };
        }
        Ok(Driven::Done(moved_on()))
    }

    fn paused(&self, checkpoint: &Checkpoint<'_>, trigger: Trigger, answers: Vec<Answer>) -> Paused {
        Paused { pending: checkpoint.pending(), trigger, leaf: self.leaf(), answers }
    }

    async fn ask(&self, question: &Next<'_>) -> Answer {
        match question {
            Next::Consult(consultation) => Answer::Verdicts(self.consult(&consultation.event()).await),
            Next::Call(errand) => Answer::Called(self.call(errand).await),
            Next::Delegate(delegation) => Answer::Transformed(self.transform(&delegation.messages()).await),
            Next::Await(_) | Next::Summarize(_) | Next::Done(_) => Answer::Decided(Decision::TimedOut),
        }
    }

    /// Makes the calls of an errand: at once where there are several.
    async fn call(&self, errand: &Errand<'_>) -> Vec<Called> {
        let Some(model) = &self.setup().asks.model else { return Vec::new() };
        join_all(errand.requests().iter().map(|request| model.summarize(request.clone()))).await
    }

    /// Asks every hook, each within its deadline.
    async fn consult(&self, event: &epitome_core::Before) -> Vec<HookAnswer> {
        let mut answers = Vec::new();
        for hook in &self.setup().asks.hooks {
            let (result, duration_ms) = self.timed(hook.before(event)).await;
            let result = result.unwrap_or_else(Err);
            answers.push(HookAnswer { name: hook.name().into(), duration_ms, result });
        }
        answers
    }

    async fn transform(&self, messages: &[EntryId]) -> Result<Transformed, String> {
        let compactor: Option<&Arc<dyn Hook>> =
            self.setup().asks.hooks.iter().find(|hook| hook.is_compactor());
        let Some(compactor) = compactor else { return Err("no compactor is installed".into()) };
        let (result, _) = self.timed(compactor.transform(messages)).await;
        result.unwrap_or_else(Err)
    }

    /// Runs something within the hooks' deadline; says how long it took.
    pub(crate) async fn timed<T>(&self, work: impl Future<Output = T> + Unpin) -> (Result<T, String>, u64) {
        let clock: &Arc<dyn Clock> = &self.setup().clock;
        let most = Duration::from_secs(self.setup().policy.guard.hook_seconds_max);
        let began = clock.now();
        let result = match select(work, clock.sleep(most)).await {
            Either::Left((value, _)) => Ok(value),
            Either::Right(_) => Err(format!("no answer within {} s", most.as_secs())),
        };
        (result, clock.now().saturating_sub(began).as_millis() as u64)
    }

    /// Tells the hooks what came of it; their failures are recorded, and nothing else.
    pub(crate) async fn tell_after(&self, report: &mut Report) {
        if report.outcome == Happened::Pruned {
            return;
        }
        for hook in &self.setup().asks.hooks {
            let (result, duration_ms) = self.timed(hook.after(report)).await;
            if let Err(why) = result.unwrap_or_else(Err) {
                let told = format!("failed after it: {why}");
                report.hooks.push(epitome_core::HookRun { name: hook.name().into(), duration_ms, told });
            }
        }
    }

    /// A compaction that the policy leaves to a person is announced, once.
    pub(crate) fn remind(&mut self) {
        match self.setup().policy.mode {
            Mode::Ask | Mode::Remind => {
                let (tokens, _) = self.figure();
                let limit = self.budget().limit(&self.setup().policy);
                self.state.events.push(Event::Due { tokens, limit });
            }
            Mode::Auto | Mode::Off => {}
        }
    }
}

/// Where stored answers no longer fit the questions, the session has changed under the plan.
fn moved_on() -> Outcome {
    Outcome::Unneeded { why: "the session has changed since the plan was made" }
}

/// The value of something that waits for nobody.
///
/// # Panics
/// Where it waits after all: ask it with `.await` then.
pub fn now<T>(work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match work.as_mut().poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("a model or a hook was asked; await it"),
    }
}
