//! Commits that append no entry: what is known of a session beside its entries, what is told while somebody is at work on it, and
//! where it ends.

use super::tree::SessionTree;
use crate::error::EngineError;
use crate::event::Event;
use crate::store::{CommitBatch, Durability, SessionAbout, Store};
use epitome_core::{Entry, EntryId};

impl SessionTree {
    /// Says otherwise what is known of the session.
    pub(super) async fn describe(&self, store: &dyn Store, about: SessionAbout) -> Result<(), EngineError> {
        let _in_order = self.commits.lock().await;
        let expected = {
            let mut state = self.state();
            state.about.clone_from(&about);
            state.log.len()
        };
        let batch =
            CommitBatch { about: Some(about), durability: Durability::System, ..CommitBatch::default() };
        self.put(store, expected, batch).await
    }

    /// Stores what is told while somebody is still at work on the session.
    pub(super) async fn tell(
        &self,
        store: &dyn Store,
        events: Vec<Event>,
        time_ms: Option<u64>,
    ) -> Result<(), EngineError> {
        let _in_order = self.commits.lock().await;
        let expected = self.state().log.len();
        self.put(store, expected, CommitBatch { events, time_ms, ..CommitBatch::default() }).await
    }

    /// Moves the session's leaf, and nothing else.
    pub(super) async fn move_leaf(
        &self,
        store: &dyn Store,
        leaf: EntryId,
        time_ms: Option<u64>,
    ) -> Result<(), EngineError> {
        let _in_order = self.commits.lock().await;
        let expected = {
            let mut state = self.state();
            match state.log.get(leaf) {
                // A session that was read from a file may end in something its tool noted.
                Some(Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. }) => {}
                Some(Entry::Mark(_)) | None => return Err(EngineError::NoEntry(leaf)),
            }
            state.leaf = Some(leaf);
            state.log.len()
        };
        self.put(store, expected, CommitBatch { leaf: Some(leaf), time_ms, ..CommitBatch::default() }).await
    }
}
