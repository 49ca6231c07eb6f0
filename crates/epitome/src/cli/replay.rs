//! What `epitome replay` takes.

use super::{PolicyArgs, ReadArgs, StoredArgs, formats, parse_tokens};
use clap::Args;
use epitome_wire::Protocol;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct ReplayArgs {
    /// Transcripts, or folders of them; sessions by number, id or name; standard input if left out where that is a
    /// pipe, or -
    #[arg(value_name = "FILE", conflicts_with = "session")]
    pub files: Vec<PathBuf>,
    /// Print the whole context of each call as well (with --json)
    #[arg(long)]
    pub contexts: bool,
    #[arg(long, value_name = "PROTOCOL", default_value_t = Protocol::Anthropic, help = formats::protocol_help())]
    pub to: Protocol,
    /// What stands before the history, in tokens: system prompt and tools; if left out what the transcript records, and
    /// where money is compared what its calls are seen to have held beside that
    #[arg(long, value_name = "TOKENS", conflicts_with = "system", value_parser = parse_tokens)]
    pub fixed: Option<u64>,
    /// Presets to hold side by side with what was recorded: calls, tokens, cache, money, waits
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with_all = ["preset", "contexts", "session"])]
    pub compare: Vec<String>,
    /// A system prompt to count, and to send with --contexts, in place of the one the transcript records
    #[arg(long, value_name = "FILE")]
    pub system: Option<PathBuf>,
    #[command(flatten)]
    pub stored: StoredArgs,
    #[command(flatten)]
    pub policy: PolicyArgs,
    #[command(flatten)]
    pub read: ReadArgs,
}
