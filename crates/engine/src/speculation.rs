//! Speculation: a summary made before it is needed, on a copy of the session, in the background, bound to the exact
//! prefix it covers; swapped in when the trigger fires, thrown away when the path has moved. Who runs the work is
//! handed in, so that the engine needs no runtime of its own; when it is looked at is [`background`]'s.

mod background;

pub use background::Background;

use crate::assembly::speculation_lead;
use crate::driver::{CompactOptions, Driver, announce, extend_far_ledger};
use crate::error::EngineError;
use crate::event::Event;
use crate::session::Session;
use epitome_core::policy::TriggerMode;
use epitome_core::{
    CallCost, Compaction, Conclusion, Effect, EntryId, Form, Policy, Record, Role, Slot, Strategy, Tail,
    Tokens, Trigger,
};
use std::sync::Arc;

/// Work to be done in the background. Dropping it, or the future that runs it, cancels it.
#[derive(Debug)]
pub struct Speculation {
    copy: Session,
}

/// What a summary was made from, and stands or falls with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PrefixBinding {
    /// The newest message then that the model had answered: clients change their last one from call to call.
    newest: EntryId,
    /// Messages of the path up to it.
    messages: usize,
    /// The newest pass in use then.
    newest_pass: Option<EntryId>,
}

/// A compaction that is ready to be swapped in.
#[derive(Clone, Debug)]
pub struct PreparedCompaction {
    binding: PrefixBinding,
    /// Whether someone has waited for it: then it is used if it fits at all, or they would wait twice.
    is_awaited: bool,
    /// How it was made.
    policy: Arc<Policy>,
    compaction: Box<Compaction>,
    record: Box<Record>,
}

impl PreparedCompaction {
    /// What it took to make.
    pub fn spent(&self) -> &CallCost {
        &self.record.spent
    }

    /// The same, waited for.
    fn awaited(self) -> Self {
        Self { is_awaited: true, ..self }
    }
}

/// However long the lead, a summary of less than half of what comes between two compactions is not worth making.
const LEAD_SHARE_MAX: (u64, u64) = (1, 2);
/// What became of a summary that came too late.
const OUTGROWN: &str = "thrown away: too much was said since";
/// What became of a summary that a request waited for in vain.
const LATE: &str = "thrown away: the request could wait no longer";
/// What became of a summary whose path was left or rebuilt.
const MOVED: &str = "thrown away: the branch has moved";
/// What became of a summary for which no path has asked while others did.
pub(crate) const CROWDED_OUT: &str = "thrown away: other branches had summaries made meanwhile";

impl Session {
    /// The request at which a summary is begun in the background: the policy's lead before the trigger, and
    /// not before half of the way there from the last compaction, or it would cover next to nothing.
    pub fn speculation_mark(&self) -> Tokens {
        let limit = self.budget().trigger_point(self.policy());
        let lead = speculation_lead(self.policy(), limit);
        let fresh = self.context().fresh().min(self.context().slots().len());
        let newest = self.budget().scale.theirs(self.context().newest_tokens(fresh));
        let start = self.figure().0.less(newest);
        let way = limit.less(start);
        limit.less(lead.min(way.share(LEAD_SHARE_MAX.0, LEAD_SHARE_MAX.1)))
    }

    /// Background work, where it is time for it: between the mark and the trigger, nothing ready that
    /// still covers enough, and not too much made in vain already.
    pub fn speculate(&self) -> Option<Speculation> {
        let rule = &self.policy().speculate;
        // Nobody is asked for their word on what is not due yet.
        let waits = self.policy().strategy.contains(&Strategy::Checkpoint);
        let is_wanted = rule.enabled && self.policy().mode == TriggerMode::Auto && !waits;
        let is_late = self.state.wasted >= rule.wasted_max || self.breaker().is_open();
        let (request, _) = self.figure();
        if !is_wanted || is_late || request < self.speculation_mark() || self.has_ready() {
            return None;
        }
        Some(Speculation { copy: self.clone() })
    }

    /// Whether something is ready that still covers enough.
    pub fn has_ready(&self) -> bool {
        let Some(ready) = &self.state.ready else { return false };
        let growth_max = self.policy().speculate.growth_max;
        self.is_bound_to(ready.binding) && self.tokens_since(ready.binding) <= growth_max
    }

    /// Whether it was made as the policy would have it made now.
    pub(crate) fn is_ready_by_policy(&self) -> bool {
        self.has_ready() && self.state.ready.as_ref().is_some_and(|ready| *ready.policy == *self.policy())
    }

    /// What a summary made now would be made from; none where nothing was said.
    fn binding(&self) -> Option<PrefixBinding> {
        let newest = self.newest_answered()?;
        self.binding_at(self.history().partition_point(|&id| id <= newest))
    }

    fn binding_at(&self, messages: usize) -> Option<PrefixBinding> {
        let newest = *self.history()[..messages].last()?;
        Some(PrefixBinding { newest, messages, newest_pass: self.timeline().newest_pass() })
    }

    /// What a compaction of this path stands or falls with: input that is not answered yet may be said otherwise the
    /// next time, and is no part of it unless the compaction covers it.
    fn binding_of(&self, compaction: &Compaction) -> Option<PrefixBinding> {
        let covered = match &compaction.tail {
            Tail::After { anchor, .. } => Some(*anchor),
            Tail::Nothing | Tail::From(_) | Tail::These(_) => None,
        };
        let answered =
            self.binding().filter(|binding| covered.is_some_and(|covered| covered <= binding.newest));
        answered.or_else(|| self.binding_at(self.history().len()))
    }

    /// Whether the path still holds all that, and nothing has rebuilt the context since.
    fn is_bound_to(&self, binding: PrefixBinding) -> bool {
        self.goes_through(binding) && self.timeline().newest_pass() == binding.newest_pass
    }

    /// Whether it will be bound to it once it has put to use what another path has made of the same messages.
    fn may_be_bound_to(&self, binding: PrefixBinding) -> bool {
        let is_available = || matches!(self.available(), Ok(Some(pass)) if Some(pass) == binding.newest_pass);
        self.is_bound_to(binding) || (self.goes_through(binding) && is_available())
    }

    /// Whether the path holds the same messages.
    fn goes_through(&self, binding: PrefixBinding) -> bool {
        // A message has one parent, so the same message in the same place has the same history before it.
        self.history()[..binding.messages.min(self.history().len())].last() == Some(&binding.newest)
    }

    /// What was said since.
    fn tokens_since(&self, binding: PrefixBinding) -> Tokens {
        let grown = self.history().len().saturating_sub(binding.messages);
        self.context().newest_tokens(grown.min(self.context().slots().len()))
    }

    /// Whether a summary under way is worth waiting for: with all that was said since, what it is likely
    /// to leave would do.
    fn is_worth_waiting_for(&self, binding: PrefixBinding) -> bool {
        let (budget, policy) = (self.budget(), self.policy());
        let likely = budget.target(policy) + self.tokens_since(binding);
        budget.fits(likely) && !budget.is_due(likely, policy)
    }

    /// Takes what was made in the background. What no longer fits the path is thrown away, and said so.
    pub fn offer(&mut self, ready: PreparedCompaction) {
        if self.may_be_bound_to(ready.binding) {
            if self.state.ready.replace(Arc::new(ready)).is_some() {
                self.waste("made anew: the session had grown");
            }
        } else {
            self.waste(MOVED);
        }
    }

    /// What was made in the background failed or came to nothing.
    pub fn waste(&mut self, fate: &str) {
        self.state.wasted += 1;
        self.state.events.push(Event::Speculated { fate: fate.into() });
    }

    /// Lets go what was made beforehand of a context that has been rebuilt since, and says so.
    pub(crate) fn drop_outdated(&mut self) {
        let is_moved = |ready: &Arc<PreparedCompaction>| !self.is_bound_to(ready.binding);
        if self.state.ready.as_ref().is_some_and(is_moved) {
            self.state.ready = None;
            self.waste(MOVED);
        }
    }

    /// What is ready to be swapped in, where it makes enough room: for the policy, and after a refusal for the tokens that
    /// the provider misses. Takes no time.
    pub(crate) fn take_ready(
        &mut self,
        trigger: Trigger,
        over: Option<Tokens>,
    ) -> Result<Option<Conclusion>, EngineError> {
        let Some(ready) = self.state.ready.take() else { return Ok(None) };
        if !self.is_bound_to(ready.binding) {
            self.waste(MOVED);
            return Ok(None);
        }
        let PreparedCompaction { binding, is_awaited, mut compaction, mut record, .. } =
            Arc::unwrap_or_clone(ready);
        let since = self.history()[binding.messages..].to_vec();
        compaction.forms.retain(|&(id, _)| id <= binding.newest);
        compaction.forms.extend(self.forms_without_thinking(&since));
        stretch(&mut compaction.tail, &since);
        let budget = self.budget();
        // Counted as it will be shown: what was said since loses its thinking, and what was cut for it may be whole.
        let history_after = self.context().tokens_with(&compaction, self.timeline().reader(self.lens()))?;
        let is_due = !is_awaited && budget.is_due(history_after, self.policy());
        let is_too_little = over.is_some_and(|over| self.context().tokens().less(history_after) < over);
        if is_due || is_too_little || !budget.fits(history_after) {
            self.waste(OUTGROWN);
            return Ok(None);
        }
        (record.trigger, record.source) = (trigger, trigger.kind().source);
        (record.budget, record.count_method) = (budget, self.assembly().count_method().clone());
        record.tokens_before = budget.request(self.context().tokens());
        record.tokens_after = budget.request(history_after);
        if let Some(change) = record.change_mut() {
            change.kept.retain(|&id| id <= binding.newest);
            change.kept.extend(since);
        }
        announce(self, trigger);
        self.state.events.push(Event::Speculated { fate: "swapped in".into() });
        Ok(Some(Conclusion { effect: Effect::Compact(compaction), record }))
    }

    /// Replies of `since` without their thinking, as a tail has them: its seals are bound to the prefix
    /// that changes now. An exchange that is still open keeps its own.
    fn forms_without_thinking(&self, since: &[EntryId]) -> Vec<(EntryId, Form)> {
        let slots = self.context().slots();
        let open = self.context().open_from().and_then(|at| slots.get(at)).map(Slot::id);
        let is_closed = |id: &EntryId| open.is_none_or(|open| *id < open);
        let is_reply = |id: &EntryId| self.log().item(*id).is_some_and(|item| item.role == Role::Assistant);
        if !self.options().can.forms {
            return Vec::new();
        }
        let form = Form { thinking: true, ..Form::WHOLE };
        since.iter().filter(|id| is_closed(id) && is_reply(id)).map(|&id| (id, form)).collect()
    }
}

impl Speculation {
    /// Makes the summary; none where nothing came of it.
    pub async fn run(mut self, driver: &Driver) -> Option<PreparedCompaction> {
        let clock = &driver.ports().clock;
        let began = clock.now();
        extend_far_ledger(&mut self.copy).ok()?;
        let options = CompactOptions::default();
        let mut driven = driver.drive(&self.copy, Trigger::Threshold, options, &mut Vec::new()).await.ok()?;
        driven.record.duration_ms = clock.now().saturating_sub(began).as_millis() as u64;
        driven.record.time_ms = clock.unix_ms();
        match driven.effect {
            // Where no summary was to be had yet, there is time to try again.
            Effect::Compact(compaction) if compaction.summary.is_some() && is_written(&driven.record) => {
                let binding = self.copy.binding_of(&compaction)?;
                let policy = self.copy.assembly().policy().clone();
                Some(PreparedCompaction {
                    binding,
                    is_awaited: false,
                    policy,
                    compaction,
                    record: driven.record,
                })
            }
            Effect::Compact(_) | Effect::Edit(_) | Effect::Nothing => None,
        }
    }
}

/// Lets a tail that names its messages reach over what was said since; the others do by themselves.
fn stretch(tail: &mut Tail, since: &[EntryId]) {
    match tail {
        Tail::Nothing => *tail = Tail::These(since.to_vec()),
        Tail::These(ids) => ids.extend(since),
        Tail::From(_) | Tail::After { .. } => {}
    }
}

/// Whether somebody wrote a summary; the line that stands for dropped messages is none.
fn is_written(record: &Record) -> bool {
    record.change().is_some_and(|change| change.summarizer.is_some())
}
