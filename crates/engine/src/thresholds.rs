//! What a policy's points come to in a window.

use epitome_core::{Budget, Policy, Tokens};
use serde::Serialize;

/// What a policy's points come to in a window, in tokens of the whole request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Thresholds {
    /// The window, as the policy sees it.
    pub window: Tokens,
    /// Kept free for the answer.
    pub reserve: Tokens,
    /// Where compaction is due.
    pub trigger: Tokens,
    /// What it comes down to, fixed parts included; nothing where the strategy decides.
    pub target: Option<Tokens>,
    /// Where the early warning comes.
    pub approaching: Option<Tokens>,
    /// Where a summary is begun before it is needed.
    pub speculate: Option<Tokens>,
    /// The newest part that pruning leaves alone.
    pub protect: Option<Tokens>,
    /// The newest tool results that pruning leaves alone.
    pub protect_results: Option<Tokens>,
}

impl Thresholds {
    /// The points of `policy` in `budget`.
    pub fn of(policy: &Policy, budget: &Budget) -> Self {
        let budget = budget.under(policy);
        let trigger = budget.limit(policy);
        let in_window = |point: Option<epitome_core::Threshold>| point.map(|point| point.of(budget.window));
        Self {
            window: budget.window,
            reserve: budget.reserve,
            trigger,
            target: policy.trigger.target.map(|_| budget.fixed + budget.target(policy)),
            approaching: in_window(policy.trigger.approaching),
            speculate: policy.speculate.enabled.then(|| trigger.less(lead(policy, trigger))),
            protect: in_window(policy.prune.protect),
            protect_results: policy.prune.protect_results,
        }
    }
}

/// How far before the trigger a summary is begun.
fn lead(policy: &Policy, trigger: Tokens) -> Tokens {
    let rule = &policy.speculate;
    rule.lead.of(trigger).clamp(rule.lead_min, rule.lead_max)
}
