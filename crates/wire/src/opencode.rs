//! opencode's exports: `{info, messages: [{info, parts}]}`.
//!
//! A call and its result are one part, and one assistant message may hold several calls of the model,
//! told apart by `step-start` and `step-finish`. Here each step is a message, its results follow it,
//! and what opencode itself wrote into a person's message stands apart from what they said. What opencode does not
//! send (what was reverted, replies that failed, results it cleared) is in the log, off the path.

use crate::detect::DetectSample;
use crate::document::{ConversationDraft, ConversationView, Dialect, ObjectView, Side, View};
use crate::mini_swe_agent::MiniSweAgent;
use crate::protocol::read::{block_of, image_at};
use crate::{Format, ReportedUsage};
use epitome_core::{
    Author, Block, Call, CallId, Compaction, EntryId, Message, Opaque, ResultPart, Role, Tail, ToolResult,
};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// opencode exports.
pub(crate) struct Opencode;

impl Dialect for Opencode {
    const FORMAT: Format = Format::Opencode;

    fn is_document(sample: &DetectSample<'_>) -> bool {
        let is_message =
            |message: View<'_>| message.at(&["info"]).is_some() && message.at(&["parts"]).is_some();
        let is_export = sample.has("info") && sample.messages.is_some();
        // A mini-swe-agent run without messages has the same two fields.
        is_export && sample.first_message().is_none_or(is_message) && !MiniSweAgent::is_document(sample)
    }

    fn bodies<'a>(roots: &[View<'a>]) -> Result<Vec<ConversationView<'a>>, String> {
        roots.iter().map(|root| body_of(*root)).collect()
    }

    fn tell(body: &ConversationView<'_>, draft: &mut ConversationDraft<'_, Self>) {
        let mut session = OpencodeSession::of(&body.around);
        for (index, element) in body.elements.iter().enumerate() {
            draft.turn_to(index);
            session.tell(*element, draft);
        }
        if let Some(tip) = session.reverted_from {
            draft.go_back(tip);
        }
    }

    /// The first run is the message's `info`, which says whose it is; of an answer the tool's part, and behind it,
    /// where the result was cleared, the time of that.
    fn message(runs: &[View<'_>], side: Side) -> Result<Message, String> {
        let (first, parts) = runs.split_first().ok_or("it has no parts")?;
        if side == Side::Answered {
            let part = first.object().ok_or("the tool's part is no object")?;
            return if parts.is_empty() { answer(&part) } else { Ok(cleared_answer(&part)) };
        }
        let role = first.at(&["role"]).and_then(View::text);
        let (role, author) = match role.as_deref() {
            Some("assistant") => (Role::Assistant, Author::Model),
            Some("user") if side == Side::Said => (Role::User, Author::Person),
            Some("user") => (Role::User, Author::Harness),
            Some(other) => return Err(format!("nobody has the role `{other}`")),
            None => return Err("it has no `role`".into()),
        };
        Ok(Message { role, author, blocks: parts.iter().filter_map(|part| block(*part)).collect() })
    }
}

fn body_of(root: View<'_>) -> Result<ConversationView<'_>, String> {
    let around = root.object().unwrap_or_default();
    let messages = around.get("messages").and_then(View::list);
    let elements = messages.filter(|_| around.get("info").and_then(View::object).is_some());
    let elements = elements.ok_or("there is no `info` with `messages` beside it")?;
    match elements.iter().find(|element| element.at(&["info"]).is_some() || element.at(&["parts"]).is_some())
    {
        None if !elements.is_empty() => Err("its messages have neither `info` nor `parts`".into()),
        Some(_) | None => Ok(ConversationView { around, elements }),
    }
}

/// What of a session decides how its messages are told.
#[derive(Default)]
struct OpencodeSession<'a> {
    /// The message that was reverted with all behind it.
    reverted: Option<Cow<'a, str>>,
    /// The part of it from which on it was; the parts before stay.
    reverted_part: Option<Cow<'a, str>>,
    /// Where the path ends, once the message that was reverted has come.
    reverted_from: Option<Option<EntryId>>,
    /// Where messages begin in the log, by their ids.
    begins: HashMap<Cow<'a, str>, EntryId>,
    /// The first message that each request for a compaction keeps.
    kept_from: HashMap<Cow<'a, str>, Cow<'a, str>>,
}

impl<'a> OpencodeSession<'a> {
    fn of(around: &ObjectView<'a>) -> Self {
        let revert = around.get("info").and_then(|info| info.at(&["revert"])?.object()).unwrap_or_default();
        Self { reverted: revert.text("messageID"), reverted_part: revert.text("partID"), ..Self::default() }
    }

    fn tell(&mut self, element: View<'a>, draft: &mut ConversationDraft<'_, Opencode>) {
        let message = element.object().unwrap_or_default();
        let Some(info) = message.get("info") else { return draft.leave_out("it has no `info`") };
        let id = info.at(&["id"]).and_then(View::text);
        self.begins.extend(id.clone().map(|id| (id, draft.next_id())));
        let parts = message.list("parts");
        if id.is_none() || id != self.reverted || self.reverted_from.is_some() {
            return self.tell_parts(info, &parts, draft);
        }
        let is_first = |part: &View<'_>| part.at(&["id"]).and_then(View::text) == self.reverted_part;
        let from = self.reverted_part.as_ref().and_then(|_| parts.iter().position(is_first));
        let (kept, gone) = parts.split_at(from.unwrap_or(0));
        if !kept.is_empty() {
            self.tell_parts(info, kept, draft);
        }
        self.reverted_from = Some(draft.tip());
        self.tell_parts(info, gone, draft);
    }

    fn tell_parts(
        &mut self,
        info: View<'a>,
        parts: &[View<'a>],
        draft: &mut ConversationDraft<'_, Opencode>,
    ) {
        match info.at(&["role"]).and_then(View::text).as_deref() {
            Some("assistant") if info.at(&["summary"]).is_some_and(View::is_true) => {
                self.tell_summary(info, parts, draft);
            }
            Some("assistant") => tell_reply(info, parts, draft),
            Some(_) | None => match parts.iter().find(|part| kind(**part) == "compaction") {
                Some(request) => self.tell_request(info, *request, draft),
                None => tell_user(info, parts, draft),
            },
        }
    }

    fn tell_request(
        &mut self,
        info: View<'a>,
        request: View<'a>,
        draft: &mut ConversationDraft<'_, Opencode>,
    ) {
        let named = [info.at(&["id"]), request.at(&["tail_start_id"])].map(|view| view.and_then(View::text));
        if let [Some(id), Some(first)] = named {
            self.kept_from.insert(id, first);
        }
        draft.note("compaction");
    }

    /// A summary that came to its end stands for all before it but the tail its request names.
    fn tell_summary(&self, info: View<'a>, parts: &[View<'a>], draft: &mut ConversationDraft<'_, Opencode>) {
        let texts =
            parts.iter().filter(|part| kind(**part) == "text").filter_map(|part| part.at(&["text"])?.text());
        let summary = texts.collect::<Vec<_>>().join("\n");
        if summary.is_empty() || !has_finished(info) {
            return draft.odd("a compaction left no summary; the history before it is kept");
        }
        let first =
            info.at(&["parentID"]).and_then(View::text).and_then(|request| self.kept_from.get(&request));
        let tail = match first.map(|first| self.begins.get(first)) {
            Some(Some(first)) => Tail::From(*first),
            Some(None) => {
                draft.odd("a compaction keeps messages that are not before it; none is kept");
                Tail::Nothing
            }
            None => Tail::Nothing,
        };
        draft.compact(Some(&summary), Compaction { tail, ..Compaction::default() });
    }
}

/// Whether a reply came to its end. Versions that note neither an end nor an error wrote only such replies.
fn has_finished(info: View<'_>) -> bool {
    let is_timed = info.at(&["time"]).is_some();
    let is_ended = info.at(&["finish"]).is_some() || info.at(&["time", "completed"]).is_some();
    info.at(&["error"]).is_none() && (is_ended || !is_timed)
}

fn tell_user(info: View<'_>, parts: &[View<'_>], draft: &mut ConversationDraft<'_, Opencode>) {
    let is_added = |part: &&View<'_>| part.at(&["synthetic"]).is_some_and(View::is_true);
    let (added, said): (Vec<View<'_>>, Vec<View<'_>>) = parts.iter().partition(is_added);
    if !said.is_empty() || added.is_empty() {
        say(info, &said, Side::Said, draft);
    }
    if !added.is_empty() {
        say(info, &added, Side::Added, draft);
    }
}

fn say(
    info: View<'_>,
    parts: &[View<'_>],
    side: Side,
    draft: &mut ConversationDraft<'_, Opencode>,
) -> Option<EntryId> {
    let runs: Vec<View<'_>> = std::iter::once(info).chain(parts.iter().copied()).collect();
    let id = draft.say(&runs, side)?;
    draft.name(id, &info.at(&["id"]).and_then(View::text).unwrap_or_default());
    Some(id)
}

fn tell_reply(info: View<'_>, parts: &[View<'_>], draft: &mut ConversationDraft<'_, Opencode>) {
    let tip = draft.tip();
    match &mut *steps(parts) {
        // It was cut off before the model said anything.
        [] => draft.note("empty reply"),
        [only] => {
            only.tokens = only.tokens.or_else(|| info.at(&["tokens"]));
            tell_step(info, only, draft);
        }
        several => several.iter().for_each(|step| tell_step(info, step, draft)),
    }
    if is_unsent(info, parts) {
        draft.go_back(tip);
        draft.note("failed reply");
    }
}

/// Whether opencode sends a reply no more: it failed. One that was aborted is sent as far as it got.
fn is_unsent(info: View<'_>, parts: &[View<'_>]) -> bool {
    let Some(error) = info.at(&["error"]) else { return false };
    let is_aborted = error.at(&["name"]).and_then(View::text).as_deref() == Some("MessageAbortedError");
    let is_said = |part: &View<'_>| !matches!(&*kind(*part), "step-start" | "reasoning");
    !(is_aborted && parts.iter().any(is_said))
}

/// One call of the model: what it put out, and what the provider counted.
#[derive(Default)]
struct ModelStep<'a> {
    parts: Vec<View<'a>>,
    tokens: Option<View<'a>>,
}

fn steps<'a>(parts: &[View<'a>]) -> Vec<ModelStep<'a>> {
    let (mut steps, mut open) = (Vec::new(), ModelStep::default());
    for &part in parts {
        match &*kind(part) {
            "step-start" => open.close(&mut steps),
            "step-finish" => {
                open.tokens = part.at(&["tokens"]);
                open.close(&mut steps);
            }
            // For opencode itself.
            "patch" | "snapshot" | "retry" => {}
            _ => open.parts.push(part),
        }
    }
    open.close(&mut steps);
    steps
}

impl ModelStep<'_> {
    fn close(&mut self, steps: &mut Vec<Self>) {
        if !self.parts.is_empty() || self.tokens.is_some() {
            steps.push(std::mem::take(self));
        }
    }
}

fn tell_step(info: View<'_>, step: &ModelStep<'_>, draft: &mut ConversationDraft<'_, Opencode>) {
    let Some(id) = say(info, &step.parts, Side::Said, draft) else { return };
    let model = info.at(&["modelID"]).and_then(View::text).map(Into::into);
    draft.reply(id, model, step.tokens.and_then(View::object).and_then(|tokens| usage(&tokens)));
    draft.reply_came_at(info.at(&["time", "created"]).and_then(View::number));
    for part in &step.parts {
        if kind(*part) == "tool" && has_ended(*part) {
            tell_answer(*part, draft);
        }
    }
}

/// A result. Of one that opencode cleared the original stands off the path, and what it sends since on it.
fn tell_answer(part: View<'_>, draft: &mut ConversationDraft<'_, Opencode>) {
    let tip = draft.tip();
    draft.say(&[part], Side::Answered);
    if let Some(cleared) = part.at(&["state", "time", "compacted"]) {
        draft.go_back(tip);
        draft.say(&[part, cleared], Side::Answered);
    }
}

/// opencode counts fresh, cached and reasoning tokens apart.
fn usage(tokens: &ObjectView<'_>) -> Option<ReportedUsage> {
    let cache = tokens.get("cache").and_then(View::object).unwrap_or_default();
    let (read, write) = (cache.number("read").unwrap_or(0), cache.number("write").unwrap_or(0));
    let output = tokens.number("output").unwrap_or(0);
    Some(ReportedUsage {
        prompt: tokens.number("input")?.saturating_add(read).saturating_add(write),
        output: output.saturating_add(tokens.number("reasoning").unwrap_or(0)),
        cache_read: read,
        cache_write: write,
    })
}

fn kind(part: View<'_>) -> String {
    part.at(&["type"]).and_then(View::text).unwrap_or_default().into_owned()
}

fn has_ended(part: View<'_>) -> bool {
    let status = part.at(&["state", "status"]).and_then(View::text);
    matches!(status.as_deref(), Some("completed" | "error"))
}

fn block(view: View<'_>) -> Option<Block> {
    let Some(part) = view.object() else { return Some(carried("part", view)) };
    let text = part.shared("text");
    match &*part.shared("type") {
        "text" | "reasoning" if text.is_empty() || part.is_true("ignored") => None,
        "text" => Some(Block::Text { text }),
        "reasoning" => Some(Block::Thinking { text, signature: signature(&part), redacted: false }),
        "tool" => Some(Block::Call(call(&part))),
        "file" => file(view, &part).map(block_of),
        "subtask" => Some(Block::text("The following tool was executed by the user")),
        "patch" | "snapshot" | "step-start" | "step-finish" | "retry" | "agent" => None,
        kind => Some(carried(kind, view)),
    }
}

fn carried(kind: &str, view: View<'_>) -> Block {
    Block::Opaque(Opaque { kind: kind.into(), json: view.json().into() })
}

/// Anthropic's seal. What other providers seal with would pass for one, so it stays in the file.
fn signature(part: &ObjectView<'_>) -> Option<Arc<str>> {
    part.get("metadata")?.at(&["anthropic", "signature"])?.text().map(Into::into)
}

/// A file: a picture, or something we carry. Of a text or a folder the text stands in a part of its own.
fn file(view: View<'_>, file: &ObjectView<'_>) -> Option<ResultPart> {
    let mime = file.shared("mime");
    if matches!(&*mime, "text/plain" | "application/x-directory") {
        return None;
    }
    match file.text("url").filter(|_| mime.starts_with("image/")) {
        Some(url) => Some(ResultPart::Image(image_at(&url))),
        None => Some(ResultPart::Opaque(Opaque { kind: "file".into(), json: view.json().into() })),
    }
}

fn call(part: &ObjectView<'_>) -> Call {
    let input = part.get("state").and_then(|state| state.at(&["input"]));
    Call {
        id: CallId(part.shared("callID")),
        name: part.shared("tool"),
        input: input.map_or("{}", View::json).into(),
        freeform: false,
    }
}

fn answer(part: &ObjectView<'_>) -> Result<Message, String> {
    let state = part.get("state").and_then(View::object).ok_or("the tool's part has no `state`")?;
    let is_error = state.text("status").as_deref() == Some("error");
    let text = state.text(if is_error { "error" } else { "output" }).unwrap_or_default();
    let said = (!text.is_empty()).then(|| ResultPart::Text { text: text.into() });
    let files = state.list("attachments").into_iter().filter_map(|view| file(view, &view.object()?));
    let parts = said.into_iter().chain(files).collect();
    Ok(result_message(part, parts, is_error))
}

/// What opencode sends in the place of a result it cleared.
fn cleared_answer(part: &ObjectView<'_>) -> Message {
    result_message(part, vec![ResultPart::Text { text: "[Old tool result content cleared]".into() }], false)
}

fn result_message(part: &ObjectView<'_>, parts: Vec<ResultPart>, is_error: bool) -> Message {
    let result = ToolResult { call: CallId(part.shared("callID")), parts, is_error };
    Message { role: Role::Tool, author: Author::Tool, blocks: vec![Block::Result(result)] }
}
