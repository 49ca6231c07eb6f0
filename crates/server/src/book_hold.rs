//! Holds on books: a walk keeps the book of its session in memory from where it is found to where its request is written, and
//! a session that was let go is not found again before it is closed.

use crate::books::Books;
use crate::server_state::ServerState;
use epitome_engine::store::SessionId;
use std::sync::Arc;

/// Keeps the book of a session from being let go, until it is dropped.
pub(crate) struct BookHold {
    state: Arc<ServerState>,
    session: SessionId,
}

impl BookHold {
    /// The hold that [`Books::open`] has taken.
    pub(crate) fn of_opened(state: &Arc<ServerState>, session: SessionId) -> Self {
        Self { state: state.clone(), session }
    }
}

impl Drop for BookHold {
    fn drop(&mut self) {
        self.state.books.release(self.session);
    }
}

/// Sessions on their way out. However the work of closing them ends, they can be opened anew.
pub(crate) struct LeavingSessions<'b> {
    pub(crate) books: &'b Books,
    pub(crate) sessions: Vec<SessionId>,
}

impl Drop for LeavingSessions<'_> {
    fn drop(&mut self) {
        self.sessions.iter().for_each(|session| self.books.closed(*session));
    }
}
