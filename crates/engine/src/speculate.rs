//! A summary made before it is needed: on a copy of the session, in the background, bound to the exact
//! prefix it covers, swapped in when the trigger fires, thrown away when the branch has moved.

use crate::event::Event;
use crate::report::Report;
use crate::session::{EngineError, Session};
use epitome_core::policy::Mode;
use epitome_core::{
    Compaction, EntryId, Form, Moment, Outcome, Record, Role, Slot, Spent, Tail, Tokens, Trigger,
};

/// Work to be done in the background. Dropping it, or the future that runs it, cancels it.
pub struct Speculation {
    copy: Session,
}

/// What a summary was made from, and stands or falls with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bond {
    /// The newest message then.
    newest: EntryId,
    /// Messages of the branch then.
    messages: usize,
    /// How often the context had been rebuilt.
    rebuilds: u64,
}

/// A compaction that is ready to be swapped in.
#[derive(Clone, Debug)]
pub struct Ready {
    bond: Bond,
    /// Whether someone has waited for it: then it is used if it fits at all, or they would wait twice.
    is_awaited: bool,
    compaction: Compaction,
    record: Box<Record>,
}

impl Ready {
    /// What it took to make.
    pub fn spent(&self) -> &Spent {
        &self.record.trail.spent
    }

    /// The same, waited for.
    pub(crate) fn awaited(self) -> Self {
        Self { is_awaited: true, ..self }
    }
}

impl Session {
    /// The request at which a summary is begun in the background: the policy's lead before the trigger, and
    /// not before half of the way there from the last compaction, or it would cover next to nothing.
    pub fn speculation_mark(&self) -> Tokens {
        let rule = &self.setup().policy.speculate;
        let limit = self.budget().limit(&self.setup().policy);
        let lead = rule.lead.of(limit).max(rule.lead_min).min(rule.lead_max);
        let fresh = self.context().fresh().min(self.context().slots().len());
        let start = self.figure().0.less(self.context().newest_tokens(fresh));
        let way = limit.less(start);
        limit.less(lead.min(way.share(LEAD_SHARE_MAX.0, LEAD_SHARE_MAX.1)))
    }

    /// Background work, where it is time for it: between the mark and the trigger, nothing ready that
    /// still covers enough, and not too much made in vain already.
    pub fn speculate(&mut self) -> Option<Speculation> {
        let rule = &self.setup().policy.speculate;
        let is_wanted = rule.enabled && self.setup().policy.mode == Mode::Auto;
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
        let growth_max = self.setup().policy.speculate.growth_max;
        self.is_bound_to(ready.bond) && self.tokens_since(ready.bond) <= growth_max
    }

    /// What a summary made now would be made from; none where nothing was said.
    pub(crate) fn bond(&self) -> Option<Bond> {
        let newest = *self.history().last()?;
        Some(Bond { newest, messages: self.history().len(), rebuilds: self.rebuilds() })
    }

    /// Whether the branch still holds all that, and nothing has rebuilt the context since.
    pub(crate) fn is_bound_to(&self, bond: Bond) -> bool {
        // A message has one parent, so the same message in the same place has the same history before it.
        self.rebuilds() == bond.rebuilds
            && self.history()[..bond.messages.min(self.history().len())].last() == Some(&bond.newest)
    }

    /// What was said since.
    fn tokens_since(&self, bond: Bond) -> Tokens {
        let grown = self.history().len().saturating_sub(bond.messages);
        self.context().newest_tokens(grown.min(self.context().slots().len()))
    }

    /// Whether a summary under way is worth waiting for: with all that was said since, what it is likely
    /// to leave would do.
    pub(crate) fn is_worth_waiting_for(&self, bond: Bond) -> bool {
        let (budget, policy) = (self.budget(), &self.setup().policy);
        let likely = budget.target(policy) + self.tokens_since(bond);
        budget.fits(likely) && !budget.is_due(likely, policy)
    }

    /// Takes what was made in the background. What no longer fits the branch is thrown away, and said so.
    pub fn offer(&mut self, ready: Ready) {
        if self.is_bound_to(ready.bond) {
            if self.state.ready.replace(ready).is_some() {
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

    /// Swaps in what is ready, where it makes enough room. Takes no time.
    pub fn swap_in(&mut self, trigger: Trigger) -> Result<Option<Report>, EngineError> {
        let Some(ready) = self.state.ready.take() else { return Ok(None) };
        if !self.is_bound_to(ready.bond) {
            self.waste(MOVED);
            return Ok(None);
        }
        let since = self.history()[ready.bond.messages..].to_vec();
        let tokens_before = self.context().tokens();
        let tokens_after = ready.record.tokens_after + self.tokens_since(ready.bond);
        let is_due = !ready.is_awaited && self.budget().is_due(tokens_after, &self.setup().policy);
        if is_due || !self.budget().fits(tokens_after) {
            self.waste(OUTGROWN);
            return Ok(None);
        }
        let forms = self.unthought(&since);
        let (compaction, mut record) = extended(ready, since, forms);
        record.trigger = trigger;
        (record.tokens_before, record.tokens_after) = (tokens_before, tokens_after);
        self.announce(trigger);
        self.state.events.push(Event::Speculated { fate: "swapped in".into() });
        self.commit(Outcome::Compacted { compaction, record }, tokens_before, trigger).map(Some)
    }

    /// Replies of `since` without their thinking, as a tail has them: its seals are bound to the prefix
    /// that changes now. An exchange that is still open keeps its own.
    fn unthought(&self, since: &[EntryId]) -> Vec<(EntryId, Form)> {
        let slots = self.context().slots();
        let open = self.context().open_from().and_then(|at| slots.get(at)).map(Slot::id);
        let is_closed = |id: &EntryId| open.is_none_or(|open| *id < open);
        let is_reply = |id: &EntryId| self.log().item(*id).is_some_and(|item| item.role == Role::Assistant);
        if !self.setup().can.forms {
            return Vec::new();
        }
        let form = Form { thinking: true, ..Form::WHOLE };
        since.iter().filter(|id| is_closed(id) && is_reply(id)).map(|&id| (id, form)).collect()
    }
}

/// What became of a summary that came too late.
pub(crate) const OUTGROWN: &str = "thrown away: too much was said since";
/// What became of a summary whose branch was left or rebuilt.
pub(crate) const MOVED: &str = "thrown away: the branch has moved";

/// However long the lead, a summary of less than half of what comes between two compactions is not worth making.
const LEAD_SHARE_MAX: (u64, u64) = (1, 2);

/// The compaction with what was said since behind its tail, in these forms.
fn extended(ready: Ready, since: Vec<EntryId>, forms: Vec<(EntryId, Form)>) -> (Compaction, Box<Record>) {
    let Ready { mut compaction, mut record, .. } = ready;
    compaction.tail = match compaction.tail {
        Tail::Nothing if since.is_empty() => Tail::Nothing,
        Tail::Nothing => Tail::These(since.clone()),
        Tail::These(ids) => Tail::These(ids.into_iter().chain(since.iter().copied()).collect()),
        Tail::From(first) => Tail::From(first),
    };
    compaction.forms.extend(forms);
    record.kept.extend(since);
    (compaction, record)
}

impl Speculation {
    /// Makes the summary; none where nothing came of it.
    pub async fn run(mut self) -> Option<Ready> {
        let bond = self.copy.bond()?;
        self.copy.settle().ok()?;
        match self.copy.outcome(Trigger::Threshold, Moment::default()).await.ok()? {
            // Where no summary was to be had yet, there is time to try again.
            Outcome::Compacted { compaction, record } => {
                compaction.summary.is_some().then_some(Ready { bond, is_awaited: false, compaction, record })
            }
            Outcome::Edited { .. }
            | Outcome::Unneeded { .. }
            | Outcome::Impossible(_)
            | Outcome::Vetoed { .. }
            | Outcome::Abandoned { .. } => None,
        }
    }
}
