//! A context as messages on the wire: the client's own bytes for what is kept, ours for the rest.

use crate::body::Body;
use crate::element;
use epitome_core::{Form, Message};
use epitome_wire::{Protocol, encode};
use std::borrow::Cow;
use std::sync::Arc;

/// Where a message of the history stands in the client's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Its place in the list, behind the instructions that open it.
    pub(crate) element: usize,
    /// Which part of that element it is.
    pub(crate) part: Part,
}

/// An element of the list may hold two messages: results of tools, and what was said beside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The element is this message and no other.
    All,
    /// Its results.
    Results,
    /// Everything else in it.
    Said,
}

/// One thing the model is to see.
#[derive(Clone, Debug)]
pub(crate) enum ViewSlot {
    /// A message the client sent.
    Message {
        /// Where it stands.
        origin: Origin,
        /// How it is shown.
        form: Form,
        /// It in that form; only where the form leaves out more than thinking.
        shown: Option<Arc<Message>>,
    },
    /// A summary.
    Summary(Arc<Message>),
}

/// A message on its way out.
struct Piece<'b> {
    json: Cow<'b, str>,
    /// The client's elements it is made of, first and last; none once something of ours is in it.
    from: Option<(usize, usize)>,
}

/// The list of messages that shows `slots`, behind the elements that are `instructions`.
pub(crate) fn messages<'b>(
    protocol: Protocol,
    body: &'b Body,
    instructions: usize,
    slots: &[ViewSlot],
) -> Vec<Cow<'b, str>> {
    let mut pieces: Vec<Piece<'b>> = (0..instructions).map(|at| whole(body, at)).collect();
    for one in whole_again(slots) {
        for piece in pieces_of(protocol, body, instructions, &one) {
            put(protocol, &mut pieces, piece);
        }
    }
    pieces.into_iter().map(|piece| piece.json).collect()
}

fn whole(body: &Body, at: usize) -> Piece<'_> {
    Piece { json: Cow::Borrowed(body.element(at)), from: Some((at, at)) }
}

/// Both parts of an element, where both are shown as they came, are the element again.
fn whole_again(slots: &[ViewSlot]) -> Vec<ViewSlot> {
    let mut all: Vec<ViewSlot> = Vec::with_capacity(slots.len());
    for one in slots {
        if let Some(ViewSlot::Message { origin: last, shown: None, .. }) = all.last_mut()
            && let ViewSlot::Message { origin, shown: None, .. } = one
            && last.element == origin.element
        {
            last.part = Part::All;
        } else {
            all.push(one.clone());
        }
    }
    all
}

fn pieces_of<'b>(protocol: Protocol, body: &'b Body, instructions: usize, slot: &ViewSlot) -> Vec<Piece<'b>> {
    match slot {
        ViewSlot::Summary(message) | ViewSlot::Message { shown: Some(message), .. } => {
            ours(protocol, message)
        }
        ViewSlot::Message { origin, form, shown: None } => {
            let place = Origin { element: instructions + origin.element, ..*origin };
            cut(protocol, body, place, *form).into_iter().collect()
        }
    }
}

/// The client's own bytes, without what this part and form leave out.
fn cut<'b>(protocol: Protocol, body: &'b Body, origin: Origin, form: Form) -> Option<Piece<'b>> {
    let at = origin.element;
    let is_wanted = |kind: &str| {
        let is_part = match origin.part {
            Part::All => true,
            Part::Results => kind == "tool_result",
            Part::Said => kind != "tool_result",
        };
        is_part && !(form.thinking && element::is_thinking(kind))
    };
    match protocol {
        Protocol::Anthropic => {
            let json = element::keep_blocks(body.element(at), is_wanted)?;
            Some(Piece { json, from: Some((at, at)) })
        }
        // Reasoning beside a message is not signed there, and some servers ask for it back.
        Protocol::OpenaiChat | Protocol::OpenaiResponses => Some(whole(body, at)),
    }
}

/// Adds a piece. Where it and the one before are the user's and were not neighbours in the client's own
/// list, they become one message: user and assistant speak in turn.
fn put<'b>(protocol: Protocol, pieces: &mut Vec<Piece<'b>>, piece: Piece<'b>) {
    if let Some(last) = pieces.last_mut()
        && must_join(last, &piece)
        && let Some(json) = element::join(protocol, &last.json, &piece.json)
    {
        let from = last.from.zip(piece.from).filter(|((_, a), (b, _))| a == b);
        *last = Piece { json: json.into(), from: from.map(|((first, _), (_, last))| (first, last)) };
        return;
    }
    pieces.push(piece);
}

fn must_join(before: &Piece<'_>, after: &Piece<'_>) -> bool {
    let are_neighbours = matches!((before.from, after.from), (Some((_, a)), Some((b, _))) if a + 1 == b);
    let is_users = |piece: &Piece<'_>| element::role(&piece.json) == "user";
    !are_neighbours && is_users(before) && is_users(after)
}

/// A message as we write it.
fn ours<'b>(protocol: Protocol, message: &Message) -> Vec<Piece<'b>> {
    let written = encode::message(protocol, message).into_iter();
    written.map(|json| Piece { json: Box::<str>::from(json).into_string().into(), from: None }).collect()
}

#[cfg(test)]
mod tests {
    use super::{ViewSlot, messages};
    use crate::body::Body;
    use crate::view::{Origin, Part};
    use epitome_core::{Author, Block, Call, CallId, Form, Message, Role, ToolResult};
    use epitome_wire::Protocol;
    use serde_json::{Value, json};
    use std::sync::Arc;

    /// Too long for the limits of some providers, and with a letter others do not take.
    const ODD_ID: &str = "functions.read:0123456789012345678901234567890123456789";

    fn body() -> Body {
        Body::read(br#"{"messages":[{"role":"user","content":"a"}]}"#[..].into()).expect("a body")
    }

    fn written(protocol: Protocol, role: Role, blocks: Vec<Block>) -> Vec<Value> {
        let author = if role == Role::Assistant { Author::Model } else { Author::Tool };
        let shown = Some(Arc::new(Message { role, author, blocks }));
        let origin = Origin { element: 0, part: Part::All };
        let slots = [ViewSlot::Message { origin, form: Form::WHOLE, shown }];
        let body = body();
        let written = messages(protocol, &body, 0, &slots);
        written.iter().map(|json| serde_json::from_str(json).expect("JSON")).collect()
    }

    #[test]
    fn a_call_written_anew_keeps_the_clients_id() {
        let call = || {
            let id = CallId(ODD_ID.into());
            vec![Block::Call(Call { id, name: "read".into(), input: "{}".into(), freeform: false })]
        };
        let anthropic = json!({"role": "assistant", "content": [{"type": "tool_use", "id": ODD_ID, "name": "read", "input": {}}]});
        assert_eq!(written(Protocol::Anthropic, Role::Assistant, call()), [anthropic]);
        let function = json!({"name": "read", "arguments": "{}"});
        let chat = json!({"role": "assistant", "content": null, "tool_calls": [{"id": ODD_ID, "type": "function", "function": function}]});
        assert_eq!(written(Protocol::OpenaiChat, Role::Assistant, call()), [chat]);
    }

    #[test]
    fn results_written_anew_keep_the_clients_ids() {
        let results = || {
            let parts = vec![epitome_core::ResultPart::Text { text: "ok".into() }];
            let result =
                |id: &str| ToolResult { call: CallId(id.into()), parts: parts.clone(), is_error: false };
            [ODD_ID, "b"].map(|id| Block::Result(result(id))).to_vec()
        };
        let block = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": "ok"}]});
        let anthropic = json!({"role": "user", "content": [block(ODD_ID), block("b")]});
        assert_eq!(written(Protocol::Anthropic, Role::Tool, results()), [anthropic]);
        let chat = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "ok"});
        assert_eq!(written(Protocol::OpenaiChat, Role::Tool, results()), [chat(ODD_ID), chat("b")]);
    }
}
