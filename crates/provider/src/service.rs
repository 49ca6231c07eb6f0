//! Who serves models, and how each is spoken to unless an alias says otherwise.

use epitome_wire::Protocol;
use serde::{Deserialize, Serialize};

/// A provider or a kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// api.anthropic.com.
    Anthropic,
    /// api.openai.com.
    Openai,
    /// openrouter.ai.
    Openrouter,
    /// Ollama on this machine.
    Ollama,
    /// vLLM on this machine.
    Vllm,
    /// LM Studio on this machine.
    LmStudio,
    /// llama.cpp's server on this machine.
    LlamaCpp,
    /// Any other server of one of the protocols; needs its address.
    Compatible,
}

impl Service {
    /// All of them, in the order they are listed to people.
    pub const ALL: [Self; 8] = [
        Self::Anthropic,
        Self::Openai,
        Self::Openrouter,
        Self::Ollama,
        Self::Vllm,
        Self::LmStudio,
        Self::LlamaCpp,
        Self::Compatible,
    ];

    /// Its name in settings and in `provider/model`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Openai => "openai",
            Self::Openrouter => "openrouter",
            Self::Ollama => "ollama",
            Self::Vllm => "vllm",
            Self::LmStudio => "lm-studio",
            Self::LlamaCpp => "llama-cpp",
            Self::Compatible => "compatible",
        }
    }

    /// Where it is; none where that must be said.
    pub(crate) fn base_url(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("https://api.anthropic.com"),
            Self::Openai => Some("https://api.openai.com/v1"),
            Self::Openrouter => Some("https://openrouter.ai/api/v1"),
            Self::Ollama => Some("http://127.0.0.1:11434/v1"),
            Self::Vllm => Some("http://127.0.0.1:8000/v1"),
            Self::LmStudio => Some("http://127.0.0.1:1234/v1"),
            Self::LlamaCpp => Some("http://127.0.0.1:8080/v1"),
            Self::Compatible => None,
        }
    }

    /// Whose address that is.
    pub(crate) fn at(base_url: &str) -> Self {
        let bare = |url: &str| url.trim_end_matches('/').trim_end_matches("/v1").to_owned();
        let is_there = |known: &Self| known.base_url().is_some_and(|own| bare(own) == bare(base_url));
        Self::ALL.into_iter().find(is_there).unwrap_or(Self::Compatible)
    }

    /// How it is spoken to.
    pub(crate) fn protocol(self) -> Protocol {
        match self {
            Self::Anthropic => Protocol::Anthropic,
            Self::Openai => Protocol::OpenaiResponses,
            Self::Openrouter
            | Self::Ollama
            | Self::Vllm
            | Self::LmStudio
            | Self::LlamaCpp
            | Self::Compatible => Protocol::OpenaiChat,
        }
    }

    /// The environment variable its key is in; none where it needs no key.
    pub(crate) fn key_env(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::Openai => Some("OPENAI_API_KEY"),
            Self::Openrouter => Some("OPENROUTER_API_KEY"),
            Self::Ollama | Self::Vllm | Self::LmStudio | Self::LlamaCpp | Self::Compatible => None,
        }
    }

    /// Whether it is known to take several calls at once; a local server with one slot refuses the second.
    pub(crate) fn takes_parallel(self) -> bool {
        match self {
            Self::Anthropic | Self::Openai | Self::Openrouter => true,
            Self::Ollama | Self::Vllm | Self::LmStudio | Self::LlamaCpp | Self::Compatible => false,
        }
    }
}
