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
}

/// An answer never reserves more than this part of the window: a model without a stated limit would
/// otherwise leave no room for what it is to answer.
const RESERVE_SHARE: (u64, u64) = (1, 4);
/// Of the room that is really there, a compaction leaves at most this part taken, so that the next turns have a runway.
const RUNWAY_SHARE: (u64, u64) = (3, 4);

impl Budget {
    /// A budget whose reserve is `output_max`, or a quarter of the window where that is less.
    pub fn new(window: Tokens, fixed: Tokens, output_max: Tokens) -> Self {
        Self { window, fixed, reserve: output_max.min(window.share(RESERVE_SHARE.0, RESERVE_SHARE.1)) }
    }

    /// What the history may take at the very most.
    pub fn room(&self) -> Tokens {
        self.window.less(self.fixed + self.reserve)
    }

    /// Whether a history of `tokens` can be sent.
    pub fn fits(&self, tokens: Tokens) -> bool {
        tokens <= self.room()
    }

    /// Whether `policy` wants a history of `tokens` compacted.
    pub fn is_due(&self, tokens: Tokens, policy: &Policy) -> bool {
        !self.fits(tokens) || self.fixed + tokens >= policy.trigger.of(self.window)
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
