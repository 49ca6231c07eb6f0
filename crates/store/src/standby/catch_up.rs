//! Storing what waited while a store failed, in order and each batch once. Sessions that were let go meanwhile are given back behind it.

use super::pending::PendingBatch;
use super::{StandbyNotice, StandbyStore};
use epitome_engine::store::{SessionId, StoreError};

/// The name of what is written to see whether the store takes it.
const PROBE: &str = "standby";

impl StandbyStore {
    /// Stores what waits, now that the store has answered; where another does so already, it is left to that one.
    pub(super) async fn catch_up(&self) {
        let Some(_alone) = self.hand_over.try_lock() else { return };
        if self.is_failing() && !self.is_down() {
            self.drain().await;
        }
    }

    /// The same where the store was left alone for long enough. Where nothing waits something is written to see: one that is full
    /// answers whoever reads. One caller tries, and the others go on in memory: each may wait for as long as the store takes to refuse.
    pub(super) async fn catch_up_where_due(&self) {
        if !self.is_failing() || self.is_down() {
            return;
        }
        let Some(_alone) = self.hand_over.try_lock() else { return };
        if !self.is_failing() || self.is_down() {
            return;
        }
        let is_waiting = self.state().pending.is_waiting();
        if is_waiting || self.takes_something().await {
            self.drain().await;
        }
    }

    /// Stores what waits, where that can be done now, and tells how many sessions end unstored: nobody will bring them again.
    pub async fn close(&self) {
        let _alone = self.hand_over.lock().await;
        if self.state().pending.is_waiting() {
            self.drain().await;
        }
        let state = self.state();
        let (cut, begun) = (state.pending.sessions(), state.begun);
        drop(state);
        if cut + begun > 0 {
            (self.tell)(&StandbyNotice::Unstored { cut, begun });
        }
    }

    /// Whether the store can be written to.
    async fn takes_something(&self) -> bool {
        if let Err(error) = self.inner.keep_memo(PROBE.to_owned(), Some(Vec::new())).await {
            // What does not pass is told by whoever needs the store next.
            drop(self.note_failure(error));
            return false;
        }
        drop(self.inner.keep_memo(PROBE.to_owned(), None).await);
        true
    }

    /// Stores what waits until nothing does, or the store fails again. Whoever calls holds `hand_over`.
    async fn drain(&self) {
        let mut stored = 0;
        let kept_back = loop {
            // That nothing waits and that the store is well are one: what comes in between would wait for ever.
            let next = {
                let mut state = self.state();
                match state.pending.first() {
                    Some(next) => next,
                    None => break state.recover(),
                }
            };
            let PendingBatch { lease, expected, batch } = next;
            match self.inner.commit(lease, expected, batch).await {
                Ok(_) => {
                    self.state().pending.remove_first();
                    stored += 1;
                }
                Err(error @ StoreError::Fault(_)) => {
                    if self.note_failure(error).is_ok() {
                        return;
                    }
                    self.lose(lease.session);
                }
                // Others have had the session meanwhile.
                Err(_) => self.lose(lease.session),
            }
        };
        for lease in kept_back {
            self.inner.release(lease).await;
        }
        (self.tell)(&StandbyNotice::Answers { stored });
    }

    fn lose(&self, session: SessionId) {
        let batches = self.state().pending.forget(session);
        (self.tell)(&StandbyNotice::Lost { session, batches });
    }
}
