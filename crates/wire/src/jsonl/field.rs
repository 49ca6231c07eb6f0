//! Fields read leniently: one whose value is of another kind than we know counts as absent, and its line is
//! read all the same.

use super::JsonText;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

/// A field; none where it is not there, or of a kind that is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field<T>(Option<T>);

impl<T> Field<T> {
    pub(crate) fn into_option(self) -> Option<T> {
        self.0
    }
}

impl<T> Default for Field<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Deref for Field<T> {
    type Target = Option<T>;
    fn deref(&self) -> &Option<T> {
        &self.0
    }
}

/// What a field can be read from: each type takes one kind of value, and leaves the others.
pub(crate) trait FieldValue<'de>: Sized {
    fn from_text(_: Cow<'de, str>) -> Option<Self> {
        None
    }

    fn from_bool(_: bool) -> Option<Self> {
        None
    }

    fn from_number(_: i128) -> Option<Self> {
        None
    }

    fn from_list<A: SeqAccess<'de>>(list: A) -> Result<Option<Self>, A::Error> {
        skip_list(list).map(|()| None)
    }

    fn from_map<A: MapAccess<'de>>(map: A) -> Result<Option<Self>, A::Error> {
        skip_map(map).map(|()| None)
    }
}

pub(super) fn skip_list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<(), A::Error> {
    while list.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

pub(super) fn skip_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<(), A::Error> {
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

impl<'de: 'a, 'a> FieldValue<'de> for JsonText<'a> {
    fn from_text(text: Cow<'de, str>) -> Option<Self> {
        Some(Self::from(text))
    }
}

impl FieldValue<'_> for bool {
    fn from_bool(value: bool) -> Option<Self> {
        Some(value)
    }
}

/// Whole numbers in their range.
macro_rules! number_values {
    ($($number:ty),*) => {$(
        impl FieldValue<'_> for $number {
            fn from_number(value: i128) -> Option<Self> {
                value.try_into().ok()
            }
        }
    )*};
}
number_values!(u32, u64, usize, i64);

/// A list; elements of another kind are passed over.
impl<'de, T: FieldValue<'de>> FieldValue<'de> for Vec<T> {
    fn from_list<A: SeqAccess<'de>>(mut list: A) -> Result<Option<Self>, A::Error> {
        let mut values = Self::new();
        while let Some(Field(value)) = list.next_element::<Field<T>>()? {
            values.extend(value);
        }
        Ok(Some(values))
    }
}

/// Types that are read from an object, each by its derived `Deserialize`.
macro_rules! object_values {
    ($($object:ident $(<$lifetime:lifetime>)?),* $(,)?) => {$(
        impl<'de $(: $lifetime, $lifetime)?> $crate::jsonl::FieldValue<'de> for $object $(<$lifetime>)? {
            fn from_map<A: serde::de::MapAccess<'de>>(map: A) -> Result<Option<Self>, A::Error> {
                serde::Deserialize::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(Some)
            }
        }
    )*};
}
pub(crate) use object_values;

impl<'de, T: FieldValue<'de>> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(FieldVisitor(PhantomData))
    }
}

struct FieldVisitor<T>(PhantomData<T>);

impl<'de, T: FieldValue<'de>> Visitor<'de> for FieldVisitor<T> {
    type Value = Field<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Field(T::from_text(Cow::Borrowed(text))))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Field(T::from_text(Cow::Owned(text.to_owned()))))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Field(T::from_bool(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Field(T::from_number(value.into())))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Field(T::from_number(value.into())))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Field(None))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Field(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        T::from_list(list).map(Field)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::from_map(map).map(Field)
    }
}
