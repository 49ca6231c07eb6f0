//! opencode's exports: `{info, messages: [{info, parts}]}`.
//!
//! A call and its result are one part, and one assistant message may hold several calls of the model,
//! told apart by `step-start` and `step-finish`. Here each step is a message, its results follow it,
//! and what opencode itself wrote into a person's message stands apart from what they said.

use crate::detect::DetectSample;
use crate::document::{ConversationDraft, ConversationView, Dialect, ObjectView, Side, View};
use crate::mini_swe_agent::MiniSweAgent;
use crate::protocol::read::image_at;
use crate::{Format, ReportedUsage};
use epitome_core::{
    Author, Block, Call, CallId, Compaction, EntryId, Image, Message, Opaque, ResultPart, Role, ToolResult,
};
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
        for (index, element) in body.elements.iter().enumerate() {
            draft.turn_to(index);
            let message = element.object().unwrap_or_default();
            let Some(info) = message.get("info") else {
                draft.leave_out("it has no `info`");
                continue;
            };
            let parts = message.list("parts");
            match info.at(&["role"]).and_then(View::text).as_deref() {
                Some("assistant") => tell_reply(info, &parts, draft),
                Some(_) | None => tell_user(info, &parts, draft),
            }
        }
    }

    /// The first run is the message's `info`, which says whose it is; of an answer, the tool's part.
    fn message(runs: &[View<'_>], side: Side) -> Result<Message, String> {
        let (first, parts) = runs.split_first().ok_or("it has no parts")?;
        if side == Side::Answered {
            return answer(&first.object().ok_or("the tool's part is no object")?);
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

fn tell_user(info: View<'_>, parts: &[View<'_>], draft: &mut ConversationDraft<'_, Opencode>) {
    if parts.iter().any(|part| kind(*part) == "compaction") {
        draft.note("compaction");
        return;
    }
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
    if info.at(&["summary"]).is_some_and(View::is_true) {
        tell_summary(parts, draft);
        return;
    }
    match &mut *steps(parts) {
        // It was cut off before the model said anything.
        [] => draft.note("empty reply"),
        [only] => {
            only.tokens = only.tokens.or_else(|| info.at(&["tokens"]));
            tell_step(info, only, draft);
        }
        several => several.iter().for_each(|step| tell_step(info, step, draft)),
    }
}

fn tell_summary(parts: &[View<'_>], draft: &mut ConversationDraft<'_, Opencode>) {
    let texts =
        parts.iter().filter(|part| kind(**part) == "text").filter_map(|part| part.at(&["text"])?.text());
    let summary = texts.collect::<Vec<_>>().join("\n");
    if summary.is_empty() {
        draft.odd("a compaction left no summary; the history before it is kept");
    } else {
        draft.compact(Some(&summary), Compaction::default());
    }
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
    for part in &step.parts {
        if kind(*part) == "tool" && has_ended(*part) {
            draft.say(&[*part], Side::Answered);
        }
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
    let part = view.object()?;
    let text = part.shared("text");
    match &*part.shared("type") {
        "text" | "reasoning" if text.is_empty() || part.is_true("ignored") => None,
        "text" => Some(Block::Text { text }),
        "reasoning" => Some(Block::Thinking { text, signature: signature(&part), redacted: false }),
        "tool" => Some(Block::Call(call(&part))),
        "file" => picture(&part).map(Block::Image),
        "patch" | "snapshot" | "step-start" | "step-finish" | "retry" => None,
        kind => Some(Block::Opaque(Opaque { kind: kind.into(), json: view.json().into() })),
    }
}

/// Anthropic's seal. What other providers seal with would pass for one, so it stays in the file.
fn signature(part: &ObjectView<'_>) -> Option<Arc<str>> {
    part.get("metadata")?.at(&["anthropic", "signature"])?.text().map(Into::into)
}

/// A file's picture. Of any other file the text stands in a part of its own.
fn picture(file: &ObjectView<'_>) -> Option<Image> {
    let is_picture = file.text("mime").is_some_and(|mime| mime.starts_with("image/"));
    file.text("url").filter(|_| is_picture).map(|url| image_at(&url))
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
    let pictures = state.list("attachments").into_iter().filter_map(|file| picture(&file.object()?));
    let parts = said.into_iter().chain(pictures.map(ResultPart::Image)).collect();
    let result = ToolResult { call: CallId(part.shared("callID")), parts, is_error };
    Ok(Message { role: Role::Tool, author: Author::Tool, blocks: vec![Block::Result(result)] })
}
