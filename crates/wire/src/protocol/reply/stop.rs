//! Why models stop, in all providers' words.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Why a model stopped writing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// It was done.
    End,
    /// It reached the limit on its output.
    Length,
    /// It called a tool.
    Call,
    /// It, or its provider, would not answer.
    Refusal,
    /// The window was full.
    Window,
    /// It works on in a call of the provider's; the message is to be sent back as it is.
    Pause,
    /// The provider compacted the history and stopped there.
    Compaction,
    /// Another reason, in the provider's word.
    Other(Arc<str>),
}

impl StopReason {
    /// The reason a provider's word stands for. No two providers use one word for different things.
    pub(crate) fn of(word: &str) -> Self {
        match word {
            "end_turn" | "stop_sequence" | "stop" | "eos" | "completed" => Self::End,
            "max_tokens" | "length" | "max_output_tokens" => Self::Length,
            "tool_use" | "tool_calls" | "function_call" => Self::Call,
            "refusal" | "content_filter" => Self::Refusal,
            "model_context_window_exceeded" | "model_length" => Self::Window,
            "pause_turn" => Self::Pause,
            "compaction" => Self::Compaction,
            other => Self::Other(other.into()),
        }
    }
}
