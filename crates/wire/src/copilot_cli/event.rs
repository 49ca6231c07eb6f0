//! An event of a log, as far as we read it: its fields are looked up one by one, so that a field of an unknown type
//! costs itself and not its line.

use crate::document::{ObjectView, View};
use crate::timestamp::unix_ms;
use serde::Deserialize;
use std::borrow::Cow;

/// One event.
pub(super) struct CopilotEvent<'a> {
    pub kind: Cow<'a, str>,
    pub id: Option<Cow<'a, str>>,
    /// When it happened, in milliseconds since 1970.
    pub time_ms: Option<u64>,
    /// The subagent it is of; none for the session's own.
    pub agent: Option<Cow<'a, str>>,
    pub data: ObjectView<'a>,
}

/// What every event says of itself.
#[derive(Deserialize)]
struct CopilotHead<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

impl<'a> CopilotEvent<'a> {
    /// The event a line is; none where it has no `data`. A line that names no `type` is no event, and refused.
    pub(super) fn parse(line: &'a str) -> serde_json::Result<Option<Self>> {
        let CopilotHead { kind } = serde_json::from_str(line)?;
        let fields = View::parse(line)?.object().unwrap_or_default();
        let data = fields.get("data").and_then(View::object);
        let time_ms = fields.text("timestamp").as_deref().and_then(unix_ms);
        let (id, agent) = (fields.text("id"), fields.text("agentId"));
        Ok(data.map(|data| Self { kind, id, time_ms, agent, data }))
    }

    /// Whether it tells of a subagent's beginning, by the call that started it.
    pub(super) fn is_start(&self) -> bool {
        self.kind == "subagent.started"
    }

    /// The ids of the calls it makes.
    pub(super) fn calls(&self) -> Vec<Cow<'a, str>> {
        let requests = self.data.list("toolRequests").into_iter();
        requests.filter_map(|request| request.at(&["toolCallId"])?.text()).collect()
    }

    /// The ids of the files it names that stand in events of their own: those attached, and those a tool answered with.
    pub(super) fn assets(&self) -> Vec<Cow<'a, str>> {
        let result = self.data.get("result").and_then(View::object).unwrap_or_default();
        let named = self.data.list("attachments").into_iter().chain(result.list("binaryResultsForLlm"));
        named.filter_map(|part| part.at(&["assetId"])?.text()).collect()
    }
}
