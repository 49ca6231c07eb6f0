//! The prompt cache: what an earlier request began with need not be read again.
//!
//! Parts are cut into pieces, and each piece is remembered by a hash of everything up to it. The longest
//! remembered beginning of a prompt is what a provider would read from its cache. There is no minimum and
//! no expiry: what is simulated is the prefix, not the provider's clock.

use crate::prompt::Part;
use blake3::Hash;
use std::collections::HashSet;

/// A prefix is told apart this finely; about 64 tokens, where providers have 64 to 128.
const PIECE_BYTES: usize = 256;
/// About a hundred long conversations, in 40 MB. Past it everything is forgotten, as providers do too.
const PIECES_MAX: usize = 1 << 20;

/// The prefixes of earlier prompts.
#[derive(Debug, Default)]
pub(crate) struct PrefixCache {
    seen: HashSet<Hash>,
}

impl PrefixCache {
    /// The tokens of the longest prefix that an earlier prompt to this model had as well; remembers this one.
    pub(crate) fn read(&mut self, model: &str, prompt: &[Part]) -> u64 {
        if self.seen.len() > PIECES_MAX {
            self.seen.clear();
        }
        let mut chain = blake3::hash(model.as_bytes());
        let (mut read, mut is_common) = (0, true);
        for part in prompt {
            let mut bytes = 0;
            for piece in pieces(part) {
                chain = link(&chain, piece);
                is_common &= !self.seen.insert(chain);
                bytes += if is_common { piece.len() } else { 0 };
            }
            read += share(part, bytes);
        }
        read
    }
}

fn pieces(part: &Part) -> impl Iterator<Item = &[u8]> {
    part.text.as_bytes().chunks(PIECE_BYTES)
}

fn link(chain: &Hash, piece: &[u8]) -> Hash {
    blake3::Hasher::new().update(chain.as_bytes()).update(piece).finalize()
}

/// The tokens in the first `bytes` of a part.
fn share(part: &Part, bytes: usize) -> u64 {
    part.tokens * bytes as u64 / part.text.len().max(1) as u64
}

#[cfg(test)]
mod tests {
    use super::PrefixCache;
    use crate::prompt::Part;

    fn prompt(parts: &[(&str, u64)]) -> Vec<Part> {
        parts.iter().map(|&(text, tokens)| Part { text: text.into(), tokens }).collect()
    }

    #[test]
    fn a_grown_prompt_reads_what_it_grew_from() {
        let mut cache = PrefixCache::default();
        let grown = [("system", 10), ("question", 20), ("answer", 30)];
        let reads = [cache.read("m", &prompt(&grown[..2])), cache.read("m", &prompt(&grown))];
        assert_eq!(reads, [0, 30]);
    }

    #[test]
    fn a_change_at_the_front_costs_everything_behind_it() {
        let mut cache = PrefixCache::default();
        cache.read("m", &prompt(&[("a", 1), ("b", 2), ("c", 4)]));
        assert_eq!(cache.read("m", &prompt(&[("a", 1), ("x", 2), ("c", 4)])), 1);
    }

    #[test]
    fn a_long_part_is_shared_up_to_where_it_differs() {
        let mut cache = PrefixCache::default();
        let (one, other) = ("a".repeat(512) + &"b".repeat(512), "a".repeat(512) + &"c".repeat(512));
        cache.read("m", &prompt(&[(&one, 100)]));
        assert_eq!(cache.read("m", &prompt(&[(&other, 100)])), 50);
    }

    #[test]
    fn models_do_not_share() {
        let mut cache = PrefixCache::default();
        let said = prompt(&[("a", 1)]);
        assert_eq!([cache.read("m", &said), cache.read("n", &said), cache.read("m", &said)], [0, 0, 1]);
    }
}
