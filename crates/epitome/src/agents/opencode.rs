//! opencode: `opencode.db` below `$XDG_DATA_HOME/opencode`, a database of all sessions, and before that a folder for
//! each kind of record. It takes no session from a file that it did not write itself.

use super::index::SessionIndex;
use super::resume::ResumeWay;
use super::scan::{Depth, SessionScan};
use super::{Agent, AgentRow, IdPlace, SessionFigures, SessionFile, entries, folders, found, home, stem};
use crate::opencode_database::{self, DatabaseSession};
use epitome_tokens::Usage;
use epitome_wire::Format;
use serde::Deserialize;
use std::path::Path;

pub(super) const ROW: AgentRow = AgentRow {
    agent: Agent::Opencode,
    format: Format::Opencode,
    list,
    take,
    needles: &[],
    resume: ResumeWay::Refused(REFUSAL),
    id: IdPlace::Record,
};

const REFUSAL: &str = "opencode keeps its sessions in a database that only it may write";

fn list(index: &SessionIndex<'_>, files: &mut Vec<SessionFile>) {
    let Some(data) = home::folder("XDG_DATA_HOME", ".local/share") else { return };
    let root = data.join("opencode");
    let database = root.join("opencode.db");
    if database.is_file() {
        list_database(&database, index, files);
    } else {
        // The tree is left where it is when the database is made of it.
        list_tree(&root.join("storage").join("session"), files);
    }
}

/// The sessions people held, a file each; those of sub-agents say whose they are.
fn list_tree(sessions: &Path, files: &mut Vec<SessionFile>) {
    for entry in folders(sessions).flat_map(|project| entries(&project)) {
        let name = entry.file_name();
        let id = stem(&name, ".json").filter(|id| id.starts_with("ses_"));
        files.extend(id.and_then(|id| found(Agent::Opencode, &entry, id.to_owned())));
    }
}

fn list_database(database: &Path, index: &SessionIndex<'_>, files: &mut Vec<SessionFile>) {
    let file_of = |id: &str, modified_ms| SessionFile {
        agent: Agent::Opencode,
        path: database.join(id),
        id: id.to_owned(),
        bytes: 0,
        modified_ms,
        known: None,
    };
    let is_new = |id: &str, updated_ms| index.get(&file_of(id, updated_ms), Depth::Whole).is_none();
    // What cannot be read has no place in a table; `inspect` says why.
    for session in opencode_database::sessions(database, is_new).into_iter().flatten() {
        let file = file_of(&session.id, session.updated_ms);
        let known = index.get(&file, Depth::Whole).unwrap_or_else(|| figures(session, index));
        files.push(SessionFile { known: Some(known), ..file });
    }
}

fn figures(session: DatabaseSession, index: &SessionIndex<'_>) -> SessionFigures {
    let mut scan = SessionScan::new(index.catalog());
    for (at, message) in session.messages.iter().enumerate() {
        if session.copied == Some(at) {
            scan.end_of_copied();
        }
        take(message, &mut scan);
    }
    if session.copied == Some(session.messages.len()) {
        scan.end_of_copied();
    }
    scan.figures.id = Some(session.id);
    scan.figures.project = session.directory;
    scan.figures.title = session.title;
    scan.finish(Depth::Whole)
}

/// An export, or one message of it.
#[derive(Deserialize)]
struct ExportNode {
    info: Info,
    messages: Option<Vec<ExportNode>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Info {
    id: Option<String>,
    role: Option<String>,
    #[serde(rename = "modelID")]
    model_id: Option<String>,
    tokens: Option<OpencodeScanUsage>,
    cost: Option<f64>,
    /// Whether it is a summary; of a person's message, and of a session, it is something else.
    summary: Option<serde_json::Value>,
    directory: Option<String>,
    title: Option<serde_json::Value>,
    #[serde(rename = "parentID")]
    parent_id: Option<String>,
}

#[derive(Deserialize)]
struct OpencodeScanUsage {
    input: Option<u64>,
    output: Option<u64>,
    reasoning: Option<u64>,
    cache: Option<CachedUsage>,
}

#[derive(Deserialize)]
struct CachedUsage {
    read: Option<u64>,
    write: Option<u64>,
}

impl OpencodeScanUsage {
    fn usage(&self) -> Usage {
        let count =
            |cached: fn(&CachedUsage) -> Option<u64>| self.cache.as_ref().and_then(cached).unwrap_or(0);
        let (cache_read, cache_write) = (count(|cache| cache.read), count(|cache| cache.write));
        let prompt = self.input.unwrap_or(0).saturating_add(cache_read).saturating_add(cache_write);
        let output = self.output.unwrap_or(0).saturating_add(self.reasoning.unwrap_or(0));
        Usage { prompt, output, cache_read, cache_write, reasoning: 0 }
    }
}

fn take(text: &str, scan: &mut SessionScan<'_>) {
    let Ok(ExportNode { info, messages }) = serde_json::from_str::<ExportNode>(text) else { return };
    match messages {
        // A sub-agent's session is no one's to open.
        Some(_) if info.parent_id.is_some() => {}
        Some(messages) => {
            scan.figures.id = info.id;
            scan.figures.project = info.directory;
            scan.figures.title = info.title.and_then(|title| title.as_str().map(str::to_owned));
            messages.into_iter().for_each(|message| take_message(message.info, scan));
        }
        None => take_message(info, scan),
    }
}

fn take_message(info: Info, scan: &mut SessionScan<'_>) {
    if info.role.as_deref() != Some("assistant") {
        return;
    }
    let id = info.id.unwrap_or_else(|| scan.figures.replies.to_string());
    let usage = info.tokens.as_ref().map(OpencodeScanUsage::usage);
    scan.reply(&id, info.model_id.as_deref(), usage, info.cost);
    if info.summary == Some(true.into()) {
        // What the next call sends is the summary, which is what was written.
        scan.compaction(usage.map(|usage| usage.output));
    }
}
