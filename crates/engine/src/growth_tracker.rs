//! What a prompt grew by from one call of a context to the next, which is what calibration learns from. Who counts a prompt,
//! and what is made of a first one, is the caller's.

use epitome_core::{EntryId, Log, Tokens, UsageMark, is_other_context};
use epitome_tokens::PromptGrowth;

/// The newest call of a context whose provider told its prompt.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GrowthTracker {
    newest: Option<CountedPrompt>,
}

#[derive(Clone, Copy, Debug)]
struct CountedPrompt {
    /// As the provider counted it.
    prompt: Tokens,
    /// By our count.
    counted: Tokens,
}

impl GrowthTracker {
    /// Goes on from a call that a mark tells of.
    pub(crate) fn after(mark: &UsageMark) -> Self {
        let mut tracker = Self::default();
        tracker.take(mark.prompt, mark.prompt_counted);
        tracker
    }

    /// Takes up a call; what its prompt grew by, where there is one before it to compare.
    pub(crate) fn take(&mut self, prompt: Tokens, counted: Tokens) -> Option<PromptGrowth> {
        // A provider that tells of no prompt has not said what the next one grew from.
        let told = (!prompt.is_zero()).then_some(CountedPrompt { prompt, counted });
        let before = std::mem::replace(&mut self.newest, told)?;
        let counted = counted.less(before.counted).0;
        Some(PromptGrowth { before: before.prompt.0, prompt: prompt.0, counted })
    }

    /// Goes past an entry that holds on the path: behind one that makes the context another, what was added is not all that
    /// stands between two prompts.
    pub(crate) fn pass(&mut self, log: &Log, id: EntryId) {
        self.newest = self.newest.filter(|_| !log.get(id).is_some_and(is_other_context));
    }
}
