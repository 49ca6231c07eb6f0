//! The doors of a provider: where each is, which protocol it speaks, and what is asked there.

use epitome_wire::{Format, Protocol};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// A door that takes a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// Anthropic Messages.
    Messages,
    /// How long such a prompt is.
    CountTokens,
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// How long such a prompt is.
    InputTokens,
    /// OpenAI's own compaction.
    Compact,
}

impl Endpoint {
    /// Every door and its path.
    pub(crate) const ALL: [(Self, &'static str); 6] = [
        (Self::Messages, "/v1/messages"),
        (Self::CountTokens, "/v1/messages/count_tokens"),
        (Self::Chat, "/v1/chat/completions"),
        (Self::Responses, "/v1/responses"),
        (Self::InputTokens, "/v1/responses/input_tokens"),
        (Self::Compact, "/v1/responses/compact"),
    ];

    /// The protocol spoken there.
    pub(crate) fn protocol(self) -> Protocol {
        match self {
            Self::Messages | Self::CountTokens => Protocol::Anthropic,
            Self::Chat => Protocol::OpenaiChat,
            Self::Responses | Self::InputTokens | Self::Compact => Protocol::OpenaiResponses,
        }
    }

    /// The format its bodies are read as.
    pub(crate) fn format(self) -> Format {
        Format::Body(self.protocol())
    }
}

/// What a request is for, as plans and reports name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The next step of an agent.
    Chat,
    /// A summary of what was said.
    Summary,
    /// The length of a prompt.
    Count,
    /// The provider's own compaction.
    Compact,
    /// The list of models.
    Models,
}

impl Kind {
    /// Every kind, with its name.
    const NAMES: [(Self, &'static str); 5] = [
        (Self::Chat, "chat"),
        (Self::Summary, "summary"),
        (Self::Count, "count"),
        (Self::Compact, "compact"),
        (Self::Models, "models"),
    ];
}

impl FromStr for Kind {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::NAMES.into_iter().find(|(_, known)| *known == name);
        found.map(|(kind, _)| kind).ok_or_else(|| {
            let names = Self::NAMES.map(|(_, known)| known).join(", ");
            format!("`{name}` is no kind of request; there are {names}")
        })
    }
}
