//! Codex: `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl` below `~/.codex` or `CODEX_HOME`, and flat in
//! `archived_sessions`; older ones are packed.

use super::index::SessionIndex;
use super::resume::{CopyRequest, ResumePlace, ResumeWay};
use super::scan::{OwnMark, SessionScan, first_text};
use super::{Agent, AgentRow, IdPlace, SessionFile, entries, folders, found, home, stem};
use epitome_tokens::Usage;
use epitome_wire::Format;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::path::PathBuf;

pub(super) const ROW: AgentRow = AgentRow {
    agent: Agent::Codex,
    format: Format::Codex,
    list,
    take,
    needles: &["token_count", "\"compacted\"", "turn_context", "\"user_message\""],
    resume: ResumeWay::Copy(resume),
    id: IdPlace::Record,
};

/// It is found by the id in its name, and must say the same in its first line.
fn resume(copy: &CopyRequest<'_>) -> Option<ResumePlace> {
    let (day, time) = (copy.time.get(..DAY_CHARS)?, copy.time.get(..TIME_CHARS)?);
    let folder = day.split('-').fold(root()?.join("sessions"), |folder, part| folder.join(part));
    let path = folder.join(format!("rollout-{time}-{}.jsonl", copy.id));
    Some(copy.place(path, &format!("codex resume {}", copy.id)))
}

/// Where it keeps everything.
pub(super) fn root() -> Option<PathBuf> {
    home::folder("CODEX_HOME", ".codex")
}

fn list(_: &SessionIndex<'_>, files: &mut Vec<SessionFile>) {
    let Some(root) = root() else { return };
    let days = folders(&root.join("sessions"))
        .flat_map(|year| folders(&year).collect::<Vec<_>>())
        .flat_map(|month| folders(&month).collect::<Vec<_>>());
    for folder in days.chain([root.join("archived_sessions")]) {
        for entry in entries(&folder) {
            let name = entry.file_name();
            let stem = stem(&name, ".jsonl").or_else(|| stem(&name, ".jsonl.zst"));
            let id = stem.and_then(id_of);
            files.extend(id.and_then(|id| found(Agent::Codex, &entry, id.to_owned())));
        }
    }
}

/// How long a day, a time and an id are in a file's name.
const DAY_CHARS: usize = "2026-01-31".len();
const TIME_CHARS: usize = "2026-01-31T09-30-00".len();
const ID_CHARS: usize = "01a1e41e-8f3d-7822-8e52-0a8e93a0ed6e".len();

/// The id in `rollout-<time>-<id>`; a thread that was resumed may have a second one behind it.
fn id_of(stem: &str) -> Option<&str> {
    stem.strip_prefix("rollout-")?.get(TIME_CHARS + 1..)?.get(..ID_CHARS)
}

#[derive(Deserialize)]
struct CodexScanLine<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
    epitome: Option<OwnMark>,
}

#[derive(Deserialize)]
struct CodexScanPayload<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    cwd: Option<Cow<'a, str>>,
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    role: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    info: Option<CodexScanCount>,
}

#[derive(Deserialize)]
struct CodexScanCount {
    total_token_usage: Option<CodexScanUsage>,
    last_token_usage: Option<CodexScanUsage>,
    model_context_window: Option<u64>,
}

#[derive(Deserialize)]
struct CodexScanUsage {
    input_tokens: Option<u64>,
    cached_input_tokens: Option<u64>,
    cache_write_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl CodexScanUsage {
    fn usage(&self) -> Usage {
        Usage {
            prompt: self.input_tokens.unwrap_or_default(),
            output: self.output_tokens.unwrap_or_default(),
            cache_read: self.cached_input_tokens.unwrap_or_default(),
            cache_write: self.cache_write_input_tokens.unwrap_or_default(),
            reasoning: 0,
        }
    }
}

fn take(line: &str, scan: &mut SessionScan<'_>) {
    let Ok(line) = serde_json::from_str::<CodexScanLine<'_>>(line) else { return };
    if &*line.kind == "compacted" {
        return scan.marked_compaction(line.epitome.as_ref(), None);
    }
    let kinds: &[&str] = match scan.figures.prompt {
        Some(_) => &["session_meta", "turn_context", "event_msg"],
        None => &["session_meta", "turn_context", "event_msg", "response_item"],
    };
    if !kinds.contains(&&*line.kind) {
        return;
    }
    let Some(payload) =
        line.payload.and_then(|raw| serde_json::from_str::<CodexScanPayload<'_>>(raw.get()).ok())
    else {
        return;
    };
    let figures = &mut scan.figures;
    match (&*line.kind, payload.kind.as_deref()) {
        ("session_meta", _) => {
            // A fork copies its parent's records behind its own first one.
            figures.id = figures.id.take().or(payload.id.map(Cow::into_owned));
            figures.project = figures.project.take().or(payload.cwd.map(Cow::into_owned));
        }
        ("turn_context", _) => {
            figures.model = payload.model.map(Cow::into_owned).or(figures.model.take());
        }
        (_, Some("user_message")) if figures.prompt.is_none() => {
            if let Some(text) = payload.message.and_then(first_text) {
                scan.prompt(&text);
            }
        }
        // Newer versions write no event for what was asked, and words of their own in front of it.
        ("response_item", Some("message")) if payload.role.as_deref() == Some("user") => {
            let text = payload.content.and_then(first_text).unwrap_or_default();
            if !text.starts_with("# AGENTS.md") {
                scan.prompt(&text);
            }
        }
        (_, Some("token_count")) => take_count(payload.info.as_ref(), scan),
        (_, Some(_) | None) => {}
    }
}

/// A count is written after each call, and again where only limits changed: what was spent is its sum.
fn take_count(count: Option<&CodexScanCount>, scan: &mut SessionScan<'_>) {
    let Some(count) = count else { return };
    scan.figures.window_recorded = count.model_context_window.or(scan.figures.window_recorded);
    if let Some(last) = &count.last_token_usage {
        // The sum grows with each call, so it names the newest.
        let sum = count.total_token_usage.as_ref().map(|total| total.usage().total());
        scan.reply(&sum.unwrap_or_default().to_string(), None, Some(last.usage()), None);
    }
    if let Some(total) = &count.total_token_usage {
        scan.spent_in_all(total.usage());
    }
}
