//! Storing what a request appended while its provider is at work: the client waits for neither more than for the other, and has its
//! answer only when what it said is with the system.

use crate::blocking;
use crate::notice::NoticeKind;
use crate::server_state::ServerState;
use epitome_engine::EngineError;
use epitome_engine::store::{SessionId, StoreError};
use std::sync::Arc;
use tokio::task::JoinHandle;

/// What a request appended, on its way to the store.
pub(crate) struct Storing(Option<JoinHandle<()>>);

impl Storing {
    /// Begins to store what was put off of a session; of none where sessions are in memory.
    pub(crate) fn begin(state: &Arc<ServerState>, session: Option<SessionId>) -> Self {
        let session = session.filter(|_| state.settings.store.is_some());
        Self(session.map(|session| tokio::spawn(store(state.clone(), session))))
    }

    /// Waits until it is stored, or was told to have failed.
    pub(crate) async fn end(self) {
        if let Some(storing) = self.0 {
            drop(storing.await);
        }
    }
}

/// Stores what was put off of a session, and tells the operator where that fails. What others have done to the session meanwhile is
/// no failure: its next request begins with it.
pub(crate) async fn store(state: Arc<ServerState>, session: SessionId) {
    let work = {
        let state = state.clone();
        async move || state.engine.flush(session).await
    };
    match blocking::run(work).await {
        Some(Ok(())) | None => {}
        Some(Err(EngineError::Store(
            StoreError::Fenced(_) | StoreError::Conflict { .. } | StoreError::NoSession(_),
        ))) => {}
        Some(Err(error)) => {
            state.tell(NoticeKind::Remark { session, what: format!("not stored: {error}") });
        }
    }
}
