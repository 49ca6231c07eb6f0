//! Watching how conversations begin. A client that writes a clock into its first message begins a new conversation with each request: none
//! goes on with what was compacted, and no provider's cache helps. Such a one is known by a message that stands where it stood, behind
//! others than before.

use crate::chain::ChainKey;
use crate::prefix_watch::NEW_ONES_MAX;
use crate::request::Request;
use epitome_engine::store::{ChainHash, TenantId};
use std::sync::{Mutex, PoisonError};

/// The lists lately begun.
#[derive(Default)]
pub(crate) struct BeginningWatch {
    /// Oldest first.
    begun: Mutex<Vec<BegunList>>,
}

/// A list that was begun, by its last message.
struct BegunList {
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
        let is_before = |begun: &BegunList| {
            let at = begun.messages - 1;
            begun.tenant == *tenant
                && begun.messages < hashes.len()
                && begun.chain != hashes[at]
                && begun.last == alone(at)
        };
        let mut all = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let before = all.iter().rposition(is_before).map(|at| all.remove(at));
        let changes = before.map_or(0, |before| before.changes + 1);
        if all.len() >= BEGUN_MAX {
            all.remove(0);
        }
        let last = alone(hashes.len() - 1);
        all.push(BegunList { tenant: *tenant, messages: hashes.len(), chain, last, changes });
        changes >= NEW_ONES_MAX
    }
}
