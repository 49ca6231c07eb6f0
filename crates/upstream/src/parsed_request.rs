//! A request, read: what was asked, by which protocol, and how long it is.

use crate::complaint::Complaint;
use crate::endpoint::Endpoint;
use crate::order::Order;
use crate::prompt::Prompt;
use crate::tool::{self, Tool};
use epitome_core::{Archive, Message, ZeroMeasure};
use epitome_tokens::{Catalog, Counter, ModelSpec};
use epitome_wire::{Conversation, FixedParts, Protocol, read};
use serde_json::Value;
use std::sync::Arc;

/// A request whose body is a JSON object with a model.
#[derive(Clone, Debug)]
pub(crate) struct Envelope {
    pub(crate) endpoint: Endpoint,
    pub(crate) body: Value,
    /// The model's name, without the order that may hang on it.
    pub(crate) model: String,
    /// The order in the model's name: `model!429`.
    pub(crate) order: Option<Order>,
}

impl Envelope {
    /// Opens a body.
    pub(crate) fn open(endpoint: Endpoint, bytes: &[u8]) -> Result<Self, Complaint> {
        let body: Value = serde_json::from_slice(bytes)
            .map_err(|error| Complaint::invalid(format!("The request body is not valid JSON: {error}")))?;
        if !body.is_object() {
            return Err(Complaint::invalid("The request body is not a JSON object"));
        }
        let named = body["model"].as_str().unwrap_or_default().to_owned();
        let (model, order) = match named.split_once('!') {
            Some((model, order)) => (model.to_owned(), Some(order.parse().map_err(Complaint::invalid)?)),
            None => (named, None),
        };
        require(endpoint, &body, &model)?;
        Ok(Self { endpoint, body, model, order })
    }

    /// Reads the conversation in it.
    pub(crate) fn read(self) -> Result<ParsedRequest, Complaint> {
        let model = Catalog::built_in().find(&self.model);
        let counter = Counter::for_model(&model);
        let bytes = serde_json::to_vec(&self.body).expect("what was parsed can be written");
        let transcript = read(Arc::new(bytes), Some(self.endpoint.format()), &ZeroMeasure);
        let conversations = transcript.map_err(|error| Complaint::invalid(error.to_string()))?.conversations;
        let conversation = conversations.into_iter().next();
        let conversation = conversation.ok_or_else(|| Complaint::invalid("the request says nothing"))?;
        let messages = messages(&conversation).map_err(Complaint::invalid)?;
        let prompt = Prompt::weigh(&counter, &conversation.fixed, &messages);
        Ok(ParsedRequest { envelope: self, model, counter, fixed: conversation.fixed, messages, prompt })
    }

    /// Whether the client wants events.
    pub(crate) fn is_streamed(&self) -> bool {
        self.body["stream"] == true
    }
}

/// The fields without which a provider reads no further.
fn require(endpoint: Endpoint, body: &Value, model: &str) -> Result<(), Complaint> {
    let is_anthropic = endpoint.protocol() == Protocol::Anthropic;
    if model.is_empty() && is_anthropic {
        return Err(Complaint::invalid("model: Field required"));
    }
    if model.is_empty() {
        let param = Some("model".into());
        return Err(Complaint { param, ..Complaint::invalid("you must provide a model parameter") });
    }
    if endpoint == Endpoint::Messages && !body["max_tokens"].is_u64() {
        return Err(Complaint::invalid("max_tokens: Field required"));
    }
    Ok(())
}

/// The messages of the branch a conversation has got to, oldest first.
pub(crate) fn messages(conversation: &Conversation) -> Result<Vec<Arc<Message>>, String> {
    let Some(leaf) = conversation.leaf else { return Ok(Vec::new()) };
    let said = conversation.log.path(leaf).into_iter().filter(|&id| conversation.log.item(id).is_some());
    said.map(|id| conversation.originals.message(id).map_err(|error| error.to_string())).collect()
}

/// A request, read.
#[derive(Clone, Debug)]
pub(crate) struct ParsedRequest {
    pub(crate) envelope: Envelope,
    pub(crate) model: ModelSpec,
    pub(crate) counter: Counter,
    pub(crate) fixed: FixedParts,
    pub(crate) messages: Vec<Arc<Message>>,
    pub(crate) prompt: Prompt,
}

impl ParsedRequest {
    /// The protocol spoken.
    pub(crate) fn protocol(&self) -> Protocol {
        self.envelope.endpoint.protocol()
    }

    /// The functions offered.
    pub(crate) fn tools(&self) -> Vec<Tool> {
        self.fixed.tools.iter().filter_map(|tool| tool::parse(tool)).collect()
    }

    /// The most the reply may take.
    pub(crate) fn output_max(&self) -> Option<u64> {
        self.fixed.max_tokens
    }

    /// Whether Anthropic's compaction on demand is wanted in place of a reply.
    pub(crate) fn wants_compaction(&self) -> bool {
        self.protocol() == Protocol::Anthropic && self.envelope.body["compaction"]["type"] == "summarize"
    }

    /// Whether reasoning is wanted.
    pub(crate) fn wants_reasoning(&self) -> bool {
        match self.protocol() {
            Protocol::Anthropic => {
                matches!(self.envelope.body["thinking"]["type"].as_str(), Some("enabled" | "adaptive"))
            }
            Protocol::OpenaiChat => false,
            Protocol::OpenaiResponses => self.envelope.body["reasoning"].is_object(),
        }
    }

    /// How much of the prompt the cache is asked for: OpenAI needs no marks, and Anthropic neither reads nor writes beyond
    /// them.
    pub(crate) fn cache_reach(&self) -> CacheReach {
        let body = &self.envelope.body;
        match self.protocol() {
            Protocol::OpenaiChat | Protocol::OpenaiResponses => CacheReach::Unmarked,
            Protocol::Anthropic if is_marked(&body["messages"]) || is_mark(&body["cache_control"]) => {
                CacheReach::Marked { parts: self.prompt.parts.len(), tokens: self.prompt.tokens }
            }
            Protocol::Anthropic if is_marked(&body["system"]) || is_marked(&body["tools"]) => {
                CacheReach::Marked { parts: self.prompt.fixed, tokens: self.prompt.fixed_tokens() }
            }
            Protocol::Anthropic => CacheReach::Marked { parts: 0, tokens: 0 },
        }
    }
}

/// How much of a prompt is looked for in the cache and kept there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheReach {
    /// All of it, and what is written costs no more than what is read anew.
    Unmarked,
    /// As far as marks reach: so many parts, of so many tokens. What is written is told.
    Marked { parts: usize, tokens: u64 },
}

/// Whether a cache mark stands on one of these blocks, or on a block of these messages.
fn is_marked(list: &Value) -> bool {
    let mut all = list.as_array().into_iter().flatten();
    all.any(|value| value.get("cache_control").is_some_and(is_mark) || is_marked(&value["content"]))
}

fn is_mark(value: &Value) -> bool {
    !value.is_null()
}
