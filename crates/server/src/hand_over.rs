//! Giving sessions to other servers on the same store: where one of them has a request for a session that this one holds and is not
//! at work on, it gets it at once, and not when this one ends. And whether there are any others, which is known for a moment only.

use crate::server_state::ServerState;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How often is looked: a request that moves from one server to another waits about so long. A look reads one row.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// So long a server counts as alone that was seen to be, from before it looked. One that could not look since, because the machine was
/// busy or it was stopped for a while, takes itself for one of several, whether or not it is.
const ALONE_TIME: Duration = Duration::from_millis(300);

/// So long a server that finds others waits before it serves: longer than any of them may still take itself to be alone.
const NOTICE_TIME: Duration = Duration::from_millis(400);

/// Whether other servers may be at work on the same store.
#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    alone_until: Mutex<Option<Instant>>,
}

impl Neighbours {
    /// Whether there may be others; that there are none counts for [`ALONE_TIME`] after it was seen.
    pub(crate) fn may_be(&self) -> bool {
        let alone_until = *self.alone_until.lock().unwrap_or_else(PoisonError::into_inner);
        alone_until.is_none_or(|until| until <= Instant::now())
    }

    /// Takes note of what was seen by a look that began then.
    fn note(&self, looked: Instant, is_shared: bool) {
        let alone_until = (!is_shared).then(|| looked + ALONE_TIME);
        *self.alone_until.lock().unwrap_or_else(PoisonError::into_inner) = alone_until;
    }
}

/// Looks for others on the store.
async fn look(state: &ServerState) {
    let looked = Instant::now();
    let is_shared = state.engine.store().is_shared().await.unwrap_or(true);
    state.neighbours.note(looked, is_shared);
}

/// Finds out whether there are others on the store, and lets them find out.
pub(crate) async fn arrive(state: &ServerState) {
    if state.settings.store.is_none() {
        return;
    }
    look(state).await;
    if state.neighbours.may_be() {
        tokio::time::sleep(NOTICE_TIME).await;
    }
}

/// Looks for sessions that others want, until it is dropped. There are no others where sessions are in memory.
pub(crate) async fn watch(state: Arc<ServerState>) {
    if state.settings.store.is_none() {
        return;
    }
    loop {
        look(&state).await;
        tokio::time::sleep(LOOK_EVERY).await;
        // A store that fails is told of by whoever needs it; until it answers nobody can want anything.
        drop(state.engine.give_up_wanted().await);
    }
}

#[cfg(test)]
mod tests {
    use super::{ALONE_TIME, LOOK_EVERY, NOTICE_TIME, Neighbours};
    use std::time::Duration;
    use tokio::time::{Instant, advance};

    #[tokio::test(start_paused = true)]
    async fn a_server_that_could_not_look_for_a_while_takes_itself_for_one_of_several() {
        let neighbours = Neighbours::default();
        assert!(neighbours.may_be(), "nobody has looked yet");
        neighbours.note(Instant::now(), false);
        assert!(!neighbours.may_be());
        advance(ALONE_TIME - Duration::from_millis(1)).await;
        assert!(!neighbours.may_be());
        advance(Duration::from_millis(1)).await;
        assert!(neighbours.may_be(), "one who arrived meanwhile serves by now");
        neighbours.note(Instant::now(), false);
        neighbours.note(Instant::now(), true);
        assert!(neighbours.may_be());
        // A look counts from its beginning: it may have been answered late.
        let looked = Instant::now();
        advance(ALONE_TIME).await;
        neighbours.note(looked, false);
        assert!(neighbours.may_be());
        assert!(LOOK_EVERY * 2 < ALONE_TIME && ALONE_TIME < NOTICE_TIME);
    }
}
