//! What `epitome sessions` takes.

use super::StoreArgs;
use crate::agents::Agent;
use crate::commands::sessions::parse_tool;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What sessions are ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SessionSort {
    /// The newest first
    #[default]
    When,
    /// The largest context first
    Size,
    /// The most expensive first; every file is read to its end, once
    Spent,
    /// The most compactions first; every file is read to its end, once
    Compactions,
    /// By folder
    Project,
}

#[derive(Args, Debug)]
pub struct SessionsArgs {
    /// Only those held in this folder or below it, or with this text in their folder, name, first prompt, model or id
    #[arg(value_name = "FOLDER|TEXT", conflicts_with = "here")]
    pub filter: Option<String>,
    /// Only those held in this folder or below it
    #[arg(long)]
    pub here: bool,
    /// Only those of one tool: claude-code, codex, pi, opencode, gemini-cli, copilot-cli or qwen-code
    #[arg(long, value_name = "TOOL", value_parser = parse_tool)]
    pub tool: Option<Agent>,
    /// What comes first
    #[arg(long, value_name = "KEY", value_enum, default_value_t)]
    pub sort: SessionSort,
    /// How many are shown
    #[arg(long, value_name = "N", default_value_t = LIMIT, conflicts_with = "all")]
    pub limit: usize,
    /// Show all of them
    #[arg(long)]
    pub all: bool,
    /// Only those of the store, which stand below those of the tools
    #[arg(long, conflicts_with_all = ["no_store", "tool"])]
    pub stored: bool,
    /// Leave those of the store out
    #[arg(long)]
    pub no_store: bool,
    #[command(flatten)]
    pub store: StoreArgs,
    /// A file of your own figures for models, on top of the catalog (see docs/reference/tokens.md)
    #[arg(long, value_name = "FILE", env = "EPITOME_MODELS")]
    pub models: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// What fits on a screen.
const LIMIT: usize = 20;

impl Default for SessionsArgs {
    fn default() -> Self {
        Self {
            filter: None,
            here: false,
            tool: None,
            sort: SessionSort::default(),
            limit: LIMIT,
            all: false,
            stored: false,
            no_store: false,
            store: StoreArgs::default(),
            models: None,
            json: false,
        }
    }
}
