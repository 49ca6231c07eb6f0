//! A cache of what stands around the lists of requests: system prompts and tools, decoded once, and counted once for each way of
//! counting. Agents send the same ones with every request, often more of them than what is new in it.

use crate::body::Body;
use crate::chain::ChainKey;
use crate::prefix_hashes::PrefixHashes;
use crate::request_reader;
use epitome_core::Tokens;
use epitome_engine::Assembly;
use epitome_wire::{FixedParts, Protocol};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What stands around a list.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    pub(crate) parts: FixedParts,
    pub(crate) prefix: PrefixHashes,
    /// What it takes, by each way of counting it was counted in.
    counts: Mutex<Vec<(Arc<str>, Tokens)>>,
    bytes: usize,
}

impl Surroundings {
    /// What system prompt and tools take as an assembly counts.
    pub(crate) fn count(&self, assembly: &Assembly) -> Tokens {
        let method = assembly.sizes_key();
        let known = self.counts().iter().find(|(key, _)| key == method).map(|(_, tokens)| *tokens);
        if let Some(tokens) = known {
            return tokens;
        }
        let tokens = assembly.count_fixed(&self.parts.system, &self.parts.tools);
        self.counts().push((method.clone(), tokens));
        tokens
    }

    fn counts(&self) -> MutexGuard<'_, Vec<(Arc<str>, Tokens)>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The surroundings seen lately.
#[derive(Default)]
pub(crate) struct SeenSurroundings {
    /// By a hash of their bytes, the one used last at the end.
    seen: Mutex<Vec<([u8; 32], Arc<Surroundings>)>>,
}

/// A person's agents and sub-agents, each with its own tools.
const SEEN_MAX: usize = 32;
/// What they may take together as clients wrote them; decoded they take about as much.
const BYTES_MAX: usize = 4 << 20;

impl SeenSurroundings {
    /// What stands around the list of a body whose first `opening` elements are instructions.
    pub(crate) fn of(
        &self,
        key: &ChainKey,
        protocol: Protocol,
        body: &Body,
        opening: usize,
    ) -> Arc<Surroundings> {
        let pieces = body.around(opening);
        let hash = key.bytes(protocol, &pieces);
        if let Some(known) = self.take(hash) {
            return known;
        }
        let bytes = pieces.iter().map(|piece| piece.len()).sum();
        let parts = request_reader::fixed(protocol, body, opening);
        let prefix = PrefixHashes::of(key, protocol, &parts);
        let found = Arc::new(Surroundings { parts, prefix, counts: Mutex::default(), bytes });
        self.put(hash, found.clone());
        found
    }

    fn take(&self, hash: [u8; 32]) -> Option<Arc<Surroundings>> {
        let mut seen = self.seen();
        let at = seen.iter().rposition(|(known, _)| *known == hash)?;
        let known = seen.remove(at);
        seen.push(known.clone());
        Some(known.1)
    }

    fn put(&self, hash: [u8; 32], new: Arc<Surroundings>) {
        let mut seen = self.seen();
        seen.push((hash, new));
        let mut bytes: usize = seen.iter().map(|(_, known)| known.bytes).sum();
        while seen.len() > 1 && (seen.len() > SEEN_MAX || bytes > BYTES_MAX) {
            bytes -= seen.remove(0).1.bytes;
        }
    }

    fn seen(&self) -> MutexGuard<'_, Vec<([u8; 32], Arc<Surroundings>)>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
