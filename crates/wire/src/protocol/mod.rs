//! The providers' protocols: writing a context as a request body, reading bodies back, and reading replies.

mod decode;
pub mod encode;
mod held;
pub(crate) mod read;
mod reply;
mod splice;
mod unread;
mod write;

pub use decode::{ElementError, decode, decode_fixed};
pub use reply::{ModelReply, ReplyUsage, StopReason, StrangeReply, reply};
pub use splice::{ElementPart, ElementPlace, ListSlot, mark_text, splice};
pub use write::{WrittenBody, write_body};

pub(crate) use unread::unread_around;

use crate::format::names;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The header of calls for a summary, by which a proxy of ours knows one and leaves it as it is.
pub const SUMMARY_HEADER: &str = "x-epitome-summary";

/// A way of speaking with a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub enum Protocol {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
}

impl Protocol {
    /// All of them, in the order they are listed to people.
    pub const ALL: [Self; 3] = [Self::Anthropic, Self::OpenaiChat, Self::OpenaiResponses];

    /// The name people, scripts and settings use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenaiChat => "openai-chat",
            Self::OpenaiResponses => "openai-responses",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no protocol has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no protocol; there are {}", names(Protocol::ALL.into_iter().map(Protocol::name)))]
pub struct UnknownProtocol {
    /// What was asked for.
    pub name: String,
}

impl FromStr for Protocol {
    type Err = UnknownProtocol;
    fn from_str(name: &str) -> Result<Self, UnknownProtocol> {
        let found = Self::ALL.into_iter().find(|protocol| protocol.name() == name);
        found.ok_or_else(|| UnknownProtocol { name: name.to_owned() })
    }
}

impl From<Protocol> for &'static str {
    fn from(protocol: Protocol) -> Self {
        protocol.name()
    }
}

impl TryFrom<String> for Protocol {
    type Error = UnknownProtocol;
    fn try_from(name: String) -> Result<Self, UnknownProtocol> {
        name.parse()
    }
}
