//! Why a turn is over: what the provider said of the end of its newest reply, beside what that reply holds. Going on
//! with a turn that is over is the agent's.

use epitome_core::{Block, Message};
use epitome_wire::protocol::StopReason;
use std::fmt;

/// Why nothing is to be sent until somebody speaks. A reply that calls tools, or that the provider has paused, ends no
/// turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TurnStop {
    /// The model said its last word.
    Done,
    /// The reply reached the longest answer asked for, and ends in the middle of something.
    Length,
    /// The window was full, and no room could be made for more.
    Window,
    /// The model, or its provider, would not answer.
    Refusal,
    /// Neither a word nor a call came.
    Empty,
}

impl TurnStop {
    /// Why a turn is over whose newest reply is `message`; `told` is what the provider said of its end, which a file
    /// does not keep.
    pub(crate) fn of(message: &Message, told: Option<&StopReason>) -> Self {
        match told {
            Some(StopReason::Length) => Self::Length,
            Some(StopReason::Window) => Self::Window,
            Some(StopReason::Refusal) => Self::Refusal,
            Some(
                StopReason::End
                | StopReason::Call
                | StopReason::Pause
                | StopReason::Compaction
                | StopReason::Other(_),
            )
            | None => {
                if message.blocks.iter().any(says_something) {
                    Self::Done
                } else {
                    Self::Empty
                }
            }
        }
    }
}

/// Whether a reply that ended so waits to be sent back as it is.
pub(crate) fn is_paused(told: Option<&StopReason>) -> bool {
    matches!(told, Some(StopReason::Pause | StopReason::Compaction))
}

fn says_something(block: &Block) -> bool {
    match block {
        Block::Text { text } => !text.trim().is_empty(),
        Block::Thinking { .. } => false,
        Block::Call(_) | Block::Result(_) | Block::Image(_) | Block::Opaque(_) => true,
    }
}

impl fmt::Display for TurnStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Done => "the model said its last word",
            Self::Length => "the reply reached the longest answer asked for",
            Self::Window => "the window was full",
            Self::Refusal => "the model would not answer",
            Self::Empty => "the reply was empty",
        })
    }
}
