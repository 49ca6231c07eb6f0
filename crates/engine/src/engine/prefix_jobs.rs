//! Compactions under way in one stored session: one worker for each covered prefix, and a gate at which the others wait for what it
//! makes. How many wait is `shared_waiter`'s.

use super::shared_waiter::Crowd;
use super::tree::SessionTree;
use epitome_core::EntryId;
use futures_util::lock::{Mutex as AsyncMutex, OwnedMutexGuard};
use std::sync::{Arc, MutexGuard, PoisonError};

/// A compaction under way.
pub(super) struct PrefixJob {
    /// The last message it covers.
    anchor: EntryId,
    gate: Arc<AsyncMutex<()>>,
}

/// The right to compact a prefix, given back when it is dropped.
pub(super) struct PrefixClaim {
    tree: Arc<SessionTree>,
    anchor: EntryId,
    _gate: OwnedMutexGuard<()>,
}

impl Drop for PrefixClaim {
    fn drop(&mut self) {
        self.tree.jobs().retain(|job| job.anchor != self.anchor);
    }
}

impl SessionTree {
    fn jobs(&self) -> MutexGuard<'_, Vec<PrefixJob>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the right to compact the prefix up to `anchor`; the gate of whoever is at work on a prefix of
    /// `history`, where somebody is.
    pub(super) fn claim(
        self: &Arc<Self>,
        anchor: EntryId,
        history: &[EntryId],
    ) -> Result<PrefixClaim, Arc<AsyncMutex<()>>> {
        let mut jobs = self.jobs();
        if let Some(job) = jobs.iter().find(|job| history.binary_search(&job.anchor).is_ok()) {
            return Err(job.gate.clone());
        }
        let gate = Arc::new(AsyncMutex::new(()));
        let held = gate.clone().try_lock_owned().expect("nobody else knows of this gate yet");
        jobs.push(PrefixJob { anchor, gate });
        Ok(PrefixClaim { tree: self.clone(), anchor, _gate: held })
    }

    /// Those who wait at a gate.
    pub(super) fn crowd(&self) -> &Crowd {
        &self.crowd
    }

    /// Whether somebody here compacts a prefix of it.
    pub(super) fn is_compacting(&self) -> bool {
        !self.jobs().is_empty()
    }
}
