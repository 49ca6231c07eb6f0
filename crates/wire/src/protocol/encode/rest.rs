//! The fields of a body that are not ours to read: they go out as they came in, behind those we write.

use super::{EncodeError, raw};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;
use std::sync::Arc;

/// Fields passed through, in order.
pub(super) struct Rest<'a>(Vec<(&'a str, &'a RawValue)>);

impl<'a> Rest<'a> {
    pub(super) fn of(fields: &'a [(Arc<str>, Arc<str>)]) -> Result<Self, EncodeError> {
        let fields = fields.iter().map(|(key, json)| match serde_json::from_str(json) {
            Ok(value) => Ok((key.as_ref(), value)),
            Err(source) => Err(EncodeError::Field { key: key.clone(), source }),
        });
        fields.collect::<Result<_, _>>().map(Self)
    }

    /// Whether a field is there and has a value.
    pub(super) fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(name, value)| *name == key && value.get() != "null")
    }

    /// A whole body: what its protocol's frame says, then these.
    pub(super) fn behind(&self, frame: &impl Serialize) -> Box<RawValue> {
        #[derive(Serialize)]
        struct Whole<'r, F> {
            #[serde(flatten)]
            frame: F,
            #[serde(flatten)]
            rest: &'r Rest<'r>,
        }
        raw(&Whole { frame, rest: self })
    }
}

impl Serialize for Rest<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}
