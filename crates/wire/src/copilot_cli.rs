//! Copilot CLI's event logs: one event per line, `{type, data, id, timestamp, parentId, agentId?}`.
//!
//! Calls are in `assistant.message` (and again in `tool.execution_start`), results in
//! `tool.execution_complete`. Compactions, truncations and rewinds are events of the session. The events of
//! subagents stand between those of the session and are conversations of their own. A file that was sent stands in a
//! `session.binary_asset` once, and is named by the messages it was sent with. Read only.

mod event;
mod in_view;
mod message;
mod session;

use crate::detect::DetectSample;
use crate::jsonl::{JsonlObject, Problems, each_object};
use crate::{ByteSource, Format, ReadError, Span, Transcript};
use epitome_core::Measure;
use event::CopilotEvent;
pub(crate) use message::decode;
use session::{CopilotSession, EventLine};
use std::collections::HashMap;
use std::sync::Arc;

/// Events that say nothing to the model, by the beginning of their name.
const ASIDES: [&str; 25] = [
    "session.",
    "session_limits_exhausted.",
    "hook.",
    "abort",
    "assistant.",
    "auto_mode_switch.",
    "capabilities.",
    "command.",
    "commands.",
    "elicitation.",
    "exit_plan_mode.",
    "external_tool.",
    "factory.",
    "mcp.",
    "mcp_app.",
    "model.",
    "pending_messages.",
    "permission.",
    "sampling.",
    "skill.",
    "subagent.",
    "tool.",
    "tool_search.",
    "ui.",
    "user_input.",
];

/// Whether a line is an event of its log.
pub(crate) fn is_event(sample: &DetectSample<'_>) -> bool {
    sample.line_kind().is_some_and(|kind| kind.contains('.') && sample.has("data"))
}

/// Reads an event log.
pub(crate) fn read(source: Arc<dyn ByteSource>, measure: &dyn Measure) -> Result<Transcript, ReadError> {
    if source.is_empty() {
        return Err(ReadError::Empty);
    }
    let mut problems = Problems::default();
    let mut log = EventLog::new(&*source, measure);
    each_object(&*source, &mut problems, |object, problems| log.take(object, problems))?;
    if log.known == 0 {
        let why = "no line is an event with a `type` it writes and `data`".into();
        return Err(ReadError::NotThis { format: Format::CopilotCli, why });
    }
    let (main, subagents) = log.sessions.split_first_mut().expect("the session's own is always there");
    let told = subagents.iter_mut().filter(|session| !session.is_empty());
    let conversations =
        std::iter::once(main).chain(told).map(|session| session.finish(source.clone())).collect();
    Ok(Transcript { format: Format::CopilotCli, conversations, problems: problems.told() })
}

/// The events of a file on their way to the conversations they belong to.
struct EventLog<'m> {
    source: &'m dyn ByteSource,
    measure: &'m dyn Measure,
    /// The session's own conversation, then one for each subagent.
    sessions: Vec<CopilotSession<'m>>,
    /// The conversations of subagents, by `agentId`, or by the call that started one.
    subagents: HashMap<Box<str>, usize>,
    /// Who made a call: results of older versions do not say whose they are.
    callers: HashMap<Box<str>, usize>,
    /// Where the events of files stand, by the id of each.
    assets: HashMap<Box<str>, Span>,
    /// Lines that are of this format.
    known: u64,
}

impl<'m> EventLog<'m> {
    fn new(source: &'m dyn ByteSource, measure: &'m dyn Measure) -> Self {
        Self {
            source,
            measure,
            sessions: vec![CopilotSession::new(source, measure)],
            subagents: HashMap::new(),
            callers: HashMap::new(),
            assets: HashMap::new(),
            known: 0,
        }
    }

    fn take(&mut self, object: JsonlObject<'_>, problems: &mut Problems) -> serde_json::Result<()> {
        let Some(event) = CopilotEvent::parse(object.text)? else {
            problems.add_unknown(object.line, "line without `data`");
            return Ok(());
        };
        let is_relevant = self.take_relevant(&event, object, problems);
        let is_known = is_relevant || ASIDES.iter().any(|aside| event.kind.starts_with(aside));
        self.known += u64::from(is_known);
        if !is_known {
            problems.add_unknown(object.line, &event.kind);
        }
        Ok(())
    }

    /// Takes an event that says something, or changes what is in view; false where it is neither.
    fn take_relevant(
        &mut self,
        event: &CopilotEvent<'_>,
        object: JsonlObject<'_>,
        problems: &mut Problems,
    ) -> bool {
        let place = self.place_of(event);
        if place == 0 {
            self.sessions[0].note_event(event);
        }
        let line = EventLine { event, object, assets: self.assets_of(event, object.line, problems) };
        let session = &mut self.sessions[place];
        match &*event.kind {
            "user.message" | "system.notification" => session.take_message(&line),
            "assistant.message" => {
                self.callers.extend(event.calls().into_iter().map(|call| (call.as_ref().into(), place)));
                session.take_message(&line);
            }
            "tool.execution_complete" => session.take_result(&line, problems),
            "session.binary_asset" => {
                let id = event.data.text("assetId");
                self.assets.extend(id.map(|id| (id.as_ref().into(), object.span)));
            }
            "system.message" => session.take_system(event),
            "session.start" | "session.model_change" | "session.usage_info" => session.take_settings(event),
            "session.compaction_start" => session.begin_compaction(),
            "session.compaction_complete" => session.take_compaction(event, object, problems),
            "session.truncation" => session.take_truncation(event, object, problems),
            "session.context_cleared" => session.clear(event),
            "session.snapshot_rewind" => session.rewind(event, object, problems),
            _ => return false,
        }
        true
    }

    /// The lines of the files an event names. One that is not in the log before it is a problem; the name stays.
    fn assets_of(&self, event: &CopilotEvent<'_>, line: u64, problems: &mut Problems) -> Vec<Span> {
        let mut spans = Vec::new();
        for id in event.assets() {
            match self.assets.get(&*id) {
                Some(&span) if spans.contains(&span) => {}
                Some(&span) => spans.push(span),
                None => problems.add(line, format!("names the file {id}, which is not in the log before it")),
            }
        }
        spans
    }

    /// The conversation an event belongs to.
    fn place_of(&mut self, event: &CopilotEvent<'_>) -> usize {
        let call = event.data.text("toolCallId");
        let starter =
            event.data.text("parentToolCallId").or_else(|| call.clone().filter(|_| event.is_start()));
        let place = match (event.agent.as_deref(), starter.as_deref()) {
            (None, None) => call.and_then(|call| self.callers.get(&*call).copied()).unwrap_or(0),
            (agent, starter) => self.subagent(agent, starter),
        };
        // Either name may come alone in a later event.
        let names = [event.agent.as_deref(), starter.as_deref()];
        self.subagents.extend(names.into_iter().flatten().map(|name| (name.into(), place)));
        place
    }

    fn subagent(&mut self, agent: Option<&str>, starter: Option<&str>) -> usize {
        let known = agent.and_then(|agent| self.subagents.get(agent));
        let known = known.or_else(|| starter.and_then(|starter| self.subagents.get(starter)));
        known.copied().unwrap_or_else(|| {
            self.sessions.push(CopilotSession::new(self.source, self.measure));
            self.sessions.len() - 1
        })
    }
}
