//! OpenAI Responses: a body whose `input` is a string or items, the items alone, or a stored response.
//!
//! What the model put out in one go (reasoning, words, calls of every kind) is one message here,
//! however many items it takes. Items a client must send back byte for byte are carried, not read.

use super::bodies::BodyLayout;
use super::usage::responses_usage;
use super::{author_of, block_of, openai_chat, parts_of};
use crate::detect::DetectSample;
use crate::document::{ConversationDraft, ConversationView, Dialect, ObjectView, Side, View};
use crate::protocol::ElementError;
use crate::{FixedParts, Format, Protocol};
use epitome_core::{Author, Block, Call, CallId, Message, Opaque, ResultPart, Role, ToolResult};
use std::ops::Range;
use std::sync::Arc;

/// Request bodies, item lists or stored responses in the form of OpenAI Responses.
pub(crate) struct OpenaiResponses;

const LAYOUT: BodyLayout = BodyLayout {
    fields: &["input", "output"],
    is_element: |object| object.text("type").is_some() || object.has("role") || is_bare_reference(object),
};

/// Who an item speaks for.
enum ItemVoice {
    /// The user's side, instructions included.
    Asker,
    /// The model, and what it did on the provider's side.
    Model,
    /// A tool of the client.
    Tool,
}

impl Dialect for OpenaiResponses {
    const FORMAT: Format = Format::Body(Protocol::OpenaiResponses);

    fn is_document(sample: &DetectSample<'_>) -> bool {
        sample.protocol() == Some(Protocol::OpenaiResponses)
    }

    fn bodies<'a>(roots: &[View<'a>]) -> Result<Vec<ConversationView<'a>>, String> {
        let bodies = LAYOUT.bodies(roots)?;
        let foreign = bodies.iter().flat_map(|body| &body.elements).any(|&element| is_foreign(element));
        if foreign { Err(FOREIGN.into()) } else { Ok(bodies) }
    }

    fn tell(body: &ConversationView<'_>, draft: &mut ConversationDraft<'_, Self>) {
        draft.fixed = fixed(&body.around);
        let has_instructions = !draft.fixed.system.is_empty();
        let first =
            if has_instructions { 0 } else { openai_chat::lift_system(&body.elements, &mut draft.fixed) };
        draft.put_body(body, LAYOUT.fields, first);
        for run in runs_of(&body.elements[first..]) {
            let items = &body.elements[first + run.items.start..first + run.items.end];
            draft.turn_to(first + run.items.start);
            let Some(id) = draft.say(items, run.side) else { continue };
            if run.is_reply {
                let is_last = first + run.items.end == body.elements.len();
                draft.reply(id, None, responses_usage(&body.around).filter(|_| is_last));
            }
        }
    }

    fn message(runs: &[View<'_>], side: Side) -> Result<Message, String> {
        let first = *runs.first().ok_or("it has no items")?;
        match (side, voice(first)) {
            (Side::Answered, _) => answer(&first.object().ok_or("it is no object")?),
            (Side::Said | Side::Added, ItemVoice::Model) => {
                let blocks = runs.iter().flat_map(|&run| reply_blocks(run)).collect();
                Ok(Message { role: Role::Assistant, author: Author::Model, blocks })
            }
            (Side::Said | Side::Added, ItemVoice::Asker | ItemVoice::Tool) => asked(first),
        }
    }
}

/// Why an item is none of this protocol's.
const FOREIGN: &str = "a message is written as in Chat Completions or Anthropic Messages";

fn is_foreign(element: View<'_>) -> bool {
    let item = element.object().unwrap_or_default();
    let is_chat = item.has("tool_calls") || item.text("role").as_deref() == Some("tool");
    is_chat || openai_chat::has_foreign_block(element)
}

/// Items that are one message.
struct ItemRun {
    items: Range<usize>,
    side: Side,
    is_reply: bool,
}

/// The items in runs: what the model put out in one go, and each other item by itself.
fn runs_of(items: &[View<'_>]) -> Vec<ItemRun> {
    let mut runs: Vec<ItemRun> = Vec::new();
    for (at, &item) in items.iter().enumerate() {
        let (side, is_reply) = match voice(item) {
            ItemVoice::Model => (Side::Said, true),
            ItemVoice::Asker => (Side::Said, false),
            ItemVoice::Tool => (Side::Answered, false),
        };
        match runs.last_mut().filter(|last| last.is_reply && is_reply) {
            Some(last) => last.items.end = at + 1,
            None => runs.push(ItemRun { items: at..at + 1, side, is_reply }),
        }
    }
    runs
}

/// The messages of these items, each with the place of its first.
pub(crate) fn decode(items: &[View<'_>]) -> Result<Vec<(usize, Message)>, ElementError> {
    if let Some(element) = items.iter().position(|&item| is_foreign(item)) {
        return Err(ElementError { element, why: FOREIGN.into() });
    }
    let message_of = |run: ItemRun| {
        let element = run.items.start;
        let message = OpenaiResponses::message(&items[run.items], run.side);
        message.map(|message| (element, message)).map_err(|why| ElementError { element, why })
    };
    runs_of(items).into_iter().map(message_of).collect()
}

fn voice(view: View<'_>) -> ItemVoice {
    match shape(view) {
        ItemShape::Answer => ItemVoice::Tool,
        ItemShape::Item => ItemVoice::Model,
        ItemShape::Speech => {
            let role = view.at(&["role"]).and_then(View::text);
            if role.as_deref() == Some("assistant") { ItemVoice::Model } else { ItemVoice::Asker }
        }
    }
}

/// How an item is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemShape {
    /// A message: a role, and content.
    Speech,
    /// What a tool of the client, or a person it asked, answered.
    Answer,
    /// Everything else the model put out.
    Item,
}

pub(crate) fn shape(view: View<'_>) -> ItemShape {
    let Some(item) = view.object() else { return ItemShape::Speech };
    match &*kind_of(&item) {
        "message" | "" => ItemShape::Speech,
        "mcp_approval_response" => ItemShape::Answer,
        // What the provider answers itself stands among what it put out, and has no id to be found by.
        _ if item.text("execution").as_deref() == Some("server") => ItemShape::Item,
        kind if kind.ends_with("_output") => ItemShape::Answer,
        _ => ItemShape::Item,
    }
}

/// The type of an item. A reference needs none: an id alone is one.
fn kind_of(item: &ObjectView<'_>) -> Arc<str> {
    if is_bare_reference(item) { "item_reference".into() } else { item.shared("type") }
}

/// A response has an id, too.
fn is_bare_reference(item: &ObjectView<'_>) -> bool {
    let is_other = ["type", "role", "input", "output"].into_iter().any(|key| item.has(key));
    item.has("id") && !is_other
}

fn asked(view: View<'_>) -> Result<Message, String> {
    let Some(item) = view.object() else {
        let text = view.text().ok_or("it is neither text nor an item")?;
        return Ok(Message::text(Role::User, Author::Person, text));
    };
    let blocks: Vec<Block> = parts_of(item.get("content")).into_iter().map(block_of).collect();
    let (role, author) = match item.text("role").as_deref() {
        Some("user") => (Role::User, author_of(&blocks)),
        Some("system" | "developer") => (Role::System, Author::Harness),
        Some(other) => return Err(format!("nobody has the role `{other}`")),
        None => return Err("it has no `role`".into()),
    };
    Ok(Message { role, author, blocks })
}

/// What one item of the model's side says.
pub(crate) fn reply_blocks(view: View<'_>) -> Vec<Block> {
    let item = view.object().unwrap_or_default();
    match &*kind_of(&item) {
        "message" | "" => parts_of(item.get("content")).into_iter().map(block_of).collect(),
        "reasoning" if !item.has("id") && !item.has("encrypted_content") => vec![reasoning(&item)],
        "mcp_approval_request" => vec![call(&item, "id", "arguments")],
        "function_call" => vec![call(&item, "call_id", "arguments")],
        "custom_tool_call" => vec![call(&item, "call_id", "input")],
        // Computer, shell and patch calls: the client answers them, so they must be found as pairs.
        _ if item.has("call_id") => vec![call(&item, "call_id", "action")],
        kind => vec![Block::Opaque(Opaque { kind: kind.into(), json: view.json().into() })],
    }
}

/// Reasoning that nothing ties to its response: only words, so they are all there is to keep.
fn reasoning(item: &ObjectView<'_>) -> Block {
    let pieces = item.list("summary").into_iter().chain(item.list("content"));
    let texts: Vec<_> = pieces.filter_map(|piece| piece.at(&["text"])?.text()).collect();
    Block::Thinking { text: texts.join("\n").into(), signature: None, redacted: false }
}

fn call(item: &ObjectView<'_>, id: &str, input: &str) -> Block {
    let input = [input, "operation", "arguments"].into_iter().find_map(|key| item.get(key));
    Block::Call(Call {
        id: CallId(item.shared(id)),
        name: item.text("name").or_else(|| item.text("type")).unwrap_or_default().into(),
        input: input.map_or("{}".into(), |input| input.text().unwrap_or(input.json().into())).into(),
        freeform: item.text("type").as_deref() == Some("custom_tool_call"),
    })
}

/// The message of an item that answers a call.
pub(crate) fn answer(item: &ObjectView<'_>) -> Result<Message, String> {
    let id = item.text("call_id").or_else(|| item.text("approval_request_id")).unwrap_or_default();
    let parts = match item.get("output").or_else(|| item.get("tools")) {
        Some(output) => parts_of(Some(output)),
        None => item.get("approve").map(|approve| decision(approve, item)).into_iter().collect(),
    };
    let is_error = matches!(item.text("status").as_deref(), Some("failed" | "incomplete"));
    let result = ToolResult { call: CallId(id.into()), parts, is_error };
    Ok(Message { role: Role::Tool, author: Author::Tool, blocks: vec![Block::Result(result)] })
}

/// What a person said to an approval that was asked for.
fn decision(approve: View<'_>, item: &ObjectView<'_>) -> ResultPart {
    let decided = if approve.is_true() { "approved" } else { "refused" };
    let text = item.text("reason").map_or(decided.to_owned(), |reason| format!("{decided}: {reason}"));
    ResultPart::Text { text: text.into() }
}

/// The fields of a request that are read. What a stored response says about itself is no request's field.
const KNOWN: [&str; 6] = ["input", "output", "instructions", "tools", "model", "max_output_tokens"];

pub(crate) fn fixed(around: &ObjectView<'_>) -> FixedParts {
    FixedParts {
        system: around.text("instructions").map(Into::into).into_iter().collect(),
        tools: around.list("tools").into_iter().map(|tool| tool.json().into()).collect(),
        model: around.text("model").map(Into::into),
        max_tokens: around.number("max_output_tokens"),
        rest: if around.has("output") { Vec::new() } else { around.rest(&KNOWN) },
        window: None,
    }
}

#[cfg(test)]
mod tests {
    use crate::{Protocol, decode};
    use epitome_core::Role;

    #[test]
    fn what_the_provider_answers_itself_is_part_of_the_reply() {
        let items = [
            r#"{"type":"reasoning","id":"rs_1","summary":[]}"#,
            r#"{"type":"tool_search_call","execution":"server","call_id":null,"arguments":{}}"#,
            r#"{"type":"tool_search_output","execution":"server","call_id":null,"tools":[]}"#,
            r#"{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}"#,
            r#"{"type":"function_call_output","call_id":"c","output":"ok"}"#,
            r#"{"type":"tool_search_call","execution":"client","call_id":"d","arguments":{}}"#,
            r#"{"type":"tool_search_output","execution":"client","call_id":"d","tools":[]}"#,
        ];
        let messages = decode(Protocol::OpenaiResponses, &items).expect("messages");
        let roles: Vec<(usize, Role)> = messages.iter().map(|(at, message)| (*at, message.role)).collect();
        assert_eq!(roles, [(0, Role::Assistant), (4, Role::Tool), (5, Role::Assistant), (6, Role::Tool)]);
    }
}
