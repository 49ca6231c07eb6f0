//! Gemini CLI's session files: since spring 2026 a log of changes, one JSON object per line; before that one
//! document, `{sessionId, projectHash, messages}`. The document is such a log of one line.
//!
//! A `gemini` record holds the reply, its thoughts, its calls and their results all in one; here the
//! reply is a message and each result another, made from its call's own bytes.

mod message_list;

use crate::detect::DetectSample;
use crate::document::{ConversationDraft, ConversationView, Dialect, ObjectView, Side, View};
use crate::gemini_parts::{
    answers, block, is_call, is_response, is_thought, parts_of, piece, result_of, snapshot,
};
use crate::timestamp::unix_ms;
use crate::{Format, ReportedUsage};
use epitome_core::{Author, Block, Call, CallId, EntryId, Message, ResultPart, Role, ToolResult};
use message_list::{ListChange, MessageList};
use std::borrow::Cow;
use std::collections::HashSet;

/// Gemini CLI session files.
pub(crate) struct GeminiCli;

/// How texts begin that the tool puts in on the user's side.
const INJECTED: [&str; 2] = ["<session_context>", "<hook_context>"];

impl Dialect for GeminiCli {
    const FORMAT: Format = Format::GeminiCli;

    fn is_document(sample: &DetectSample<'_>) -> bool {
        is_own(&sample.object)
    }

    /// A session is its header with the records behind it. A header of another session begins another.
    fn bodies<'a>(roots: &[View<'a>]) -> Result<Vec<ConversationView<'a>>, String> {
        if !roots.iter().any(|root| is_own(&root.object().unwrap_or_default())) {
            return Err("there is no `sessionId` with `projectHash`, nor a record of its log".into());
        }
        let mut bodies: Vec<ConversationView<'a>> = Vec::new();
        let mut session: Option<Cow<'a, str>> = None;
        for &root in roots {
            let record = root.object().unwrap_or_default();
            let named = record.text("sessionId").filter(|_| is_header(&record));
            let is_another = named.is_some() && session.is_some() && named != session;
            session = named.or(session);
            match bodies.last_mut().filter(|_| !is_another) {
                Some(body) => body.elements.push(root),
                None => bodies.push(ConversationView { around: record, elements: vec![root] }),
            }
        }
        Ok(bodies)
    }

    fn tell(body: &ConversationView<'_>, draft: &mut ConversationDraft<'_, Self>) {
        let mut list = MessageList::default();
        for (index, &record) in body.elements.iter().enumerate() {
            draft.turn_to(index);
            list.take(record, draft);
        }
        ChangeTeller { list: &list, ends: Vec::new() }.tell(draft);
    }

    fn message(runs: &[View<'_>], side: Side) -> Result<Message, String> {
        let first = *runs.first().ok_or("it stands nowhere")?;
        if side == Side::Answered {
            return Ok(if is_response(first) { responses(runs) } else { answer(first) });
        }
        let record = first.object().ok_or("it is no object")?;
        if record.text("type").as_deref() != Some("user") {
            let blocks = reply_blocks(&record);
            return Ok(Message { role: Role::Assistant, author: Author::Model, blocks });
        }
        let said = parts_of(record.get("content")).into_iter().filter(|part| !is_response(*part));
        let author = if side == Side::Said { Author::Person } else { Author::Harness };
        Ok(Message { role: Role::User, author, blocks: said.filter_map(block).collect() })
    }
}

/// Whether an object is a whole session, its header, or another record of its log.
fn is_own(record: &ObjectView<'_>) -> bool {
    let is_reply = || record.text("type").as_deref() == Some("gemini") && record.has("id");
    is_header(record) || record.has("$set") || record.has("$rewindTo") || is_reply()
}

fn is_header(record: &ObjectView<'_>) -> bool {
    let is_dated = record.has("projectHash") || record.has("startTime");
    record.has("sessionId") && is_dated && !record.has("type")
}

/// The changes of a list of messages on their way into a log.
struct ChangeTeller<'r, 'a> {
    list: &'r MessageList<'a>,
    /// For each message of the list the entry it ends with.
    ends: Vec<Option<EntryId>>,
}

impl ChangeTeller<'_, '_> {
    fn tell(mut self, draft: &mut ConversationDraft<'_, GeminiCli>) {
        for change in &self.list.changes {
            match change {
                ListChange::Add(slot) => self.add(*slot, draft),
                ListChange::Keep(count) => {
                    self.ends.truncate(*count);
                    draft.go_back(self.ends.last().copied().flatten());
                }
                ListChange::Compress { slots, summary } => self.compress(slots, *summary, draft),
            }
        }
    }

    fn add(&mut self, slot: usize, draft: &mut ConversationDraft<'_, GeminiCli>) {
        draft.turn_to(slot);
        tell_record(self.list.versions[slot], draft);
        self.ends.push(draft.tip());
    }

    /// A new list with a summary in it: what stands before the summary stays before it.
    fn compress(&mut self, slots: &[usize], summary: usize, draft: &mut ConversationDraft<'_, GeminiCli>) {
        self.ends.clear();
        let first = draft.next_id();
        slots[..summary].iter().for_each(|slot| self.add(*slot, draft));
        let front = (first.0..draft.next_id().0).map(EntryId).collect();
        let record = self.list.versions[slots[summary]].object().unwrap_or_default();
        draft.compact_whole(snapshot(&parts_of(record.get("content"))).as_deref(), front);
        self.ends.push(draft.tip());
        slots[summary + 1..].iter().for_each(|slot| self.add(*slot, draft));
    }
}

fn tell_record(view: View<'_>, draft: &mut ConversationDraft<'_, GeminiCli>) {
    let record = view.object().unwrap_or_default();
    let id = match record.text("type").as_deref() {
        Some("user") => tell_user(view, &record, draft),
        Some("gemini") => tell_reply(view, &record, draft),
        // `info`, `error` and their like are for the screen.
        Some(other) => return draft.note(other),
        None => return draft.leave_out("it has no `type`"),
    };
    if let Some(id) = id {
        draft.name(id, &record.shared("id"));
    }
}

/// What was said, behind the results that came with it. Those a call carries itself have been told with it.
fn tell_user(
    view: View<'_>,
    record: &ObjectView<'_>,
    draft: &mut ConversationDraft<'_, GeminiCli>,
) -> Option<EntryId> {
    let (results, said): (Vec<View<'_>>, Vec<View<'_>>) =
        parts_of(record.get("content")).into_iter().partition(|part| is_response(*part));
    let is_news = |part: &View<'_>| result_of(*part).is_some_and(|result| !draft.is_answered(&result.call));
    let news: Vec<View<'_>> = results.iter().copied().filter(is_news).collect();
    let told = (!news.is_empty()).then(|| draft.say(&news, Side::Answered)).flatten();
    if said.is_empty() && !results.is_empty() {
        return told;
    }
    let text = said.first().and_then(|part| part.at(&["text"]).unwrap_or(*part).text()).unwrap_or_default();
    let is_injected = INJECTED.iter().any(|mark| text.trim_start().starts_with(mark));
    draft.say(&[view], if is_injected { Side::Added } else { Side::Said })
}

fn tell_reply(
    view: View<'_>,
    record: &ObjectView<'_>,
    draft: &mut ConversationDraft<'_, GeminiCli>,
) -> Option<EntryId> {
    let id = draft.say(&[view], Side::Said)?;
    let usage = record.get("tokens").and_then(View::object).and_then(|tokens| usage(&tokens));
    draft.reply(id, record.text("model").map(Into::into), usage);
    draft.reply_came_at(record.text("timestamp").as_deref().and_then(unix_ms));
    for call in record.list("toolCalls").into_iter().filter(|call| has_result(*call)) {
        draft.say(&[call], Side::Answered);
    }
    Some(id)
}

fn has_result(call: View<'_>) -> bool {
    call.at(&["result"]).is_some_and(|result| !matches!(result.json(), "[]" | "\"\""))
}

/// Gemini counts cached tokens in its input, and thoughts beside its output.
fn usage(tokens: &ObjectView<'_>) -> Option<ReportedUsage> {
    let count = |key| tokens.number(key).unwrap_or(0);
    Some(ReportedUsage {
        prompt: tokens.number("input")?,
        output: count("output").saturating_add(count("thoughts")),
        cache_read: count("cached"),
        cache_write: 0,
    })
}

/// The blocks of a reply. Newer versions keep the whole reply in `content`, and `thoughts` and `toolCalls` say it
/// once more; in older ones they say it alone.
fn reply_blocks(record: &ObjectView<'_>) -> Vec<Block> {
    let (content, calls) = (parts_of(record.get("content")), record.list("toolCalls"));
    let mut blocks = Vec::new();
    if !content.iter().any(|part| is_thought(*part)) {
        blocks.extend(
            record.list("thoughts").into_iter().filter_map(|thought| Some(thinking(&thought.object()?))),
        );
    }
    // A call without an id is one of those in `toolCalls`, which have theirs.
    let is_told =
        |part: &View<'_>| is_call(*part) && !calls.is_empty() && part.at(&["functionCall", "id"]).is_none();
    blocks.extend(content.into_iter().filter(|part| !is_told(part)).filter_map(block));
    let made: HashSet<CallId> = blocks.iter().filter_map(call_id).collect();
    let calls = calls.into_iter().filter_map(|call| Some(Block::Call(call_of(&call.object()?))));
    blocks.extend(calls.filter(|call| call_id(call).is_some_and(|id| !made.contains(&id))));
    blocks
}

fn call_id(block: &Block) -> Option<CallId> {
    match block {
        Block::Call(call) => Some(call.id.clone()),
        Block::Text { .. }
        | Block::Thinking { .. }
        | Block::Result(_)
        | Block::Image(_)
        | Block::Opaque(_) => None,
    }
}

fn thinking(thought: &ObjectView<'_>) -> Block {
    let pieces = ["subject", "description"].into_iter().filter_map(|key| thought.text(key));
    let text = pieces.collect::<Vec<_>>().join("\n");
    Block::Thinking { text: text.into(), signature: None, redacted: false }
}

fn call_of(call: &ObjectView<'_>) -> Call {
    let input = call.get("args").map_or("{}", View::json).into();
    Call { id: CallId(call.shared("id")), name: call.shared("name"), input, freeform: false }
}

/// Results that stand in a user's record of their own.
fn responses(parts: &[View<'_>]) -> Message {
    let blocks = parts.iter().filter_map(|part| result_of(*part)).map(Block::Result).collect();
    Message { role: Role::Tool, author: Author::Tool, blocks }
}

/// The result a call carries. What was cancelled or refused comes as an error.
fn answer(view: View<'_>) -> Message {
    let call = view.object().unwrap_or_default();
    let is_error = call.text("status").is_some_and(|status| status != "success");
    let id = CallId(call.shared("id"));
    let parts = parts_of(call.get("result")).into_iter().flat_map(|part| answer_parts(part, &id)).collect();
    let result = ToolResult { call: id, parts, is_error };
    Message { role: Role::Tool, author: Author::Tool, blocks: vec![Block::Result(result)] }
}

/// What a part of a result says. Calls made at once are given each other's responses too, told apart by their id.
fn answer_parts(part: View<'_>, call: &CallId) -> Vec<ResultPart> {
    let Some(response) = part.at(&["functionResponse"]).and_then(View::object) else {
        return piece(part).into_iter().collect();
    };
    let is_anothers = response.text("id").is_some_and(|id| *id != *call.0);
    if is_anothers { Vec::new() } else { answers(&response) }
}
