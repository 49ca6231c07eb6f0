//! What the upstream is told before it starts.

use crate::{Binding, Plan, Recording, Strictness, Style};
use std::sync::Arc;

/// How an upstream answers. The default is an agent that calls tools for three rounds, then says a little.
#[derive(Clone, Debug)]
pub struct Script {
    /// The window of every model; the catalog's where none is given.
    pub window_tokens: Option<u64>,
    /// What is said when a prompt does not fit.
    pub overflow_style: Style,
    /// Where it is said.
    pub overflow_place: Place,
    /// How long the agent's answers are.
    pub reply_tokens: u64,
    /// How many rounds of calls it makes before it answers.
    pub tool_rounds: u32,
    /// Other seeds, other words.
    pub seed: u64,
    /// Texts that mark a summary request; none for the usual rule.
    pub summary_markers: Vec<String>,
    /// Replies to give in place of the agent's.
    pub replay: Option<Arc<Recording>>,
    /// What goes wrong, and when.
    pub plan: Plan,
    /// How requests are checked.
    pub strictness: Strictness,
    /// What the seal on reasoning covers.
    pub binding: Binding,
    /// Whether requests are kept for the report.
    pub keep: Keep,
    /// The largest body taken, in bytes.
    pub body_bytes_max: usize,
}

/// Where an overflow is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// As the status of the answer.
    #[default]
    Status,
    /// Inside a stream that began well.
    Stream,
}

/// What becomes of requests once they are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// They are counted.
    #[default]
    Nothing,
    /// They are kept, up to a limit.
    Bodies,
}

/// What Anthropic takes; OpenAI takes more.
const BODY_BYTES_MAX: usize = 32 << 20;

impl Default for Script {
    fn default() -> Self {
        Self {
            window_tokens: None,
            overflow_style: Style::Provider,
            overflow_place: Place::Status,
            reply_tokens: 120,
            tool_rounds: 3,
            seed: 1,
            summary_markers: Vec::new(),
            replay: None,
            plan: Plan::default(),
            strictness: Strictness::Strict,
            binding: Binding::Text,
            keep: Keep::Nothing,
            body_bytes_max: BODY_BYTES_MAX,
        }
    }
}
