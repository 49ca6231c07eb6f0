//! pi: `sessions/--<folder, written with dashes>--/<time>_<id>.jsonl` below `~/.pi/agent` or `PI_CODING_AGENT_DIR`. It
//! opens a session at any path.

use super::index::SessionIndex;
use super::resume::{CopyRequest, ResumePlace, ResumeWay};
use super::scan::{OwnMark, SessionScan, first_text};
use super::{Agent, AgentRow, IdPlace, SessionFile, entries, folders, found, home, stem};
use crate::shell_word::shell_word;
use epitome_tokens::Usage;
use epitome_wire::Format;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::path::PathBuf;

pub(super) const ROW: AgentRow = AgentRow {
    agent: Agent::Pi,
    format: Format::Pi,
    list,
    take,
    needles: &["\"usage\"", "\"compaction\"", "session_info", "model_change"],
    resume: ResumeWay::Copy(resume),
    id: IdPlace::Record,
};

/// It opens any path; among its own sessions the copy is offered in its picker too.
fn resume(copy: &CopyRequest<'_>) -> Option<ResumePlace> {
    let sessions = sessions()?;
    let name = copy.folder.to_string_lossy().trim_start_matches(['/', '\\']).replace(['/', '\\', ':'], "-");
    let folder = copy.beside(&sessions).unwrap_or_else(|| sessions.join(format!("--{name}--")));
    let path = folder.join(format!("{}_{}.jsonl", copy.time, copy.id));
    let opening = format!("pi --session {}", shell_word(&path.display().to_string()));
    Some(copy.place(path, &opening))
}

/// Where its sessions are.
pub(super) fn sessions() -> Option<PathBuf> {
    Some(home::folder("PI_CODING_AGENT_DIR", ".pi/agent")?.join("sessions"))
}

fn list(_: &SessionIndex<'_>, files: &mut Vec<SessionFile>) {
    let Some(sessions) = sessions() else { return };
    for folder in folders(&sessions) {
        for entry in entries(&folder) {
            let name = entry.file_name();
            let id = stem(&name, ".jsonl").map(|stem| stem.rsplit_once('_').map_or(stem, |(_, id)| id));
            files.extend(id.and_then(|id| found(Agent::Pi, &entry, id.to_owned())));
        }
    }
}

#[derive(Deserialize)]
struct PiScanLine<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
    #[serde(borrow)]
    cwd: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "modelId")]
    model_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<PiScanMessage<'a>>,
    epitome: Option<OwnMark>,
}

#[derive(Deserialize)]
struct PiScanMessage<'a> {
    #[serde(borrow)]
    role: Option<Cow<'a, str>>,
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    usage: Option<PiScanUsage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PiScanUsage {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    cost: Option<Cost>,
}

#[derive(Deserialize)]
struct Cost {
    total: Option<f64>,
}

impl PiScanUsage {
    fn usage(&self) -> Usage {
        let [cache_read, cache_write] = [self.cache_read, self.cache_write].map(Option::unwrap_or_default);
        let prompt = self.input.unwrap_or_default().saturating_add(cache_read).saturating_add(cache_write);
        Usage { prompt, output: self.output.unwrap_or_default(), cache_read, cache_write, reasoning: 0 }
    }
}

fn take(line: &str, scan: &mut SessionScan<'_>) {
    let Ok(entry) = serde_json::from_str::<PiScanLine<'_>>(line) else { return };
    let figures = &mut scan.figures;
    match &*entry.kind {
        "session" => {
            figures.id = entry.id.map(Cow::into_owned);
            figures.project = entry.cwd.map(Cow::into_owned);
        }
        "session_info" => figures.title = entry.name.map(Cow::into_owned),
        "model_change" => figures.model = entry.model_id.map(Cow::into_owned).or(figures.model.take()),
        "compaction" => scan.marked_compaction(entry.epitome.as_ref(), None),
        "message" => {
            let Some(message) = entry.message else { return };
            match message.role.as_deref() {
                Some("user") if figures.prompt.is_none() => {
                    if let Some(text) = message.content.and_then(first_text) {
                        scan.prompt(&text);
                    }
                }
                Some("assistant") => {
                    // Version 1 has no ids; no two replies are of the same moment.
                    let id = entry.id.as_deref().or(entry.timestamp.map(RawValue::get)).unwrap_or_default();
                    let usage = message.usage.as_ref();
                    let dollars = usage.and_then(|usage| usage.cost.as_ref()?.total);
                    scan.reply(id, message.model.as_deref(), usage.map(PiScanUsage::usage), dollars);
                }
                Some(_) | None => {}
            }
        }
        _ => {}
    }
}
