//! Where the newest part begins by the policy's own rule.

use super::KeepSet;
use crate::policy::Newest;
use crate::{Job, Keep, Tokens, find_cut};

/// The first slot kept; all are where the rule leaves nothing in front of it. `first` is the first
/// slot behind the summary in view, `set` what stays wherever the cut is.
pub(super) fn start(job: &Job<'_>, first: usize, fewer: u32, set: &KeepSet) -> usize {
    let slots = job.context.slots().len();
    let found = find_cut(job.context, keep(job, fewer)).map_or(0, |cut| cut.slot(slots));
    let Some(span) = job.policy.summary.span_messages else { return found };
    // A summary of so many of the oldest that leave; what lies between them and the newest stays.
    let leaves = |&at: &usize| !set.contains(job.context.slots()[at].id());
    let most = (first..slots).filter(leaves).nth(span as usize).unwrap_or(slots);
    let units = job.context.units();
    let at = units.partition_point(|&unit| (unit as usize) < most);
    found.min(units.get(at).map_or(slots, |&unit| unit as usize))
}

fn keep(job: &Job<'_>, fewer: u32) -> Keep {
    let amount = |tokens: Tokens| calibrated(job, tokens).share(1, 1 << fewer.min(TOKENS_HALVED_MAX));
    match job.policy.keep.newest {
        Newest::Messages(count) => match count.saturating_sub(fewer) {
            0 => Keep::Nothing,
            left => Keep::Messages(left as usize),
        },
        Newest::TokensAtLeast(least) => Keep::AtLeast(amount(least)),
        Newest::TokensReached(least) => Keep::Reached(amount(least)),
        Newest::TokensAtMost(most) => Keep::Tokens(amount(most)),
        Newest::Turns(count) => Keep::Turns(count.saturating_sub(fewer) as usize),
        Newest::Percent(_) | Newest::Nothing => Keep::Nothing,
    }
}

/// What a provider counts as `tokens`, in our own count.
fn calibrated(job: &Job<'_>, tokens: Tokens) -> Tokens {
    let percent = u64::from(job.circumstances.usage_percent);
    if job.policy.keep.calibrated && percent > 100 { tokens.share(100, percent) } else { tokens }
}

/// A budget in tokens is halved with each step; past this it is next to nothing anyway.
const TOKENS_HALVED_MAX: u32 = 10;
