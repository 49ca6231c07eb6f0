//! What a provider reported for one reply, in one form for all of them.
//!
//! Turning a protocol's fields into this form is left to the crate that knows protocols.

use serde::{Deserialize, Serialize};

/// The tokens of one request and its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// The whole prompt: fresh, read from the cache and written to it.
    pub prompt: u64,
    /// The whole reply, reasoning included.
    pub output: u64,
    /// The part of the prompt read from the cache.
    #[serde(default)]
    pub cache_read: u64,
    /// The part of the prompt written to the cache.
    #[serde(default)]
    pub cache_write: u64,
    /// The part of the reply that was reasoning.
    #[serde(default)]
    pub reasoning: u64,
}

impl Usage {
    /// Whether nothing was reported at all: some servers leave every field at zero.
    #[must_use]
    pub const fn is_zero(&self) -> bool {
        self.prompt == 0 && self.output == 0
    }
}

/// A stretch of a session whose prefix only grows. Every compaction, edit, rewind, model switch or
/// change of the fixed prefix begins another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub u64);

/// A prefix the provider has measured: what the next prompt of the same epoch begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// The epoch it was measured in.
    pub epoch: Epoch,
    /// What the provider reported.
    pub usage: Usage,
    /// The part of the reply that later prompts leave out, such as thinking.
    pub dropped: u64,
}

impl Anchor {
    /// The tokens of the measured prompt and its reply, as the next prompt will carry them.
    #[must_use]
    pub const fn known(&self) -> u64 {
        (self.usage.prompt + self.usage.output).saturating_sub(self.dropped)
    }
}
