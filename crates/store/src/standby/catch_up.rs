//! Storing what waited while a store failed, in order and each batch once. Sessions that were let go meanwhile are given back behind it.

use super::pending::PendingBatch;
use super::{StandbyNotice, StandbyStore};
use epitome_engine::store::{SessionId, StoreError};
use std::sync::Arc;

/// The name of what is written to see whether the store takes it.
const PROBE: &str = "standby";

impl StandbyStore {
    /// Stores what waits, now that the store has answered.
    pub(super) async fn catch_up(&self) {
        if !self.is_failing() {
            return;
        }
        let _alone = self.hand_over.lock().await;
        if !self.is_failing() {
            return;
        }
        let mut stored = 0;
        loop {
            let Some(PendingBatch { lease, expected, batch }) = self.state().pending.first() else { break };
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
        }
        let kept_back = {
            let mut state = self.state();
            state.retry_at = None;
            // What was begun in memory is taken up in the store by its next request.
            (state.spare, state.begun) = (Arc::default(), 0);
            std::mem::take(&mut state.kept_back)
        };
        for lease in kept_back {
            self.inner.release(lease).await;
        }
        (self.tell)(&StandbyNotice::Answers { stored });
    }

    /// The same where the store was left alone for long enough. Where nothing waits something is written to see: one that is full
    /// answers whoever reads.
    pub(super) async fn catch_up_where_due(&self) {
        if !self.is_failing() || self.is_down() {
            return;
        }
        if !self.state().pending.is_waiting() {
            let written = self.inner.keep_memo(PROBE.to_owned(), Some(Vec::new())).await;
            if let Err(error) = written {
                // What does not pass is told by whoever needs the store next.
                drop(self.note_failure(error));
                return;
            }
            drop(self.inner.keep_memo(PROBE.to_owned(), None).await);
        }
        self.catch_up().await;
    }

    /// Stores what waits, where that can be done now, and tells how many sessions end unstored: nobody will bring them again.
    pub async fn close(&self) {
        if self.state().pending.sessions() > 0 {
            self.catch_up().await;
        }
        let state = self.state();
        let (cut, begun) = (state.pending.sessions(), state.begun);
        drop(state);
        if cut + begun > 0 {
            (self.tell)(&StandbyNotice::Unstored { cut, begun });
        }
    }

    fn lose(&self, session: SessionId) {
        let batches = self.state().pending.forget(session);
        (self.tell)(&StandbyNotice::Lost { session, batches });
    }
}
