//! The names of the formats we read and write.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A way a transcript is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Claude Code's session files.
    ClaudeCode,
    /// Codex rollouts.
    Codex,
    /// pi's session files, versions 1 to 3.
    Pi,
    /// opencode's exports.
    Opencode,
    /// Gemini CLI's session files.
    GeminiCli,
    /// Copilot CLI's event logs.
    CopilotCli,
    /// SWE-agent trajectories.
    SweAgent,
    /// mini-swe-agent trajectories.
    MiniSweAgent,
    /// OpenHands event histories.
    Openhands,
    /// LangGraph threads.
    Langgraph,
    /// Anthropic Messages request bodies.
    Anthropic,
    /// OpenAI Chat Completions bodies, message arrays, and lists of them.
    OpenaiChat,
    /// OpenAI Responses bodies.
    OpenaiResponses,
    /// Ours: the original bytes, and what was added since.
    Native,
}

impl Format {
    /// Every format, in the order they are listed to people.
    pub const ALL: [Self; 14] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::Pi,
        Self::Opencode,
        Self::GeminiCli,
        Self::CopilotCli,
        Self::SweAgent,
        Self::MiniSweAgent,
        Self::Openhands,
        Self::Langgraph,
        Self::Anthropic,
        Self::OpenaiChat,
        Self::OpenaiResponses,
        Self::Native,
    ];

    /// The name people and scripts use.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Pi => "pi",
            Self::Opencode => "opencode",
            Self::GeminiCli => "gemini-cli",
            Self::CopilotCli => "copilot-cli",
            Self::SweAgent => "swe-agent",
            Self::MiniSweAgent => "mini-swe-agent",
            Self::Openhands => "openhands",
            Self::Langgraph => "langgraph",
            Self::Anthropic => "anthropic",
            Self::OpenaiChat => "openai-chat",
            Self::OpenaiResponses => "openai-responses",
            Self::Native => "native",
        }
    }

    /// Whether the tool that wrote it can go on from a file we appended a compaction to.
    pub fn is_resumable(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::Codex | Self::Pi)
    }

    /// Whether it is a provider's request body.
    pub fn is_protocol(self) -> bool {
        matches!(self, Self::Anthropic | Self::OpenaiChat | Self::OpenaiResponses)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| {
            format!("`{name}` is no format; there are {}", Self::ALL.map(Self::name).join(", "))
        })
    }
}
