//! Sessions that were begun and are not in the file yet: each has its number and its holder, and comes into the file with whatever is
//! written to it first. To write it by itself would be one more transaction in front of the first request of every conversation.

use super::commit::take_numbers;
use super::number;
use crate::fault::of_sqlite;
use epitome_engine::store::{Lease, SessionId, StoreError};
use rusqlite::{Connection, params};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many numbers are taken at once, for sessions that are begun next; what is left of them at the end is given back. A process
/// that is killed leaves a gap of at most as many, which people see in the names of sessions.
const NUMBERS_AHEAD: i64 = 16;

/// The fence of whoever begins a session.
const FIRST_FENCE: u64 = 1;

/// Sessions that wait for what is written to them first. One to which nothing ever is stays here until the process ends: a few bytes.
#[derive(Debug, Default)]
pub(super) struct BegunSessions(Mutex<UnwrittenTable>);

#[derive(Debug, Default)]
struct UnwrittenTable {
    /// Numbers that are this process's to give.
    numbers: Range<i64>,
    sessions: HashMap<SessionId, UnwrittenSession>,
}

/// What is known of a session without a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnwrittenSession {
    /// The number of its tenant.
    pub(super) tenant: i64,
    /// The number of the process that has begun it.
    pub(super) holder: i64,
    /// When that was.
    pub(super) created_ms: i64,
}

impl BegunSessions {
    fn table(&self) -> MutexGuard<'_, UnwrittenTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a session, where there is a number for it.
    pub(super) fn begin(&self, session: UnwrittenSession) -> Option<Lease> {
        let mut table = self.table();
        let number = table.numbers.next()?;
        Some(table.enter(number, session))
    }

    /// Begins a session with the first of some new numbers; the others are for those that are begun next.
    pub(super) fn begin_with(&self, mut numbers: Range<i64>, session: UnwrittenSession) -> Option<Lease> {
        let number = numbers.next()?;
        let mut table = self.table();
        table.numbers = numbers;
        Some(table.enter(number, session))
    }

    /// The number of the tenant of one of them.
    pub(super) fn tenant(&self, session: SessionId) -> Option<i64> {
        self.table().sessions.get(&session).map(|begun| begun.tenant)
    }

    /// Writes a session that is one of them. It stays one until that is known to be in the file.
    pub(super) fn write(&self, connection: &Connection, session: SessionId) -> Result<(), StoreError> {
        let Some(begun) = self.table().sessions.get(&session).copied() else { return Ok(()) };
        let UnwrittenSession { tenant, holder, created_ms } = begun;
        connection
            .prepare_cached(
                "INSERT INTO sessions (tenant, session, created_ms, changed_ms, about, fence, holder)
                 VALUES (?1, ?2, ?3, ?3, x'7b7d', ?4, ?5) ON CONFLICT DO NOTHING",
            )
            .and_then(|mut insert| {
                insert.execute(params![tenant, number(session), created_ms, FIRST_FENCE as i64, holder])
            })
            .map(drop)
            .map_err(of_sqlite)
    }

    /// One of them is in the file, or will never be.
    pub(super) fn forget(&self, session: SessionId) {
        self.table().sessions.remove(&session);
    }

    /// Gives the numbers back that no session has, unless another process has taken further ones since.
    pub(super) fn give_numbers_back(&self, connection: &Connection) -> Result<(), StoreError> {
        let Range { start, end } = std::mem::take(&mut self.table().numbers);
        connection
            .execute(
                "UPDATE numbers SET value = ?1 WHERE name = 'session' AND value = ?2 AND ?1 < ?2",
                params![start - 1, end - 1],
            )
            .map(drop)
            .map_err(of_sqlite)
    }
}

impl UnwrittenTable {
    fn enter(&mut self, number: i64, session: UnwrittenSession) -> Lease {
        let id = SessionId(number as u64);
        self.sessions.insert(id, session);
        Lease { session: id, fence: FIRST_FENCE }
    }
}

/// Takes numbers for sessions that are begun next.
pub(super) fn take_numbers_ahead(connection: &Connection) -> Result<Range<i64>, StoreError> {
    take_numbers(connection, "session", NUMBERS_AHEAD)
}
