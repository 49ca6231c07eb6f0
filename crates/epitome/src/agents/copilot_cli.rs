//! Copilot CLI: `session-state/<id>/events.jsonl` below `~/.copilot` or `COPILOT_HOME`, beside a `workspace.yaml` and
//! checkpoints that only it writes.

use super::index::SessionIndex;
use super::resume::ResumeWay;
use super::scan::SessionScan;
use super::{Agent, AgentRow, ContextSize, IdPlace, SessionFile, entries, folders, found, home};
use epitome_wire::Format;
use serde::Deserialize;
use std::borrow::Cow;

pub(super) const ROW: AgentRow = AgentRow {
    agent: Agent::CopilotCli,
    format: Format::CopilotCli,
    list,
    take,
    needles: &[
        "session.usage_info",
        "session.compaction_complete",
        "session.model_change",
        "assistant.message\"",
    ],
    resume: ResumeWay::Refused(REFUSAL),
    id: IdPlace::Record,
};

const REFUSAL: &str =
    "Copilot CLI keeps a session in several files, and a compaction in checkpoints that only it writes";

fn list(_: &SessionIndex<'_>, files: &mut Vec<SessionFile>) {
    let Some(root) = home::folder("COPILOT_HOME", ".copilot") else { return };
    for folder in folders(&root.join("session-state")) {
        let Some(id) = folder.file_name().and_then(|name| name.to_str()).map(str::to_owned) else { continue };
        let events = entries(&folder).find(|entry| entry.file_name() == "events.jsonl");
        files.extend(events.and_then(|entry| found(Agent::CopilotCli, &entry, id)));
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CopilotScanLine<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    agent_id: Option<Cow<'a, str>>,
    data: Option<Data>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data {
    session_id: Option<String>,
    context: Option<Workspace>,
    selected_model: Option<String>,
    new_model: Option<String>,
    content: Option<String>,
    success: Option<bool>,
    post_compaction_tokens: Option<u64>,
    current_tokens: Option<u64>,
    token_limit: Option<u64>,
}

#[derive(Deserialize)]
struct Workspace {
    cwd: Option<String>,
}

fn take(line: &str, scan: &mut SessionScan<'_>) {
    let Ok(event) = serde_json::from_str::<CopilotScanLine<'_>>(line) else { return };
    let Some(data) = event.data.filter(|_| event.agent_id.is_none()) else { return };
    let figures = &mut scan.figures;
    match &*event.kind {
        "session.start" => {
            figures.id = data.session_id;
            figures.project = data.context.and_then(|workspace| workspace.cwd);
            figures.model = data.selected_model.or(figures.model.take());
        }
        "session.model_change" => figures.model = data.new_model.or(figures.model.take()),
        "user.message" => scan.prompt(&data.content.unwrap_or_default()),
        // It reports no usage of single calls; its plan counts requests, not tokens.
        "assistant.message" => scan.reply(event.id.as_deref().unwrap_or_default(), None, None, None),
        "session.usage_info" => {
            figures.window_recorded = data.token_limit.or(figures.window_recorded);
            let in_view = data.current_tokens.map(|tokens| ContextSize { tokens, is_estimate: false });
            figures.in_view = in_view.or(figures.in_view);
        }
        "session.compaction_complete" if data.success == Some(true) => {
            scan.compaction(data.post_compaction_tokens);
        }
        _ => {}
    }
}
