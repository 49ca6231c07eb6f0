//! Leases, as a process holds them: it says from time to time that it lives, in one row for all its sessions, and they are
//! its own while it does. A process that was killed is known by its number and start, so that nobody waits for it.

use super::number;
use crate::fault::of_sqlite;
use epitome_engine::store::{Lease, SessionId, StoreError};
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A process that has not said for so long that it lives holds nothing any more.
const LEASE_TIME: Duration = Duration::from_secs(10);
/// It says so this often: two may go amiss.
pub(super) const RENEWAL_TIME: Duration = Duration::from_secs(3);

/// The number of no process.
const NOBODY: i64 = -1;

/// This process among those that hold leases.
#[derive(Debug)]
pub(super) struct Holder {
    number: i64,
    /// Until when it may be sure of what it holds.
    until: Mutex<Instant>,
    /// The fences of the leases that somebody of this process has.
    fences: Mutex<HashMap<SessionId, u64>>,
}

impl Holder {
    /// Enters this process; those that are known to be gone are struck out.
    pub(super) fn enter(connection: &Connection) -> Result<Self, StoreError> {
        strike_gone(connection)?;
        let until = Instant::now() + LEASE_TIME;
        connection
            .execute(
                "INSERT INTO holders (process, until_ms) VALUES (?1, ?2)",
                params![this_process(), lease_end()],
            )
            .map_err(of_sqlite)?;
        Ok(Self {
            number: connection.last_insert_rowid(),
            until: Mutex::new(until),
            fences: Mutex::default(),
        })
    }

    /// A process that only looks: it is entered nowhere, and holds nothing.
    pub(super) fn looking() -> Self {
        Self { number: NOBODY, until: Mutex::new(Instant::now()), fences: Mutex::default() }
    }

    /// Whether what it holds is certain to be its own still.
    pub(super) fn is_sure(&self) -> bool {
        Instant::now() + RENEWAL_TIME < *self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of a lease that is its own.
    pub(super) fn keep(&self, lease: Lease) {
        self.fences().insert(lease.session, lease.fence);
    }

    /// Whether somebody of this process has a lease, as far as this process knows.
    pub(super) fn has(&self, lease: Lease) -> bool {
        self.fences().get(&lease.session) == Some(&lease.fence)
    }

    /// As which it is entered.
    pub(super) fn number(&self) -> i64 {
        self.number
    }

    /// Takes note that a lease is not its own any more, whether or not that can be written down.
    pub(super) fn lose(&self, lease: Lease) {
        let mut fences = self.fences();
        if fences.get(&lease.session) == Some(&lease.fence) {
            fences.remove(&lease.session);
        }
    }

    fn fences(&self) -> MutexGuard<'_, HashMap<SessionId, u64>> {
        self.fences.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that it lives.
    pub(super) fn renew(&self, connection: &Connection) -> Result<(), StoreError> {
        let until = Instant::now() + LEASE_TIME;
        // Others may have struck it out while it slept; its sessions are then as free as anybody's.
        connection
            .execute(
                "INSERT INTO holders (holder, process, until_ms) VALUES (?1, ?2, ?3)
                 ON CONFLICT (holder) DO UPDATE SET until_ms = excluded.until_ms",
                params![self.number, this_process(), lease_end()],
            )
            .map_err(of_sqlite)?;
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = until;
        Ok(())
    }

    /// Whether another process says that it lives.
    pub(super) fn has_others(&self, connection: &Connection) -> Result<bool, StoreError> {
        connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM holders WHERE holder <> ?1 AND until_ms > ?2)")
            .and_then(|mut statement| statement.query_row(params![self.number, now_ms()], |row| row.get(0)))
            .map_err(of_sqlite)
    }

    /// Gives everything back.
    pub(super) fn leave(&self, connection: &Connection) -> Result<(), StoreError> {
        connection.execute("DELETE FROM holders WHERE holder = ?1", [self.number]).map_err(of_sqlite)?;
        Ok(())
    }
}

/// Now, as tables have it.
pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn lease_end() -> i64 {
    now_ms().saturating_add(LEASE_TIME.as_millis() as i64)
}

/// Strikes out processes that are not there any more.
pub(super) fn strike_gone(connection: &Connection) -> Result<(), StoreError> {
    let mut known = connection.prepare("SELECT holder, process FROM holders").map_err(of_sqlite)?;
    let rows = known.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(of_sqlite)?;
    let all: Vec<(i64, String)> = rows.collect::<Result<_, _>>().map_err(of_sqlite)?;
    for (holder, process) in all {
        if is_gone(&process) {
            connection.execute("DELETE FROM holders WHERE holder = ?1", [holder]).map_err(of_sqlite)?;
        }
    }
    Ok(())
}

/// The fence of a lease that was free: its session had no holder, or one that is gone, or this one, of which nobody has that
/// lease any more: it could not be given back on a disk that was full.
pub(super) fn take_lease(
    connection: &Connection,
    tenant: i64,
    session: SessionId,
    holder: &Holder,
) -> Result<Option<u64>, StoreError> {
    let known = holder.fences().get(&session).map_or(-1, |&fence| fence as i64);
    let taken: Option<i64> = connection
        .prepare_cached(
            "UPDATE sessions SET fence = fence + 1, holder = ?3
             WHERE tenant = ?1 AND session = ?2 AND (holder IS NULL OR (holder = ?3 AND fence <> ?5) OR NOT EXISTS (
                 SELECT 1 FROM holders WHERE holders.holder = sessions.holder AND until_ms > ?4))
             RETURNING fence",
        )
        .and_then(|mut statement| {
            let values = params![tenant, number(session), holder.number, now_ms(), known];
            statement.query_row(values, |row| row.get(0)).optional()
        })
        .map_err(of_sqlite)?;
    let taken = taken.map(|fence| fence as u64);
    if let Some(fence) = taken {
        holder.fences().insert(session, fence);
    }
    Ok(taken)
}

/// Gives a lease back, where nobody else has taken it meanwhile.
pub(super) fn give_back(connection: &Connection, tenant: i64, lease: Lease) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "UPDATE sessions SET holder = NULL, fence = fence + 1
             WHERE tenant = ?1 AND session = ?2 AND fence = ?3",
        )
        .and_then(|mut statement| {
            statement.execute(params![tenant, number(lease.session), lease.fence as i64])
        })
        .map(drop)
        .map_err(of_sqlite)
}

/// This process, so that it is not taken for another of the same number: with the start of both.
fn this_process() -> String {
    let number = std::process::id();
    match (boot(), start(number)) {
        (Some(boot), Some(start)) => format!("{boot} {number} {start}"),
        // Where nobody can tell, time does.
        (None, _) | (_, None) => String::new(),
    }
}

/// Whether a process has certainly ended.
fn is_gone(process: &str) -> bool {
    let mut parts = process.split(' ');
    let (Some(then), Some(number), Some(started)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let Some(now) = boot() else { return false };
    let running = number.parse().ok().and_then(start);
    now != then || running.is_none_or(|running| running != started)
}

/// The start of this machine.
fn boot() -> Option<String> {
    Some(std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

/// When a process was started, in the machine's own count: the field behind its name and nineteen others.
fn start(process: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, behind) = stat.rsplit_once(')')?;
    behind.split_whitespace().nth(19).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{is_gone, this_process};

    #[test]
    fn a_process_is_gone_when_it_has_ended_and_not_before() {
        let own = this_process();
        assert!(!is_gone(&own), "{own}");
        let mut child = std::process::Command::new("true").spawn().expect("it can be begun");
        child.wait().expect("it ends");
        let parts: Vec<&str> = own.split(' ').collect();
        let [boot, number, start] = parts[..] else { return };
        assert!(is_gone(&format!("{boot} {} {start}", child.id())), "it has ended");
        assert!(is_gone(&format!("{boot} {number} 1")), "another process has that number now");
        assert!(is_gone(&format!("another-boot {number} {start}")), "the machine was started anew");
        assert!(!is_gone(""), "nobody can tell");
    }
}
