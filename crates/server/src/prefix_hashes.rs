//! Hashes of what stands in front of the messages of a request, part by part: by them the requests of one agent are told from those of
//! another over the same list, and a provider's cache goes by what they are of.

use crate::chain::ChainKey;
use epitome_wire::{FixedParts, Protocol};

/// How the piece begins that Claude Code puts in front of its system prompt. It is another with every request, and Anthropic takes it
/// out before it looks at its cache; nobody else does.
const BILLING_LINE: &str = "x-anthropic-billing-header:";

/// What is in front of a request's messages.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PrefixHashes {
    pub(crate) agent: AgentHashes,
    /// The billing line.
    pub(crate) billing: [u8; 32],
}

/// What an agent has in front of its messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AgentHashes {
    /// The system prompt, but for the billing line.
    pub(crate) system: [u8; 32],
    pub(crate) tools: [u8; 32],
}

impl PrefixHashes {
    pub(crate) fn of(key: &ChainKey, protocol: Protocol, parts: &FixedParts) -> Self {
        let system = parts.system.iter().map(|piece| &**piece);
        let (billing, system): (Vec<&str>, Vec<&str>) =
            system.partition(|piece| piece.starts_with(BILLING_LINE));
        let tools: Vec<&str> = parts.tools.iter().map(|tool| &**tool).collect();
        let hash = |pieces: &[&str]| key.bytes(protocol, pieces);
        let agent = AgentHashes { system: hash(&system), tools: hash(&tools) };
        Self { agent, billing: hash(&billing) }
    }
}
