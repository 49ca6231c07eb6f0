//! What a request asks for beyond its messages. None of it is worth failing over: what a provider
//! rejects is left out and the request sent once more.

use epitome_wire::Protocol;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How hard the model is to think before it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// A little.
    Low,
    /// More.
    Medium,
    /// As much as it likes.
    High,
}

impl Effort {
    /// One step less; none below the least.
    pub(crate) fn less(self) -> Option<Self> {
        match self {
            Self::Low => None,
            Self::Medium => Some(Self::Low),
            Self::High => Some(Self::Medium),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// Output tokens set aside for reasoning, so that it does not eat the summary's. 1,024 is the least
    /// Anthropic takes.
    pub(crate) fn budget_tokens(self) -> u64 {
        match self {
            Self::Low => 1_024,
            Self::Medium => 4_096,
            Self::High => 16_384,
        }
    }
}

/// What a request asks for, as far as it can be done without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) reasoning: Option<Effort>,
    /// Whether a chat stream is asked for its usage.
    pub(crate) has_stream_usage: bool,
    pub(crate) cap: CapName,
}

/// What Chat Completions calls the output limit: reasoning models of OpenAI take the newer name only,
/// many servers the older one only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CapName {
    MaxTokens,
    MaxCompletionTokens,
}

/// A field of a body: its key, and its value as JSON text.
pub(crate) type BodyField = (Arc<str>, Arc<str>);

/// Hosts of OpenAI itself, and of Azure's deployments of its models.
const OPENAI_HOSTS: [&str; 2] = ["openai.com", "openai.azure.com"];

/// Whether an address is at one of those hosts, whatever else stands in it.
fn is_openai(base_url: &str) -> bool {
    let url = reqwest::Url::parse(base_url).ok();
    let host = url.as_ref().and_then(reqwest::Url::host_str).unwrap_or_default();
    let is_at =
        |known: &&str| host.strip_suffix(*known).is_some_and(|sub| sub.is_empty() || sub.ends_with('.'));
    OPENAI_HOSTS.iter().any(is_at)
}

impl Options {
    pub(crate) fn new(reasoning: Option<Effort>, base_url: &str) -> Self {
        let cap = if is_openai(base_url) { CapName::MaxCompletionTokens } else { CapName::MaxTokens };
        Self { reasoning, has_stream_usage: true, cap }
    }

    /// The same with less reasoning for each attempt that went before: on the first it may have eaten the
    /// answer.
    pub(crate) fn on_attempt(self, attempt: u32) -> Self {
        // Past the third step there is no reasoning left to take away.
        let reasoning = (0..attempt.min(3)).fold(self.reasoning, |effort, _| effort.and_then(Effort::less));
        Self { reasoning, ..self }
    }

    /// The same without what an error complains of; none where it complains of nothing here.
    pub(crate) fn without(self, complaint: &str) -> Option<Self> {
        let told = complaint.to_ascii_lowercase();
        let names = |words: &[&str]| words.iter().any(|word| told.contains(word));
        if self.reasoning.is_some() && names(&["reasoning", "thinking", "budget_tokens"]) {
            return Some(Self { reasoning: None, ..self });
        }
        if self.has_stream_usage && names(&["stream_options", "include_usage"]) {
            return Some(Self { has_stream_usage: false, ..self });
        }
        let is_about_cap = names(&["max_completion_tokens"]);
        is_about_cap.then(|| Self { cap: self.cap.other(), ..self })
    }

    /// The fields that say all this, `cap_tokens` being the output limit.
    pub(crate) fn fields(self, protocol: Protocol, cap_tokens: u64) -> Vec<BodyField> {
        let mut fields = vec![field("stream", "true")];
        match protocol {
            Protocol::Anthropic => fields.extend(self.thinking(cap_tokens)),
            Protocol::OpenaiChat => {
                fields.extend(
                    self.has_stream_usage.then(|| field("stream_options", r#"{"include_usage":true}"#)),
                );
                fields
                    .extend(self.reasoning.map(|it| field("reasoning_effort", format!("\"{}\"", it.word()))));
                let is_newer = self.cap == CapName::MaxCompletionTokens;
                fields.extend(is_newer.then(|| field("max_completion_tokens", cap_tokens.to_string())));
            }
            Protocol::OpenaiResponses => {
                fields.push(field("store", "false"));
                let effort = |it: Effort| field("reasoning", format!(r#"{{"effort":"{}"}}"#, it.word()));
                fields.extend(self.reasoning.map(effort));
            }
        }
        fields
    }

    /// Anthropic wants the budget below the output limit.
    fn thinking(self, cap_tokens: u64) -> Option<BodyField> {
        let budget = self.reasoning?.budget_tokens();
        let thinking = || field("thinking", format!(r#"{{"type":"enabled","budget_tokens":{budget}}}"#));
        (budget < cap_tokens).then(thinking)
    }
}

impl CapName {
    fn other(self) -> Self {
        match self {
            Self::MaxTokens => Self::MaxCompletionTokens,
            Self::MaxCompletionTokens => Self::MaxTokens,
        }
    }
}

pub(crate) fn field(key: &str, json: impl Into<Arc<str>>) -> BodyField {
    (key.into(), json.into())
}

#[cfg(test)]
mod tests {
    use super::{CapName, Effort, Options};
    use epitome_wire::Protocol;

    #[test]
    fn openai_is_known_by_its_host_and_by_nothing_else_in_an_address() {
        let cap = |base_url: &str| Options::new(None, base_url).cap;
        for own in ["https://api.openai.com/v1", "https://mine.openai.azure.com/openai"] {
            assert_eq!(cap(own), CapName::MaxCompletionTokens, "{own}");
        }
        for other in [
            "https://gateway.example/openai.com/v1",
            "https://notopenai.com",
            "https://openai.com.example",
            "no url",
        ] {
            assert_eq!(cap(other), CapName::MaxTokens, "{other}");
        }
    }

    #[test]
    fn what_is_complained_of_is_left_out_and_nothing_else() {
        let options = Options::new(Some(Effort::Low), "http://127.0.0.1");
        let without = options.without("Unsupported parameter: 'reasoning_effort'");
        assert_eq!(without, Some(Options { reasoning: None, ..options }));
        let newer = options.without("use 'max_completion_tokens' instead");
        assert_eq!(newer, Some(Options { cap: CapName::MaxCompletionTokens, ..options }));
        assert_eq!(options.without("the model is out of order"), None);
    }

    #[test]
    fn each_attempt_thinks_less_than_the_one_before() {
        let options = Options::new(Some(Effort::High), "");
        let efforts = [0, 1, 2, 3, 9].map(|attempt| options.on_attempt(attempt).reasoning);
        assert_eq!(efforts, [Some(Effort::High), Some(Effort::Medium), Some(Effort::Low), None, None]);
    }

    #[test]
    fn thinking_stays_below_the_output_limit() {
        let options = Options::new(Some(Effort::Medium), "");
        let keys = |cap| -> Vec<String> {
            options.fields(Protocol::Anthropic, cap).iter().map(|(key, _)| key.to_string()).collect()
        };
        assert_eq!(
            (keys(8_000), keys(4_096)),
            (vec!["stream".into(), "thinking".into()], vec!["stream".into()])
        );
    }
}
