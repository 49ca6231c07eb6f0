//! What is counted of a conversation: requests, recoveries, and what the provider says they took.

use crate::ended_call::UsageSource;
use epitome_tokens::Usage;
use epitome_wire::ReportedUsage;
use epitome_wire::overflow::{OverflowVerdict, RequestFacts, notice};
use epitome_wire::protocol::{ModelReply, ReplyUsage};
use serde::Serialize;

/// Sums over the requests of one conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Tally {
    /// Requests sent on.
    pub(crate) requests: u64,
    /// Replies that came whole.
    pub(crate) replies: u64,
    /// Overflows that a second, smaller request made good.
    pub(crate) recoveries: u64,
    /// Replies whose provider did not say what the call took: in the sums below our own count stands for it.
    pub(crate) unreported: u64,
    /// Tokens of all prompts, by the provider's count.
    pub(crate) prompt_tokens: u64,
    /// The part of them read from the provider's cache.
    pub(crate) cache_read_tokens: u64,
    /// The part of them written to it.
    pub(crate) cache_write_tokens: u64,
    /// Tokens of all replies.
    pub(crate) output_tokens: u64,
}

/// What a reply teaches beside its sums.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Lesson {
    /// What the reply tells of the provider's window.
    pub(crate) verdict: Option<OverflowVerdict>,
    /// What the provider said of the call; our own count where it said nothing.
    pub(crate) usage: Option<(Usage, UsageSource)>,
}

impl Tally {
    /// Adds what one reply took; `known` is what we knew of its request, and `estimate` what it took by our own count.
    pub(crate) fn add(
        &mut self,
        answer: &ModelReply,
        known: &RequestFacts,
        estimate: Option<Usage>,
    ) -> Lesson {
        self.replies += u64::from(answer.is_whole);
        let verdict = notice(answer, known);
        let Some(taken) = answer.usage else {
            // Of what is no reply nobody knows that it was charged for.
            if !answer.is_whole && answer.message.blocks.is_empty() {
                return Lesson { verdict, usage: None };
            }
            let Some(estimate) = estimate else { return Lesson { verdict, usage: None } };
            self.add_usage(&ReportedUsage {
                prompt: estimate.prompt,
                output: estimate.output,
                ..ReportedUsage::default()
            });
            self.unreported += 1;
            return Lesson { verdict, usage: Some((estimate, UsageSource::Estimate)) };
        };
        self.add_usage(&taken.charged());
        Lesson { verdict, usage: Some((call_usage(&taken), UsageSource::Provider)) }
    }

    fn add_usage(&mut self, usage: &ReportedUsage) {
        self.prompt_tokens = self.prompt_tokens.saturating_add(usage.prompt);
        self.cache_read_tokens = self.cache_read_tokens.saturating_add(usage.cache_read);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(usage.cache_write);
        self.output_tokens = self.output_tokens.saturating_add(usage.output);
    }
}

/// A call's usage in the terms of those who count.
pub(crate) fn call_usage(taken: &ReplyUsage) -> Usage {
    let ReportedUsage { prompt, output, cache_read, cache_write } = taken.usage;
    Usage { prompt, output, cache_read, cache_write, reasoning: taken.reasoning }
}
