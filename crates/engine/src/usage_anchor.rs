//! The provider's usage of the newest call, and where the context stood then: what was said since is counted on top of
//! it, what edits have freed since is taken off. When it is believed is the session's (`check`).

use epitome_core::{Context, EntryId, Tokens, UsageMark};

/// The provider's usage of the newest call, and where the context stood then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UsageAnchor {
    /// Its entry.
    pub id: EntryId,
    /// What it said, beside our own count.
    pub mark: UsageMark,
    /// Slots in view when the reply had been taken up.
    pub slots: usize,
}

impl UsageAnchor {
    /// What edits have freed of that context by our count, the newest of them at `edited_at`; `fixed` stands before it.
    pub(crate) fn freed(&self, context: &Context, edited_at: Option<EntryId>, fixed: Tokens) -> Tokens {
        let left = fixed + context.tokens_between(0, self.slots.min(context.slots().len()));
        if edited_at > Some(self.id) { self.mark.counted.less(left) } else { Tokens::ZERO }
    }
}
