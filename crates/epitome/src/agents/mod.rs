//! The agents whose sessions are found on this machine: one file each, which says where it keeps them, what a line of
//! one tells, and how one is gone on with.
//!
//! [`list`] names the files, `scan` reads figures from them, `index` keeps those, `collection` puts them together for a
//! table, and `lookup` finds the one that is meant by a number, an id or a name. What a session says is
//! `epitome_wire`'s to read.

mod claude_code;
mod codex;
pub mod collection;
mod copilot_cli;
mod figures;
mod gemini_cli;
pub mod home;
mod index;
pub mod lookup;
mod name;
mod opencode;
mod pi;
mod qwen_code;
pub mod resume;
mod scan;

pub use collection::{FoundSession, SessionCollection};
pub use figures::{ContextSize, SessionFigures, WindowFigure};
pub use name::name_in;

use epitome_wire::Format;
use index::SessionIndex;
use resume::ResumeWay;
use scan::SessionScan;
use std::ffi::OsStr;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// An agent that leaves sessions behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Agent {
    ClaudeCode,
    Codex,
    Pi,
    Opencode,
    GeminiCli,
    CopilotCli,
    QwenCode,
}

/// What there is to know of one agent.
struct AgentRow {
    agent: Agent,
    /// How its sessions are written; its name is the agent's.
    format: Format,
    /// Adds the files of its sessions.
    list: fn(&SessionIndex<'_>, &mut Vec<SessionFile>),
    /// Takes from a line, or a document, what it tells of the session.
    take: fn(&str, &mut SessionScan<'_>),
    /// What stands in every line that `take` needs beyond a session's beginning.
    needles: &'static [&'static str],
    /// How it goes on with a session that we wrote.
    resume: ResumeWay,
    /// Where it looks for the id it is given.
    id: IdPlace,
}

/// Where the id stands that opens a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IdPlace {
    /// Its file is named so; what its records say may be the id of the session it was copied from.
    FileName,
    /// Its records say it; the file's name holds it, or its beginning.
    Record,
}

const ROWS: [AgentRow; 7] =
    [claude_code::ROW, codex::ROW, pi::ROW, opencode::ROW, gemini_cli::ROW, copilot_cli::ROW, qwen_code::ROW];

impl Agent {
    /// All of them, in the order they are listed to people.
    pub const ALL: [Self; 7] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::Pi,
        Self::Opencode,
        Self::GeminiCli,
        Self::CopilotCli,
        Self::QwenCode,
    ];

    fn row(self) -> &'static AgentRow {
        ROWS.iter().find(|row| row.agent == self).expect("an agent is added with its row")
    }

    /// How its sessions are written.
    pub fn format(self) -> Format {
        self.row().format
    }

    /// The name people and scripts use.
    pub fn name(self) -> &'static str {
        self.format().name()
    }

    /// The agent that writes transcripts of this format, where there is one.
    pub fn of(format: Format) -> Option<Self> {
        ROWS.iter().find(|row| row.format == format).map(|row| row.agent)
    }
}

/// The file of a session as it stands on the disk; nothing of it is read yet.
#[derive(Clone, Debug)]
pub struct SessionFile {
    pub agent: Agent,
    /// Where it is; a session of a database is a name below the database's file.
    pub path: PathBuf,
    /// The agent's name for it, as far as the file's name tells.
    pub id: String,
    /// Its length.
    pub bytes: u64,
    /// When it was written last, in milliseconds since 1970.
    pub modified_ms: i64,
    /// What is known of it beforehand: a database tells of all its sessions at once.
    pub known: Option<SessionFigures>,
}

/// Every file that may hold a session, in no particular order.
fn list(index: &SessionIndex<'_>) -> Vec<SessionFile> {
    let mut files = Vec::new();
    ROWS.iter().for_each(|row| (row.list)(index, &mut files));
    files
}

/// A session's file found by listing a folder.
fn found(agent: Agent, entry: &DirEntry, id: String) -> Option<SessionFile> {
    let about = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let since = about.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let (bytes, modified_ms) = (about.len(), since.as_millis() as i64);
    Some(SessionFile { agent, path: entry.path(), id, bytes, modified_ms, known: None })
}

/// Whether a file lies where an agent keeps its sessions.
pub fn is_among_sessions(file: &Path) -> bool {
    let roots = [
        home::folder("CLAUDE_CONFIG_DIR", ".claude"),
        home::folder("CODEX_HOME", ".codex"),
        home::folder("PI_CODING_AGENT_DIR", ".pi/agent"),
        home::folder("XDG_DATA_HOME", ".local/share").map(|data| data.join("opencode")),
        home::home().map(|home| home.join(".gemini")),
        home::folder("COPILOT_HOME", ".copilot"),
        home::named("QWEN_RUNTIME_DIR").or_else(|| home::folder("QWEN_HOME", ".qwen")),
    ];
    let Ok(file) = file.canonicalize() else { return false };
    let is_below = |root: PathBuf| root.canonicalize().is_ok_and(|root| file.starts_with(root));
    roots.into_iter().flatten().any(is_below)
}

/// What is in a folder; nothing where there is none.
fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> + use<> {
    std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok)
}

/// The folders in a folder.
fn folders(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    entries(folder).map(|entry| entry.path()).filter(|path| path.is_dir())
}

/// A file's name without `ending`, where it ends so.
fn stem<'n>(name: &'n OsStr, ending: &str) -> Option<&'n str> {
    name.to_str()?.strip_suffix(ending)
}

#[cfg(test)]
mod tests {
    use super::{Agent, ROWS};

    #[test]
    fn every_agent_has_its_row_in_its_place() {
        assert_eq!(ROWS.map(|row| row.agent), Agent::ALL);
        for agent in Agent::ALL {
            assert_eq!(Agent::of(agent.format()), Some(agent));
        }
    }
}
