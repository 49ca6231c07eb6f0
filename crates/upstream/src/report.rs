//! What an upstream has seen, for tests to read.

use crate::Kind;
use epitome_tokens::Usage;
use serde::Serialize;
use std::collections::BTreeMap;

/// Everything since the upstream started.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// How many requests came.
    pub requests: u64,
    /// How many of each kind.
    pub by_kind: BTreeMap<Kind, u64>,
    /// How many requests broke a rule.
    pub refused: u64,
    /// The rules broken, the first [`NOTES_MAX`] of them.
    pub violations: Vec<Breach>,
    /// How many prompts did not fit, or were told so.
    pub overflows: u64,
    /// How many answers went wrong by order.
    pub faults: u64,
    /// The longest prompt, fitting or not.
    pub largest_prompt_tokens: u64,
    /// What all answered requests took together.
    pub usage: Usage,
    /// The requests, where the script says to keep them; the last [`REQUESTS_MAX`] of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recorded: Vec<Recorded>,
}

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Breach {
    /// The request's number, from 1.
    pub request: u64,
    /// Where in the body.
    pub path: String,
    /// The rule, or what the provider said.
    pub rule: String,
}

/// A request, kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recorded {
    /// Its number, from 1.
    pub request: u64,
    /// What it was for.
    pub kind: Kind,
    /// Where it was sent.
    pub path: String,
    /// The headers that say who asks and for what; of a credential only its [`credential_hash`].
    pub headers: BTreeMap<String, String>,
    /// The body, byte for byte.
    pub body: String,
    /// The status it was answered with.
    pub status: u16,
    /// What it took, where it was answered.
    pub usage: Option<Usage>,
}

/// What a report shows of a credential: enough to tell whether two requests bear the same one.
pub fn credential_hash(value: &str) -> String {
    blake3::hash(value.as_bytes()).to_hex()[..HASH_CHARS].to_owned()
}

/// Tests have a handful of keys.
const HASH_CHARS: usize = 12;
/// A test that breaks more rules than this has one fault, not many.
pub const NOTES_MAX: usize = 200;
/// Long sessions have some hundreds of requests; more would fill the memory.
pub const REQUESTS_MAX: usize = 500;

impl Report {
    pub(crate) fn count(&mut self, kind: Kind) {
        *self.by_kind.entry(kind).or_default() += 1;
    }

    pub(crate) fn note(&mut self, breaches: Vec<Breach>) {
        self.refused += 1;
        let room = NOTES_MAX.saturating_sub(self.violations.len());
        self.violations.extend(breaches.into_iter().take(room));
    }

    pub(crate) fn spend(&mut self, usage: Usage) {
        self.usage.prompt += usage.prompt;
        self.usage.output += usage.output;
        self.usage.cache_read += usage.cache_read;
        self.usage.cache_write += usage.cache_write;
        self.usage.reasoning += usage.reasoning;
    }

    pub(crate) fn keep(&mut self, recorded: Recorded) {
        if self.recorded.len() >= REQUESTS_MAX {
            self.recorded.remove(0);
        }
        self.recorded.push(recorded);
    }
}
