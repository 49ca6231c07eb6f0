//! The driver: puts a plan's questions to models, hooks and operators, within their deadlines, and takes the walk
//! of one call: pre-passes, the check, what was made elsewhere or beforehand, a compaction of its own, recovery
//! from an overflow. What it decides by is the session's policy; what it appends is the session's.

use crate::check::{Check, CheckPoint, Permission};
use crate::event::Event;
use crate::ports::{Clock, Ports, SummaryModel};
use crate::restore::restore;
use crate::session::{EngineError, Phase, PlanOptions, Session, Step};
use epitome_core::policy::{PruneWhen, TriggerMode};
use epitome_core::{
    Archive, Available, CallResult, CheckpointView, Circumstances, CompactorReply, Conclusion, Decision,
    EditPass, Effect, HookAnswer, HookRun, ModelQuestion, Next, Outcome, Plan, PlanDraft, Range, Record,
    Strategy, Summarizer, Tokens, Trigger, UpcomingCompaction, embedded,
};
use futures_util::future::{Either, join_all, select};
use serde::Serialize;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

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

/// What to do after a provider refused a request as too long.
#[derive(Debug)]
pub enum Recovery {
    /// Room was made: send once more.
    Retry(Box<Step>),
    /// Nothing was done that would help: the provider's error goes back as it came.
    Surface {
        /// What stood in the way.
        why: String,
        /// What was appended and told all the same.
        step: Box<Step>,
    },
}

/// What a compaction would set out to do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanSketch {
    /// The ways of making room, in the order they would be tried.
    pub strategies: Vec<Strategy>,
    /// What the history is to come down to.
    pub target: Tokens,
    /// Messages that would leave view.
    pub leaving: Vec<epitome_core::EntryId>,
    /// Messages that would stay in view.
    pub staying: Vec<epitome_core::EntryId>,
    /// Calls of a model, where one would be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<SketchedCalls>,
}

/// The calls a summary would take if each went well at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SketchedCalls {
    /// Who would be asked.
    pub summarizer: String,
    /// How many calls.
    pub calls: u64,
    /// What all of them would send, by our count; an estimate where there are several.
    pub input: Tokens,
    /// What all of them may answer.
    pub output_max: Tokens,
}

/// A plan asks for its calls, for each hook once, and for an operator; this many questions beyond its calls are more
/// than any plan has.
const QUESTIONS_BESIDE_CALLS_MAX: usize = 64;
/// What is brought back leaves at least this part of the way to the next compaction free.
const RESTORE_SHARE: (u64, u64) = (4, 5);

impl Driver {
    /// A driver that asks whoever is in `ports`.
    pub fn new(ports: Ports) -> Self {
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
        self.prepare_at(session, CheckPoint::Call).await
    }

    /// The same at another point.
    pub async fn prepare_at(&self, session: &mut Session, point: CheckPoint) -> Result<Step, EngineError> {
        let record = self.make_room(session, point).await?;
        Ok(session.step(record))
    }

    async fn make_room(
        &self,
        session: &mut Session,
        point: CheckPoint,
    ) -> Result<Option<Arc<Record>>, EngineError> {
        let passed = pre_passes(session, point)?;
        let check = session.check_at(point);
        self.warn(session, &check).await;
        let Some(trigger) = check.trigger else { return Ok(passed) };
        let asking = match check.permission {
            Permission::Nothing => return Ok(passed),
            Permission::Remind => {
                remind(session, &check);
                return Ok(passed);
            }
            Permission::Mechanical => AskScope::Nobody,
            // The breaker opens here, and what must fit is made to fit without asking anybody.
            Permission::Compact if session.stop_refilling()? => AskScope::Nobody,
            Permission::Compact => AskScope::Everybody,
        };
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
        if let Some(record) = session.swap_in(trigger)? {
            return self.tell_after(session, record).await.map(Some);
        }
        let circumstances = Circumstances { is_passed: passed.is_some(), ..Circumstances::default() };
        let options = CompactOptions { circumstances, asking, ..CompactOptions::default() };
        self.carry_out(session, trigger, options).await.map(Some)
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
            self.conclusion(under_way.session, trigger, options).await?
        };
        let record = session.conclude(conclusion)?;
        self.tell_after(session, record).await
    }

    async fn conclusion(
        &self,
        session: &mut Session,
        trigger: Trigger,
        options: CompactOptions,
    ) -> Result<Conclusion, EngineError> {
        let began = self.ports.clock.now();
        announce(session, trigger);
        settle(session)?;
        let mut pauses = Vec::new();
        let mut conclusion = self.drive(session, trigger, options, &mut pauses).await?;
        session.state.events.extend(pauses);
        self.bring_back(session, &mut conclusion);
        let took = self.ports.clock.now().saturating_sub(began);
        conclusion.record.duration_ms = took.as_millis() as u64;
        conclusion.record.time_ms = self.ports.clock.unix_ms();
        Ok(conclusion)
    }

    /// What a compaction would come to, with nothing appended. Models and hooks are asked as for a real one, and
    /// an operator counts as agreeing.
    pub async fn preview(
        &self,
        session: &Session,
        trigger: Trigger,
        options: CompactOptions,
    ) -> Result<Arc<Record>, EngineError> {
        let mut copy = session.clone();
        let mut approving = self.clone();
        approving.ports.operator = Some(Arc::new(ApproveAll));
        let conclusion = approving.conclusion(&mut copy, trigger, options).await?;
        copy.conclude(conclusion)
    }

    /// What a compaction would set out to do; none where there is nothing to do. Nobody is asked, hooks
    /// included, and the session stays as it is.
    pub fn sketch(
        &self,
        session: &Session,
        trigger: Trigger,
        options: CompactOptions,
    ) -> Result<Option<PlanSketch>, EngineError> {
        let mut available = self.available();
        available.hooks = false;
        let asked = PlanOptions { available, range: options.range, circumstances: options.circumstances };
        let PlanDraft::Plan(plan) = Plan::draft(session.job(trigger, asked))? else { return Ok(None) };
        let mut sketch = PlanSketch {
            strategies: plan.strategies().to_vec(),
            target: plan.target(),
            leaving: plan.leaving(),
            staying: plan.staying(),
            calls: None,
        };
        // Beginning a plan reads what it covers; that is worth it only where a model would be paid for it.
        if self.ports.model.is_some()
            && let Next::Call(question) = plan.begin()?
        {
            sketch.calls = Some(self.calls_of(session, &question));
        }
        Ok(Some(sketch))
    }

    fn calls_of(&self, session: &Session, question: &ModelQuestion<'_>) -> SketchedCalls {
        let measure = &**session.assembly().measure();
        let (now, all) = (question.requests(), question.calls_left() as u64);
        let of_all = |tokens: Tokens| tokens.share(all, (now.len() as u64).max(1));
        let name = self.ports.model.as_ref().map(|asked| asked.model.name().to_owned());
        SketchedCalls {
            summarizer: name.unwrap_or_default(),
            calls: all,
            input: of_all(now.iter().map(|request| request.tokens(measure)).sum()),
            output_max: of_all(now.iter().map(|request| request.output_max).sum()),
        }
    }

    /// Puts the plan's questions to whoever can answer them until it is done.
    pub(crate) async fn drive(
        &self,
        session: &Session,
        trigger: Trigger,
        options: CompactOptions,
        pauses: &mut Vec<Event>,
    ) -> Result<Conclusion, EngineError> {
        let available = match options.asking {
            AskScope::Everybody => self.available(),
            AskScope::Nobody => Available::none(&self.ports.prompts),
        };
        let asked = PlanOptions { available, range: options.range, circumstances: options.circumstances };
        let mut next = match Plan::draft(session.job(trigger, asked))? {
            PlanDraft::Plan(plan) => plan.begin()?,
            PlanDraft::Settled(conclusion) => return Ok(conclusion),
        };
        let questions_max = session.policy().guard.calls_max as usize + QUESTIONS_BESIDE_CALLS_MAX;
        for _ in 0..questions_max {
            next = match next {
                Next::Done(conclusion) => return Ok(conclusion),
                Next::Summarize(ask) => {
                    let draft = embedded::summarize(&ask.material(), ask.budget());
                    ask.answer(Ok(draft))?
                }
                Next::Consult(consultation) => {
                    let answers = self.consult(session, &consultation.event()).await;
                    consultation.answer(answers)?
                }
                Next::Call(question) => {
                    let called = self.call(&question).await;
                    question.answer(called)?
                }
                Next::Delegate(delegation) => {
                    let list = self.transform(session, &delegation.messages()).await;
                    delegation.answer(list)?
                }
                Next::Await(checkpoint) => {
                    let pending = checkpoint.pending();
                    pauses.push(Event::Pending { pending: pending.clone() });
                    let decision = self.decide(session, pending).await;
                    checkpoint.answer(decision)?
                }
            };
        }
        unreachable!("a plan hands out at most `guard.calls_max` calls, and each other question once")
    }

    fn available(&self) -> Available<'_> {
        let summarizer = self.ports.model.as_ref().map(|SummaryModel { model, is_warm, .. }| Summarizer {
            name: model.name(),
            window: model.window(),
            output_max: model.output_max(),
            takes_parallel: model.takes_parallel(),
            is_warm: *is_warm,
        });
        Available {
            summarizer,
            native: self.ports.model.as_ref().is_some_and(|model| model.is_native),
            hooks: !self.ports.hooks().is_empty(),
            compactor: self.ports.compactor().is_some(),
            operator: self.ports.operator.is_some(),
            prompts: &self.ports.prompts,
        }
    }

    /// Makes the calls of an question: at once where there are several.
    async fn call(&self, question: &ModelQuestion<'_>) -> Vec<CallResult> {
        let Some(SummaryModel { model, .. }) = &self.ports.model else { return Vec::new() };
        join_all(question.requests().iter().map(|request| model.summarize(request.clone()))).await
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

    async fn transform(
        &self,
        session: &Session,
        messages: &[epitome_core::EntryId],
    ) -> Result<CompactorReply, String> {
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

    /// Puts what the policy wants back in view behind the summary, as far as there is room.
    fn bring_back(&self, session: &Session, conclusion: &mut Conclusion) {
        let Some(restorer) = self.ports.restorer.as_deref() else { return };
        let (policy, budget) = (session.policy(), session.budget());
        let Conclusion { effect: Effect::Compact(compaction), record } = conclusion else { return };
        let Some(summary) = &mut compaction.summary else { return };
        let limit = budget.limit(policy).less(budget.fixed).min(budget.room());
        let history_after = record.tokens_after.less(budget.fixed);
        let room = limit.less(history_after).share(RESTORE_SHARE.0, RESTORE_SHARE.1);
        let measure = &**session.assembly().measure();
        let Some(change) = record.change_mut() else { return };
        let Some((text, restored)) = restore(&policy.restore, restorer, &change.ledger, measure, room) else {
            return;
        };
        let whole: Arc<str> = format!("{summary}{text}").into();
        let grown = measure.text(&whole).less(measure.text(summary));
        change.restored = Some(restored);
        record.tokens_after += grown;
        *summary = whole;
    }

    /// Tells the hooks what came of a compaction; their failures are recorded, and nothing else.
    async fn tell_after(
        &self,
        session: &mut Session,
        record: Arc<Record>,
    ) -> Result<Arc<Record>, EngineError> {
        if matches!(record.outcome, Outcome::Pruned(_)) || self.ports.hooks().is_empty() {
            return Ok(record);
        }
        let told = self.ports.hooks().iter().map(|hook| {
            let (record, session) = (&record, &*session);
            async move {
                let (result, duration_ms) = self.within(session, hook.after(record)).await;
                let why = result.unwrap_or_else(Err).err()?;
                Some(HookRun {
                    name: hook.name().into(),
                    duration_ms,
                    told: format!("failed after it: {why}"),
                })
            }
        });
        let failed: Vec<HookRun> = join_all(told).await.into_iter().flatten().collect();
        if failed.is_empty() {
            return Ok(record);
        }
        session.state.events.extend(failed.iter().map(|run| Event::HookFailed { run: run.clone() }));
        let mut record = Record::clone(&record);
        record.hooks.extend(failed);
        Ok(Arc::new(record))
    }

    /// Warns once that the context is nearly full.
    async fn warn(&self, session: &mut Session, check: &Check) {
        if !check.is_approaching || session.state.is_warned || session.policy().mode == TriggerMode::Off {
            return;
        }
        session.state.is_warned = true;
        session.state.events.push(Event::Approaching { tokens: check.tokens, limit: check.limit });
        let told = self.ports.hooks().iter().map(|hook| self.within(session, hook.approaching(check)));
        let _observed = join_all(told).await;
    }

    /// What to do after a provider refused the request as too long by `over`: one compaction for each
    /// call, and none where automatic compaction is off. With an open breaker nobody is asked.
    pub async fn recover(
        &self,
        session: &mut Session,
        over: Option<Tokens>,
    ) -> Result<Recovery, EngineError> {
        if let Some(why) = refusal(session) {
            return Ok(surface(session, why.into()));
        }
        session.state.recoveries += 1;
        let asking = if session.breaker().is_open() { AskScope::Nobody } else { AskScope::Everybody };
        let circumstances = Circumstances { over, is_passed: true, ..Circumstances::default() };
        let options = CompactOptions { circumstances, asking, ..CompactOptions::default() };
        let record = self.carry_out(session, Trigger::Overflow, options).await?;
        match record.outcome.why() {
            None => Ok(Recovery::Retry(Box::new(session.step(Some(record))))),
            Some(why) => Ok(Recovery::Surface { why, step: Box::new(session.step(Some(record))) }),
        }
    }

    /// A turn has ended. After a good one a look is taken, and what was asked for during it is done;
    /// after a failed one, or one that was stopped, nothing.
    pub async fn end_turn(&self, session: &mut Session, end: TurnEnd) -> Result<Step, EngineError> {
        session.state.phase = Phase::Idle;
        match end {
            TurnEnd::Broken => Ok(session.step(None)),
            TurnEnd::Good if session.is_requested() && session.policy().mode != TriggerMode::Off => {
                self.compact(session, Trigger::Requested).await
            }
            TurnEnd::Good => self.prepare_at(session, CheckPoint::TurnEnd).await,
        }
    }
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// The model said its last word.
    Good,
    /// It failed, or was stopped.
    Broken,
}

/// An operator who agrees to everything, for previews.
struct ApproveAll;

impl crate::ports::Operator for ApproveAll {
    fn decide(&self, _: CheckpointView) -> crate::ports::BoxFuture<'_, Decision> {
        Box::pin(std::future::ready(Decision::Approve))
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

pub(crate) fn announce(session: &mut Session, trigger: Trigger) {
    let (tokens, _) = session.figure();
    let budget = session.budget();
    let limit = budget.limit(session.policy());
    session.state.events.push(Event::Triggered { trigger, tokens, limit, window: budget.window });
}

pub(crate) fn settle(session: &mut Session) -> Result<(), EngineError> {
    let archive = session.archive().clone();
    Ok(session.timeline_mut().settle(&*archive)?)
}

/// Why no room may be made for a request that the provider refused.
fn refusal(session: &Session) -> Option<&'static str> {
    match session.policy().guard.recoveries_max {
        _ if session.policy().mode == TriggerMode::Off => Some("compaction is off"),
        0 => Some("these settings do not recover from an overflow (`guard.recoveries_max` is 0)"),
        most if session.state.recoveries >= most => Some("this request was compacted and sent again already"),
        _ => None,
    }
}

fn surface(session: &mut Session, why: String) -> Recovery {
    let budget = session.budget();
    let tokens = budget.fixed + session.context().tokens();
    let record = Record {
        outcome: Outcome::Abandoned { why: why.clone() },
        trigger: Trigger::Overflow,
        source: Trigger::Overflow.kind().source,
        budget,
        tokens_before: tokens,
        tokens_after: tokens,
        count_method: session.assembly().count_method().clone(),
        ..Record::default()
    };
    Recovery::Surface { why, step: Box::new(session.step(Some(Arc::new(record)))) }
}

/// A compaction that the policy leaves to a person is announced, once.
fn remind(session: &mut Session, check: &Check) {
    if !session.state.is_reminded {
        session.state.is_reminded = true;
        session.state.events.push(Event::Due { tokens: check.tokens, limit: check.limit });
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

/// Runs the passes that are due at `point`: repeated texts, and the bulk of old messages. The record of the last that
/// did anything.
fn pre_passes(session: &mut Session, point: CheckPoint) -> Result<Option<Arc<Record>>, EngineError> {
    let mut record = None;
    if session.policy().mode == TriggerMode::Off {
        return Ok(record);
    }
    if wants_trim(session) {
        record = pass(session, EditPass::Trim)?.or(record);
    }
    if wants_prune(session, point) {
        let pruned = pass(session, EditPass::Prune)?;
        if pruned.is_none() {
            tell_deferred(session)?;
        }
        record = pruned.or(record);
    }
    Ok(record)
}

fn wants_trim(session: &Session) -> bool {
    let rule = &session.policy().trim;
    let limit = rule.absolute.unwrap_or_else(|| rule.at.of(session.budget().window));
    rule.enabled && session.figure().0 >= limit
}

fn wants_prune(session: &Session, point: CheckPoint) -> bool {
    match session.policy().prune.when {
        // What a compaction keeps is pruned by its plan.
        PruneWhen::Never | PruneWhen::Compaction => false,
        PruneWhen::Check => true,
        PruneWhen::ToolRound => point == CheckPoint::Call && session.is_in_tool_loop(),
    }
}

/// One pass over the context.
fn pass(session: &mut Session, pass: EditPass) -> Result<Option<Arc<Record>>, EngineError> {
    let idle = session.state.idle_minutes;
    session.edit_pass(pass, idle)?.map(|conclusion| session.conclude(conclusion)).transpose()
}

/// Says that pruning is put off until the provider's cache is cold: once, until the context is rebuilt.
fn tell_deferred(session: &mut Session) -> Result<(), EngineError> {
    let rebuilds = session.timeline().rebuilds();
    let Some(minutes) = session.policy().prune.cache_cold_minutes else { return Ok(()) };
    if session.state.deferred_at == Some(rebuilds) {
        return Ok(());
    }
    if let Some(Conclusion { record, .. }) = session.edit_pass(EditPass::Prune, Some(minutes))? {
        let freed = record.tokens_before.less(record.tokens_after);
        let why = format!(
            "pruning would free {freed} tokens, and waits for {minutes} minutes without a word: until then the provider's cache holds what follows"
        );
        session.state.deferred_at = Some(rebuilds);
        session.state.events.push(Event::Noop { why, strategy: Strategy::Prune });
    }
    Ok(())
}
