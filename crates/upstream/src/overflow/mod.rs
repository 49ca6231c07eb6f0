//! What providers say when a prompt does not fit, each in its own shape.

mod body;
mod rows;

pub(crate) use rows::find as find_row;
pub use rows::{ERROR_ROWS, ErrorRow};

use crate::complaint::Complaint;
use epitome_wire::Protocol;
use serde_json::Value;
use std::fmt;
use std::str::FromStr;

/// Whose way of refusing a prompt that is too long is played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it; what each answers is in `refusal`")]
pub enum Style {
    /// The provider whose protocol is spoken.
    #[default]
    Provider,
    /// Older Anthropic models: prompt and reserved output together.
    AnthropicReserve,
    AnthropicBytes,
    OpenaiInput,
    OpenaiRate,
    Bedrock,
    Gemini,
    Groq,
    GroqRate,
    Litellm,
    LlamaCpp,
    LmStudio,
    Mistral,
    Ollama,
    Openrouter,
    Vllm,
    Xai,
    /// A web server in front that counts bytes.
    Nginx,
    /// A status and nothing else.
    EmptyBody,
    /// No error: the prompt is cut, and the usage is that of the rest.
    Silent,
    /// No error: the reply stops because the window is full.
    SoftStop,
    /// No error: nothing is said, and the reply ends as if its limit were reached.
    OutputZero,
    /// No error: the reply ends as Mistral's do when the window is full.
    ModelLength,
    /// An error of the table in `docs/reference/overflow.md`.
    Row(&'static ErrorRow),
}

/// Every style, with its name.
const NAMES: [(Style, &str); 23] = [
    (Style::Provider, "provider"),
    (Style::AnthropicReserve, "anthropic-reserve"),
    (Style::AnthropicBytes, "anthropic-bytes"),
    (Style::OpenaiInput, "openai-input"),
    (Style::OpenaiRate, "openai-rate"),
    (Style::Bedrock, "bedrock"),
    (Style::Gemini, "gemini"),
    (Style::Groq, "groq"),
    (Style::GroqRate, "groq-rate"),
    (Style::Litellm, "litellm"),
    (Style::LlamaCpp, "llama.cpp"),
    (Style::LmStudio, "lm-studio"),
    (Style::Mistral, "mistral"),
    (Style::Ollama, "ollama"),
    (Style::Openrouter, "openrouter"),
    (Style::Vllm, "vllm"),
    (Style::Xai, "xai"),
    (Style::Nginx, "nginx"),
    (Style::EmptyBody, "empty-body"),
    (Style::Silent, "silent"),
    (Style::SoftStop, "soft-stop"),
    (Style::OutputZero, "output-zero"),
    (Style::ModelLength, "model-length"),
];

/// How the names of rows begin.
const ROW: &str = "row-";

/// The figures of one overflow.
#[derive(Clone, Debug)]
pub(crate) struct Overflow<'a> {
    pub(crate) model: &'a str,
    pub(crate) prompt: u64,
    pub(crate) window: u64,
    /// The output asked for.
    pub(crate) output: u64,
    pub(crate) is_streamed: bool,
}

/// An error as it goes out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) body: ErrorBody,
}

/// The body of an error.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ErrorBody {
    Json(Value),
    Html(&'static str),
    Nothing,
}

impl ErrorBody {
    /// The body, where it is JSON.
    pub(crate) fn json(&self) -> Option<&Value> {
        match self {
            Self::Json(value) => Some(value),
            Self::Html(_) | Self::Nothing => None,
        }
    }
}

impl Style {
    /// Whether the output asked for needs its room beside the prompt.
    fn counts_output(self) -> bool {
        match self {
            Self::Row(row) => row.counts_output,
            style => matches!(style, Self::AnthropicReserve | Self::Vllm),
        }
    }
}

impl Overflow<'_> {
    /// Whether the request does not fit.
    pub(crate) fn is_one(&self, style: Style) -> bool {
        let reserved = if style.counts_output() { self.output } else { 0 };
        self.prompt + reserved > self.window
    }

    /// The error in this style; none where the style answers with a reply.
    pub(crate) fn refusal(&self, style: Style, protocol: Protocol, number: u64) -> Option<Refusal> {
        let json = |status, body| Refusal { status, body: ErrorBody::Json(body) };
        let said = |complaint: Complaint| json(complaint.status, complaint.body(protocol, number));
        Some(match style {
            Style::Provider => said(self.complaint(protocol)),
            Style::AnthropicReserve => said(Complaint::invalid(self.reserve_text())),
            Style::AnthropicBytes => said(Complaint::of_status(413)),
            Style::OpenaiInput => said(exceeded(self.input_text(), "messages")),
            Style::Groq => said(exceeded(GROQ_TEXT.into(), "messages")),
            Style::OpenaiRate => json(429, self.rate("tokens per min (TPM)")),
            Style::GroqRate => json(413, self.rate("tokens per minute (TPM)")),
            Style::Bedrock => json(400, Self::bedrock()),
            Style::Gemini => json(400, self.gemini()),
            Style::Litellm => json(400, self.litellm()),
            Style::LlamaCpp => json(400, self.llama_cpp()),
            Style::LmStudio => json(400, self.lm_studio()),
            Style::Mistral => json(400, self.mistral()),
            Style::Ollama => json(400, self.ollama()),
            Style::Openrouter => json(400, self.openrouter()),
            Style::Vllm => json(400, self.vllm()),
            Style::Xai => json(400, self.xai()),
            Style::Nginx => Refusal { status: 413, body: ErrorBody::Html(body::NGINX_PAGE) },
            Style::EmptyBody => Refusal { status: 400, body: ErrorBody::Nothing },
            Style::Row(row) => row.refusal(self),
            Style::Silent | Style::SoftStop | Style::OutputZero | Style::ModelLength => return None,
        })
    }

    /// What the protocol's own provider says.
    pub(crate) fn complaint(&self, protocol: Protocol) -> Complaint {
        match protocol {
            Protocol::Anthropic => Complaint::invalid(self.anthropic_text()),
            Protocol::OpenaiChat => exceeded(self.chat_text(), "messages"),
            Protocol::OpenaiResponses => exceeded(RESPONSES_TEXT.into(), "input"),
        }
    }
}

const RESPONSES_TEXT: &str =
    "Your input exceeds the context window of this model. Please adjust your input and try again.";
const GROQ_TEXT: &str = "Please reduce the length of the messages or completion.";

/// OpenAI's code for the case.
const EXCEEDED: &str = "context_length_exceeded";

fn exceeded(message: String, param: &str) -> Complaint {
    Complaint { status: 400, message, code: Some(EXCEEDED), param: Some(param.into()) }
}

impl fmt::Display for Style {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Row(row) = self {
            return write!(f, "{ROW}{}", row.name);
        }
        let named = NAMES.iter().find(|(style, _)| style == self);
        f.write_str(named.map_or("provider", |(_, name)| name))
    }
}

impl FromStr for Style {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let found = NAMES.into_iter().find(|(_, known)| *known == name).map(|(style, _)| style);
        let row = || name.strip_prefix(ROW).and_then(rows::find).map(Self::Row);
        found.or_else(row).ok_or_else(|| {
            format!(
                "`{name}` is no overflow style; there are {} and row-N for an error of docs/reference/overflow.md",
                NAMES.map(|(_, known)| known).join(", ")
            )
        })
    }
}
