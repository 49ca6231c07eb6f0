//! Strings that borrow from the line they stand on, and content that is a string or a list.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
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

impl From<&JsonText<'_>> for Arc<str> {
    fn from(text: &JsonText<'_>) -> Self {
        Self::from(&*text.0)
    }
}

/// What a message says: a string, or a list of blocks.
#[derive(Debug, Default)]
pub(crate) enum TextOrBlocks<'a, B> {
    /// Nothing, or something that is neither.
    #[default]
    Nothing,
    /// A string.
    Text(JsonText<'a>),
    /// Blocks.
    Blocks(Vec<B>),
}

impl<B> TextOrBlocks<'_, B> {
    /// Its blocks; none where it is a string.
    pub(crate) fn blocks(&self) -> &[B] {
        match self {
            Self::Blocks(blocks) => blocks,
            Self::Nothing | Self::Text(_) => &[],
        }
    }
}

impl<'de: 'a, 'a, B: Deserialize<'de>> Deserialize<'de> for TextOrBlocks<'a, B> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Either(PhantomData))
    }
}

/// Tells a string from a list without holding either twice, as an untagged enum would.
struct Either<'a, B>(PhantomData<(&'a (), B)>);

impl<'de: 'a, 'a, B: Deserialize<'de>> Visitor<'de> for Either<'a, B> {
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

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut blocks = Vec::new();
        while let Some(block) = list.next_element()? {
            blocks.push(block);
        }
        Ok(TextOrBlocks::Blocks(blocks))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(TextOrBlocks::Nothing)
    }
}
