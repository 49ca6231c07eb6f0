//! What stands before a history, by our own count and in the provider's tokens: which of the two is known follows from
//! who said it, and the other is as good as what is known of how the provider counts.

use epitome_core::{Scale, Tokens};

/// What stands before the history, system prompt and tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FixedSize {
    /// By our own count.
    Counted(Tokens),
    /// In the provider's tokens, by somebody's word.
    Stated(Tokens),
}

impl FixedSize {
    /// By our own count.
    pub(crate) fn ours(self, scale: Scale) -> Tokens {
        match self {
            Self::Counted(tokens) => tokens,
            Self::Stated(tokens) => scale.ours(tokens),
        }
    }

    /// In the provider's tokens.
    pub(crate) fn theirs(self, scale: Scale) -> Tokens {
        match self {
            Self::Counted(tokens) => scale.theirs(tokens),
            Self::Stated(tokens) => tokens,
        }
    }
}
