//! qwen-code: `projects/<folder, written with dashes>/chats/<id>.jsonl` below `~/.qwen`, `QWEN_HOME` or
//! `QWEN_RUNTIME_DIR`. Like Claude Code it looks in the folder of the directory it is started in.

use super::index::SessionIndex;
use super::resume::{CopyRequest, ResumePlace, ResumeWay, dashed};
use super::scan::{OwnMark, SessionScan};
use super::{Agent, AgentRow, IdPlace, SessionFile, entries, folders, found, home, stem};
use epitome_tokens::Usage;
use epitome_wire::Format;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::path::PathBuf;

pub(super) const ROW: AgentRow = AgentRow {
    agent: Agent::QwenCode,
    format: Format::QwenCode,
    list,
    take,
    needles: &["\"usageMetadata\"", "chat_compression", "custom_title"],
    resume: ResumeWay::Copy(resume),
    id: IdPlace::FileName,
};

fn resume(copy: &CopyRequest<'_>) -> Option<ResumePlace> {
    let projects = projects()?;
    let folder = copy.beside(&projects).unwrap_or_else(|| projects.join(dashed(copy.folder)).join("chats"));
    let path = folder.join(format!("{}.jsonl", copy.id));
    Some(copy.place(path, &format!("qwen --resume {}", copy.id)))
}

/// Where its sessions are.
pub(super) fn projects() -> Option<PathBuf> {
    let root = home::named("QWEN_RUNTIME_DIR").or_else(|| home::folder("QWEN_HOME", ".qwen"));
    Some(root?.join("projects"))
}

fn list(_: &SessionIndex<'_>, files: &mut Vec<SessionFile>) {
    let Some(projects) = projects() else { return };
    for folder in folders(&projects) {
        for entry in entries(&folder.join("chats")) {
            let name = entry.file_name();
            let id = stem(&name, ".jsonl");
            files.extend(id.and_then(|id| found(Agent::QwenCode, &entry, id.to_owned())));
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct QwenScanLine<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    subtype: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uuid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    cwd: Option<Cow<'a, str>>,
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    agent_id: Option<Cow<'a, str>>,
    context_window_size: Option<u64>,
    usage_metadata: Option<UsageMetadata>,
    #[serde(borrow)]
    message: Option<QwenScanMessage<'a>>,
    system_payload: Option<QwenScanPayload>,
    epitome: Option<OwnMark>,
}

#[derive(Deserialize)]
struct QwenScanMessage<'a> {
    #[serde(borrow)]
    parts: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsageMetadata {
    prompt_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct QwenScanPayload {
    custom_title: Option<String>,
    info: Option<QwenScanCompression>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct QwenScanCompression {
    new_token_count: Option<u64>,
}

impl UsageMetadata {
    fn usage(&self) -> Usage {
        let count = Option::unwrap_or_default;
        Usage {
            prompt: count(self.prompt_token_count),
            output: count(self.candidates_token_count).saturating_add(count(self.thoughts_token_count)),
            cache_read: count(self.cached_content_token_count),
            cache_write: 0,
            reasoning: 0,
        }
    }
}

fn take(line: &str, scan: &mut SessionScan<'_>) {
    let Ok(record) = serde_json::from_str::<QwenScanLine<'_>>(line) else { return };
    scan.folder(record.cwd);
    let figures = &mut scan.figures;
    figures.id = figures.id.take().or(record.session_id.map(Cow::into_owned));
    match (&*record.kind, record.subtype.as_deref()) {
        ("user", None) if figures.prompt.is_none() => {
            let parts = record.message.and_then(|message| message.parts);
            if let Some(text) = parts.and_then(super::scan::first_text) {
                scan.prompt(&text);
            }
        }
        ("assistant", _) => {
            figures.window_recorded = record.context_window_size.or(figures.window_recorded);
            let usage = record.usage_metadata.as_ref().map(UsageMetadata::usage);
            let (id, model) = (record.uuid.as_deref().unwrap_or_default(), record.model.as_deref());
            if record.agent_id.is_some() {
                scan.side_reply(id, model, usage, None);
            } else {
                scan.reply(id, model, usage, None);
            }
        }
        ("system", Some("chat_compression")) => {
            let said = record.system_payload.and_then(|payload| payload.info?.new_token_count);
            scan.marked_compaction(record.epitome.as_ref(), said);
        }
        ("system", Some("custom_title")) => {
            figures.title = record.system_payload.and_then(|payload| payload.custom_title);
        }
        _ => {}
    }
}
