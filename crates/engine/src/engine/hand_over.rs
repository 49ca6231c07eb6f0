//! Handing sessions over between processes: who finds a session held by another says in the store that it is wanted, and whoever holds
//! it gives it up once nobody there is at work on it. Without that the other would wait until the holder ends.
//!
//! The lease stays what keeps two from writing: a holder that does not look is waited for as before.

use super::Engine;
use super::tree::SessionTree;
use crate::error::EngineError;
use crate::store::{Lease, SessionId, StoreError};
use std::sync::{Arc, PoisonError};

impl Engine {
    /// Gives up the sessions that others want and nobody here works on.
    pub async fn give_up_wanted(&self) -> Result<(), EngineError> {
        for session in self.store.wanted().await? {
            if self.close_idle(session).await {
                self.store.want_no_more(session).await?;
            }
        }
        Ok(())
    }

    /// Lets a session go where nobody works on it; whether it was let go.
    async fn close_idle(&self, session: SessionId) -> bool {
        let _one_at_a_time = self.openings.lock().await;
        let tree = {
            let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
            // Whoever works on it holds it as well, a summary in the background included.
            let is_idle = live.get(&session).is_some_and(|tree| Arc::strong_count(tree) == 1);
            is_idle.then(|| live.remove(&session)).flatten()
        };
        let Some(tree) = tree else { return false };
        self.let_go(&tree).await;
        true
    }

    /// Gives a session back that is in memory no more, with what was put off stored.
    pub(super) async fn let_go(&self, tree: &SessionTree) {
        tree.backgrounds().clear();
        let _in_order = tree.commits.lock().await;
        // What the store does not take now is said again.
        drop(tree.flush(&*self.store).await);
        tree.state().is_closed = true;
        self.forget_fresh(tree.lease().session);
        self.store.release(tree.lease()).await;
    }

    /// Takes the lease of a session. Where another has it, that one is told.
    pub(super) async fn take_lease(&self, session: SessionId) -> Result<Lease, EngineError> {
        match self.store.lease(session).await? {
            Some(lease) => {
                let was_asked_for =
                    self.asked_for.lock().unwrap_or_else(PoisonError::into_inner).remove(&session);
                if was_asked_for {
                    self.store.want_no_more(session).await?;
                }
                Ok(lease)
            }
            None => {
                // Another who wanted it too may have had it since.
                if !self.store.wanted().await?.contains(&session) {
                    self.store.want(session).await?;
                }
                self.asked_for.lock().unwrap_or_else(PoisonError::into_inner).insert(session);
                Err(StoreError::Leased(session).into())
            }
        }
    }
}
