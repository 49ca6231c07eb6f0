//! What to do about a refusal before the request is sent once more, one for each class that can be mended. Doing it is `walk`'s.

use epitome_wire::overflow::OverflowFigures;

/// What to do about a refusal before the request is sent once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resend {
    /// The prompt is too long; this is how the provider says so.
    Compact(OverflowFigures),
    /// Prompt and answer together are too long: less of an answer is asked for, or the prompt made shorter.
    AskForLess(OverflowFigures),
    /// Its body has too many bytes, or pictures that the provider does not take; what one may take, where it says so.
    Shed(Option<u64>),
    /// Thinking is bound to other words than those it stands behind.
    LeaveThinkingOut,
    /// The provider cannot read what it sealed.
    LeaveSealedOut,
    /// Calls and results do not go together.
    SendAsItCame,
}

impl Resend {
    /// What is done, in a word for headers and the log.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Compact(_) => "compact",
            Self::AskForLess(_) => "ask-for-less",
            Self::Shed(_) => "shed",
            Self::LeaveThinkingOut => "leave-thinking-out",
            Self::LeaveSealedOut => "leave-sealed-out",
            Self::SendAsItCame => "send-as-it-came",
        }
    }
}
