//! LangGraph threads: `{values: {messages, todos, …}, metadata, …}`, messages in LangChain's form.
//!
//! `system` messages occur in the middle of a thread; only those at its start are its system prompt.

use crate::detect::DetectSample;
use crate::document::{ConversationDraft, ConversationView, Dialect, ObjectView, Side, View};
use crate::protocol::read::anthropic::block as anthropic_block;
use crate::protocol::read::openai_chat::thinking;
use crate::protocol::read::{block_of, parts_of};
use crate::{Format, ReportedUsage};
use epitome_core::{Author, Block, Call, CallId, Message, Role, ToolResult};
use std::collections::HashSet;

/// LangGraph threads.
pub(crate) struct Langgraph;

/// State beside the messages that tells where the work stands.
const STATE: [&str; 3] = ["todos", "artifacts", "viewed_images"];

impl Dialect for Langgraph {
    const FORMAT: Format = Format::Langgraph;

    fn is_document(sample: &DetectSample<'_>) -> bool {
        let is_thread = sample.object.get("values").is_some_and(|values| values.at(&["messages"]).is_some());
        is_thread || sample.first_message().is_some_and(is_langchain)
    }

    fn bodies<'a>(roots: &[View<'a>]) -> Result<Vec<ConversationView<'a>>, String> {
        roots.iter().map(|root| body_of(*root)).collect()
    }

    fn tell(body: &ConversationView<'_>, draft: &mut ConversationDraft<'_, Self>) {
        let mut elements = body.elements.iter().enumerate().peekable();
        while let Some((_, prompt)) = elements.next_if(|(_, element)| kind(**element) == "system") {
            let parts = parts_of(prompt.at(&["content"]));
            draft.fixed.system.extend(parts.iter().filter_map(|part| part.as_text().map(Into::into)));
        }
        for (index, &element) in elements {
            draft.turn_to(index);
            tell_message(element, draft);
        }
        let state = STATE.into_iter().filter(|key| body.around.get(key).is_some_and(|held| !is_bare(held)));
        state.for_each(|key| draft.note(key));
    }

    fn message(runs: &[View<'_>], _: Side) -> Result<Message, String> {
        let view = *runs.first().ok_or("it is not there")?;
        let message = view.object().ok_or("it is no object")?;
        let said = || parts_of(message.get("content")).into_iter().map(block_of).collect();
        let (role, author, blocks) = match &*kind(view) {
            "human" => (Role::User, author(&message), said()),
            "ai" => (Role::Assistant, Author::Model, reply_blocks(&message)),
            "tool" => (Role::Tool, Author::Tool, vec![Block::Result(result(&message))]),
            "system" => (Role::System, Author::Harness, said()),
            _ => return Err(format!("messages of type `{}` are not known", message.shared("type"))),
        };
        Ok(Message { role, author, blocks })
    }
}

/// Whether a message is in LangChain's form, from which its type alone is not enough to tell it.
fn is_langchain(message: View<'_>) -> bool {
    let kind = message.at(&["type"]).and_then(View::text).unwrap_or_default();
    matches!(&*kind, "human" | "ai" | "tool" | "system") && message.at(&["content"]).is_some()
}

fn body_of(root: View<'_>) -> Result<ConversationView<'_>, String> {
    let values = root.at(&["values"]).unwrap_or(root);
    let around = values.object().unwrap_or_default();
    let elements = around.get("messages").and_then(View::list);
    let elements = elements.filter(|all| all.first().is_none_or(|first| !kind(*first).is_empty()));
    let elements =
        elements.ok_or("there are no `values.messages` with a `type` of human, ai, tool or system")?;
    Ok(ConversationView { around, elements })
}

/// A message's type, chunks being messages too; empty for what is no message of LangChain.
fn kind(view: View<'_>) -> String {
    let kind = view.at(&["type"]).and_then(View::text).unwrap_or_default();
    match &*kind {
        "human" | "HumanMessageChunk" => "human".into(),
        "ai" | "AIMessageChunk" => "ai".into(),
        "tool" | "ToolMessageChunk" => "tool".into(),
        "system" | "SystemMessageChunk" => "system".into(),
        _ => String::new(),
    }
}

fn is_bare(held: View<'_>) -> bool {
    matches!(held.json(), "[]" | "{}" | "\"\"")
}

fn tell_message(element: View<'_>, draft: &mut ConversationDraft<'_, Langgraph>) {
    let Some(id) = draft.say(&[element], Side::Said) else { return };
    let message = element.object().unwrap_or_default();
    draft.name(id, &message.shared("id"));
    if kind(element) == "ai" {
        let metadata = message.get("response_metadata");
        let model = metadata.and_then(|metadata| metadata.at(&["model_name"])?.text()).map(Into::into);
        draft.reply(
            id,
            model,
            message.get("usage_metadata").and_then(View::object).and_then(|it| usage(&it)),
        );
    }
}

/// LangChain's input includes what was cached.
fn usage(counted: &ObjectView<'_>) -> Option<ReportedUsage> {
    let details = counted.get("input_token_details").and_then(View::object).unwrap_or_default();
    Some(ReportedUsage {
        prompt: counted.number("input_tokens")?,
        output: counted.number("output_tokens").unwrap_or(0),
        cache_read: details.number("cache_read").unwrap_or(0),
        cache_write: details.number("cache_creation").unwrap_or(0),
    })
}

/// LangChain's own summaries come as human messages, and say so.
fn author(message: &ObjectView<'_>) -> Author {
    let source = message.get("additional_kwargs").and_then(|more| more.at(&["lc_source"])?.text());
    if source.as_deref() == Some("summarization") { Author::Harness } else { Author::Person }
}

fn reply_blocks(message: &ObjectView<'_>) -> Vec<Block> {
    let reasoning = message.get("additional_kwargs").and_then(View::object).and_then(|more| thinking(&more));
    let calls: Vec<Call> = ["tool_calls", "invalid_tool_calls"]
        .into_iter()
        .flat_map(|key| message.list(key))
        .filter_map(|call| Some(call_of(&call.object()?)))
        .collect();
    let known: HashSet<&CallId> = calls.iter().map(|call| &call.id).collect();
    let said: Vec<Block> = said(message).into_iter().filter(|block| !is_call_of(block, &known)).collect();
    reasoning.into_iter().chain(said).chain(calls.iter().cloned().map(Block::Call)).collect()
}

/// What a reply says. Content in blocks is in the provider's form, which for Claude holds calls again.
fn said(message: &ObjectView<'_>) -> Vec<Block> {
    let content = message.get("content");
    match content.and_then(View::list) {
        Some(list) => list.into_iter().filter_map(anthropic_block).collect(),
        None => parts_of(content).into_iter().map(block_of).collect(),
    }
}

fn is_call_of(block: &Block, known: &HashSet<&CallId>) -> bool {
    matches!(block, Block::Call(call) if known.contains(&call.id))
}

/// A call; the arguments of an invalid one are the text that could not be read as JSON.
fn call_of(call: &ObjectView<'_>) -> Call {
    let args = call.get("args");
    let broken = args.and_then(View::text);
    Call {
        id: CallId(call.shared("id")),
        name: call.shared("name"),
        freeform: broken.is_some(),
        input: broken.unwrap_or_else(|| args.map_or("{}", View::json).into()).into(),
    }
}

fn result(message: &ObjectView<'_>) -> ToolResult {
    ToolResult {
        call: CallId(message.shared("tool_call_id")),
        parts: parts_of(message.get("content")),
        is_error: message.text("status").as_deref() == Some("error"),
    }
}
