//! Watching what stands in front of a session's messages. A provider's cache goes by how a request begins: where an agent writes a clock
//! into its system prompt, or lists its tools in another order each time, it never hits, and nobody sees that but in the bill.

use crate::prefix_hashes::PrefixHashes;
use serde::Serialize;
use std::fmt;

/// A part of what stands in front of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PrefixPart {
    SystemPrompt,
    /// A line in front of the system prompt that only Anthropic's own hosts take out.
    BillingLine,
    Tools,
    FirstMessages,
}

/// What one part was lately.
#[derive(Debug, Default)]
struct PartWatch {
    seen: Vec<[u8; 32]>,
    /// How many requests in a row had one that none of those before them had.
    new_ones: usize,
}

/// What the parts were lately.
#[derive(Debug, Default)]
pub(crate) struct PrefixWatch {
    system: PartWatch,
    billing: PartWatch,
    tools: PartWatch,
    /// In the newest request.
    messages: usize,
    is_told: bool,
}

/// An agent whose tools come one after the other while it starts is done by then.
pub(crate) const NEW_ONES_MAX: usize = 4;

/// An agent and its side requests have a prefix each, and take turns.
const SEEN_MAX: usize = 8;

impl PrefixWatch {
    /// Takes up the prefix of a request with so many messages; the part that is another in every request, said once.
    pub(crate) fn see(
        &mut self,
        prefix: &PrefixHashes,
        messages: usize,
        is_at_anthropic: bool,
    ) -> Option<PrefixPart> {
        // Several agents that are sent out over one list have a prefix each; what is sent again has grown no longer.
        let has_grown = messages > std::mem::replace(&mut self.messages, messages);
        let is_billing_volatile = self.billing.see(prefix.billing, has_grown) && !is_at_anthropic;
        let parts = [
            (self.system.see(prefix.agent.system, has_grown), PrefixPart::SystemPrompt),
            (self.tools.see(prefix.agent.tools, has_grown), PrefixPart::Tools),
            (is_billing_volatile, PrefixPart::BillingLine),
        ];
        let (_, part) = parts.into_iter().find(|(is_volatile, _)| *is_volatile && !self.is_told)?;
        self.is_told = true;
        Some(part)
    }
}

impl PartWatch {
    /// Takes up what it is now; whether it is another each time.
    fn see(&mut self, now: [u8; 32], counts: bool) -> bool {
        let is_known = self.seen.contains(&now);
        if !is_known {
            let is_first = self.seen.is_empty();
            if self.seen.len() >= SEEN_MAX {
                self.seen.remove(0);
            }
            self.seen.push(now);
            self.new_ones += usize::from(counts && !is_first);
        } else if counts {
            self.new_ones = 0;
        }
        self.new_ones >= NEW_ONES_MAX
    }
}

impl PrefixPart {
    /// What to do about it.
    const fn advice(self) -> &'static str {
        match self {
            Self::SystemPrompt | Self::Tools | Self::FirstMessages => {
                "have the agent keep what changes, such as a clock or a list of files, out of it, or say it at the end of the conversation"
            }
            Self::BillingLine => "start Claude Code with CLAUDE_CODE_ATTRIBUTION_HEADER=0",
        }
    }
}

impl fmt::Display for PrefixPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = match self {
            Self::SystemPrompt => "the system prompt is another",
            Self::BillingLine => {
                "the line x-anthropic-billing-header in front of the system prompt is another"
            }
            Self::Tools => "the list of tools is another",
            Self::FirstMessages => "the beginning of the conversation is another",
        };
        write!(
            f,
            "{part} in each of {} requests in a row, so that the provider's cache cannot help; {}",
            NEW_ONES_MAX + 1,
            self.advice()
        )
    }
}
