//! Sessions that were begun and are not in the file yet: each has its number and its holder, and comes into the file with whatever is
//! written to it first. To write it by itself would be one more transaction in front of the first request of every conversation.

use super::commit::take_numbers;
use super::number;
use crate::fault::of_sqlite;
use epitome_engine::store::{SessionId, StoreError};
use rusqlite::{Connection, params};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many numbers are taken at once, for sessions that are begun next; what is left of them at the end is given back.
const NUMBERS_AHEAD: i64 = 16;

/// The fence of whoever begins a session.
pub(super) const FIRST_FENCE: u64 = 1;

/// Sessions that wait for what is written to them first.
#[derive(Debug, Default)]
pub(super) struct BegunSessions(Mutex<Begun>);

#[derive(Debug, Default)]
struct Begun {
    /// Numbers that are this process's to give.
    numbers: Range<i64>,
    sessions: HashMap<SessionId, BegunSession>,
}

#[derive(Clone, Copy, Debug)]
struct BegunSession {
    tenant: i64,
    holder: i64,
    created_ms: i64,
}

impl BegunSessions {
    fn begun(&self) -> MutexGuard<'_, Begun> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a session of a tenant, where there is a number for it.
    pub(super) fn begin(&self, tenant: i64, holder: i64, created_ms: i64) -> Option<SessionId> {
        let mut begun = self.begun();
        let session = SessionId(begun.numbers.next()? as u64);
        begun.sessions.insert(session, BegunSession { tenant, holder, created_ms });
        Some(session)
    }

    /// The number of the tenant of one of them.
    pub(super) fn tenant(&self, session: SessionId) -> Option<i64> {
        self.begun().sessions.get(&session).map(|begun| begun.tenant)
    }

    /// Writes a session that is one of them. It stays one until that is known to be in the file.
    pub(super) fn write(&self, connection: &Connection, session: SessionId) -> Result<(), StoreError> {
        let Some(begun) = self.begun().sessions.get(&session).copied() else { return Ok(()) };
        let BegunSession { tenant, holder, created_ms } = begun;
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
        self.begun().sessions.remove(&session);
    }

    /// Has numbers for sessions that are begun next. What was taken before is given to nobody.
    pub(super) fn keep_numbers(&self, numbers: Range<i64>) {
        self.begun().numbers = numbers;
    }

    /// Gives back what nobody has taken behind.
    pub(super) fn give_numbers_back(&self, connection: &Connection) -> Result<(), StoreError> {
        let Range { start, end } = std::mem::take(&mut self.begun().numbers);
        connection
            .execute(
                "UPDATE numbers SET value = ?1 WHERE name = 'session' AND value = ?2 AND ?1 < ?2",
                params![start - 1, end - 1],
            )
            .map(drop)
            .map_err(of_sqlite)
    }
}

/// Numbers for sessions that are begun next.
pub(super) fn numbers_ahead(connection: &Connection) -> Result<Range<i64>, StoreError> {
    take_numbers(connection, "session", NUMBERS_AHEAD)
}
