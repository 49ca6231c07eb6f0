//! Giving sessions to other servers on the same store: where one of them has a request for a session that this one holds and is not
//! at work on, it gets it at once, and not when this one ends.

use crate::server_state::ServerState;
use std::sync::Arc;
use std::time::Duration;

/// How often is looked: a request that moves from one server to another waits about so long. A look reads one row.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Looks for sessions that others want, until it is dropped. There are no others where sessions are in memory.
pub(crate) async fn watch(state: Arc<ServerState>) {
    if state.settings.store.is_none() {
        return;
    }
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        // A store that fails is told of by whoever needs it; until it answers nobody can want anything.
        drop(state.engine.give_up_wanted().await);
    }
}
