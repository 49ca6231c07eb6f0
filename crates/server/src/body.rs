//! A request body as the client wrote it, and where in it the messages stand. Nothing is written anew:
//! what goes out is cut from these bytes. Of OpenAI Responses a body may be the end of a list whose beginning its
//! provider holds; whoever saw that go by puts it in front.

use crate::element;
use bytes::Bytes;
use epitome_wire::Protocol;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

/// A body with a list of messages in it.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    bytes: Bytes,
    /// The value of the field that holds the messages, brackets included.
    list: Range<usize>,
    /// Elements that stand before those of the body: its provider holds them.
    before: Vec<Bytes>,
    elements: Vec<Range<usize>>,
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

/// The fields of a body, in their order.
struct BodyFields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl Body {
    /// The body, where it is a JSON object with a list of messages.
    pub(crate) fn read(protocol: Protocol, bytes: Bytes) -> Result<Self, BodyError> {
        let text = std::str::from_utf8(&bytes).map_err(|_| BodyError::NotText)?;
        let BodyFields(fields) = serde_json::from_str(text).map_err(BodyError::no_list)?;
        let range = |raw: &RawValue| {
            let start = raw.get().as_ptr() as usize - text.as_ptr() as usize;
            start..start + raw.get().len()
        };
        let list = list_of(protocol, &fields)?;
        let is_text = protocol == Protocol::OpenaiResponses && list.get().starts_with('"');
        let elements: Vec<&RawValue> = if is_text {
            vec![list]
        } else {
            serde_json::from_str(list.get()).map_err(BodyError::no_list)?
        };
        let model = fields.iter().rev().find(|(key, _)| key == "model");
        let model = model.and_then(|(_, raw)| serde_json::from_str(raw.get()).ok()).map(|Text(name)| name);
        Ok(Self {
            list: range(list),
            before: Vec::new(),
            elements: elements.into_iter().map(range).collect(),
            meanings: HashMap::new(),
            model: model.unwrap_or_default().into_owned(),
            fields: fields.into_iter().map(|(key, raw)| (key.into_owned(), range(raw))).collect(),
            bytes,
        })
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
        Some(text_of(&self.bytes, range)).filter(|value| *value != "null")
    }

    /// The same of a field that holds a text.
    pub(crate) fn text_field(&self, key: &str) -> Option<String> {
        self.field(key).and_then(|value| serde_json::from_str(value).ok())
    }

    /// How often a text stands in what is around the messages.
    pub(crate) fn count_around(&self, text: &str) -> usize {
        let around = [&self.bytes[..self.list.start], &self.bytes[self.list.end..]];
        around.map(|part| String::from_utf8_lossy(part).matches(text).count()).iter().sum()
    }

    /// How many messages there are.
    pub(crate) fn len(&self) -> usize {
        self.before.len() + self.elements.len()
    }

    /// The message at a place, as its client wrote it.
    pub(crate) fn element(&self, at: usize) -> &str {
        match self.before.get(at) {
            Some(element) => text_of(element, &(0..element.len())),
            None => text_of(&self.bytes, &self.elements[at - self.before.len()]),
        }
    }

    /// What the message at a place says, also where it only names another.
    pub(crate) fn meaning(&self, at: usize) -> &str {
        match self.meanings.get(&at) {
            Some(element) => text_of(element, &(0..element.len())),
            None => self.element(at),
        }
    }

    /// Whether what the message at a place says is at hand.
    pub(crate) fn is_known(&self, at: usize) -> bool {
        self.meanings.contains_key(&at) || element::reference(self.element(at)).is_none()
    }

    /// The messages that came in the body itself, each cut from its bytes.
    pub(crate) fn own_elements(&self) -> Vec<Bytes> {
        self.elements.iter().map(|range| self.bytes.slice(range.clone())).collect()
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

fn text_of<'b>(bytes: &'b Bytes, range: &Range<usize>) -> &'b str {
    std::str::from_utf8(&bytes[range.clone()]).expect("the whole body is UTF-8")
}

/// The value that holds the messages. One that comes twice makes a body that we do not understand.
fn list_of<'a>(
    protocol: Protocol,
    fields: &[(Cow<'a, str>, &'a RawValue)],
) -> Result<&'a RawValue, BodyError> {
    let key = list_field(protocol);
    let mut found = fields.iter().filter(|(name, _)| name == key).map(|(_, raw)| *raw);
    match (found.next(), found.next()) {
        (Some(list), None) => Ok(list),
        (Some(_), Some(_)) => Err(BodyError::no_list(serde_json::Error::duplicate_field(key))),
        (None, _) => Err(BodyError::no_list(serde_json::Error::missing_field(key))),
    }
}

impl<'de> Deserialize<'de> for BodyFields<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = BodyFields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a request body")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<BodyFields<'de>, M::Error> {
                let mut fields = Vec::new();
                while let Some((Text(key), raw)) = map.next_entry::<Text<'de>, &RawValue>()? {
                    fields.push((key, raw));
                }
                Ok(BodyFields(fields))
            }
        }
        from.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::Body;
    use epitome_wire::Protocol;

    fn body(json: &'static str) -> Option<Body> {
        Body::read(Protocol::Anthropic, json.as_bytes().into()).ok()
    }

    fn responses(json: &'static str) -> Body {
        Body::read(Protocol::OpenaiResponses, json.as_bytes().into()).expect("a body")
    }

    #[test]
    fn messages_are_found_where_they_stand() {
        let body =
            body(r#"{"model":"m", "messages" : [ {"role": "user"} ,{"b":[1]} ], "x":1.50}"#).expect("a body");
        let elements: Vec<&str> = (0..body.len()).map(|at| body.element(at)).collect();
        assert_eq!((body.model(), elements), ("m", vec![r#"{"role": "user"}"#, r#"{"b":[1]}"#]));
    }

    #[test]
    fn what_is_around_the_messages_stays_as_it_came() {
        let body = body(r#"{"model":"m", "messages" : [ 1 ,2 ], "x":1.50}"#).expect("a body");
        let other = body.with_messages(&["3", "{}"]);
        assert_eq!(other, r#"{"model":"m", "messages" : [3,{}], "x":1.50}"#);
    }

    #[test]
    fn a_body_whose_messages_are_all_there_goes_on_from_nothing() {
        let bodies = [
            r#"{ "previous_response_id" : "r" , "input":[1], "x":1.50}"#,
            r#"{"input":[1], "previous_response_id":"r", "x":1.50}"#,
            r#"{"input":"hi" , "x":1.50,"previous_response_id": "r"}"#,
        ];
        let expected = [
            r#"{ "input":["0",2], "x":1.50}"#,
            r#"{"input":["0",2], "x":1.50}"#,
            r#"{"input":["0",2] , "x":1.50}"#,
        ];
        let written = bodies.map(|json| {
            let body = responses(json).behind(vec![r#""0""#.into()]);
            assert_eq!((body.len(), body.element(0)), (2, r#""0""#));
            body.with_messages(&[r#""0""#, "2"])
        });
        assert_eq!(written, expected);
    }

    #[test]
    fn a_text_that_stands_for_the_list_is_one_message_and_stands_in_no_list() {
        let body = responses(r#"{"input": "a long story", "x":1}"#);
        assert_eq!((body.len(), body.element(0)), (1, r#""a long story""#));
        assert_eq!(body.with_messages(&[r#""short""#]), r#"{"input": "short", "x":1}"#);
    }

    #[test]
    fn what_is_no_body_is_nothing() {
        for json in
            ["", "[]", "{}", r#"{"messages":"hi"}"#, r#"{"messages":[],"messages":[]}"#, r#"{"messages":[1}"#]
        {
            assert!(body(json).is_none(), "{json}");
        }
    }
}
