//! Gemini CLI: `tmp/<project>/chats/session-<time>-<start of id>.jsonl` below `~/.gemini`, one document before that. The
//! folder is not in the file, but beside it, or in a list of all projects.

use super::index::SessionIndex;
use super::resume::ResumeWay;
use super::scan::{SessionScan, first_text};
use super::{Agent, AgentRow, IdPlace, SessionFigures, SessionFile, entries, folders, found, home, stem};
use epitome_tokens::Usage;
use epitome_wire::Format;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

pub(super) const ROW: AgentRow = AgentRow {
    agent: Agent::GeminiCli,
    format: Format::GeminiCli,
    list,
    take,
    needles: &["\"tokens\"", "\"$set\"", "\"user\""],
    resume: ResumeWay::Refused(REFUSAL),
    id: IdPlace::Record,
};

const REFUSAL: &str = "Gemini CLI's sessions have no record for a summary that stands for what was said";

fn list(_: &SessionIndex<'_>, files: &mut Vec<SessionFile>) {
    let Some(root) = home::home().map(|home| home.join(".gemini")) else { return };
    let projects = projects(&root);
    for folder in folders(&root.join("tmp")) {
        let project = project_of(&folder, &projects);
        for entry in entries(&folder.join("chats")) {
            let name = entry.file_name();
            let stem = stem(&name, ".jsonl").or_else(|| stem(&name, ".json"));
            let id = stem.and_then(|stem| stem.strip_prefix("session-")?.rsplit_once('-'));
            let file = id.and_then(|(_, id)| found(Agent::GeminiCli, &entry, id.to_owned()));
            let known = SessionFigures { project: project.clone(), ..SessionFigures::default() };
            files.extend(file.map(|file| SessionFile { known: Some(known), ..file }));
        }
    }
}

/// The folders of all projects, by the names they are kept under.
fn projects(root: &Path) -> HashMap<String, String> {
    #[derive(Deserialize)]
    struct Projects {
        projects: HashMap<String, String>,
    }
    let text = std::fs::read_to_string(root.join("projects.json")).unwrap_or_default();
    let named = serde_json::from_str::<Projects>(&text).map(|list| list.projects).unwrap_or_default();
    named.into_iter().map(|(folder, name)| (name, folder)).collect()
}

fn project_of(folder: &Path, projects: &HashMap<String, String>) -> Option<String> {
    let root = std::fs::read_to_string(folder.join(".project_root")).ok();
    let root = root.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    root.or_else(|| projects.get(folder.file_name()?.to_str()?).cloned())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiScanLine<'a> {
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    tokens: Option<GeminiScanUsage>,
    #[serde(borrow, default)]
    messages: Vec<GeminiScanLine<'a>>,
    #[serde(borrow, rename = "$set")]
    set: Option<Box<GeminiScanLine<'a>>>,
}

#[derive(Deserialize)]
struct GeminiScanUsage {
    input: Option<u64>,
    output: Option<u64>,
    cached: Option<u64>,
    thoughts: Option<u64>,
}

impl GeminiScanUsage {
    fn usage(&self) -> Usage {
        let count = Option::unwrap_or_default;
        Usage {
            prompt: count(self.input),
            output: count(self.output).saturating_add(count(self.thoughts)),
            cache_read: count(self.cached),
            cache_write: 0,
            reasoning: 0,
        }
    }
}

fn take(text: &str, scan: &mut SessionScan<'_>) {
    if let Ok(line) = serde_json::from_str::<GeminiScanLine<'_>>(text) {
        take_value(&line, scan);
    }
}

/// A line, or the document with its messages.
fn take_value(line: &GeminiScanLine<'_>, scan: &mut SessionScan<'_>) {
    if let Some(id) = &line.session_id {
        scan.figures.id = Some(id.clone().into_owned());
    }
    match line.kind.as_deref() {
        Some("user") if scan.figures.prompt.is_none() => {
            if let Some(text) = line.content.and_then(first_text) {
                scan.prompt(&text);
            }
        }
        Some("gemini") => {
            let usage = line.tokens.as_ref().map(GeminiScanUsage::usage);
            scan.reply(line.id.as_deref().unwrap_or_default(), line.model.as_deref(), usage, None);
        }
        Some(_) | None => {}
    }
    line.messages.iter().chain(line.set.as_deref()).for_each(|message| take_value(message, scan));
}
