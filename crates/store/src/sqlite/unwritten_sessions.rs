//! Sessions that were begun and are not in the file yet: each has its number and its holder, and comes into the file with whatever is
//! written to it first. To write it by itself would be one more transaction in front of the first request of every conversation.

use super::commit::{self, take_numbers};
use super::holder::now_ms;
use super::{SqliteStore, number};
use crate::fault::of_sqlite;
use epitome_engine::BoxFuture;
use epitome_engine::store::{Durability, Lease, SessionId, StoreError, TenantId};
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
pub(super) struct UnwrittenSessions(Mutex<UnwrittenTable>);

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
    /// The number of the process that has begun it, as long as that holds it.
    pub(super) holder: Option<i64>,
    /// When that was.
    pub(super) created_ms: i64,
}

impl UnwrittenSessions {
    fn table(&self) -> MutexGuard<'_, UnwrittenTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a session, where there is a number for it.
    pub(super) fn begin(&self, session: UnwrittenSession) -> Option<Lease> {
        let mut table = self.table();
        let number = table.numbers.next()?;
        Some(table.enter(number, session))
    }

    /// Whether there is a number for a session.
    pub(super) fn has_numbers(&self) -> bool {
        !self.table().numbers.is_empty()
    }

    /// Begins a session with the first of some new numbers, the others of which are for those that are begun next; or, where none are new,
    /// with one that is left.
    pub(super) fn begin_with(&self, mut ahead: Range<i64>, session: UnwrittenSession) -> Option<Lease> {
        let mut table = self.table();
        let number = ahead.next();
        // Where two have taken numbers at once, those of one are not given.
        if table.numbers.is_empty() {
            table.numbers = ahead;
        }
        let number = number.or_else(|| table.numbers.next())?;
        Some(table.enter(number, session))
    }

    /// One of them is given back: whoever asks for it next has it, wherever they are.
    pub(super) fn let_go(&self, session: SessionId) {
        if let Some(unwritten) = self.table().sessions.get_mut(&session) {
            unwritten.holder = None;
        }
    }

    /// The number of the tenant of one of them.
    pub(super) fn tenant(&self, session: SessionId) -> Option<i64> {
        self.table().sessions.get(&session).map(|unwritten| unwritten.tenant)
    }

    /// Writes a session that is one of them. It stays one until that is known to be in the file.
    pub(super) fn write(&self, connection: &Connection, session: SessionId) -> Result<(), StoreError> {
        let Some(unwritten) = self.table().sessions.get(&session).copied() else { return Ok(()) };
        let UnwrittenSession { tenant, holder, created_ms } = unwritten;
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

impl SqliteStore {
    /// Begins a session of which nothing is written yet, where this process has a number for it.
    pub(super) fn begin_at_once(&self, tenant: TenantId) -> Option<Lease> {
        let number = self.tenants.number(tenant)?;
        if !self.holder.is_sure() {
            return None;
        }
        let lease = self.unwritten.begin(self.new_session(number))?;
        self.holder.keep(lease);
        Some(lease)
    }

    fn new_session(&self, tenant: i64) -> UnwrittenSession {
        UnwrittenSession { tenant, holder: Some(self.holder.number()), created_ms: now_ms() }
    }

    /// Makes a tenant known and this process a holder, and takes numbers for new sessions where there are none.
    fn make_ready(
        &self,
        tenant: TenantId,
        has_numbers: bool,
    ) -> BoxFuture<'static, Result<(i64, Range<i64>), StoreError>> {
        let holder = self.holder.clone();
        self.writer.write(Durability::System, move |connection| {
            if !holder.is_sure() {
                holder.renew(connection)?;
            }
            let ahead = if has_numbers { Range::default() } else { take_numbers_ahead(connection)? };
            Ok((commit::find_or_make_tenant(connection, tenant)?, ahead))
        })
    }

    /// Begins a session for whose tenant or number the file must be written first.
    pub(super) async fn begin_session(&self, tenant: TenantId) -> Result<Lease, StoreError> {
        let (number, ahead) = self.make_ready(tenant, self.unwritten.has_numbers()).await?;
        self.tenants.remember(tenant, number);
        let lease = match self.unwritten.begin_with(ahead, self.new_session(number)) {
            Some(lease) => lease,
            // Others have begun sessions with the last of them meanwhile.
            None => {
                let (_, ahead) = self.make_ready(tenant, false).await?;
                let lease = self.unwritten.begin_with(ahead, self.new_session(number));
                lease.expect("there is a first of the numbers that were taken")
            }
        };
        self.holder.keep(lease);
        Ok(lease)
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
