//! A JSON object that comes in pieces: its fields in order, texts growing, everything else as it came.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

/// The fields of an object that is being put together.
#[derive(Clone, Debug, Default)]
pub(super) struct FieldsDraft(Vec<(String, FieldDraft)>);

/// What a field holds so far.
#[derive(Clone, Debug)]
enum FieldDraft {
    /// A value that came whole.
    Whole(Box<RawValue>),
    /// A text that grows.
    Text(String),
    /// A list that grows.
    List(Vec<Box<RawValue>>),
    /// An object with fields of its own.
    Inner(FieldsDraft),
}

impl Serialize for FieldDraft {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Whole(raw) => raw.serialize(to),
            Self::Text(text) => text.serialize(to),
            Self::List(list) => list.serialize(to),
            Self::Inner(fields) => fields.serialize(to),
        }
    }
}

impl Serialize for FieldsDraft {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (key, field) in &self.0 {
            map.serialize_entry(key, field)?;
        }
        map.end()
    }
}

impl FieldsDraft {
    /// The fields of a JSON object; none where it is something else.
    pub(super) fn of(json: &str) -> Self {
        let mut fields = Self::default();
        fields.set_all(json);
        fields
    }

    /// Puts the fields of a JSON object over these. A `null` replaces nothing.
    pub(super) fn set_all(&mut self, json: &str) {
        for (key, raw) in entries(json) {
            if raw.get() != "null" || !self.has(&key) {
                self.set(&key, raw);
            }
        }
    }

    /// Puts a whole value in a field.
    pub(super) fn set(&mut self, key: &str, raw: Box<RawValue>) {
        *self.slot(key) = FieldDraft::Whole(raw);
    }

    /// Puts a JSON value in a field where it does not stand there already: each chunk of a stream says its id again.
    pub(super) fn set_anew(&mut self, key: &str, json: &str) {
        let stands = matches!(self.get(key), Some(FieldDraft::Whole(now)) if now.get() == json);
        if !stands {
            raw(json).into_iter().for_each(|value| self.set(key, value));
        }
    }

    /// Puts a value in a field that has none, or an empty text.
    pub(super) fn set_once(&mut self, key: &str, raw: Box<RawValue>) {
        let is_open = self.get(key).is_none_or(|field| match field {
            FieldDraft::Whole(now) => matches!(now.get(), "null" | "\"\""),
            FieldDraft::Text(_) | FieldDraft::List(_) | FieldDraft::Inner(_) => false,
        });
        if is_open {
            self.set(key, raw);
        }
    }

    /// Adds to a field's text.
    pub(super) fn append(&mut self, key: &str, piece: &str) {
        let slot = self.slot(key);
        match slot {
            FieldDraft::Text(text) => text.push_str(piece),
            FieldDraft::Whole(raw) => {
                let mut text: String = serde_json::from_str(raw.get()).unwrap_or_default();
                text.push_str(piece);
                *slot = FieldDraft::Text(text);
            }
            FieldDraft::List(_) | FieldDraft::Inner(_) => {}
        }
    }

    /// Adds elements to a field's list.
    pub(super) fn extend(&mut self, key: &str, elements: impl IntoIterator<Item = Box<RawValue>>) {
        let slot = self.slot(key);
        if let FieldDraft::Whole(raw) = slot {
            *slot = FieldDraft::List(serde_json::from_str(raw.get()).unwrap_or_default());
        }
        if let FieldDraft::List(list) = slot {
            list.extend(elements);
        }
    }

    /// The object in a field, to be added to.
    pub(super) fn inner(&mut self, key: &str) -> &mut FieldsDraft {
        let slot = self.slot(key);
        if let FieldDraft::Whole(raw) = slot {
            *slot = FieldDraft::Inner(Self::of(raw.get()));
        } else if !matches!(slot, FieldDraft::Inner(_)) {
            *slot = FieldDraft::Inner(Self::default());
        }
        let FieldDraft::Inner(fields) = slot else { unreachable!("an object was put there just now") };
        fields
    }

    /// The object as JSON.
    pub(super) fn raw(&self) -> Box<RawValue> {
        serde_json::value::to_raw_value(self).expect("texts and JSON can be written as JSON")
    }

    fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    fn get(&self, key: &str) -> Option<&FieldDraft> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, field)| field)
    }

    fn slot(&mut self, key: &str) -> &mut FieldDraft {
        let at = self.0.iter().position(|(name, _)| name == key).unwrap_or_else(|| {
            self.0.push((key.to_owned(), FieldDraft::Whole(RawValue::NULL.to_owned())));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }
}

/// The entries of a JSON object, in order.
pub(super) fn entries(json: &str) -> Vec<(String, Box<RawValue>)> {
    let object = crate::document::View::parse(json).ok().and_then(crate::document::View::object);
    let fields = object.map(|object| object.rest(&[])).unwrap_or_default();
    let owned = fields.into_iter().filter_map(|(key, text)| Some((key.to_string(), raw(&text)?)));
    owned.collect()
}

/// A text that is JSON, as a value.
pub(super) fn raw(json: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(json.to_owned()).ok()
}

/// A text as a JSON string.
pub(super) fn string(text: &str) -> Box<RawValue> {
    serde_json::value::to_raw_value(text).expect("a text can be written as JSON")
}

#[cfg(test)]
mod tests {
    use super::{FieldsDraft, raw};

    #[test]
    fn fields_grow_where_they_stand() {
        let mut fields = FieldsDraft::of(r#"{"type":"text","text":"a","n":1.50,"list":[1],"gone":null}"#);
        fields.append("text", "b");
        fields.append("new", "c");
        fields.extend("list", raw("2"));
        fields.inner("usage").set_all(r#"{"out":2}"#);
        fields.set_all(r#"{"n":null,"type":"other"}"#);
        let whole =
            r#"{"type":"other","text":"ab","n":1.50,"list":[1,2],"gone":null,"new":"c","usage":{"out":2}}"#;
        assert_eq!(fields.raw().get(), whole);
    }
}
