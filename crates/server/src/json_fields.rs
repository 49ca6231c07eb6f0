//! The fields of a JSON object as they stand in a text, none of which is copied.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The fields of an object in their order, and their values.
pub(crate) struct JsonFields<'t>(pub(crate) Vec<(Cow<'t, str>, &'t RawValue)>);

/// A string, copied only where it holds an escape.
#[derive(Deserialize)]
pub(crate) struct JsonString<'t>(#[serde(borrow)] pub(crate) Cow<'t, str>);

impl<'de> Deserialize<'de> for JsonFields<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct ObjectVisitor;
        impl<'de> Visitor<'de> for ObjectVisitor {
            type Value = JsonFields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<JsonFields<'de>, M::Error> {
                let mut fields = Vec::new();
                while let Some((JsonString(key), value)) = map.next_entry::<JsonString<'de>, &RawValue>()? {
                    fields.push((key, value));
                }
                Ok(JsonFields(fields))
            }
        }
        from.deserialize_map(ObjectVisitor)
    }
}

impl<'t> JsonFields<'t> {
    /// The same by their names, each once: of those that are repeated the last.
    pub(crate) fn sorted(self) -> Self {
        let Self(mut fields) = self;
        fields.sort_by(|(one, _), (other, _)| one.cmp(other));
        fields.dedup_by(|later, before| {
            let is_repeated = later.0 == before.0;
            if is_repeated {
                before.1 = later.1;
            }
            is_repeated
        });
        Self(fields)
    }

    /// The value of the first field of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&'t RawValue> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| *value)
    }

    /// Takes the fields of a name out.
    pub(crate) fn remove(&mut self, name: &str) {
        self.0.retain(|(key, _)| key != name);
    }
}
