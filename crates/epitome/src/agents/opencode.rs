//! opencode: `opencode.db` below `$XDG_DATA_HOME/opencode`, a database of all sessions, and before that a folder for
//! each kind of record. It takes no session from a file that it did not write itself.

use super::index::SessionIndex;
use super::resume::ResumeWay;
use super::scan::{Depth, SessionScan};
use super::{Agent, AgentRow, SessionFigures, SessionFile, home};
use crate::opencode_database::{self, DatabaseSession};
use epitome_tokens::Usage;
use epitome_wire::Format;
use serde::Deserialize;

pub(super) const ROW: AgentRow = AgentRow {
    agent: Agent::Opencode,
    format: Format::Opencode,
    list,
    take,
    needles: &[],
    resume: ResumeWay::Refused(REFUSAL),
};

const REFUSAL: &str = "opencode keeps its sessions in a database that only it may write";

fn list(index: &SessionIndex<'_>, files: &mut Vec<SessionFile>) {
    let Some(data) = home::folder("XDG_DATA_HOME", ".local/share") else { return };
    let database = data.join("opencode").join("opencode.db");
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
    let sessions = if database.is_file() { opencode_database::sessions(&database, is_new) } else { return };
    for session in sessions.into_iter().flatten() {
        let file = file_of(&session.id, session.updated_ms);
        let known = index.get(&file, Depth::Whole).unwrap_or_else(|| figures(session, index));
        files.push(SessionFile { known: Some(known), ..file });
    }
}

fn figures(session: DatabaseSession, index: &SessionIndex<'_>) -> SessionFigures {
    let mut scan = SessionScan::new(index.catalog());
    session.messages.iter().for_each(|message| take(message, &mut scan));
    scan.figures.id = Some(session.id);
    scan.figures.project = session.directory;
    scan.figures.title = session.title;
    scan.finish(Depth::Whole)
}

#[derive(Deserialize)]
struct Message {
    info: Info,
}

#[derive(Deserialize)]
struct Info {
    id: Option<String>,
    role: Option<String>,
    #[serde(rename = "modelID")]
    model_id: Option<String>,
    tokens: Option<ReportedUsage>,
    cost: Option<f64>,
    /// Whether it is a summary; of a person's message it is something else.
    summary: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct ReportedUsage {
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

impl ReportedUsage {
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
    let Ok(Message { info }) = serde_json::from_str::<Message>(text) else { return };
    if info.role.as_deref() != Some("assistant") {
        return;
    }
    let id = info.id.unwrap_or_else(|| scan.figures.replies.to_string());
    let usage = info.tokens.as_ref().map(ReportedUsage::usage);
    scan.reply(&id, info.model_id.as_deref(), usage, info.cost);
    if info.summary == Some(true.into()) {
        // What the next call sends is the summary, which is what was written.
        scan.compaction(usage.map(|usage| usage.output));
    }
}
