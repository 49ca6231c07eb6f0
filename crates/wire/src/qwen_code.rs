//! qwen-code's session files: one record per line, `{uuid, parentUuid, sessionId, type, message?, …}`, a tree.
//!
//! The records are laid out as Claude Code's, what they say is Gemini's `Content` (`{role, parts}`). The live
//! branch is that of the last record. A compression writes the whole new history into its record.

mod write;

pub(crate) use write::{append, undo};

use crate::detect::DetectSample;
use crate::document::{ConversationDraft, ConversationView, Dialect, ObjectView, Side, View};
use crate::gemini_parts::{block, is_response, parts_of, result_of, snapshot};
use crate::timestamp::unix_ms;
use crate::{Format, ReportedUsage};
use epitome_core::{Author, Block, EntryId, Message, Role};
use std::borrow::Cow;
use std::collections::HashMap;

/// qwen-code session files.
pub(crate) struct QwenCode;

/// What its records are.
const KINDS: [&str; 4] = ["user", "assistant", "tool_result", "system"];

/// System records that Claude Code has not; others are told by what they carry.
const SUBTYPES: [&str; 5] = ["chat_compression", "slash_command", "ui_telemetry", "custom_title", "rewind"];

/// What comes on the user's side from no person.
const NOTICES: [&str; 2] = ["cron", "notification"];

impl Dialect for QwenCode {
    const FORMAT: Format = Format::QwenCode;

    fn is_document(sample: &DetectSample<'_>) -> bool {
        is_record(&sample.object)
    }

    /// The session's own records are one conversation, and those of each subagent between them another.
    fn bodies<'a>(roots: &[View<'a>]) -> Result<Vec<ConversationView<'a>>, String> {
        if !roots.iter().any(|root| is_record(&root.object().unwrap_or_default())) {
            return Err("no line is a record with a `type` it writes, `uuid` and `sessionId`".into());
        }
        let mut bodies: Vec<ConversationView<'a>> = Vec::new();
        let mut places: HashMap<Option<Cow<'a, str>>, usize> = HashMap::new();
        for &root in roots {
            let record = root.object().unwrap_or_default();
            let place = *places.entry(subagent(&record)).or_insert(bodies.len());
            match bodies.get_mut(place) {
                Some(body) => body.elements.push(root),
                None => bodies.push(ConversationView { around: record, elements: vec![root] }),
            }
        }
        Ok(bodies)
    }

    fn tell(body: &ConversationView<'_>, draft: &mut ConversationDraft<'_, Self>) {
        let mut ends = HashMap::new();
        for (index, &view) in body.elements.iter().enumerate() {
            draft.turn_to(index);
            let record = view.object().unwrap_or_default();
            follow(&record, &ends, draft);
            tell_record(view, &record, draft);
            ends.extend(record.text("uuid").map(|uuid| (uuid, draft.tip())));
        }
    }

    /// A message's run is its record, or the `Content` itself where a compression wrote it out.
    fn message(runs: &[View<'_>], side: Side) -> Result<Message, String> {
        let content = content_of(*runs.first().ok_or("it stands nowhere")?)?;
        let parts = parts_of(content.get("parts"));
        if side == Side::Answered {
            let blocks = parts.into_iter().filter_map(result_of).map(Block::Result).collect();
            return Ok(Message { role: Role::Tool, author: Author::Tool, blocks });
        }
        let blocks = parts.into_iter().filter(|part| !is_response(*part)).filter_map(block).collect();
        match (content.text("role").as_deref(), side) {
            (Some("model"), _) => Ok(Message { role: Role::Assistant, author: Author::Model, blocks }),
            (_, Side::Said) => Ok(Message { role: Role::User, author: Author::Person, blocks }),
            (_, Side::Added | Side::Answered) => {
                Ok(Message { role: Role::User, author: Author::Harness, blocks })
            }
        }
    }
}

/// Whether an object is a record of a session file, and not one of Claude Code's.
pub(crate) fn is_record(record: &ObjectView<'_>) -> bool {
    let is_named = record.has("uuid") && record.has("sessionId");
    let kind = record.text("type").unwrap_or_default();
    let has_parts = || record.get("message").is_some_and(|message| message.at(&["parts"]).is_some());
    let is_system = || {
        kind == "system"
            && (record.has("systemPayload")
                || record.text("subtype").is_some_and(|subtype| SUBTYPES.contains(&&*subtype)))
    };
    is_named && KINDS.contains(&&*kind) && (has_parts() || is_system() || kind == "tool_result")
}

/// The subagent a record is of; none for the session's own.
fn subagent<'a>(record: &ObjectView<'a>) -> Option<Cow<'a, str>> {
    let is_side = record.is_true("isSidechain");
    record.text("agentId").or_else(|| is_side.then_some("".into()))
}

/// Takes the conversation up behind the record that this one hangs off.
fn follow(
    record: &ObjectView<'_>,
    ends: &HashMap<Cow<'_, str>, Option<EntryId>>,
    draft: &mut ConversationDraft<'_, QwenCode>,
) {
    // A record that repeats an id goes on where that one ended.
    let repeated = record.text("uuid").and_then(|uuid| ends.get(&uuid));
    let tip = match (repeated, record.text("parentUuid")) {
        (Some(end), _) => *end,
        (None, None) => None,
        (None, Some(parent)) => ends.get(&parent).copied().unwrap_or_else(|| {
            draft.odd(&format!(
                "record {} hangs off {parent}, which is not before it; taken to follow the record before",
                draft.element()
            ));
            draft.tip()
        }),
    };
    if tip != draft.tip() {
        draft.go_back(tip);
    }
}

fn tell_record(view: View<'_>, record: &ObjectView<'_>, draft: &mut ConversationDraft<'_, QwenCode>) {
    let subtype = record.text("subtype").unwrap_or_default();
    match record.text("type").as_deref() {
        Some("system") if subtype == "chat_compression" => tell_compression(record, draft),
        Some("system") => draft.note(&subtype),
        Some(kind) if !KINDS.contains(&kind) => draft.pass_over(kind),
        None => draft.pass_over("record without a type"),
        Some(kind) if !record.has("message") => draft.note(kind),
        Some("assistant") => tell_reply(view, record, draft),
        Some(_) => {
            let is_notice = NOTICES.contains(&&*subtype);
            tell_content(view, if is_notice { Side::Added } else { Side::Said }, draft);
        }
    }
}

fn tell_reply(view: View<'_>, record: &ObjectView<'_>, draft: &mut ConversationDraft<'_, QwenCode>) {
    draft.fixed.window = record.number("contextWindowSize").or(draft.fixed.window);
    let Some(id) = draft.say(&[view], Side::Said) else { return };
    draft.name(id, &record.shared("uuid"));
    let usage = record.get("usageMetadata").and_then(View::object).and_then(|usage| reported(&usage));
    draft.reply(id, record.text("model").map(Into::into), usage);
    draft.reply_came_at(record.text("timestamp").as_deref().and_then(unix_ms));
}

/// Gemini's figures: cached tokens are in the prompt's, thoughts beside the candidates'.
fn reported(usage: &ObjectView<'_>) -> Option<ReportedUsage> {
    let count = |key| usage.number(key).unwrap_or(0);
    Some(ReportedUsage {
        prompt: usage.number("promptTokenCount")?,
        output: count("candidatesTokenCount").saturating_add(count("thoughtsTokenCount")),
        cache_read: count("cachedContentTokenCount"),
        cache_write: 0,
    })
}

/// What stands on the user's side: results, and what was said beside them. With results, nobody typed it.
fn tell_content(view: View<'_>, side: Side, draft: &mut ConversationDraft<'_, QwenCode>) {
    let content = match content_of(view) {
        Ok(content) => content,
        Err(why) => return draft.leave_out(why),
    };
    let (results, said): (Vec<View<'_>>, Vec<View<'_>>) =
        parts_of(content.get("parts")).into_iter().partition(|part| is_response(*part));
    let mut told = None;
    if !results.is_empty() {
        told = draft.say(&[view], Side::Answered);
    }
    let side = if results.is_empty() { side } else { Side::Added };
    if results.is_empty() || said.iter().any(|part| block(*part).is_some()) {
        told = draft.say(&[view], side);
    }
    if let Some(id) = told {
        draft.name(id, &view.object().unwrap_or_default().shared("uuid"));
    }
}

/// A compression holds the new history in full: the summary among its messages, and what was kept.
fn tell_compression(record: &ObjectView<'_>, draft: &mut ConversationDraft<'_, QwenCode>) {
    let payload = record.get("systemPayload").and_then(View::object).unwrap_or_default();
    if !payload.has("compressedHistory") {
        return draft.odd("a compression left no new history; the one before it is kept");
    }
    if record.get("epitome").is_some_and(|mark| mark.at(&["record", "copy"]).is_some()) {
        draft.end_of_copied();
    }
    let history = payload.list("compressedHistory");
    let summary_of = |content: &View<'_>| snapshot(&parts_of(content.at(&["parts"])));
    let summary = history.iter().position(|content| summary_of(content).is_some());
    let (before, after) = history.split_at(summary.unwrap_or(0));
    let first = draft.next_id();
    before.iter().for_each(|content| tell_kept(*content, draft));
    let front = (first.0..draft.next_id().0).map(EntryId).collect();
    draft.compact_whole(summary.and_then(|at| summary_of(&history[at])).as_deref(), front);
    let skipped = usize::from(summary.is_some());
    after[skipped..].iter().for_each(|content| tell_kept(*content, draft));
}

/// A message of a new history. It was answered before, and is no reply of its own.
fn tell_kept(content: View<'_>, draft: &mut ConversationDraft<'_, QwenCode>) {
    match content.at(&["role"]).and_then(View::text).as_deref() {
        Some("model") => drop(draft.say(&[content], Side::Said)),
        Some(_) | None => tell_content(content, Side::Said, draft),
    }
}

/// The `Content` of a record, or of what is one itself.
fn content_of(view: View<'_>) -> Result<ObjectView<'_>, &'static str> {
    let fields = view.object().ok_or("it is no object")?;
    match fields.get("message") {
        Some(message) => message.object().ok_or("its message is no object"),
        None => Ok(fields),
    }
}
