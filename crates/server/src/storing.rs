//! Storing what a request appended while its provider is at work. Nobody waits for it: the client sends it all again with its next
//! request, and what is compacted was waited for already.

use crate::blocking;
use crate::notice::NoticeKind;
use crate::server_state::ServerState;
use epitome_engine::EngineError;
use epitome_engine::store::{SessionId, StoreError};
use std::sync::Arc;

/// Begins to store what was put off of a session; there is nothing to do where sessions are in memory.
pub(crate) fn begin(state: &Arc<ServerState>, session: Option<SessionId>) {
    if let Some(session) = session.filter(|_| state.settings.store.is_some()) {
        // It ends by itself, and tells what goes wrong.
        drop(tokio::spawn(store(state.clone(), session)));
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
