//! A conversation's context as a request body. In the protocol it was read in, the body is spliced from its own
//! bytes; in another it is encoded, and what that protocol has no place for is listed.

use super::encode::{self, BodyEnd, EncodeError, RequestParts, Substitute, WrittenContext};
use super::held::ShownPieces;
use super::splice::{ElementPart, ElementPlace, ListSlot, range_in, splice};
use super::{Protocol, decode_fixed, unread};
use crate::document::{ObjectView, Side, View};
use crate::originals::{BodyFrame, BodyPlace};
use crate::{Conversation, FixedParts, Format, Originals, Span};
use epitome_core::{EntryId, MessageView};
use serde_json::json;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::io;

/// A request body, and what in it is said in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenBody {
    /// The body.
    pub bytes: Vec<u8>,
    /// What the protocol has no place for, in order: each is said in words, or left out.
    pub substitutes: Vec<Substitute>,
}

/// `shown`, a context of `conversation`, as a request body of `to` with `fixed` before it. `model` and `max_tokens`
/// are for bodies that name none.
///
/// A message that came in a body of the same protocol and is shown whole is the very bytes it was; so is everything
/// around the messages. A message that a tool's file holds in the protocol's form keeps its blocks or items as they
/// are; fields that a body of `to` has not are listed.
pub fn write_body(
    to: Protocol,
    conversation: &Conversation,
    fixed: &FixedParts,
    (model, max_tokens): (Option<&str>, Option<u64>),
    shown: &[MessageView],
) -> Result<WrittenBody, EncodeError> {
    let originals = &conversation.originals;
    let parts = RequestParts {
        system: &fixed.system,
        tools: &fixed.tools,
        model: fixed.model.as_deref().or(model),
        max_tokens: fixed.max_tokens.or(max_tokens),
    };
    if originals.format() == Format::Body(to)
        && let Some(place) = originals.body()
    {
        let source = BodySource::read(originals, place).map_err(EncodeError::Read)?;
        if source.has(to, fixed) {
            let bytes = source.written(to, originals, &parts, fixed, shown)?;
            return Ok(WrittenBody { bytes, substitutes: Vec::new() });
        }
    }
    let none = ShownPieces::default();
    let Some(from) = originals.format().protocol() else {
        let Some(holds) = originals.format().row().holds else {
            let context = WrittenContext { shown, held: &none, end: BodyEnd::Asked };
            return encode::written(to, &parts, &[], &context);
        };
        let held = ShownPieces::find(holds, to, conversation, shown)?;
        let context = WrittenContext { shown, held: &held, end: BodyEnd::Asked };
        let mut written = encode::written(to, &parts, &[], &context)?;
        held.list(holds.protocol, &mut written.substitutes);
        return Ok(written);
    };
    let context = WrittenContext { shown, held: &none, end: BodyEnd::AsGiven };
    if from == to {
        return encode::written(to, &parts, &fixed.rest, &context);
    }
    let mut written = encode::written(to, &parts, &[], &context)?;
    unread::list(from, conversation, fixed, shown, &mut written.substitutes)?;
    Ok(written)
}

/// The text of a body, read again.
struct BodySource<'p> {
    place: &'p BodyPlace,
    /// The body, or the elements and what stands between them.
    text: String,
    /// Where that begins in the source.
    offset: u64,
}

impl<'p> BodySource<'p> {
    fn read(originals: &Originals, place: &'p BodyPlace) -> io::Result<Self> {
        let span = match place.frame {
            Some(BodyFrame { body, .. }) => body,
            None => cover(&place.elements),
        };
        let text = String::from_utf8(originals.source().slice(span)?);
        let text = text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(Self { place, text, offset: span.offset })
    }

    fn at(&self, span: Span) -> &str {
        let start = (span.offset - self.offset) as usize;
        &self.text[start..start + span.len as usize]
    }

    fn elements(&self) -> Vec<&str> {
        self.place.elements.iter().map(|&span| self.at(span)).collect()
    }

    /// Whether the body says what `fixed` says before its history. Somebody may have put another system prompt in.
    fn has(&self, to: Protocol, fixed: &FixedParts) -> bool {
        let elements = self.elements();
        let around = if self.place.frame.is_some() { self.text.as_str() } else { "{}" };
        let own = decode_fixed(to, around, &elements[..self.place.opening]);
        own.system == fixed.system && (self.place.frame.is_none() || own.tools == fixed.tools)
    }

    fn written(
        &self,
        to: Protocol,
        originals: &Originals,
        parts: &RequestParts<'_>,
        fixed: &FixedParts,
        shown: &[MessageView],
    ) -> Result<Vec<u8>, EncodeError> {
        let elements = self.elements();
        let messages = splice(to, &elements, self.place.opening, &self.slots(to, originals, shown));
        match self.place.frame {
            Some(frame) => Ok(self.framed(to, frame, parts, &elements, &messages).into_bytes()),
            None => {
                let raw = |json: &Cow<'_, str>| {
                    RawValue::from_string(json.to_string()).expect("it was read as JSON")
                };
                let messages: Vec<Box<RawValue>> = messages.iter().map(raw).collect();
                // What opens the list is in it already.
                let system = if self.place.opening > 0 { &[] } else { parts.system };
                encode::framed(to, &RequestParts { system, ..*parts }, &fixed.rest, &messages)
            }
        }
    }

    /// What is to be seen, by places in the list.
    fn slots(&self, to: Protocol, originals: &Originals, shown: &[MessageView]) -> Vec<ListSlot> {
        let elements = self.place.elements.iter().enumerate();
        let places: HashMap<u64, usize> = elements.map(|(at, span)| (span.offset, at)).collect();
        let place = |id: EntryId| {
            let (spans, part) = originals.place(id)?;
            let first = *places.get(&spans.first()?.offset)?;
            Some(ElementPlace { first, count: spans.len(), part: part_of(to, part) })
        };
        let slot = |view: &MessageView| match view.id.and_then(place) {
            Some(place) => ListSlot::Message { place, shown: Some(view.message.clone()) },
            None => ListSlot::Own(view.message.clone()),
        };
        shown.iter().map(slot).collect()
    }

    /// The body with other messages in its list, and with what it lacks of `parts`.
    fn framed(
        &self,
        to: Protocol,
        frame: BodyFrame,
        parts: &RequestParts<'_>,
        elements: &[&str],
        messages: &[Cow<'_, str>],
    ) -> String {
        let around = View::parse(&self.text).ok().and_then(View::object).unwrap_or_default();
        let list = range_in(&self.text, self.at(frame.list));
        let messages: Cow<'_, str> = match messages {
            same if same == elements => Cow::Borrowed(self.at(frame.list)),
            // The whole of a Responses input may be one text.
            [text] if text.starts_with('"') => text.clone(),
            messages => format!("[{}]", messages.join(",")).into(),
        };
        let (open, rest) = self.text.split_at(self.text.find('{').map_or(0, |at| at + 1));
        let (before, after) = (&rest[..list.start - open.len()], &rest[list.end - open.len()..]);
        format!("{open}{}{before}{messages}{after}", missing(to, &around, parts))
    }
}

/// The fields of `parts` that a body has not, each with a comma behind it: there is always a list after them.
fn missing(to: Protocol, around: &ObjectView<'_>, parts: &RequestParts<'_>) -> String {
    let limits: &[&str] = match to {
        Protocol::Anthropic => &["max_tokens"],
        Protocol::OpenaiChat => &["max_tokens", "max_completion_tokens"],
        Protocol::OpenaiResponses => &["max_output_tokens"],
    };
    let model =
        parts.model.filter(|_| !around.has("model")).map(|model| format!("\"model\":{},", json!(model)));
    let is_limited = limits.iter().any(|limit| around.has(limit));
    let limit = parts
        .max_tokens
        .filter(|_| !is_limited)
        .map(|limit_tokens| format!("\"{}\":{limit_tokens},", limits[0]));
    [model, limit].into_iter().flatten().collect()
}

/// Which part of its element a message is: only Anthropic's hold two.
fn part_of(to: Protocol, part: u32) -> ElementPart {
    match to {
        Protocol::Anthropic if part == Side::Answered as u32 => ElementPart::Results,
        Protocol::Anthropic => ElementPart::Said,
        Protocol::OpenaiChat | Protocol::OpenaiResponses => ElementPart::All,
    }
}

/// From the first to the last of some places.
fn cover(spans: &[Span]) -> Span {
    let start = spans.iter().map(|span| span.offset).min().unwrap_or(0);
    let end = spans.iter().map(|span| span.offset + u64::from(span.len)).max().unwrap_or(start);
    Span { offset: start, len: (end - start) as u32 }
}
