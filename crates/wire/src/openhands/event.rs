//! One event of OpenHands, and the messages events make.

use crate::document::{ObjectView, View};
use crate::protocol::read::openai_chat::thinking;
use crate::protocol::read::{block_of, image_at, parts_of};
use epitome_core::{Author, Block, Call, CallId, Message, ResultPart, Role, ToolResult};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

/// An event and its fields.
pub(super) struct RunEvent<'a> {
    pub(super) view: View<'a>,
    fields: ObjectView<'a>,
    /// What ties it to a call: `tool_call_metadata`.
    named: Option<ObjectView<'a>>,
}

/// What an event is to the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunEventKind {
    /// The system prompt and the tools.
    System,
    /// A person's message.
    Asked,
    /// The model spoke or called a tool.
    Acted,
    /// Something came back.
    Observed,
    /// A condenser did its work.
    Condensed,
    /// For OpenHands itself.
    Aside,
    /// Neither action nor observation.
    Unknown,
}

impl<'a> RunEvent<'a> {
    pub(super) fn of(view: View<'a>) -> Self {
        let fields = view.object().unwrap_or_default();
        let named = fields.get("tool_call_metadata").and_then(View::object);
        Self { view, fields, named }
    }

    pub(super) fn kind(&self) -> RunEventKind {
        match (self.fields.text("action").as_deref(), self.fields.text("observation").as_deref()) {
            (Some("system"), _) => RunEventKind::System,
            (Some("condensation"), _) => RunEventKind::Condensed,
            (Some("message"), _) if self.is_users() => RunEventKind::Asked,
            (Some("recall" | "change_agent_state" | "condensation_request" | "null"), _) => {
                RunEventKind::Aside
            }
            (Some(_), _) if self.is_users() => RunEventKind::Aside,
            (Some(_), _) => RunEventKind::Acted,
            (None, Some("agent_state_changed" | "null" | "success")) => RunEventKind::Aside,
            (None, Some(_)) => RunEventKind::Observed,
            (None, None) => RunEventKind::Unknown,
        }
    }

    /// Its kind in OpenHands' own words.
    pub(super) fn label(&self) -> Cow<'a, str> {
        self.fields.text("action").or_else(|| self.fields.text("observation")).unwrap_or_default()
    }

    pub(super) fn id(&self) -> u64 {
        self.fields.number("id").unwrap_or(u64::MAX)
    }

    pub(super) fn cause(&self) -> Option<u64> {
        self.fields.number("cause")
    }

    pub(super) fn args(&self) -> ObjectView<'a> {
        self.fields.get("args").and_then(View::object).unwrap_or_default()
    }

    pub(super) fn is_users(&self) -> bool {
        self.fields.text("source").as_deref() == Some("user")
    }

    pub(super) fn is_named(&self) -> bool {
        self.named.is_some()
    }

    /// The provider's reply the event belongs to.
    pub(super) fn response(&self) -> Option<View<'a>> {
        self.named.as_ref()?.get("model_response")
    }

    pub(super) fn reply_id(&self) -> Option<Arc<str>> {
        self.response()?.at(&["id"])?.text().map(Into::into)
    }

    /// Those of the events told so far that a condensation took out of view.
    pub(super) fn forgotten(&self, told: impl Iterator<Item = u64>) -> HashSet<u64> {
        let args = self.args();
        let range = args.number("forgotten_events_start_id").zip(args.number("forgotten_events_end_id"));
        let listed = args.list("forgotten_event_ids").into_iter().filter_map(View::number);
        let listed: HashSet<u64> = listed.collect();
        let is_within = |id| range.is_some_and(|(start, end)| (start..=end).contains(&id));
        told.filter(|id| listed.contains(id) || is_within(*id)).collect()
    }

    pub(super) fn summary(&self) -> Option<Cow<'a, str>> {
        self.args().text("summary").filter(|text| !text.is_empty())
    }

    /// The id its call goes by; where none was given, the number of the event that made it.
    fn call_id(&self) -> CallId {
        let made = || format!("event_{}", self.cause().unwrap_or(self.id())).into();
        CallId(self.named.as_ref().map_or_else(made, |named| named.shared("tool_call_id")))
    }

    /// What a person said.
    pub(super) fn asked(&self) -> Message {
        let args = self.args();
        let pictures = args.list("image_urls").into_iter().filter_map(|url| url.text());
        let pictures = pictures.map(|url| Block::Image(image_at(&url)));
        let blocks = parts_of(args.get("content")).into_iter().map(block_of).chain(pictures).collect();
        Message { role: Role::User, author: Author::Person, blocks }
    }

    /// What OpenHands told the model of its own accord: about the workspace, and what it knows of the topic.
    pub(super) fn added(&self) -> Message {
        let extras = self.fields.get("extras").and_then(View::object).unwrap_or_default();
        let own = self.fields.text("content");
        let told = ["repo_instructions", "additional_agent_instructions"].map(|key| extras.text(key));
        let known = extras.list("microagent_knowledge").into_iter().map(|it| it.at(&["content"])?.text());
        let texts = std::iter::once(own).chain(told).chain(known).flatten();
        let blocks = texts.filter(|text| !text.is_empty()).map(Block::text).collect();
        Message { role: Role::User, author: Author::Harness, blocks }
    }

    /// The result of a call, with what the shell printed around it.
    pub(super) fn answer(&self) -> Message {
        let extras = self.fields.get("extras").and_then(View::object).unwrap_or_default();
        let around = extras.get("metadata").and_then(View::object).unwrap_or_default();
        let content = self.fields.shared("content");
        let text = [around.shared("prefix"), content, around.shared("suffix")].concat();
        let said = (!text.is_empty()).then(|| ResultPart::Text { text: text.into() });
        let pictures = extras.list("image_urls").into_iter().filter_map(|url| url.text());
        let pictures = pictures.map(|url| ResultPart::Image(image_at(&url)));
        let has_failed = self.fields.get("success").is_some_and(|success| success.json() == "false");
        let result = ToolResult {
            call: self.call_id(),
            parts: said.into_iter().chain(pictures).collect(),
            is_error: has_failed || self.fields.text("observation").as_deref() == Some("error"),
        };
        Message { role: Role::Tool, author: Author::Tool, blocks: vec![Block::Result(result)] }
    }

    /// Whether the action is nothing but words.
    pub(super) fn is_said(&self) -> bool {
        self.fields.text("action").as_deref() == Some("message") && !self.is_named()
    }

    /// The message in the provider's reply.
    fn said(&self) -> ObjectView<'a> {
        let choice = self.response().and_then(|it| it.at(&["choices"])?.list()?.first().copied());
        choice.and_then(|it| it.at(&["message"])?.object()).unwrap_or_default()
    }

    /// The call of an action; none where it only speaks.
    fn call(&self) -> Option<Block> {
        if self.is_said() {
            return None;
        }
        let id = self.call_id();
        let name = self.named.as_ref().map(|named| named.shared("function_name"));
        let mut made = self.said().list("tool_calls").into_iter();
        let made = made.find(|call| call.at(&["id"]).and_then(View::text).as_deref() == Some(&*id.0));
        let arguments = made.and_then(|call| call.at(&["function", "arguments"])?.text());
        let own = || self.fields.get("args").map_or("{}", View::json).into();
        Some(Block::Call(Call {
            id,
            name: name.unwrap_or_else(|| self.fields.shared("action")),
            input: arguments.unwrap_or_else(own).into(),
            freeform: false,
        }))
    }

    /// What the model said with an action. The argument of the `think` tool is called `thought` as well.
    fn words(&self) -> Option<Cow<'a, str>> {
        let key = match self.fields.text("action").as_deref() {
            Some("think") => return None,
            Some("message") => "content",
            Some(_) | None => "thought",
        };
        self.args().text(key).filter(|text| !text.is_empty())
    }
}

/// The reply that a row of actions came from.
pub(super) fn reply(actions: &[RunEvent<'_>]) -> Message {
    let said = actions.first().map(RunEvent::said).unwrap_or_default();
    let mut words: Vec<Block> = parts_of(said.get("content")).into_iter().map(block_of).collect();
    if words.is_empty() {
        words.extend(actions.iter().find_map(RunEvent::words).map(Block::text));
    }
    let calls = actions.iter().filter_map(RunEvent::call);
    let blocks = thinking(&said).into_iter().chain(words).chain(calls).collect();
    Message { role: Role::Assistant, author: Author::Model, blocks }
}
