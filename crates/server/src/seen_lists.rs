//! A trie of the lists that requests brought lately, by hashes of their bytes: a client sends its whole history with every request,
//! and what it sent before is told by its bytes at the speed of memory, and neither parsed nor hashed message by message again.
//!
//! A list is gone along in chunks of equal size from its bracket on. The key of a chunk is a keyed hash of all bytes up to its end, and
//! with it stand the elements that end in it. What comes behind the last whole chunk stands with that chunk as an end: as long as it is
//! the newest, a list that goes on from it is known up to its last byte. No bytes of clients are kept.

use crate::chain::ChainKey;
use blake3::Hasher;
use epitome_engine::store::{ChainHash, TenantId};
use epitome_wire::Protocol;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An element of a list, as it was read once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadElement {
    /// Where it stands in the list, from its bracket on.
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Whether it only names another.
    pub(crate) is_reference: bool,
    /// Whether it is a summary that its provider has sealed.
    pub(crate) is_sealed: bool,
    pub(crate) link: ElementLink,
}

/// What an element is in the chain of its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ElementLink {
    /// Nobody has looked.
    Unread,
    /// An instruction that opens the list, and is no part of the chain.
    Opening,
    /// The hash of everything up to it.
    Hash(ChainHash),
}

/// How a list begins that is read now, as far as that is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownBeginning {
    /// Where the last known element ends; 0 where none is known.
    pub(crate) end: usize,
    /// How many elements are known.
    count: usize,
    seed: [u8; 32],
    /// The keys of the chunks it begins with, whole ones, the root first.
    keys: Vec<ChunkKey>,
    /// How many of the elements end in those chunks.
    in_chunks: usize,
}

/// The lists seen lately.
#[derive(Default)]
pub(crate) struct SeenLists {
    trie: Mutex<ListTrie>,
}

/// Of everything in a list up to the end of a chunk, and of whose list it is.
type ChunkKey = [u8; 16];

#[derive(Default)]
struct ListTrie {
    chunks: HashMap<ChunkKey, ListChunk>,
    weight: usize,
    uses: u64,
}

#[derive(Default)]
struct ListChunk {
    /// Those that end in it, and are followed by something in it.
    elements: Box<[ReadElement]>,
    /// Ends of lists behind it, the newest last.
    ends: Vec<ListEnd>,
    used: u64,
}

/// What a list had behind its last whole chunk.
struct ListEnd {
    bytes: usize,
    hash: ChunkKey,
    elements: Box<[ReadElement]>,
}

/// A keyed hash of so much runs at its full speed: sixteen of BLAKE3's own chunks side by side.
const CHUNK_BYTES: usize = 16 << 10;
/// Shorter ones are read in hardly more time than they are looked up in, and titles and probes are such.
const LIST_BYTES_MIN: usize = 4 << 10;
/// Lists that branch behind one chunk: a person's agent, its sub-agents, and a retry or two.
const ENDS_MAX: usize = 4;
/// What all of it may take, an element being 1: about 6 MB, and histories of about 100,000 messages.
const WEIGHT_MAX: usize = 1 << 17;
/// A chunk and its place in the table, in elements.
const CHUNK_WEIGHT: usize = 2;

impl SeenLists {
    /// What is known of a list whose bytes these are, from its bracket on to wherever, with the elements it begins with.
    pub(crate) fn recall(
        &self,
        key: &ChainKey,
        tenant: TenantId,
        protocol: Protocol,
        list: &[u8],
    ) -> (KnownBeginning, Vec<ReadElement>) {
        if list.len() < LIST_BYTES_MIN {
            return (KnownBeginning::default(), Vec::new());
        }
        let seed = key.list_seed(tenant, protocol);
        let root = *seed.first_chunk().expect("a hash is longer than its beginning");
        let (mut keys, mut elements) = (vec![root], Vec::new());
        let mut rest = list;
        let mut last = root;
        while let Some((chunk, behind)) = rest.split_at_checked(CHUNK_BYTES) {
            let next = next_key(&seed, last, chunk);
            if !self.trie().take_chunk(next, &mut elements) {
                break;
            }
            keys.push(next);
            (last, rest) = (next, behind);
        }
        let in_chunks = elements.len();
        self.trie().take_end(&seed, last, rest, &mut elements);
        let end = elements.last().map_or(0, |last| last.end as usize);
        (KnownBeginning { end, count: elements.len(), seed, keys, in_chunks }, elements)
    }

    /// Remembers a list that was read, from its first bracket to its last; `known` is how it began.
    pub(crate) fn remember(&self, known: &KnownBeginning, list: &[u8], elements: &[ReadElement]) {
        // Nobody asked what is known of it, or all of it was.
        if known.keys.is_empty() || known.count == elements.len() {
            return;
        }
        let (mut key, mut from) = (known.last_key(), known.in_chunks);
        let mut at = (known.keys.len() - 1) * CHUNK_BYTES;
        let mut chunks = Vec::new();
        while let Some(chunk) = list.get(at..at + CHUNK_BYTES) {
            at += CHUNK_BYTES;
            key = next_key(&known.seed, key, chunk);
            // What ends with the chunk may go on behind it, where it is a number.
            let to = elements.partition_point(|element| (element.end as usize) < at);
            chunks.push((key, &elements[from..to]));
            from = to;
        }
        let end = ListEnd::of(&known.seed, list, at, &elements[from..]);
        let mut trie = self.trie();
        chunks.into_iter().for_each(|(key, elements)| trie.put_chunk(key, elements));
        end.into_iter().for_each(|end| trie.put_end(key, end));
        trie.let_go();
    }

    fn trie(&self) -> MutexGuard<'_, ListTrie> {
        self.trie.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownBeginning {
    fn last_key(&self) -> ChunkKey {
        self.keys.last().copied().unwrap_or_default()
    }
}

impl ListEnd {
    /// The end of a list behind its last whole chunk, which ends `at`; none where nothing ends in it, or where what is last might
    /// go on in another list.
    fn of(seed: &[u8; 32], list: &[u8], at: usize, elements: &[ReadElement]) -> Option<Self> {
        let last = elements.last()?;
        let is_closed = matches!(list.get(last.start as usize)?, b'{' | b'[' | b'"');
        let bytes = list.get(at..last.end as usize).filter(|_| is_closed)?;
        Some(Self { bytes: bytes.len(), hash: hash(seed, bytes), elements: elements.into() })
    }
}

impl ListTrie {
    /// Goes on to a chunk, and takes its elements, where it is known.
    fn take_chunk(&mut self, key: ChunkKey, elements: &mut Vec<ReadElement>) -> bool {
        let Some(chunk) = self.chunks.get_mut(&key) else { return false };
        self.uses += 1;
        chunk.used = self.uses;
        elements.extend_from_slice(&chunk.elements);
        true
    }

    /// Takes the elements of the longest end behind a chunk that `rest` begins with.
    fn take_end(
        &mut self,
        seed: &[u8; 32],
        key: ChunkKey,
        rest: &[u8],
        elements: &mut Vec<ReadElement>,
    ) -> bool {
        let Some(chunk) = self.chunks.get_mut(&key) else { return false };
        self.uses += 1;
        chunk.used = self.uses;
        let is_here =
            |end: &&ListEnd| rest.get(..end.bytes).is_some_and(|bytes| hash(seed, bytes) == end.hash);
        let Some(end) = chunk.ends.iter().filter(is_here).max_by_key(|end| end.bytes) else { return false };
        elements.extend_from_slice(&end.elements);
        true
    }

    fn put_chunk(&mut self, key: ChunkKey, elements: &[ReadElement]) {
        self.uses += 1;
        let used = self.uses;
        let chunk = self.chunks.entry(key).or_insert_with(|| {
            self.weight += CHUNK_WEIGHT + elements.len();
            ListChunk { elements: elements.into(), ..ListChunk::default() }
        });
        chunk.used = used;
    }

    fn put_end(&mut self, key: ChunkKey, end: ListEnd) {
        self.put_chunk(key, &[]);
        let Some(chunk) = self.chunks.get_mut(&key) else { return };
        let before: usize = chunk.ends.iter().map(ListEnd::weight).sum();
        chunk.ends.retain(|known| known.hash != end.hash);
        if chunk.ends.len() == ENDS_MAX {
            chunk.ends.remove(0);
        }
        chunk.ends.push(end);
        let after: usize = chunk.ends.iter().map(ListEnd::weight).sum();
        self.weight = self.weight + after - before;
    }

    /// Lets the chunks go that were not used for longest, until a quarter is free. What is behind one that went is not found
    /// any more, and goes as the oldest in its turn.
    fn let_go(&mut self) {
        if self.weight <= WEIGHT_MAX {
            return;
        }
        let mut oldest: Vec<(u64, ChunkKey)> =
            self.chunks.iter().map(|(key, chunk)| (chunk.used, *key)).collect();
        oldest.sort_unstable();
        for (_, key) in oldest {
            if self.weight <= WEIGHT_MAX / 4 * 3 {
                break;
            }
            self.weight -= self.chunks.remove(&key).map_or(0, |chunk| chunk.weight());
        }
    }
}

impl ListChunk {
    fn weight(&self) -> usize {
        CHUNK_WEIGHT + self.elements.len() + self.ends.iter().map(ListEnd::weight).sum::<usize>()
    }
}

impl ListEnd {
    fn weight(&self) -> usize {
        1 + self.elements.len()
    }
}

fn next_key(seed: &[u8; 32], before: ChunkKey, chunk: &[u8]) -> ChunkKey {
    let mut hasher = Hasher::new_keyed(seed);
    hasher.update(&before).update(&hash(seed, chunk));
    beginning(&hasher)
}

fn hash(seed: &[u8; 32], bytes: &[u8]) -> ChunkKey {
    beginning(Hasher::new_keyed(seed).update(bytes))
}

fn beginning(hasher: &Hasher) -> ChunkKey {
    *hasher.finalize().as_bytes().first_chunk().expect("a hash is longer than its beginning")
}

#[cfg(test)]
mod tests;
