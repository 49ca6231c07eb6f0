//! The providers' protocols: writing a context as a request body, and reading bodies back.

pub mod encode;
pub mod read;
mod reply;

pub use reply::{Answer, Stop, Taken, reply};

use crate::Format;

/// The formats that are providers' request bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
}

impl Protocol {
    /// The protocol a format is; none where it is a tool's own file.
    pub fn of(format: Format) -> Option<Self> {
        match format {
            Format::Anthropic => Some(Self::Anthropic),
            Format::OpenaiChat => Some(Self::OpenaiChat),
            Format::OpenaiResponses => Some(Self::OpenaiResponses),
            Format::ClaudeCode
            | Format::Codex
            | Format::Pi
            | Format::Opencode
            | Format::GeminiCli
            | Format::CopilotCli
            | Format::SweAgent
            | Format::MiniSweAgent
            | Format::Openhands
            | Format::Langgraph
            | Format::Native => None,
        }
    }

    /// The format its request bodies are.
    pub fn format(self) -> Format {
        match self {
            Self::Anthropic => Format::Anthropic,
            Self::OpenaiChat => Format::OpenaiChat,
            Self::OpenaiResponses => Format::OpenaiResponses,
        }
    }
}
