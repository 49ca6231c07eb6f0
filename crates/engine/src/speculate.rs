//! A summary made before it is needed: on a copy of the session, in the background, bound to the exact
//! prefix it covers, swapped in when the trigger fires, thrown away when the branch has moved.

use crate::event::Event;
use crate::report::{Happened, Report};
use crate::session::{EngineError, Session};
use epitome_core::policy::Mode;
use epitome_core::{Compaction, Entry, EntryId, Moment, Outcome, Record, Spent, Tail, Tokens, Trigger};

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
    compaction: Compaction,
    record: Box<Record>,
}

impl Ready {
    /// What it took to make.
    pub fn spent(&self) -> &Spent {
        &self.record.trail.spent
    }
}

impl Session {
    /// The request at which a summary is begun in the background.
    pub fn speculation_mark(&self) -> Tokens {
        let rule = &self.setup().policy.speculate;
        let limit = self.budget().limit(&self.setup().policy);
        let lead = rule.lead.of(limit).max(rule.lead_min).min(rule.lead_max);
        limit.less(lead.min(limit.share(LEAD_SHARE_MAX.0, LEAD_SHARE_MAX.1)))
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
        let grown = self.history().len().saturating_sub(ready.bond.messages);
        self.is_bound_to(ready.bond)
            && self.context().newest_tokens(grown.min(self.context().slots().len()))
                <= self.setup().policy.speculate.growth_max
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

    /// Takes what was made in the background. What no longer fits the branch is thrown away, and said so.
    pub fn offer(&mut self, ready: Ready) {
        if self.is_bound_to(ready.bond) {
            if self.state.ready.replace(ready).is_some() {
                self.waste("made anew: the session had grown");
            }
        } else {
            self.waste("thrown away: the branch has moved");
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
            self.waste("thrown away: the branch has moved");
            return Ok(None);
        }
        let since = self.history()[ready.bond.messages..].to_vec();
        let added: Tokens = self.context().newest_tokens(since.len());
        let tokens_before = self.context().tokens();
        let tokens_after = ready.record.tokens_after + added;
        if !self.budget().fits(tokens_after) || self.budget().is_due(tokens_after, &self.setup().policy) {
            self.waste("thrown away: too much was said since");
            return Ok(None);
        }
        let (compaction, record) = extended(ready, since, tokens_before, tokens_after);
        let entry = self.append(Entry::Compaction(Box::new(compaction)))?;
        self.state.is_warned = false;
        self.state.wasted = 0;
        self.state.events.push(Event::Speculated { fate: "swapped in".into() });
        let report = self.report(Happened::Compacted, Some(record), tokens_before, trigger);
        self.held_to_progress(Report { entry: Some(entry), ..report }).map(Some)
    }
}

/// However long the lead, a summary of less than half of what fits is not worth making.
const LEAD_SHARE_MAX: (u64, u64) = (1, 2);

/// The compaction with what was said since behind its tail.
fn extended(ready: Ready, since: Vec<EntryId>, before: Tokens, after: Tokens) -> (Compaction, Record) {
    let Ready { mut compaction, mut record, .. } = ready;
    compaction.tail = match compaction.tail {
        Tail::Nothing if since.is_empty() => Tail::Nothing,
        Tail::Nothing => Tail::These(since.clone()),
        Tail::These(ids) => Tail::These(ids.into_iter().chain(since.iter().copied()).collect()),
        Tail::From(first) => Tail::From(first),
    };
    record.kept.extend(since);
    (record.tokens_before, record.tokens_after) = (before, after);
    (compaction, *record)
}

impl Speculation {
    /// Makes the summary; none where nothing came of it.
    pub async fn run(mut self) -> Option<Ready> {
        let bond = self.copy.bond()?;
        self.copy.settle().ok()?;
        match self.copy.outcome(Trigger::Threshold, Moment::default()).await.ok()? {
            Outcome::Compacted { compaction, record } => Some(Ready { bond, compaction, record }),
            Outcome::Edited { .. }
            | Outcome::Unneeded { .. }
            | Outcome::Impossible(_)
            | Outcome::Vetoed { .. }
            | Outcome::Abandoned { .. } => None,
        }
    }
}
