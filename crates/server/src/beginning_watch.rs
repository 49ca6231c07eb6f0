//! Watching how conversations begin. A client that writes a clock into its first message begins a new conversation with each request: none
//! goes on with what was compacted, and no provider's cache helps. Such a one is known by a message that stands where it stood, behind
//! others than before.

use crate::chain::ChainKey;
use crate::prefix_watch::NEW_ONES_MAX;
use crate::request::Request;
use epitome_engine::store::{ChainHash, TenantId};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The lists lately begun.
#[derive(Default)]
pub(crate) struct BeginningWatch {
    /// Oldest first.
    begun: Mutex<Vec<ListBeginning>>,
}

/// A list that was begun, by its last message.
struct ListBeginning {
    tenant: TenantId,
    messages: usize,
    /// Of all it says.
    chain: ChainHash,
    /// Of its last message alone.
    last: ChainHash,
    /// How many lists in a row were the one before with another beginning.
    changes: usize,
}

/// A person's agents at work, with some that began lately.
const BEGUN_MAX: usize = 32;

/// A question, its answer and another one: what is shorter says little of where it belongs.
const MESSAGES_MIN: usize = 3;

impl BeginningWatch {
    /// Takes up a list whose beginning nobody knew; whether its conversation has had another beginning in every request lately.
    pub(crate) fn see(&self, key: &ChainKey, request: &Request) -> bool {
        let Request { tenant, hashes, .. } = request;
        let Some(chain) = hashes.last().copied().filter(|_| hashes.len() >= MESSAGES_MIN) else {
            return false;
        };
        let alone =
            |at: usize| key.next(key.seed(request.protocol), request.body.element(request.opening + at));
        // Hashed before anybody waits for it: a message may be long.
        let lengths = self.lengths_of(*tenant, hashes.len());
        let ends: Vec<(usize, ChainHash)> =
            lengths.into_iter().map(|messages| (messages, alone(messages - 1))).collect();
        let last = alone(hashes.len() - 1);
        let is_before = |begun: &ListBeginning| {
            begun.tenant == *tenant
                && ends.contains(&(begun.messages, begun.last))
                && begun.chain != hashes[begun.messages - 1]
        };
        let mut all = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        // Walked once more, it is what it was.
        if let Some(same) = all.iter().find(|begun| begun.tenant == *tenant && begun.chain == chain) {
            return same.changes >= NEW_ONES_MAX;
        }
        let before = all.iter().rposition(is_before).map(|at| all.remove(at));
        let changes = before.map_or(0, |before| before.changes + 1);
        if all.len() >= BEGUN_MAX {
            all.remove(0);
        }
        all.push(ListBeginning { tenant: *tenant, messages: hashes.len(), chain, last, changes });
        changes >= NEW_ONES_MAX
    }

    /// How long the lists of a tenant were, those shorter than this one.
    fn lengths_of(&self, tenant: TenantId, messages: usize) -> BTreeSet<usize> {
        let all = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let shorter = all.iter().filter(|begun| begun.tenant == tenant && begun.messages < messages);
        shorter.map(|begun| begun.messages).collect()
    }
}
