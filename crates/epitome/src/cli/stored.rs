//! What commands on the store of sessions take.

use super::{PointerRange, ReadArgs, formats, parse_pointer};
use crate::store_place::StoreName;
use clap::{Args, ValueEnum};
use epitome_core::EntryId;
use epitome_engine::store::SessionId;
use epitome_wire::Format;
use std::path::PathBuf;

/// Which store.
#[derive(Args, Clone, Debug, Default)]
pub struct StoreArgs {
    /// The store of sessions: sqlite:PATH, a path, or postgres://…; epitome.db in your data folder if left out
    #[arg(long, value_name = "ADDRESS", env = "EPITOME_STORE", hide_env_values = true)]
    pub store: Option<StoreName>,
}

/// A stored session in place of a file.
#[derive(Args, Clone, Debug, Default)]
pub struct StoredArgs {
    /// A session of the store in place of a file: s0001, as `epitome sessions` lists them
    #[arg(long, value_name = "ID")]
    pub session: Option<SessionId>,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Args, Debug)]
pub struct ImportArgs {
    /// Transcripts, or folders of them; sessions of the tools by number, id or name; standard input if left out where that
    /// is a pipe, or -
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Import a file again that is in the store already, as another session
    #[arg(long)]
    pub again: bool,
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub read: ReadArgs,
}

#[derive(Args, Debug)]
pub struct ExportArgs {
    /// The session, as `epitome sessions` lists it
    #[arg(value_name = "ID")]
    pub session: SessionId,
    /// Where to write; standard output if left out
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Replace a file at OUT among an agent's own sessions too, whatever it holds; elsewhere OUT is replaced anyway
    #[arg(long, requires = "output")]
    pub force: bool,
    #[arg(long, value_name = "FORMAT", help = formats::export_help())]
    pub to: Option<Format>,
    /// Print one JSON document about what was written, instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Args, Debug)]
pub struct HistoryArgs {
    /// The session, as `epitome sessions` lists it
    #[arg(value_name = "ID")]
    pub session: SessionId,
    /// Entries of all paths, not only of the one the session is on
    #[arg(long)]
    pub all: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Args, Debug)]
pub struct TreeArgs {
    /// The session, as `epitome sessions` lists it
    #[arg(value_name = "ID")]
    pub session: SessionId,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Args, Debug)]
pub struct ShowArgs {
    /// The session, as `epitome sessions` lists it
    #[arg(value_name = "ID")]
    pub session: SessionId,
    /// Entries by pointer, such as m0123 or m0370-m0372: messages whole, compactions with their record; what is known of
    /// the session if left out
    #[arg(value_name = "ENTRY")]
    pub entries: Vec<PointerRange>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Args, Debug)]
pub struct SearchArgs {
    /// Words, all of which a message must hold, in any order
    #[arg(required = true, value_name = "WORDS")]
    pub words: Vec<String>,
    /// Only in this session
    #[arg(long, value_name = "ID")]
    pub session: Option<SessionId>,
    /// Only calls of this tool
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// Only calls that name this file, by its path or the end of it
    #[arg(long, value_name = "PATH")]
    pub file: Option<String>,
    /// Only what was stored since: a time such as 2026-01-31, or how long ago, such as 7d or 12h
    #[arg(long, value_name = "WHEN", value_parser = super::span::parse_since)]
    pub since: Option<u64>,
    /// How many are shown at most
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub limit: usize,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Args, Debug)]
pub struct RedoArgs {
    /// The compaction to use again; the one taken back last if left out
    #[arg(value_name = "ENTRY", value_parser = parse_pointer)]
    pub entry: Option<EntryId>,
    /// The session, as `epitome sessions` lists it
    #[arg(long, value_name = "ID")]
    pub session: SessionId,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Args, Debug)]
pub struct RollbackArgs {
    /// The session, as `epitome sessions` lists it
    #[arg(value_name = "ID")]
    pub session: SessionId,
    /// The message it goes back to, or forward to: any of `epitome tree`
    #[arg(value_name = "ENTRY", value_parser = parse_pointer)]
    pub entry: EntryId,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Args, Debug)]
pub struct NavigateArgs {
    /// The session, as `epitome sessions` lists it
    #[arg(value_name = "ID")]
    pub session: SessionId,
    /// The message it goes to: any of `epitome tree`
    #[arg(value_name = "ENTRY", value_parser = parse_pointer)]
    pub entry: EntryId,
    /// Tell there what was done on the branch that is left, with its files, as a message of its own
    #[arg(long)]
    pub summary: bool,
    /// What that should dwell on
    #[arg(long, value_name = "TEXT", requires = "summary")]
    pub focus: Option<String>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Args, Debug)]
pub struct LabelArgs {
    /// The session, as `epitome sessions` lists it
    #[arg(value_name = "ID")]
    pub session: SessionId,
    /// The name
    #[arg(value_name = "TEXT")]
    pub text: String,
    /// The message that is to have it; where the session is if left out
    #[arg(long, value_name = "ENTRY", value_parser = parse_pointer)]
    pub at: Option<EntryId>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Args, Debug)]
pub struct ForkArgs {
    /// The session, as `epitome sessions` lists it
    #[arg(value_name = "ID")]
    pub session: SessionId,
    /// The message that the new session goes on from; where the session is if left out
    #[arg(value_name = "ENTRY", value_parser = parse_pointer)]
    pub entry: Option<EntryId>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// A compaction, judged in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FlagName {
    /// It kept what matters
    Good,
    /// It did not
    Bad,
    /// Neither; takes a judgement back
    Neutral,
}

#[derive(Args, Debug)]
pub struct FlagArgs {
    /// The session, as `epitome sessions` lists it
    #[arg(value_name = "ID")]
    pub session: SessionId,
    /// The compaction, as `epitome tree` shows it
    #[arg(value_name = "COMPACTION", value_parser = parse_pointer)]
    pub entry: EntryId,
    /// What you think of it
    #[arg(value_name = "FLAG", value_enum)]
    pub flag: FlagName,
    /// The same in your words
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub notes: String,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Args, Debug)]
pub struct AuditArgs {
    /// Only of this session
    #[arg(long, value_name = "ID")]
    pub session: Option<SessionId>,
    /// Only since: a time such as 2026-01-31, or how long ago, such as 7d or 12h
    #[arg(long, value_name = "WHEN", value_parser = super::span::parse_since)]
    pub since: Option<u64>,
    /// Only of this kind, such as compaction.completed or completed
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// What costs are added up by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CostKey {
    /// A line for each session
    #[default]
    Session,
    /// A line for each agent
    Agent,
    /// A line for each model
    Model,
    /// A line for each day
    Day,
}

#[derive(Args, Debug)]
pub struct CostArgs {
    /// What is added up together
    #[arg(long, value_name = "KEY", value_enum, default_value_t)]
    pub by: CostKey,
    /// Only of this session
    #[arg(long, value_name = "ID")]
    pub session: Option<SessionId>,
    /// A file of your own figures for models, on top of the catalog (see docs/reference/tokens.md)
    #[arg(long, value_name = "FILE", env = "EPITOME_MODELS")]
    pub models: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Args, Debug)]
pub struct ExpireLimits {
    /// Sessions that nothing was added to for this long, such as 90d or 12h; without this and --larger-than, what
    /// `store.expire_after` and `store.size_max` say
    #[arg(long, value_name = "TIME", value_parser = super::span::parse_span)]
    pub older_than: Option<u64>,
    /// The oldest sessions, until the rest takes no more than this, such as 2GB or 500MB
    #[arg(long, value_name = "SIZE", value_parser = super::span::parse_size)]
    pub larger_than: Option<u64>,
}

#[derive(Args, Debug)]
pub struct ExpireArgs {
    #[command(flatten)]
    pub limits: ExpireLimits,
    /// Tell what would go, and touch nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Delete sessions that were changed in the last day, too
    #[arg(long)]
    pub yes: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}
