//! A request body as the client wrote it, and where in it the messages stand. Nothing is written anew:
//! what goes out is cut from these bytes.

use bytes::Bytes;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// A body with a list of messages in it.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    bytes: Bytes,
    /// The value of `messages`, brackets included.
    list: Range<usize>,
    elements: Vec<Range<usize>>,
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
}

impl BodyError {
    /// Without the place where the parser stood: it moves as a conversation grows, and the fault is the same.
    fn no_list(error: serde_json::Error) -> Self {
        let why = error.to_string();
        Self::NoList(why.split(" at line ").next().unwrap_or_default().to_owned())
    }
}

/// What is read of a body. A key that comes twice makes it one we do not understand.
struct BodyFields<'a> {
    messages: &'a RawValue,
    model: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl Body {
    /// The body, where it is a JSON object with a list of messages.
    pub(crate) fn read(bytes: Bytes) -> Result<Self, BodyError> {
        let text = std::str::from_utf8(&bytes).map_err(|_| BodyError::NotText)?;
        let fields: BodyFields<'_> = serde_json::from_str(text).map_err(BodyError::no_list)?;
        let messages: Vec<&RawValue> =
            serde_json::from_str(fields.messages.get()).map_err(BodyError::no_list)?;
        let range = |raw: &RawValue| {
            let start = raw.get().as_ptr() as usize - text.as_ptr() as usize;
            start..start + raw.get().len()
        };
        let (list, elements) = (range(fields.messages), messages.into_iter().map(range).collect());
        let model = fields.model.unwrap_or_default().into_owned();
        Ok(Self { list, elements, model, bytes })
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

    /// How many messages there are.
    pub(crate) fn len(&self) -> usize {
        self.elements.len()
    }

    /// The message at a place, as it stands in the body.
    pub(crate) fn element(&self, at: usize) -> &str {
        std::str::from_utf8(&self.bytes[self.elements[at].clone()]).expect("the whole body is UTF-8")
    }

    /// The body with other messages, everything around them untouched.
    pub(crate) fn with_messages<T: AsRef<str>>(&self, messages: &[T]) -> Bytes {
        let room = self.bytes.len() - self.list.len()
            + messages.iter().map(|one| one.as_ref().len() + 1).sum::<usize>();
        let mut body = Vec::with_capacity(room + 2);
        body.extend_from_slice(&self.bytes[..self.list.start]);
        body.push(b'[');
        for (at, message) in messages.iter().enumerate() {
            if at > 0 {
                body.push(b',');
            }
            body.extend_from_slice(message.as_ref().as_bytes());
        }
        body.push(b']');
        body.extend_from_slice(&self.bytes[self.list.end..]);
        body.into()
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
                let (mut messages, mut model) = (None, None);
                while let Some((Text(key), raw)) = map.next_entry::<Text<'de>, &RawValue>()? {
                    match key.as_ref() {
                        "messages" if messages.replace(raw).is_some() => {
                            return Err(M::Error::duplicate_field("messages"));
                        }
                        "model" => model = serde_json::from_str(raw.get()).ok().map(|Text(name)| name),
                        _ => {}
                    }
                }
                Ok(BodyFields {
                    messages: messages.ok_or_else(|| M::Error::missing_field("messages"))?,
                    model,
                })
            }
        }
        from.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::Body;

    fn body(json: &'static str) -> Option<Body> {
        Body::read(json.as_bytes().into()).ok()
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
    fn what_is_no_body_is_nothing() {
        for json in
            ["", "[]", "{}", r#"{"messages":"hi"}"#, r#"{"messages":[],"messages":[]}"#, r#"{"messages":[1}"#]
        {
            assert!(body(json).is_none(), "{json}");
        }
    }
}
