//! Giving sessions to other servers on the same store: where one of them has a request for a session that this one holds and is not
//! at work on, it gets it at once, and not when this one ends.

use crate::server_state::ServerState;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often is looked: a request that moves from one server to another waits about so long. A look reads one row.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// So long a server that finds others waits before it serves: by then they have looked, and know that they are not alone.
const NOTICE_TIME: Duration = Duration::from_millis(400);

/// Finds out whether there are others on the store, and lets them find out.
pub(crate) async fn arrive(state: &ServerState) {
    if state.settings.store.is_none() {
        return;
    }
    let is_shared = state.engine.store().is_shared().await.unwrap_or(true);
    state.is_shared.store(is_shared, Ordering::Relaxed);
    if is_shared {
        tokio::time::sleep(NOTICE_TIME).await;
    }
}

/// Looks for sessions that others want, until it is dropped. There are no others where sessions are in memory.
pub(crate) async fn watch(state: Arc<ServerState>) {
    if state.settings.store.is_none() {
        return;
    }
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        // A store that fails is told of by whoever needs it; until it answers nobody can want anything.
        drop(state.engine.give_up_wanted().await);
        let is_shared = state.engine.store().is_shared().await.unwrap_or(true);
        state.is_shared.store(is_shared, Ordering::Relaxed);
    }
}
