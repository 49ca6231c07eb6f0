//! The command line of the scripted upstream.

use anyhow::{Context as _, Result};
use clap::Parser;
use epitome_upstream::{Binding, Keep, Place, Plan, Recording, Script, Strictness, Style};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// Stands in for model providers: their shapes, their errors, no model.
///
/// Speaks Anthropic Messages, OpenAI Chat Completions and OpenAI Responses. GET /scripted/report tells what
/// was asked; POST /scripted/plan changes what goes wrong.
#[derive(Parser, Debug)]
#[command(name = "scripted-upstream", version)]
pub(crate) struct Cli {
    /// The address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Stop when standard input closes
    #[arg(long)]
    pub(crate) until_stdin_closes: bool,
    /// The window of every model, in tokens; the catalog's if left out
    #[arg(long, value_name = "TOKENS")]
    window: Option<u64>,
    /// Whose way of refusing a long prompt to play: provider, vllm, llama.cpp, ollama, gemini, …
    #[arg(long, value_name = "STYLE", default_value_t)]
    overflow_style: Style,
    /// Refuse long prompts inside a stream that began well
    #[arg(long)]
    overflow_in_stream: bool,
    /// Answer with the replies of this transcript, in order
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// How long the agent's answers are
    #[arg(long, value_name = "TOKENS", default_value_t = Script::default().reply_tokens)]
    reply_tokens: u64,
    /// How many rounds of calls it makes before it answers
    #[arg(long, value_name = "N", default_value_t = Script::default().tool_rounds)]
    tool_rounds: u32,
    /// Other seeds, other words
    #[arg(long, value_name = "N", default_value_t = Script::default().seed)]
    seed: u64,
    /// A text that marks a summary request; may be given several times
    #[arg(long, value_name = "TEXT")]
    summary_marker: Vec<String>,
    /// What goes wrong, such as summary:1=500,2=empty; may be given several times
    #[arg(long, value_name = "PLAN")]
    fail: Vec<Plan>,
    /// Check only what the providers themselves check
    #[arg(long)]
    lenient: bool,
    /// Seal reasoning together with everything before it, as newer Anthropic models do
    #[arg(long)]
    bind_thinking: bool,
    /// Keep requests for the report
    #[arg(long)]
    record: bool,
    /// The largest body taken
    #[arg(long, value_name = "BYTES", default_value_t = Script::default().body_bytes_max)]
    body_bytes: usize,
}

impl Cli {
    /// What was asked for, as a script.
    pub(crate) fn script(self) -> Result<Script> {
        let opened = |path: PathBuf| {
            Recording::open(&path).with_context(|| format!("cannot replay {}", path.display())).map(Arc::new)
        };
        Ok(Script {
            window_tokens: self.window,
            overflow_style: self.overflow_style,
            overflow_place: if self.overflow_in_stream { Place::Stream } else { Place::Status },
            reply_tokens: self.reply_tokens,
            tool_rounds: self.tool_rounds,
            seed: self.seed,
            summary_markers: self.summary_marker,
            replay: self.replay.map(opened).transpose()?,
            plan: self.fail.into_iter().fold(Plan::default(), Plan::and),
            strictness: if self.lenient { Strictness::Lenient } else { Strictness::Strict },
            binding: if self.bind_thinking { Binding::Conversation } else { Binding::Text },
            keep: if self.record { Keep::Bodies } else { Keep::Nothing },
            body_bytes_max: self.body_bytes,
        })
    }
}
