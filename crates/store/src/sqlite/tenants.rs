//! Numbers of tenants, and of sessions theirs: looked up in the tables, and remembered so that they need not be asked again.

use super::{commit, number};
use crate::fault::of_sqlite;
use epitome_engine::store::{SessionId, StoreError, TenantId};
use rusqlite::{Connection, OptionalExtension};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Who is who. Neither number ever changes, so both may be forgotten at any time.
#[derive(Debug, Default)]
pub(super) struct TenantNumbers(Mutex<TenantTable>);

#[derive(Debug, Default)]
struct TenantTable {
    numbers: HashMap<TenantId, i64>,
    sessions: HashMap<SessionId, i64>,
}

/// So many of each are remembered.
const REMEMBERED_MAX: usize = 65_536;

impl TenantNumbers {
    fn table(&self) -> MutexGuard<'_, TenantTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a tenant, where it is remembered.
    pub(super) fn remembered(&self, tenant: TenantId) -> Option<i64> {
        self.table().numbers.get(&tenant).copied()
    }

    /// The number of the tenant of a session, where it is remembered.
    pub(super) fn remembered_of(&self, session: SessionId) -> Option<i64> {
        self.table().sessions.get(&session).copied()
    }

    /// The number of a tenant; none where nothing is kept for it.
    pub(super) fn find(&self, connection: &Connection, tenant: TenantId) -> Result<Option<i64>, StoreError> {
        if let Some(number) = self.remembered(tenant) {
            return Ok(Some(number));
        }
        let found = commit::tenant_number(connection, tenant)?;
        if let Some(number) = found {
            self.remember(tenant, number);
        }
        Ok(found)
    }

    /// The number of the tenant of a session that is in the file.
    pub(super) fn find_of(&self, connection: &Connection, session: SessionId) -> Result<i64, StoreError> {
        let found: Option<i64> = connection
            .prepare_cached("SELECT tenant FROM sessions WHERE session = ?1")
            .and_then(|mut statement| statement.query_row([number(session)], |row| row.get(0)).optional())
            .map_err(of_sqlite)?;
        let found = found.ok_or(StoreError::NoSession(session))?;
        self.remember_of(session, found);
        Ok(found)
    }

    pub(super) fn remember(&self, tenant: TenantId, number: i64) {
        let mut table = self.table();
        if table.numbers.len() >= REMEMBERED_MAX {
            table.numbers.clear();
        }
        table.numbers.insert(tenant, number);
    }

    pub(super) fn remember_of(&self, session: SessionId, tenant: i64) {
        let mut table = self.table();
        if table.sessions.len() >= REMEMBERED_MAX {
            table.sessions.clear();
        }
        table.sessions.insert(session, tenant);
    }

    pub(super) fn forget_of(&self, session: SessionId) {
        self.table().sessions.remove(&session);
    }
}
