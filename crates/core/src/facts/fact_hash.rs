//! Hashes by which facts are told apart, and an index of facts by them. A fact stands in a session many times and every
//! compaction looks each of these places up in tables of its own; its name is hashed once, where it is found.

use super::Mention;
use crate::text_hash::TextHasher;
use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// The hashes of one fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FactHash {
    /// Of all it states: its value, with its key where the newest value of a key counts.
    pub statement: u64,
    /// Of what it is about: its key in lower case where the newest value counts, else its value.
    pub subject: u64,
}

impl FactHash {
    pub(crate) fn of(mention: Mention<'_>) -> Self {
        let statement = Self::statement_of(mention);
        let subject = match mention.class.latest_wins() {
            true => hash(&(mention.class, lower_case(mention.key))),
            false => statement,
        };
        Self { statement, subject }
    }

    /// The hash of all a fact states, alone.
    pub(crate) fn statement_of(mention: Mention<'_>) -> u64 {
        match mention.class.latest_wins() {
            true => hash(&(mention.class, mention.key, mention.value)),
            false => hash(&(mention.class, mention.value)),
        }
    }
}

/// The text in lower case; most keys are.
pub(crate) fn lower_case(text: &str) -> Cow<'_, str> {
    let is_lower = text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    if is_lower { Cow::Borrowed(text) } else { Cow::Owned(text.to_lowercase()) }
}

/// The hash of a text, for an index of texts.
pub(crate) fn text_hash(text: &str) -> u64 {
    hash(&text)
}

fn hash(name: &impl Hash) -> u64 {
    let mut hasher = TextHasher::default();
    name.hash(&mut hasher);
    hasher.finish()
}

/// Places in a table by the hash of what stands there. The table knows what that is: it is asked whether a place is the
/// one that is looked for, since two names may have one hash.
#[derive(Default)]
pub(crate) struct FactIndex {
    places: HashMap<u64, u32, BuildHasherDefault<HashItself>>,
}

impl FactIndex {
    /// The place with this hash for which `is_it` holds.
    pub(crate) fn find(&self, hash: u64, is_it: impl Fn(usize) -> bool) -> Option<usize> {
        self.look_up(hash, is_it).ok()
    }

    /// The same; where there is none, `next` becomes it.
    pub(crate) fn find_or_add(&mut self, hash: u64, next: usize, is_it: impl Fn(usize) -> bool) -> usize {
        self.look_up(hash, is_it).unwrap_or_else(|free| {
            self.places.insert(free, next as u32);
            next
        })
    }

    pub(crate) fn clear(&mut self) {
        self.places.clear();
    }

    /// Where names share a hash, the later ones lie under the next free numbers: at most as many steps as there are names.
    fn look_up(&self, hash: u64, is_it: impl Fn(usize) -> bool) -> Result<usize, u64> {
        let mut at = hash;
        while let Some(&place) = self.places.get(&at) {
            if is_it(place as usize) {
                return Ok(place as usize);
            }
            at = at.wrapping_add(1);
        }
        Err(at)
    }
}

/// Hashes a number that is a hash already: as itself.
#[derive(Default)]
struct HashItself(u64);

impl Hasher for HashItself {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = (self.0 << 8) | u64::from(byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::FactIndex;

    #[test]
    fn names_with_one_hash_have_places_of_their_own() {
        let names = ["a", "b", "c"];
        let mut index = FactIndex::default();
        let mut place = |name: &str, next| index.find_or_add(7, next, |at| names[at] == name);
        assert_eq!(
            [place("a", 0), place("b", 1), place("a", 2), place("b", 2), place("c", 2)],
            [0, 1, 0, 1, 2]
        );
        assert_eq!(index.find(7, |at| names[at] == "b"), Some(1));
        assert_eq!(index.find(8, |at| names[at] == "a"), None);
    }
}
