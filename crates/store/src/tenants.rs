//! What is known of who is who: numbers of tenants, and of sessions theirs. Neither changes, so both may be forgotten at any time.

use epitome_engine::store::{SessionId, TenantId};
use std::collections::HashMap;

/// Numbers of tenants, and of sessions theirs, as far as they were needed.
#[derive(Debug, Default)]
pub(crate) struct TenantTable {
    numbers: HashMap<TenantId, i64>,
    sessions: HashMap<SessionId, i64>,
}

/// So many of each are remembered.
const REMEMBERED_MAX: usize = 65_536;

impl TenantTable {
    pub(crate) fn number(&self, tenant: TenantId) -> Option<i64> {
        self.numbers.get(&tenant).copied()
    }

    /// The number of the tenant of a session.
    pub(crate) fn of_session(&self, session: SessionId) -> Option<i64> {
        self.sessions.get(&session).copied()
    }

    pub(crate) fn remember(&mut self, tenant: TenantId, number: i64) {
        if self.numbers.len() >= REMEMBERED_MAX {
            self.numbers.clear();
        }
        self.numbers.insert(tenant, number);
    }

    pub(crate) fn remember_session(&mut self, session: SessionId, tenant: i64) {
        if self.sessions.len() >= REMEMBERED_MAX {
            self.sessions.clear();
        }
        self.sessions.insert(session, tenant);
    }

    pub(crate) fn forget_session(&mut self, session: SessionId) {
        self.sessions.remove(&session);
    }
}
