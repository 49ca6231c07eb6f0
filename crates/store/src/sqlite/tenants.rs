//! Numbers of tenants, and of sessions theirs: looked up in the tables, and remembered so that they need not be asked again.

use super::{commit, number};
use crate::fault::of_sqlite;
use crate::tenants::TenantTable;
use epitome_engine::store::{SessionId, StoreError, TenantId};
use rusqlite::{Connection, OptionalExtension};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Who is who, for all threads.
#[derive(Debug, Default)]
pub(super) struct TenantNumbers(Mutex<TenantTable>);

impl TenantNumbers {
    fn table(&self) -> MutexGuard<'_, TenantTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a tenant, where it is remembered.
    pub(super) fn number(&self, tenant: TenantId) -> Option<i64> {
        self.table().number(tenant)
    }

    /// The number of the tenant of a session, where it is remembered.
    pub(super) fn of_session(&self, session: SessionId) -> Option<i64> {
        self.table().of_session(session)
    }

    /// The number of a tenant; none where nothing is kept for it.
    pub(super) fn find(&self, connection: &Connection, tenant: TenantId) -> Result<Option<i64>, StoreError> {
        if let Some(number) = self.number(tenant) {
            return Ok(Some(number));
        }
        let found = commit::tenant_number(connection, tenant)?;
        if let Some(number) = found {
            self.remember(tenant, number);
        }
        Ok(found)
    }

    /// The number of the tenant of a session that is in the file.
    pub(super) fn find_of_session(
        &self,
        connection: &Connection,
        session: SessionId,
    ) -> Result<i64, StoreError> {
        let found: Option<i64> = connection
            .prepare_cached("SELECT tenant FROM sessions WHERE session = ?1")
            .and_then(|mut statement| statement.query_row([number(session)], |row| row.get(0)).optional())
            .map_err(of_sqlite)?;
        let found = found.ok_or(StoreError::NoSession(session))?;
        self.remember_session(session, found);
        Ok(found)
    }

    pub(super) fn remember(&self, tenant: TenantId, number: i64) {
        self.table().remember(tenant, number);
    }

    pub(super) fn remember_session(&self, session: SessionId, tenant: i64) {
        self.table().remember_session(session, tenant);
    }

    pub(super) fn forget_session(&self, session: SessionId) {
        self.table().forget_session(session);
    }
}
