//! The command line: what can be asked, and how it is spelled.

mod address;
mod examples;
mod formats;
mod pointer;
mod policy;
mod replay;
mod serve;
mod sessions;
mod span;
mod stored;

pub use formats::FromFormat;
pub use pointer::{PointerRange, parse_pointer};
pub use policy::{ConfigArgs, InitArgs, PolicyArgs, SettingFlag};
pub use replay::ReplayArgs;
pub use serve::ServeArgs;
pub use sessions::{SessionSort, SessionsArgs};
pub use stored::{
    AuditArgs, CostArgs, CostKey, DoctorArgs, ExpireArgs, ExpireLimits, ExportArgs, FlagArgs, FlagName,
    ForkArgs, HistoryArgs, ImportArgs, LabelArgs, NavigateArgs, RedoArgs, RollbackArgs, SearchArgs, ShowArgs,
    StoreArgs, StoredArgs, TreeArgs,
};

use clap::{Args, Parser, Subcommand};
use epitome_settings::schema::parse_window;
use epitome_wire::{Format, Protocol};
use std::path::PathBuf;

/// Owns the moment an agent's context window is full.
///
/// Looks inside the transcripts agents leave, makes them fit with every byte kept in the file, and proves what
/// the model still sees. No key and no network needed.
#[derive(Parser, Debug)]
#[command(name = "epitome", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = examples::START)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// List the sessions of agents on this machine: when, where, how full, what was spent
    #[command(after_help = examples::SESSIONS)]
    Sessions(SessionsArgs),
    /// Show what fills the context: by kind, tool and file, what could be freed, what it cost
    #[command(after_help = examples::INSPECT)]
    Inspect(InspectArgs),
    /// Print what the model would see now, as a request body
    #[command(after_help = examples::CONTEXT)]
    Context(ContextArgs),
    /// Make a transcript fit, keeping every original
    #[command(after_help = examples::COMPACT)]
    Compact(CompactArgs),
    /// Feed a transcript through the engine call by call
    #[command(after_help = examples::REPLAY)]
    Replay(ReplayArgs),
    /// Count tokens
    #[command(after_help = examples::TOKENS)]
    Tokens(TokensArgs),
    /// Print the originals behind pointers such as m0123
    #[command(after_help = examples::RECALL)]
    Recall(RecallArgs),
    /// Take the last compaction of a transcript back
    #[command(after_help = examples::UNDO)]
    Undo(UndoArgs),
    /// Use a compaction of a stored session again that was taken back
    #[command(after_help = examples::REDO)]
    Redo(RedoArgs),
    /// Keep a transcript in the store of sessions
    #[command(after_help = examples::IMPORT)]
    Import(ImportArgs),
    /// Write a stored session to a file, whole
    #[command(after_help = examples::EXPORT)]
    Export(ExportArgs),
    /// List what was said and done in a stored session, in order
    #[command(after_help = examples::HISTORY)]
    History(HistoryArgs),
    /// Show a stored session's paths: branches, compactions, labels, where it is
    #[command(after_help = examples::TREE)]
    Tree(TreeArgs),
    /// Show entries of a stored session whole
    #[command(after_help = examples::SHOW)]
    Show(ShowArgs),
    /// Look for words in all stored sessions, what is out of view included
    #[command(after_help = examples::SEARCH)]
    Search(SearchArgs),
    /// Move a stored session to another message; nothing is lost
    #[command(after_help = examples::ROLLBACK)]
    Rollback(RollbackArgs),
    /// Move a stored session to another branch, with a word on the one it leaves
    #[command(after_help = examples::NAVIGATE)]
    Navigate(NavigateArgs),
    /// Begin another session from a message of a stored one
    #[command(after_help = examples::FORK)]
    Fork(ForkArgs),
    /// Give a place in a stored session a name
    #[command(after_help = examples::LABEL)]
    Label(LabelArgs),
    /// Say what you think of a compaction
    #[command(after_help = examples::FLAG)]
    Flag(FlagArgs),
    /// List what happened to stored sessions, with times
    #[command(after_help = examples::AUDIT)]
    Audit(AuditArgs),
    /// Add up what stored sessions cost, compactions apart, and what was saved
    #[command(after_help = examples::COST)]
    Cost(CostArgs),
    /// Delete old sessions from the store
    #[command(after_help = examples::EXPIRE)]
    Expire(ExpireArgs),
    /// Look whether the store is well, and say what to do where it is not
    #[command(after_help = examples::DOCTOR)]
    Doctor(DoctorArgs),
    /// List models: windows, output limits, prices, and where each figure comes from
    #[command(after_help = examples::MODELS)]
    Models(ModelsArgs),
    /// List presets, or print one
    #[command(after_help = examples::PRESETS)]
    Presets(ListArgs),
    /// Show what you have set, who said it, and what it comes to in the window; with --all every setting
    #[command(after_help = examples::CONFIG)]
    Config(ConfigArgs),
    /// Write epitome.toml and a prompt to begin with, where there are none
    #[command(after_help = examples::INIT)]
    Init(InitArgs),
    /// Serve agents: a proxy that makes their contexts fit
    #[command(after_help = examples::SERVE)]
    Serve(ServeArgs),
    /// Compact a bundled real session and show what happened
    #[command(after_help = examples::DEMO)]
    Demo(DemoArgs),
    /// Print the version; with --verbose how it was built, and the licences of what is in it
    #[command(after_help = examples::VERSION)]
    Version(VersionArgs),
    /// Print a completion script for your shell
    #[command(after_help = examples::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Print the manual page
    #[command(after_help = examples::MAN)]
    Man,
}

/// How a file is read and counted.
#[derive(Args, Debug, Clone)]
pub struct ReadArgs {
    #[arg(long, value_name = "FORMAT", default_value = formats::AUTO, help = formats::from_help())]
    pub from: FromFormat,
    /// The model to count for; the one the transcript names if left out
    #[arg(long, value_name = "MODEL", env = "EPITOME_MODEL")]
    pub model: Option<String>,
    /// The context window in tokens; the model's if left out
    #[arg(long, value_name = "TOKENS", value_parser = parse_window)]
    pub window: Option<u64>,
    /// A file of your own figures for models, on top of the catalog (see docs/reference/tokens.md)
    #[arg(long, value_name = "FILE", env = "EPITOME_MODELS")]
    pub models: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

impl ReadArgs {
    /// Nothing said of it: a stored session is read as it is.
    pub fn plain() -> Self {
        Self { from: FromFormat(None), model: None, window: None, models: None, json: false }
    }
}

#[derive(Args, Debug)]
pub struct InspectArgs {
    /// Transcripts, or folders of them; .gz and .zst are read directly, - is standard input; a session by its number in
    /// `epitome sessions`, its id or its name; the table of sessions if left out and nothing is piped in
    #[arg(value_name = "FILE", conflicts_with = "session")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub stored: StoredArgs,
    /// Write a page for a browser instead of text, one file that needs nothing else; - is standard output
    #[arg(long, value_name = "OUT", conflicts_with = "json")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
}

#[derive(Args, Debug)]
pub struct ContextArgs {
    /// The transcript, or a session by its number, id or name; standard input if left out where that is a pipe, or -
    #[arg(conflicts_with = "session")]
    pub file: Option<PathBuf>,
    /// Where to write; standard output if left out
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Replace a file at OUT among an agent's own sessions too, whatever it holds; elsewhere OUT is replaced anyway
    #[arg(long, requires = "output")]
    pub force: bool,
    #[arg(long, value_name = "PROTOCOL", default_value_t = Protocol::Anthropic, help = formats::protocol_help())]
    pub to: Protocol,
    /// Which conversation of the file, from 0; the longest if left out
    #[arg(long, value_name = "N", conflicts_with = "session")]
    pub conversation: Option<usize>,
    /// The output limit to put into the body, where the transcript records none
    #[arg(long, value_name = "TOKENS", value_parser = parse_tokens)]
    pub max_tokens: Option<u64>,
    #[command(flatten)]
    pub stored: StoredArgs,
    #[command(flatten)]
    pub read: ReadArgs,
}

#[derive(Args, Debug)]
pub struct CompactArgs {
    /// Transcripts, or folders of them; sessions by number, id or name; standard input if left out where that is a
    /// pipe, or -
    #[arg(value_name = "FILE", conflicts_with = "session")]
    pub files: Vec<PathBuf>,
    /// Where to write: a file, or a folder where there are several transcripts; standard output if left out
    #[arg(short, long, value_name = "OUT", conflicts_with = "session")]
    pub output: Option<PathBuf>,
    /// Replace a file at OUT among an agent's own sessions too, whatever it holds; elsewhere OUT is replaced anyway
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Write a copy where the session's own tool looks for it, under a new id, and print the command that goes on with it
    #[arg(long, conflicts_with_all = ["output", "to", "session"])]
    pub resume: bool,
    #[arg(long, value_name = "FORMAT", help = formats::to_help(), conflicts_with = "session")]
    pub to: Option<Format>,
    /// What the summary should dwell on
    #[arg(long, value_name = "TEXT")]
    pub focus: Option<String>,
    /// Messages never to be superseded, by pointer
    #[arg(long = "pin", value_name = "ID", value_parser = parse_pointer)]
    pub pins: Vec<epitome_core::EntryId>,
    /// Summarise only what lies before this message
    #[arg(long, value_name = "ID", value_parser = parse_pointer, conflicts_with = "from_message")]
    pub up_to: Option<epitome_core::EntryId>,
    /// Summarise only what lies from this message on
    #[arg(long, value_name = "ID", value_parser = parse_pointer)]
    pub from_message: Option<epitome_core::EntryId>,
    /// Where files are read again for presets that restore some; the folder the transcript records, if
    /// left out and there is one. With --resume, also the folder its tool goes on in
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// Show the plan and touch nothing: no file is written, no model called
    #[arg(long)]
    pub dry_run: bool,
    /// Tell all: how it was counted, facts by class with examples, notes
    #[arg(short, long)]
    pub verbose: bool,
    #[command(flatten)]
    pub stored: StoredArgs,
    #[command(flatten)]
    pub policy: PolicyArgs,
    #[command(flatten)]
    pub read: ReadArgs,
}

#[derive(Args, Debug)]
pub struct TokensArgs {
    /// A text file; standard input if left out or -
    pub file: Option<PathBuf>,
    /// The model to count for
    #[arg(long, value_name = "MODEL", env = "EPITOME_MODEL")]
    pub model: Option<String>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct RecallArgs {
    /// The transcript, or a session by its number, id or name; with --session the first pointer
    pub file: PathBuf,
    /// Pointers such as m0123 or 123, or ranges of them such as m0370-m0372; that of a compaction gives its summary
    #[arg(required_unless_present = "session", value_name = "ID")]
    pub ids: Vec<PointerRange>,
    /// Which conversation of the file, from 0; the longest if left out
    #[arg(long, value_name = "N", conflicts_with = "session")]
    pub conversation: Option<usize>,
    #[command(flatten)]
    pub stored: StoredArgs,
    #[command(flatten)]
    pub read: ReadArgs,
}

#[derive(Args, Debug)]
pub struct UndoArgs {
    /// The transcript, or a session by its number, id or name; with --session the compaction to take back, by its
    /// pointer, and the last one if left out
    #[arg(required_unless_present = "session")]
    pub file: Option<PathBuf>,
    /// Where to write; standard output if left out
    #[arg(short, long, value_name = "OUT", conflicts_with = "session")]
    pub output: Option<PathBuf>,
    /// Replace a file at OUT among an agent's own sessions too, whatever it holds; elsewhere OUT is replaced anyway
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Take back a compaction that the session's own tool made, too
    #[arg(long, conflicts_with = "session")]
    pub foreign: bool,
    #[command(flatten)]
    pub stored: StoredArgs,
    #[command(flatten)]
    pub read: ReadArgs,
}

#[derive(Args, Debug)]
pub struct ModelsArgs {
    /// Only this one, whole
    pub name: Option<String>,
    /// What `serve` has learned of providers' endpoints, in place of the catalog
    #[arg(long)]
    pub learned: bool,
    /// Forget what was learned of the model, or of all; running servers do too, within seconds
    #[arg(long, conflicts_with = "learned")]
    pub forget: bool,
    #[command(flatten)]
    pub store: StoreArgs,
    /// A file of your own figures for models, on top of the catalog (see docs/reference/tokens.md)
    #[arg(long, value_name = "FILE", env = "EPITOME_MODELS")]
    pub models: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct ListArgs {
    /// Only this one, whole
    pub name: Option<String>,
    /// Your settings, beside which your own presets lie; epitome.toml in your configuration folder if left out
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct DemoArgs {
    /// The window to make the session fit
    #[arg(long, value_name = "TOKENS", default_value = "64000", value_parser = parse_window)]
    pub window: u64,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// A number of tokens: `8000` or `8k`.
fn parse_tokens(text: &str) -> Result<u64, String> {
    text.parse().map(|epitome_core::Tokens(tokens)| tokens)
}

#[derive(Args, Debug)]
pub struct VersionArgs {
    /// How it was built, and the licences of what is in it
    #[arg(short, long)]
    pub verbose: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}
