//! Numbers of tenants, and of sessions theirs, remembered so that tables need not be asked.

use epitome_engine::store::{SessionId, TenantId};
use std::collections::HashMap;

/// What is known of who is who. Neither changes, so both may be forgotten at any time.
#[derive(Debug, Default)]
pub(super) struct TenantTable {
    pub(super) numbers: HashMap<TenantId, i64>,
    pub(super) sessions: HashMap<SessionId, i64>,
}

/// So many sessions are remembered by their tenant.
const TENANTS_MAX: usize = 65_536;

impl TenantTable {
    pub(super) fn remember(&mut self, tenant: TenantId, number: i64) {
        if self.numbers.len() >= TENANTS_MAX {
            self.numbers.clear();
        }
        self.numbers.insert(tenant, number);
    }

    pub(super) fn remember_session(&mut self, session: SessionId, tenant: i64) {
        if self.sessions.len() >= TENANTS_MAX {
            self.sessions.clear();
        }
        self.sessions.insert(session, tenant);
    }
}
