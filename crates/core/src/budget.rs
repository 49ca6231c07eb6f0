//! How much room there is: the window, and what is taken before the history gets its share.

use crate::{Policy, Tokens};
use serde::{Deserialize, Serialize};

/// The window of one request and the parts of it that are not history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// All a request may take, answer included.
    pub window: Tokens,
    /// System prompt and tools.
    pub fixed: Tokens,
    /// Kept free for the answer.
    pub reserve: Tokens,
    /// The longest prompt the provider takes, where that is less than window and reserve would leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_max: Option<Tokens>,
}

/// An answer never reserves more than this part of the window: a model without a stated limit would
/// otherwise leave no room for what it is to answer.
const RESERVE_SHARE: (u64, u64) = (1, 4);
/// Of the room that is really there, a compaction leaves at most this part taken, so that the next turns have a runway.
const RUNWAY_SHARE: (u64, u64) = (3, 4);

impl Budget {
    /// A budget whose reserve is `output_max`, or a quarter of the window where that is less.
    pub fn new(window: Tokens, fixed: Tokens, output_max: Tokens) -> Self {
        let reserve = output_max.min(window.share(RESERVE_SHARE.0, RESERVE_SHARE.1));
        Self { window, fixed, reserve, prompt_max: None }
    }

    /// The same with a limit on the prompt alone.
    pub fn with_prompt_max(self, prompt_max: Option<Tokens>) -> Self {
        Self { prompt_max, ..self }
    }

    /// What the history may take at the very most.
    pub fn room(&self) -> Tokens {
        let room = self.window.less(self.fixed + self.reserve);
        self.prompt_max.map_or(room, |most| room.min(most.less(self.fixed)))
    }

    /// Whether a history of `tokens` can be sent.
    pub fn fits(&self, tokens: Tokens) -> bool {
        tokens <= self.room()
    }

    /// Whether `policy` wants a history of `tokens` compacted. Large fixed parts bring the trigger
    /// down only half-way to the target: below that each call would compact again.
    pub fn is_due(&self, tokens: Tokens, policy: &Policy) -> bool {
        let half_way = Tokens(self.target(policy).0.midpoint(self.room().0));
        !self.fits(tokens) || tokens >= policy.trigger.of(self.window).less(self.fixed).max(half_way)
    }

    /// What the history is compacted to. The fixed parts count towards the target, but where they
    /// leave the history less than its runway allows, the runway decides.
    pub fn target(&self, policy: &Policy) -> Tokens {
        let runway = self.room().share(RUNWAY_SHARE.0, RUNWAY_SHARE.1);
        let wanted = policy.target.of(self.window).less(self.fixed);
        let floor = self.room().share(1, 4);
        wanted.max(floor).min(runway)
    }
}

#[cfg(test)]
mod tests {
    use super::Budget;
    use crate::{Policy, Prune, Strategy, Threshold, Tokens};

    fn policy() -> Policy {
        let prune = Prune {
            results: false,
            arguments: false,
            superseded_reads: false,
            thinking: false,
            images: false,
            protect: Threshold::Share(1_000),
            size_min: Tokens(0),
        };
        let (trigger, target) = (Threshold::Share(8_000), Threshold::Share(2_500));
        Policy { trigger, target, strategy: vec![Strategy::Summarize], tail_percent: 40, prune }
    }

    #[test]
    fn a_prompt_limit_below_the_window_counts() {
        let budget = Budget::new(Tokens(400_000), Tokens(2_000), Tokens(100_000));
        let limited = budget.with_prompt_max(Some(Tokens(272_000)));
        assert_eq!([budget.room(), limited.room()], [Tokens(298_000), Tokens(270_000)]);
    }

    #[test]
    fn large_fixed_parts_do_not_make_every_call_compact() {
        let budget = Budget::new(Tokens(100_000), Tokens(85_000), Tokens(1_000));
        let target = budget.target(&policy());
        assert!(!budget.is_due(target, &policy()));
        assert!(budget.is_due(budget.room(), &policy()));
    }
}
