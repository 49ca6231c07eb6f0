//! A fast hash of texts and numbers for tables that live as long as one compaction, which look up each word and each fact of
//! a history: multiplication folded to half its width, eight bytes at a time. It has no key, so that tables which outlive a
//! compaction, or whose keys somebody outside chooses one by one, are better off with the standard one.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A table of texts, or of numbers made from texts.
pub(crate) type TextMap<K, V> = HashMap<K, V, BuildHasherDefault<TextHasher>>;
/// A set of the same.
pub(crate) type TextSet<K> = HashSet<K, BuildHasherDefault<TextHasher>>;

/// The state of one hash.
#[derive(Clone, Copy, Default)]
pub(crate) struct TextHasher(u64);

/// Two odd numbers whose bits look random, from the digits of pi.
const FIRST: u64 = 0x243f_6a88_85a3_08d3;
const SECOND: u64 = 0x1319_8a2e_0370_7345;

fn fold(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    product as u64 ^ (product >> 64) as u64
}

/// The fewer than eight bytes at the end of a text as one number. Read by parts that may lie over each other: most words are
/// as short as that, and a copy of so few bytes takes longer.
fn rest_number(rest: &[u8]) -> u64 {
    let length = rest.len();
    match (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32
        }
        (_, _) => {
            let [first, middle, last] = [rest[0], rest[length / 2], rest[length - 1]].map(u64::from);
            first | middle << 8 | last << 16
        }
    }
}

impl TextHasher {
    fn take(&mut self, more: u64) {
        self.0 = fold(self.0 ^ more ^ FIRST, SECOND);
    }
}

impl Hasher for TextHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (chunks, rest) = bytes.as_chunks::<8>();
        chunks.iter().for_each(|chunk| self.take(u64::from_le_bytes(*chunk)));
        if !rest.is_empty() {
            self.take(rest_number(rest));
        }
        // Zeros at the end of a text are not the padding of a shorter one.
        self.0 = self.0.wrapping_add(bytes.len() as u64);
    }

    fn write_u8(&mut self, byte: u8) {
        self.take(u64::from(byte));
    }

    fn write_u32(&mut self, number: u32) {
        self.take(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.take(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.take(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.take(number as u64);
    }

    fn finish(&self) -> u64 {
        fold(self.0 ^ SECOND, FIRST)
    }
}

#[cfg(test)]
mod tests {
    use super::TextHasher;
    use std::collections::HashSet;
    use std::hash::{Hash, Hasher};

    #[test]
    fn texts_that_differ_have_hashes_that_differ_in_their_high_and_low_bits() {
        let hash = |text: &str| {
            let mut hasher = TextHasher::default();
            text.hash(&mut hasher);
            hasher.finish()
        };
        let texts: Vec<String> = (0..4_000).map(|number| format!("src/part{number}.rs")).collect();
        let hashes: Vec<u64> = texts.iter().map(|text| hash(text)).chain([hash(""), hash("\0")]).collect();
        assert_eq!(hashes.iter().collect::<HashSet<_>>().len(), 4_002);
        let kinds =
            |bits: &dyn Fn(u64) -> u64| hashes.iter().map(|hash| bits(*hash)).collect::<HashSet<_>>().len();
        assert_eq!(kinds(&|hash| hash >> 57), 128);
        assert!(kinds(&|hash| hash & 0xfff) > 2_300);
    }
}
