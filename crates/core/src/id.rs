//! Names of things: entries by their place in the log, calls by what their model called them.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// An entry's place in its log, which never changes because the log only grows.
///
/// It is written `m0123`, in pointers the model sees as well as on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(pub u32);

impl EntryId {
    /// The entry's position in its log.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.write_into(&mut [0; POINTER_BYTES_MAX]))
    }
}

/// The letter and the ten digits of the largest.
const POINTER_BYTES_MAX: usize = 11;
/// Fewer digits are filled up with zeros.
const DIGITS_MIN: usize = 4;

impl EntryId {
    /// Writes the pointer to the end of `text`.
    fn write_into(self, text: &mut [u8; POINTER_BYTES_MAX]) -> &str {
        let (mut at, mut rest) = (POINTER_BYTES_MAX, self.0);
        while rest > 0 || POINTER_BYTES_MAX - at < DIGITS_MIN {
            at -= 1;
            text[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        text[at - 1] = b'm';
        std::str::from_utf8(&text[at - 1..]).unwrap_or_default()
    }

    /// The entry that a word names, where it is a pointer. Of the many words that are none no error is made.
    pub(crate) fn of_pointer(word: &str) -> Option<Self> {
        let digits = word.strip_prefix('m')?;
        let is_pointer = digits.len() >= 4 && digits.bytes().all(|b| b.is_ascii_digit());
        digits.parse().ok().filter(|_| is_pointer).map(Self)
    }
}

impl FromStr for EntryId {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::of_pointer(text).ok_or_else(|| format!("`{text}` is not a pointer; one looks like m0123"))
    }
}

impl Serialize for EntryId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        // Records list every message that left view: these are most of what is written of them.
        let mut text = [0; POINTER_BYTES_MAX];
        to.serialize_str(self.write_into(&mut text))
    }
}

impl<'de> Deserialize<'de> for EntryId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
        text.parse().map_err(D::Error::custom)
    }
}

/// The id a call and its result share. Unique near its call, not always in the whole history.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub Arc<str>);

impl From<&str> for CallId {
    fn from(id: &str) -> Self {
        Self(id.into())
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::EntryId;

    #[test]
    fn a_pointer_reads_back_as_the_entry_it_names() {
        let all = [EntryId(0), EntryId(123), EntryId(123_456), EntryId(u32::MAX)];
        let back: Vec<EntryId> = all.iter().map(|id| id.to_string().parse().expect("our own form")).collect();
        assert_eq!(back, all);
        assert!("m12".parse::<EntryId>().is_err() && "x0123".parse::<EntryId>().is_err());
    }
}
