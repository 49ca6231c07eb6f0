//! Claude Code: `projects/<folder, written with dashes>/<id>.jsonl` below `~/.claude` or `CLAUDE_CONFIG_DIR`.
//!
//! It looks for a session in the folder of the directory it is started in, and nowhere else.

use super::index::SessionIndex;
use super::resume::{CopyRequest, ResumePlace, ResumeWay, dashed};
use super::scan::{OwnMark, SessionScan, first_text};
use super::{Agent, AgentRow, IdPlace, SessionFile, entries, folders, found, home, stem};
use epitome_tokens::Usage;
use epitome_wire::Format;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::path::PathBuf;

pub(super) const ROW: AgentRow = AgentRow {
    agent: Agent::ClaudeCode,
    format: Format::ClaudeCode,
    list,
    take,
    needles: &["\"usage\"", "compact_boundary", "custom-title", "\"type\":\"summary\""],
    resume: ResumeWay::Copy(resume),
    id: IdPlace::FileName,
};

fn resume(copy: &CopyRequest<'_>) -> Option<ResumePlace> {
    let projects = projects()?;
    let folder = copy.beside(&projects).unwrap_or_else(|| projects.join(dashed(copy.folder)));
    let path = folder.join(format!("{}.jsonl", copy.id));
    Some(copy.place(path, &format!("claude --resume {}", copy.id)))
}

/// Where its sessions are.
pub(super) fn projects() -> Option<PathBuf> {
    Some(home::folder("CLAUDE_CONFIG_DIR", ".claude")?.join("projects"))
}

fn list(_: &SessionIndex<'_>, files: &mut Vec<SessionFile>) {
    let Some(projects) = projects() else { return };
    for folder in folders(&projects) {
        for entry in entries(&folder) {
            // Sub-agents have files of their own, which nobody resumes.
            let name = entry.file_name();
            let id = stem(&name, ".jsonl").filter(|id| !id.starts_with("agent-"));
            files.extend(id.and_then(|id| found(Agent::ClaudeCode, &entry, id.to_owned())));
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaudeScanLine<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    subtype: Option<Cow<'a, str>>,
    #[serde(borrow)]
    cwd: Option<Cow<'a, str>>,
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uuid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    custom_title: Option<Cow<'a, str>>,
    #[serde(borrow)]
    summary: Option<Cow<'a, str>>,
    is_sidechain: Option<bool>,
    is_meta: Option<bool>,
    is_compact_summary: Option<bool>,
    #[serde(borrow)]
    message: Option<ClaudeScanMessage<'a>>,
    compact_metadata: Option<ClaudeScanCompaction>,
    epitome: Option<OwnMark>,
}

#[derive(Deserialize)]
struct ClaudeScanMessage<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    usage: Option<ClaudeScanUsage>,
}

#[derive(Deserialize)]
struct ClaudeScanUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaudeScanCompaction {
    trigger: Option<String>,
    pre_tokens: Option<u64>,
    post_tokens: Option<u64>,
}

impl ClaudeScanUsage {
    fn usage(&self) -> Usage {
        let [cache_read, cache_write] =
            [self.cache_read_input_tokens, self.cache_creation_input_tokens].map(Option::unwrap_or_default);
        let fresh = self.input_tokens.unwrap_or_default();
        let prompt = fresh.saturating_add(cache_read).saturating_add(cache_write);
        let output = self.output_tokens.unwrap_or_default();
        Usage { prompt, output, cache_read, cache_write, reasoning: 0 }
    }
}

fn take(line: &str, scan: &mut SessionScan<'_>) {
    let Ok(record) = serde_json::from_str::<ClaudeScanLine<'_>>(line) else { return };
    scan.folder(record.cwd);
    let figures = &mut scan.figures;
    figures.id = figures.id.take().or(record.session_id.map(Cow::into_owned));
    match record.kind.as_deref() {
        Some("custom-title") => figures.title = record.custom_title.map(Cow::into_owned),
        Some("summary") if figures.title.is_none() => figures.title = record.summary.map(Cow::into_owned),
        Some("system") if record.subtype.as_deref() == Some("compact_boundary") => {
            take_boundary(record.compact_metadata.as_ref(), record.epitome.as_ref(), scan);
        }
        Some("user") if record.is_meta != Some(true) && record.is_compact_summary != Some(true) => {
            let content = record.message.and_then(|message| message.content);
            if scan.figures.prompt.is_none()
                && let Some(text) = content.and_then(first_text)
            {
                scan.prompt(&text);
            }
        }
        Some("assistant") => {
            let Some(message) = record.message else { return };
            let id = message.id.or(record.uuid).unwrap_or_default();
            let usage = message.usage.as_ref().map(ClaudeScanUsage::usage);
            if record.is_sidechain == Some(true) {
                scan.side_reply(&id, message.model.as_deref(), usage, None);
            } else {
                scan.reply(&id, message.model.as_deref(), usage, None);
            }
        }
        Some(_) | None => {}
    }
}

fn take_boundary(
    metadata: Option<&ClaudeScanCompaction>,
    ours: Option<&OwnMark>,
    scan: &mut SessionScan<'_>,
) {
    scan.marked_compaction(ours, metadata.and_then(|said| said.post_tokens));
    if let Some(said) = metadata.filter(|said| said.trigger.as_deref() == Some("auto")) {
        scan.compacted_itself(said.pre_tokens);
    }
}
