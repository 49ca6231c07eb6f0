//! A request body as the client wrote it, and where in it the messages stand. Nothing is written anew:
//! what goes out is cut from these bytes. Of OpenAI Responses a body may be the end of a list whose beginning its
//! provider holds; whoever saw that go by puts it in front.

use crate::body_scan::{self, BodyPlaces};
use crate::element;
use crate::json_fields::{JsonFields, JsonString};
use crate::seen_lists::{ElementLink, KnownBeginning, ReadElement, SeenLists};
use bytes::Bytes;
use epitome_wire::Protocol;
use serde::de::Error as _;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// The text of a body: read as a text, and sent as the bytes it came as, without a copy.
#[derive(Clone, Debug)]
pub(crate) struct BodyText(Arc<String>);

/// A body with a list of messages in it.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    text: BodyText,
    bytes: Bytes,
    /// The value of the field that holds the messages, brackets included.
    list: Range<usize>,
    /// Elements that stand before those of the body: its provider holds them.
    before: Vec<Bytes>,
    elements: Vec<ReadElement>,
    /// How the list began, as far as that was known.
    known: KnownBeginning,
    /// What elements mean that only name another, by their place.
    meanings: HashMap<usize, Bytes>,
    /// The fields of the body and where their values stand, in their order.
    fields: Vec<(String, Range<usize>)>,
    model: String,
}

/// A body that is passed on as it came, because nobody can say what is in it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("a request body is no UTF-8; its client should send JSON")]
    NotText,
    #[error(
        "a request body has no list of messages that can be read ({0}); compare it with its provider's reference"
    )]
    NoList(String),
    #[error("a request says nothing beside its instructions")]
    Silent,
    #[error(
        "a request goes on from a response that did not go by here, so that nobody can tell how long it is; have its client send the whole history once, or start it anew"
    )]
    UnknownPrevious,
    #[error(
        "a request is part of a `conversation`, which its provider alone holds; have the client go on by `previous_response_id`, or send its history"
    )]
    Conversation,
    #[error("a request runs in the background, and its reply does not come this way")]
    Background,
}

impl BodyError {
    /// Without the place where the parser stood: it moves as a conversation grows, and the fault is the same.
    fn no_list(error: serde_json::Error) -> Self {
        let why = error.to_string();
        Self::NoList(why.split(" at line ").next().unwrap_or_default().to_owned())
    }
}

/// The field by which a request of OpenAI Responses names the response it goes on from.
pub(crate) const PREVIOUS: &str = "previous_response_id";

/// The field that holds the messages.
fn list_field(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Anthropic | Protocol::OpenaiChat => "messages",
        Protocol::OpenaiResponses => "input",
    }
}

impl Body {
    /// The body, where it is a JSON object with a list of messages; `recall` tells what is known of how that list begins, by the text
    /// from its bracket on.
    pub(crate) fn read(
        protocol: Protocol,
        text: BodyText,
        recall: impl FnOnce(&str) -> (KnownBeginning, Vec<ReadElement>),
    ) -> Result<Self, BodyError> {
        let places = body_scan::scan(text.as_str(), list_field(protocol), protocol, recall);
        let places = places.ok_or_else(|| verdict(protocol, text.as_str()))?;
        let BodyPlaces { fields, list, elements, known } = places;
        let model = fields.iter().rev().find(|(key, _)| key == "model");
        let model = model.and_then(|(_, place)| serde_json::from_str(&text.as_str()[place.clone()]).ok());
        let model = model.map(|JsonString(name)| name.into_owned()).unwrap_or_default();
        let (before, meanings, bytes) = (Vec::new(), HashMap::new(), text.bytes());
        Ok(Self { text, bytes, list, before, elements, known, meanings, fields, model })
    }

    /// The same of which nothing is known.
    #[cfg(test)]
    pub(crate) fn alone(protocol: Protocol, json: &str) -> Result<Self, BodyError> {
        Self::read(protocol, BodyText::from(json), |_| Default::default())
    }

    /// The same behind elements that its provider holds.
    pub(crate) fn behind(self, before: Vec<Bytes>) -> Self {
        Self { before, ..self }
    }

    /// Notes what the element at a place means, which only names another.
    pub(crate) fn set_meaning(&mut self, at: usize, element: Bytes) {
        self.meanings.insert(at, element);
    }

    /// The bytes as they came.
    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The model asked for; empty where none is named.
    pub(crate) fn model(&self) -> &str {
        &self.model
    }

    /// The same, with the model that its path names where it names none.
    pub(crate) fn or_model(mut self, model: Option<&str>) -> Self {
        if let Some(model) = model.filter(|_| self.model.is_empty()) {
            self.model = model.to_owned();
        }
        self
    }

    /// The value of a field as JSON; none where there is none, or nothing in it.
    pub(crate) fn field(&self, key: &str) -> Option<&str> {
        let (_, range) = self.fields.iter().rev().find(|(name, _)| name == key)?;
        Some(&self.text.as_str()[range.clone()]).filter(|value| *value != "null")
    }

    /// The same of a field that holds a text.
    pub(crate) fn text_field(&self, key: &str) -> Option<String> {
        self.field(key).and_then(|value| serde_json::from_str(value).ok())
    }

    /// How often a text stands in what is around the messages.
    pub(crate) fn count_around(&self, text: &str) -> usize {
        self.around(0).iter().map(|part| part.matches(text).count()).sum()
    }

    /// How much of its list was not known when it was read.
    pub(crate) fn new_bytes(&self) -> usize {
        self.list.len().saturating_sub(self.known.end)
    }

    /// How many messages there are.
    pub(crate) fn len(&self) -> usize {
        self.before.len() + self.elements.len()
    }

    /// The message at a place, as its client wrote it.
    pub(crate) fn element(&self, at: usize) -> &str {
        match self.before.get(at) {
            Some(element) => text_of(element),
            None => &self.text.as_str()[self.place(&self.elements[at - self.before.len()])],
        }
    }

    /// Where an element of the list stands in the body.
    fn place(&self, element: &ReadElement) -> Range<usize> {
        self.list.start + element.start as usize..self.list.start + element.end as usize
    }

    /// What the message at a place is in the chain of its list, as far as that is known.
    pub(crate) fn link(&self, at: usize) -> ElementLink {
        match at.checked_sub(self.before.len()).and_then(|at| self.elements.get(at)) {
            // Behind what its provider holds a list is another one.
            Some(element) if self.before.is_empty() => element.link,
            Some(_) | None => ElementLink::Unread,
        }
    }

    /// Has the list remembered, with the links of its elements.
    pub(crate) fn remember_list(&mut self, lists: &SeenLists, links: impl Iterator<Item = ElementLink>) {
        if !self.before.is_empty() {
            return;
        }
        self.elements.iter_mut().zip(links).for_each(|(element, link)| element.link = link);
        lists.remember(&self.known, &self.bytes[self.list.clone()], &self.elements);
    }

    /// What the message at a place says, also where it only names another.
    pub(crate) fn meaning(&self, at: usize) -> &str {
        match self.meanings.get(&at) {
            Some(element) => text_of(element),
            None => self.element(at),
        }
    }

    /// Whether what the message at a place says is at hand.
    pub(crate) fn is_known(&self, at: usize) -> bool {
        self.meanings.contains_key(&at) || !self.is_reference(at)
    }

    /// Whether the message at a place only names another.
    pub(crate) fn is_reference(&self, at: usize) -> bool {
        match self.before.get(at) {
            Some(element) => element::reference(text_of(element)).is_some(),
            None => self.elements[at - self.before.len()].is_reference,
        }
    }

    /// Whether the message at a place is a summary that its provider has sealed.
    pub(crate) fn is_sealed(&self, at: usize) -> bool {
        match self.before.get(at) {
            Some(element) => element::is_sealed(text_of(element)),
            None => self.elements[at - self.before.len()].is_sealed,
        }
    }

    /// All that stands around the messages behind the first `opening` ones: what is before and behind the list, and those.
    pub(crate) fn around(&self, opening: usize) -> Vec<&str> {
        let text = self.text.as_str();
        let opening = (0..opening).map(|at| self.element(at));
        [&text[..self.list.start], &text[self.list.end..]].into_iter().chain(opening).collect()
    }

    /// The messages that came in the body itself, each cut from its bytes.
    pub(crate) fn own_elements(&self) -> Vec<Bytes> {
        self.elements.iter().map(|element| self.bytes.slice(self.place(element))).collect()
    }

    /// The body with other messages, everything around them untouched. They are all there is: it goes on from nothing.
    pub(crate) fn with_messages<T: AsRef<str>>(&self, messages: &[T]) -> Bytes {
        let room = self.bytes.len() - self.list.len()
            + messages.iter().map(|one| one.as_ref().len() + 1).sum::<usize>();
        let gone = self.place_of_previous().unwrap_or(0..0);
        let rest = |from: usize, to: usize| {
            let kept = (from.min(gone.start)..to.min(gone.start), from.max(gone.end)..to.max(gone.end));
            [&self.bytes[kept.0], &self.bytes[kept.1]].concat()
        };
        let mut body = Vec::with_capacity(room + 2);
        body.extend_from_slice(&rest(0, self.list.start));
        match messages {
            // A text may stand for the whole list of OpenAI Responses, and in no list.
            [text] if text.as_ref().starts_with('"') => body.extend_from_slice(text.as_ref().as_bytes()),
            _ => push_list(&mut body, messages),
        }
        body.extend_from_slice(&rest(self.list.end, self.bytes.len()));
        body.into()
    }

    /// Where the name of the response stands that the body goes on from, with the comma it leaves.
    fn place_of_previous(&self) -> Option<Range<usize>> {
        let at = self.fields.iter().position(|(key, _)| key == PREVIOUS)?;
        let value = self.fields[at].1.clone();
        let Some((_, last)) = at.checked_sub(1).map(|before| &self.fields[before]) else {
            let opening = self.bytes.iter().position(|byte| *byte == b'{')? + 1;
            let comma = self.bytes[value.end..].iter().position(|byte| *byte == b',')?;
            return Some(opening..value.end + comma + 1);
        };
        Some(last.end..value.end)
    }
}

fn push_list<T: AsRef<str>>(body: &mut Vec<u8>, messages: &[T]) {
    body.push(b'[');
    for (at, message) in messages.iter().enumerate() {
        if at > 0 {
            body.push(b',');
        }
        body.extend_from_slice(message.as_ref().as_bytes());
    }
    body.push(b']');
}

fn text_of(element: &Bytes) -> &str {
    std::str::from_utf8(element).expect("elements are cut from texts")
}

/// Why a text is no body with a list of messages, in the parser's words.
fn verdict(protocol: Protocol, text: &str) -> BodyError {
    let found = serde_json::from_str(text).and_then(|JsonFields(fields)| {
        let list = list_of(protocol, &fields)?;
        serde_json::from_str::<Vec<&RawValue>>(list.get()).map(drop)
    });
    found.map_or_else(BodyError::no_list, |()| BodyError::no_list(serde_json::Error::custom("no list")))
}

impl BodyText {
    /// The text of these bytes; they come back where they are none.
    pub(crate) fn new(bytes: Vec<u8>) -> Result<Self, Bytes> {
        String::from_utf8(bytes).map(|text| Self(Arc::new(text))).map_err(|error| error.into_bytes().into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The same as bytes.
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes::from_owner(self.clone())
    }
}

impl AsRef<[u8]> for BodyText {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

#[cfg(test)]
impl From<&str> for BodyText {
    fn from(text: &str) -> Self {
        Self(Arc::new(text.to_owned()))
    }
}

/// The value that holds the messages. One that comes twice makes a body that we do not understand.
fn list_of<'a>(
    protocol: Protocol,
    fields: &[(Cow<'a, str>, &'a RawValue)],
) -> Result<&'a RawValue, serde_json::Error> {
    let key = list_field(protocol);
    let mut found = fields.iter().filter(|(name, _)| name == key).map(|(_, raw)| *raw);
    match (found.next(), found.next()) {
        (Some(list), None) => Ok(list),
        (Some(_), Some(_)) => Err(serde_json::Error::duplicate_field(key)),
        (None, _) => Err(serde_json::Error::missing_field(key)),
    }
}

#[cfg(test)]
mod tests;
