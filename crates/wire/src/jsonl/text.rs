//! Strings that borrow from the line they stand on, and content that is a string or a list.

use super::field::{Field, FieldValue, skip_map};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

/// A JSON string; borrowed where nothing in it is escaped.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct JsonText<'a>(#[serde(borrow)] Cow<'a, str>);

impl Deref for JsonText<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'a> From<Cow<'a, str>> for JsonText<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Self(text)
    }
}

impl From<&JsonText<'_>> for Arc<str> {
    fn from(text: &JsonText<'_>) -> Self {
        Self::from(&*text.0)
    }
}

/// What a message says: a string, or a list of blocks.
#[derive(Debug, Default)]
pub(crate) enum TextOrBlocks<'a, B> {
    /// It is not there.
    #[default]
    Nothing,
    /// A string.
    Text(JsonText<'a>),
    /// Blocks; one that is no object is the default of its type.
    Blocks(Vec<B>),
    /// Something that is neither, to be carried as it is.
    Other,
}

impl<B> TextOrBlocks<'_, B> {
    /// Its blocks; none where it is no list.
    pub(crate) fn blocks(&self) -> &[B] {
        match self {
            Self::Blocks(blocks) => blocks,
            Self::Nothing | Self::Text(_) | Self::Other => &[],
        }
    }
}

impl<'de: 'a, 'a, B: FieldValue<'de> + Default> Deserialize<'de> for TextOrBlocks<'a, B> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Either(PhantomData))
    }
}

/// Tells a string from a list without holding either twice, as an untagged enum would.
struct Either<'a, B>(PhantomData<(&'a (), B)>);

impl<'de: 'a, 'a, B: FieldValue<'de> + Default> Visitor<'de> for Either<'a, B> {
    type Value = TextOrBlocks<'a, B>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a list of blocks")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(TextOrBlocks::Text(JsonText(Cow::Borrowed(text))))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(TextOrBlocks::Text(JsonText(Cow::Owned(text.to_owned()))))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(TextOrBlocks::Nothing)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(TextOrBlocks::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(TextOrBlocks::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(TextOrBlocks::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(TextOrBlocks::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut blocks = Vec::new();
        while let Some(block) = list.next_element::<Field<B>>()? {
            blocks.push(block.into_option().unwrap_or_default());
        }
        Ok(TextOrBlocks::Blocks(blocks))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        skip_map(map).map(|()| TextOrBlocks::Other)
    }
}
