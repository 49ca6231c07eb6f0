//! JSON read only as far as it is asked: a view knows where it stands in the text, and nothing of it
//! is copied until someone wants to know.

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A JSON value in a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a>(&'a RawValue);

/// The fields of an object, in order. A field whose value is `null` counts as absent.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObjectView<'a> {
    /// The object they are of; none where there is no object, and no field.
    object: Option<View<'a>>,
    fields: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> From<&'a RawValue> for View<'a> {
    fn from(raw: &'a RawValue) -> Self {
        Self(raw)
    }
}

impl<'a> View<'a> {
    /// The one value `text` consists of.
    pub(crate) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text).map(Self)
    }

    /// The value as it stands in the text.
    pub(crate) fn json(self) -> &'a str {
        self.0.get()
    }

    /// The string, where it is one.
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        if !self.json().starts_with('"') {
            return None;
        }
        let whole = serde_json::from_str(self.json()).map(|KeyText(text)| text);
        // Half a surrogate pair is what is left where a tool cut a text in the middle of an emoji.
        whole.or_else(|_| serde_json::from_str(self.json()).map(|LossyString(text)| Cow::Owned(text))).ok()
    }

    /// The whole number, where it is one.
    pub(crate) fn number(self) -> Option<u64> {
        self.json().parse().ok()
    }

    /// Whether it is `true`.
    pub(crate) fn is_true(self) -> bool {
        self.json() == "true"
    }

    /// The elements, where it is an array.
    pub(crate) fn list(self) -> Option<Vec<View<'a>>> {
        if !self.json().starts_with('[') {
            return None;
        }
        serde_json::from_str::<Vec<&RawValue>>(self.json())
            .ok()
            .map(|all| all.into_iter().map(View).collect())
    }

    /// The fields, where it is an object.
    pub(crate) fn object(self) -> Option<ObjectView<'a>> {
        if !self.json().starts_with('{') {
            return None;
        }
        let Fields(fields) = serde_json::from_str(self.json()).ok()?;
        Some(ObjectView { object: Some(self), fields })
    }

    /// The value reached by these keys, one inside the other.
    pub(crate) fn at(self, path: &[&str]) -> Option<View<'a>> {
        path.iter().try_fold(self, |view, key| view.object()?.get(key))
    }
}

impl<'a> ObjectView<'a> {
    /// The object itself.
    pub(crate) fn whole(&self) -> Option<View<'a>> {
        self.object
    }

    /// The value of a field; of the last one where a key is repeated.
    pub(crate) fn get(&self, key: &str) -> Option<View<'a>> {
        let found = self.fields.iter().rev().find(|(name, _)| name == key);
        found.map(|(_, raw)| View(raw)).filter(|view| view.json() != "null")
    }

    /// A field's string.
    pub(crate) fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)?.text()
    }

    /// A field's string, to keep; where there is none, an empty one.
    pub(crate) fn shared(&self, key: &str) -> Arc<str> {
        self.text(key).unwrap_or_default().into()
    }

    /// A field's whole number.
    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        self.get(key)?.number()
    }

    /// Whether a field is `true`.
    pub(crate) fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(View::is_true)
    }

    /// A field's elements; none where it is no array.
    pub(crate) fn list(&self, key: &str) -> Vec<View<'a>> {
        self.get(key).and_then(View::list).unwrap_or_default()
    }

    /// All fields in order, `null` included.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, View<'a>)> {
        self.fields.iter().map(|(key, raw)| (key.as_ref(), View(raw)))
    }

    /// The fields that are none of `known`, as they came, `null` included.
    pub(crate) fn rest(&self, known: &[&str]) -> Vec<(Arc<str>, Arc<str>)> {
        let unknown = self.fields.iter().filter(|(key, _)| !known.contains(&key.as_ref()));
        unknown.map(|(key, raw)| (key.as_ref().into(), raw.get().into())).collect()
    }

    /// The name of its first field.
    pub(crate) fn first_key(&self) -> Option<&str> {
        self.fields.first().map(|(key, _)| key.as_ref())
    }

    /// Whether a field is there.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }
}

#[derive(Deserialize)]
struct KeyText<'a>(#[serde(borrow)] Cow<'a, str>);

/// The fields of an object as they stand in it.
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct ObjectVisitor;
        impl<'de> Visitor<'de> for ObjectVisitor {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Fields<'de>, M::Error> {
                let mut fields = Vec::new();
                while let Some((KeyText(key), raw)) = map.next_entry::<KeyText<'de>, &RawValue>()? {
                    fields.push((key, raw));
                }
                Ok(Fields(fields))
            }
        }
        from.deserialize_map(ObjectVisitor)
    }
}

/// A string in which half surrogate pairs have become replacement characters.
struct LossyString(String);

impl<'de> Deserialize<'de> for LossyString {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct LossyVisitor;
        impl Visitor<'_> for LossyVisitor {
            type Value = LossyString;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<LossyString, E> {
                Ok(LossyString(String::from_utf8_lossy(bytes).into_owned()))
            }
        }
        from.deserialize_bytes(LossyVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::View;

    fn view(json: &str) -> View<'_> {
        View::parse(json).expect("the test wrote it")
    }

    #[test]
    fn a_view_stands_in_its_text() {
        let json = r#" {"a": {"b": [1, "x\n", null]}, "none": null} "#;
        let list = view(json).at(&["a", "b"]).and_then(View::list).expect("it is there");
        let (number, text) = (list[0].number(), list[1].text());
        assert_eq!((number, text.as_deref(), list[2].json()), (Some(1), Some("x\n"), "null"));
        assert!(view(json).at(&["none"]).is_none() && view(json).at(&["a", "c"]).is_none());
        assert!(json.as_bytes().as_ptr_range().contains(&list[1].json().as_ptr()));
    }

    #[test]
    fn a_text_cut_inside_an_emoji_is_read_all_the_same() {
        assert_eq!(view(r#""ok \ud83d""#).text().as_deref(), Some("ok \u{fffd}\u{fffd}\u{fffd}"));
    }

    #[test]
    fn what_is_not_of_the_kind_asked_for_is_absent() {
        let number = view("-1.5");
        assert!(number.text().is_none() && number.list().is_none() && number.object().is_none());
        assert!(number.number().is_none() && !number.is_true());
    }
}
