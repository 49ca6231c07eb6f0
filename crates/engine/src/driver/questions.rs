//! Putting a plan's questions to the ports: the embedded summariser, models, hooks, a compactor, an operator, each
//! within its deadline. What an answer does to the plan is the core's; failures of hooks are recorded and passed over.

use super::{AskScope, CompactOptions, Driver};
use crate::error::EngineError;
use crate::event::Event;
use crate::ports::{Clock, SummaryModel};
use crate::session::{PlanOptions, Session};
use epitome_core::{
    Archive, Available, CheckpointView, CompactorReply, Conclusion, Decision, EntryId, HookAnswer, HookRun,
    Next, Outcome, Plan, PlanDraft, Record, Summarizer, Trigger, UpcomingCompaction,
};
use futures_util::future::{Either, join_all, select};
use std::future::Future;
use std::time::Duration;

/// A plan asks for its calls, for its hooks in one question, and for an operator; this many questions beyond its calls are
/// more than any plan has.
const QUESTIONS_BESIDE_CALLS_MAX: usize = 64;

/// Why a model that is set does not write: the breaker is open, or it is a look at what would come of it.
const NOBODY_IS_ASKED: &str = "no model is asked here";

impl Driver {
    /// Puts the plan's questions to whoever can answer them until it is done. What happened so far and was not told
    /// yet is told before a person is waited for, where somebody listens.
    pub(crate) async fn drive(
        &self,
        session: &Session,
        trigger: Trigger,
        options: CompactOptions,
        untold: &mut Vec<Event>,
    ) -> Result<Conclusion, EngineError> {
        if let Some(conclusion) = self.put_questions(session, trigger, options, untold).await? {
            return Ok(conclusion);
        }
        // A plan that never ends would be a fault of ours, and none of the session's: what needs nobody makes room.
        let alone = CompactOptions { asking: AskScope::Nobody, ..options };
        let conclusion = self.put_questions(session, trigger, alone, untold).await?;
        conclusion.ok_or(EngineError::EndlessPlan)
    }

    /// The same; none where there are more questions than any plan has.
    async fn put_questions(
        &self,
        session: &Session,
        trigger: Trigger,
        options: CompactOptions,
        untold: &mut Vec<Event>,
    ) -> Result<Option<Conclusion>, EngineError> {
        let available = match options.asking {
            AskScope::Everybody => self.available(),
            AskScope::Nobody => {
                let no_model = self.available().summarizer.map(|_| NOBODY_IS_ASKED);
                Available { no_model, ..Available::none(&self.ports.prompts) }
            }
        };
        let asked = PlanOptions { available, range: options.range, circumstances: options.circumstances };
        let mut next = match Plan::draft(session.job(trigger, asked))? {
            PlanDraft::Plan(plan) => plan.begin()?,
            PlanDraft::Settled(conclusion) => return Ok(Some(conclusion)),
        };
        let questions_max = session.policy().guard.calls_max as usize + QUESTIONS_BESIDE_CALLS_MAX;
        for _ in 0..questions_max {
            next = match next {
                Next::Done(conclusion) => return Ok(Some(conclusion)),
                question => self.answer(session, question, untold).await?,
            };
        }
        Ok(None)
    }

    /// Has one question answered, and gives what the plan wants then.
    async fn answer<'p>(
        &self,
        session: &Session,
        question: Next<'p>,
        untold: &mut Vec<Event>,
    ) -> Result<Next<'p>, EngineError> {
        Ok(match question {
            Next::Done(conclusion) => Next::Done(conclusion),
            Next::Summarize(question) => question.summarize()?,
            Next::Consult(consultation) => {
                let answers = self.consult(session, &consultation.event()).await;
                consultation.answer(answers)?
            }
            Next::Call(question) => {
                let called = self.call(session, &question).await?;
                question.answer(called)?
            }
            Next::Delegate(delegation) => {
                let list = self.transform(session, &delegation.messages()).await;
                delegation.answer(list)?
            }
            Next::Await(checkpoint) => {
                let pending = checkpoint.pending();
                untold.push(Event::Pending { pending: pending.clone() });
                if let Some(listener) = &self.ports.listener {
                    listener.hear(std::mem::take(untold)).await?;
                }
                let decision = self.decide(session, pending).await;
                checkpoint.answer(decision)?
            }
        })
    }

    pub(super) fn available(&self) -> Available<'_> {
        let summarizer = self.ports.model.as_ref().map(|SummaryModel { model, is_warm, .. }| Summarizer {
            name: model.name(),
            window: model.window(),
            output_max: model.output_max(),
            takes_parallel: model.takes_parallel(),
            is_warm: *is_warm,
            cached_percent: model.cached_percent(),
        });
        Available {
            summarizer,
            no_model: self.ports.no_model.as_deref(),
            native: self.ports.model.as_ref().is_some_and(|model| model.is_native),
            hooks: !self.ports.hooks().is_empty(),
            compactor: self.ports.compactor().is_some(),
            operator: self.ports.operator.is_some(),
            prompts: &self.ports.prompts,
        }
    }

    /// Asks every hook at once, each within its deadline.
    async fn consult(&self, session: &Session, event: &UpcomingCompaction) -> Vec<HookAnswer> {
        let archive: &dyn Archive = &**session.archive();
        let asked = self.ports.hooks().iter().map(|hook| async move {
            let (result, duration_ms) = self.within(session, hook.before(event, archive)).await;
            HookAnswer { name: hook.name().into(), duration_ms, result: result.unwrap_or_else(Err) }
        });
        join_all(asked).await
    }

    async fn transform(&self, session: &Session, messages: &[EntryId]) -> Result<CompactorReply, String> {
        let Some(compactor) = self.ports.compactor() else { return Err("no compactor is installed".into()) };
        let (result, _) = self.within(session, compactor.transform(messages, &**session.archive())).await;
        result.unwrap_or_else(Err)
    }

    /// Waits for an operator, as long as the policy lets one take.
    async fn decide(&self, session: &Session, pending: CheckpointView) -> Decision {
        let Some(operator) = &self.ports.operator else { return Decision::TimedOut };
        let deciding = operator.decide(pending);
        match session.policy().guard.checkpoint_seconds_max {
            Some(seconds) => {
                let (decision, _) = timed(&*self.ports.clock, Duration::from_secs(seconds), deciding).await;
                decision.unwrap_or(Decision::TimedOut)
            }
            None => deciding.await,
        }
    }

    /// Runs something within the hooks' deadline; says how long it took.
    pub(crate) async fn within<T>(
        &self,
        session: &Session,
        work: impl Future<Output = T> + Unpin,
    ) -> (Result<T, String>, u64) {
        let most = Duration::from_secs(session.policy().guard.hook_seconds_max);
        timed(&*self.ports.clock, most, work).await
    }

    /// Tells the hooks what came of a compaction; those that failed.
    pub(super) async fn tell_after(&self, session: &Session, record: &Record) -> Vec<HookRun> {
        if matches!(record.outcome, Outcome::Pruned(_)) {
            return Vec::new();
        }
        let told = self.ports.hooks().iter().map(|hook| async move {
            let (result, duration_ms) = self.within(session, hook.after(record)).await;
            let why = result.unwrap_or_else(Err).err()?;
            Some(HookRun { name: hook.name().into(), duration_ms, told: format!("failed after it: {why}") })
        });
        join_all(told).await.into_iter().flatten().collect()
    }
}

/// Runs something within a deadline; says how long it took.
async fn timed<T>(
    clock: &dyn Clock,
    most: Duration,
    work: impl Future<Output = T> + Unpin,
) -> (Result<T, String>, u64) {
    let began = clock.now();
    let result = match select(work, clock.sleep(most)).await {
        Either::Left((value, _)) => Ok(value),
        Either::Right(_) => Err(format!("no answer within {} s", most.as_secs())),
    };
    (result, clock.now().saturating_sub(began).as_millis() as u64)
}
