//! Storing what a request appended while its provider is at work. A server that is alone on its store lets nobody wait for it: the
//! client sends it all again with its next request, and what is compacted was waited for already. Where there are others, that
//! request may go to one of them, which must find it: then the reply is passed on when it is stored.

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
    /// Begins to store what was put off of a session; there is nothing to do where sessions are in memory.
    pub(crate) fn begin(state: &Arc<ServerState>, session: Option<SessionId>) -> Self {
        // A request that comes again brings nothing new.
        let is_put_off = |session: &SessionId| state.engine.has_deferred(*session);
        let session = session.filter(|_| state.settings.store.is_some()).filter(is_put_off);
        Self(session.map(|session| tokio::spawn(store(state.clone(), session))))
    }

    /// Waits until it is stored, or was told to have failed, where others may be asked for it next.
    pub(crate) async fn end(self, state: &ServerState) {
        if let Some(storing) = self.0.filter(|_| state.neighbours.may_be()) {
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
