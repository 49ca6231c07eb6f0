//! What we mean to do, decided before anything is done. A dry run stops here.

use crate::record::{Fallback, Floor, Outcome};
use crate::{ArchiveError, EntryId, Job, Slot, Strategy, Tokens, Trigger, fence, keep::Kept};
use std::collections::HashSet;

/// A compaction that has been thought through and not begun.
#[derive(Clone)]
pub struct Plan<'a> {
    /// What it was drafted from.
    pub job: Job<'a>,
    /// What the history is to come down to.
    pub target: Tokens,
    /// What stays in view.
    pub kept: Kept,
    /// The ids of all that, told inside the summary or not, oldest first.
    pub(crate) visible: Vec<EntryId>,
    /// Every message of the history that does not, oldest first.
    pub superseded: Vec<EntryId>,
    /// Strategies still to try, the first one next.
    pub(crate) rungs: Vec<Strategy>,
    /// Those given up.
    pub(crate) fallbacks: Vec<Fallback>,
}

/// A drafted plan, or the reason there is none.
pub enum Drafted<'a> {
    /// Something to do.
    Plan(Box<Plan<'a>>),
    /// Nothing to do, or nothing that can be done.
    Settled(Outcome),
}

/// A summary, a tail and their frame need this much to say anything; asked by hand, a history below it is left alone.
const ROOM_MIN: Tokens = Tokens(400);

impl<'a> Plan<'a> {
    /// Thinks a compaction through.
    pub fn draft(job: Job<'a>) -> Result<Drafted<'a>, ArchiveError> {
        let before = job.context.tokens();
        let is_ours = job.context.summary(job.log).is_some_and(|(_, summary)| fence::is_ours(&summary.text));
        if job.context.fresh() == 0 && (is_ours || job.context.is_edited()) && job.budget.fits(before) {
            return Ok(Drafted::Settled(Outcome::Unneeded {
                why: "nothing was said since the last compaction",
            }));
        }
        let target = target_of(&job);
        if target < ROOM_MIN && job.budget.fits(before) && job.trigger == Trigger::Manual {
            return Ok(Drafted::Settled(Outcome::Unneeded {
                why: "the history is too short to be worth a summary",
            }));
        }
        let kept = Kept::choose(&job, target)?;
        if kept.tokens > job.budget.room() {
            return Ok(Drafted::Settled(Outcome::Impossible(floor_of(&job, kept.tokens))));
        }
        let in_view: HashSet<EntryId> = kept.before.iter().chain(&kept.tail).copied().collect();
        let leaves_view = |slot: &Slot| match slot {
            Slot::Message { id, .. } => !in_view.contains(id),
            Slot::Summary { .. } => !is_ours,
        };
        let is_shortened = kept.forms.iter().any(|(_, form)| form.shorten.is_some());
        if !job.context.slots().iter().any(leaves_view) && !is_shortened {
            return Ok(Drafted::Settled(Outcome::Unneeded {
                why: "every message in view is one that is kept",
            }));
        }
        let is_superseded = |id: &EntryId| !in_view.contains(id) && !kept.folded.contains(id);
        let superseded = job.history.iter().copied().filter(is_superseded).collect();
        let rungs = rungs_of(&job);
        let mut visible: Vec<EntryId> = in_view.into_iter().chain(kept.folded.iter().copied()).collect();
        visible.sort_unstable();
        let fallbacks = Vec::new();
        Ok(Drafted::Plan(Box::new(Self { job, target, kept, visible, superseded, rungs, fallbacks })))
    }

    /// What is left of the target for a summary, its frame included.
    pub fn summary_room(&self) -> Tokens {
        self.target.less(self.kept.tokens)
    }
}

/// The policy's target. Asked by hand, a history that is not above it is halved.
fn target_of(job: &Job<'_>) -> Tokens {
    let target = job.budget.target(job.policy);
    match job.trigger {
        Trigger::Manual if job.context.tokens() <= target => job.context.tokens().share(1, 2),
        Trigger::Manual | Trigger::Threshold => target,
    }
}

pub(crate) fn floor_of(job: &Job<'_>, kept: Tokens) -> Floor {
    Floor { window: job.budget.window, fixed: job.budget.fixed, reserve: job.budget.reserve, kept }
}

/// The policy's strategies, and the one that needs nothing behind them.
fn rungs_of(job: &Job<'_>) -> Vec<Strategy> {
    let mut rungs = job.policy.strategy.clone();
    if rungs.last() != Some(&Strategy::Drop) {
        rungs.push(Strategy::Drop);
    }
    rungs
}
