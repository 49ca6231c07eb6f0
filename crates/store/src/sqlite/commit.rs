//! What is written: sessions made and removed, batches committed.

use super::{number, search};
use crate::batch::{BatchRows, LateText};
use crate::fault::of_sqlite;
use crate::hash::BodyHash;
use crate::live::LiveRow;
use crate::row::EntryKind;
use epitome_core::EntryId;
use epitome_engine::store::{ChainHash, EventPosition, Lease, SessionId, StoreError, TenantId};
use rusqlite::{Connection, OptionalExtension, params};
use std::ops::Range;

/// The number of a tenant; none where nothing is kept for it.
pub(super) fn tenant_number(connection: &Connection, tenant: TenantId) -> Result<Option<i64>, StoreError> {
    connection
        .prepare_cached("SELECT tenant FROM tenants WHERE name = ?1")
        .and_then(|mut statement| statement.query_row([tenant.0], |row| row.get(0)).optional())
        .map_err(of_sqlite)
}

/// The number of a tenant, which is made where nothing is kept for it yet.
pub(super) fn find_or_make_tenant(connection: &Connection, tenant: TenantId) -> Result<i64, StoreError> {
    if let Some(known) = tenant_number(connection, tenant)? {
        return Ok(known);
    }
    connection.execute("INSERT INTO tenants (name) VALUES (?1)", [tenant.0]).map_err(of_sqlite)?;
    Ok(connection.last_insert_rowid())
}

/// A session in which nothing was said, and the number of its tenant.
pub(super) fn create(
    connection: &Connection,
    tenant: TenantId,
    now_ms: i64,
) -> Result<(SessionId, i64), StoreError> {
    let tenant = find_or_make_tenant(connection, tenant)?;
    let session = next_number(connection, "session")?;
    connection
        .prepare_cached(
            "INSERT INTO sessions (tenant, session, created_ms, changed_ms, about) VALUES (?1, ?2, ?3, ?3, x'7b7d')",
        )
        .and_then(|mut statement| statement.execute(params![tenant, session, now_ms]))
        .map_err(of_sqlite)?;
    Ok((SessionId(session as u64), tenant))
}

fn next_number(connection: &Connection, name: &str) -> Result<i64, StoreError> {
    Ok(take_numbers(connection, name, 1)?.start)
}

/// The next numbers, which are given to nobody else.
pub(super) fn take_numbers(
    connection: &Connection,
    name: &str,
    count: i64,
) -> Result<Range<i64>, StoreError> {
    let last: i64 = connection
        .prepare_cached("UPDATE numbers SET value = value + ?2 WHERE name = ?1 RETURNING value")
        .and_then(|mut statement| statement.query_row(params![name, count], |row| row.get(0)))
        .map_err(of_sqlite)?;
    Ok(last - count + 1..last + 1)
}

/// Commits a batch to a session of `expected` entries.
pub(super) fn commit(
    connection: &Connection,
    tenant: i64,
    lease: Lease,
    expected: usize,
    rows: &BatchRows,
) -> Result<EventPosition, StoreError> {
    let session = number(lease.session);
    let grown = connection
        .prepare_cached(
            "UPDATE sessions SET entries = entries + ?5, leaf = coalesce(?6, leaf), changed_ms = coalesce(?7, changed_ms),
                 about = coalesce(?8, about)
             WHERE tenant = ?1 AND session = ?2 AND fence = ?3 AND entries = ?4",
        )
        .and_then(|mut statement| {
            let (added, leaf) = (rows.entries.len() as i64, rows.leaf.map(|leaf| leaf.0));
            let fence = lease.fence as i64;
            statement.execute(params![tenant, session, fence, expected as i64, added, leaf, rows.time_ms, rows.about])
        })
        .map_err(of_sqlite)?;
    if grown == 0 {
        return Err(refusal(connection, tenant, lease, expected)?);
    }
    check(connection, tenant, session, expected, rows)?;
    insert_entries(connection, tenant, session, rows)?;
    insert_bodies(connection, tenant, &rows.bodies)?;
    insert_late(connection, tenant, session, &rows.late)?;
    insert_hashes(connection, tenant, session, &rows.hashes)?;
    insert_file(connection, tenant, session, &rows.file)?;
    for input in &rows.delivered {
        connection
            .prepare_cached("DELETE FROM inputs WHERE tenant = ?1 AND session = ?2 AND number = ?3")
            .and_then(|mut statement| statement.execute(params![tenant, session, input]))
            .map_err(of_sqlite)?;
    }
    insert_events(connection, tenant, session, rows)
}

/// Why a session took no batch.
fn refusal(
    connection: &Connection,
    tenant: i64,
    lease: Lease,
    expected: usize,
) -> Result<StoreError, StoreError> {
    let session = lease.session;
    let found: Option<(i64, i64)> = connection
        .prepare_cached("SELECT fence, entries FROM sessions WHERE tenant = ?1 AND session = ?2")
        .and_then(|mut statement| {
            statement
                .query_row(params![tenant, number(session)], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()
        })
        .map_err(of_sqlite)?;
    Ok(match found {
        None => StoreError::NoSession(session),
        Some((fence, _)) if fence as u64 != lease.fence => StoreError::Fenced(session),
        Some((_, found)) => StoreError::Conflict { session, expected, found: found as usize },
    })
}

/// Refuses entries that cannot stand where they would.
fn check(
    connection: &Connection,
    tenant: i64,
    session: i64,
    expected: usize,
    rows: &BatchRows,
) -> Result<(), StoreError> {
    let mut stored = connection
        .prepare_cached("SELECT kind FROM entries WHERE tenant = ?1 AND session = ?2 AND entry = ?3")
        .map_err(of_sqlite)?;
    for support in rows.supports(expected)? {
        let kind = stored.query_row(params![tenant, session, support.entry.0], |row| row.get(0)).optional();
        support.check(kind.map_err(of_sqlite)?.map(EntryKind::stored).transpose()?)?;
    }
    Ok(())
}

fn insert_entries(
    connection: &Connection,
    tenant: i64,
    session: i64,
    rows: &BatchRows,
) -> Result<(), StoreError> {
    let mut insert = connection
        .prepare_cached(
            "INSERT INTO entries (tenant, session, entry, parent, kind, time_ms, body, said)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )
        .map_err(of_sqlite)?;
    for row in &rows.entries {
        let (parent, kind) = (row.parent.map(|parent| parent.0), row.kind as i64);
        insert
            .execute(params![tenant, session, row.id.0, parent, kind, row.time_ms, row.body, row.said])
            .map_err(of_sqlite)?;
    }
    Ok(())
}

fn insert_bodies(
    connection: &Connection,
    tenant: i64,
    bodies: &[(BodyHash, Vec<u8>)],
) -> Result<(), StoreError> {
    let mut insert = connection
        .prepare_cached(
            "INSERT INTO bodies (tenant, hash, uses, body) VALUES (?1, ?2, 1, ?3)
             ON CONFLICT (tenant, hash) DO UPDATE SET uses = uses + 1",
        )
        .map_err(of_sqlite)?;
    for (hash, body) in bodies {
        insert.execute(params![tenant, hash, body]).map_err(of_sqlite)?;
    }
    Ok(())
}

/// Keeps what was said in entries that were stored without. They are looked for from the first of them on, anew.
fn insert_late(
    connection: &Connection,
    tenant: i64,
    session: i64,
    late: &[LateText],
) -> Result<(), StoreError> {
    let Some(first) = late.first() else { return Ok(()) };
    let mut insert = connection
        .prepare_cached(
            "UPDATE entries SET said = ?4
             WHERE tenant = ?1 AND session = ?2 AND entry = ?3 AND kind = 0 AND said IS NULL",
        )
        .map_err(of_sqlite)?;
    for LateText { id, said } in late {
        let is_new = insert.execute(params![tenant, session, id.0, said.column]).map_err(of_sqlite)? > 0;
        if let Some(body) = said.body.as_ref().filter(|_| is_new) {
            insert_bodies(connection, tenant, std::slice::from_ref(body))?;
        }
    }
    search::look_anew(connection, tenant, session, first.id)
}

/// A hash leads to where it was said first: what is known is gone past, and not said again.
fn insert_hashes(
    connection: &Connection,
    tenant: i64,
    session: i64,
    hashes: &[(ChainHash, EntryId)],
) -> Result<(), StoreError> {
    let mut insert = connection
        .prepare_cached(
            "INSERT INTO chains (tenant, hash, session, entry) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
        )
        .map_err(of_sqlite)?;
    for (hash, entry) in hashes {
        insert.execute(params![tenant, hash.0, session, entry.0]).map_err(of_sqlite)?;
    }
    Ok(())
}

fn insert_file(
    connection: &Connection,
    tenant: i64,
    session: i64,
    chunks: &[Vec<u8>],
) -> Result<(), StoreError> {
    let mut insert = connection
        .prepare_cached("INSERT INTO files (tenant, session, chunk, body) VALUES (?1, ?2, ?3, ?4)")
        .map_err(of_sqlite)?;
    for (chunk, body) in chunks.iter().enumerate() {
        insert.execute(params![tenant, session, chunk as i64, body]).map_err(of_sqlite)?;
    }
    Ok(())
}

/// Keeps what is live of a session, where nobody else has had it since.
pub(super) fn keep_live(
    connection: &Connection,
    tenant: i64,
    lease: Lease,
    row: &LiveRow,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO live (tenant, session, entries, body, sizes)
             SELECT tenant, session, ?4, ?5, ?6 FROM sessions
             WHERE tenant = ?1 AND session = ?2 AND fence = ?3 AND entries >= ?4
             ON CONFLICT (tenant, session) DO UPDATE SET entries = excluded.entries, body = excluded.body,
                 sizes = coalesce(excluded.sizes, sizes)",
        )
        .and_then(|mut statement| {
            let (session, fence) = (number(lease.session), lease.fence as i64);
            statement.execute(params![tenant, session, fence, row.entries, row.body, row.sizes])
        })
        .map(drop)
        .map_err(of_sqlite)
}

/// Keeps an input that waits to be delivered; its number.
pub(super) fn enqueue(
    connection: &Connection,
    tenant: i64,
    session: SessionId,
    input: &[u8],
) -> Result<u64, StoreError> {
    let number: i64 = connection
        .prepare_cached(
            "UPDATE sessions SET inputs = inputs + 1 WHERE tenant = ?1 AND session = ?2 RETURNING inputs",
        )
        .and_then(|mut statement| {
            statement.query_row(params![tenant, number(session)], |row| row.get(0)).optional()
        })
        .map_err(of_sqlite)?
        .ok_or(StoreError::NoSession(session))?;
    connection
        .prepare_cached("INSERT INTO inputs (tenant, session, number, body) VALUES (?1, ?2, ?3, ?4)")
        .and_then(|mut statement| statement.execute(params![tenant, super::number(session), number, input]))
        .map_err(of_sqlite)?;
    Ok(number as u64)
}

/// Keeps a value under a name, or forgets it.
pub(super) fn keep_memo(connection: &Connection, name: &str, value: Option<&[u8]>) -> Result<(), StoreError> {
    let kept = match value {
        Some(value) => connection.execute(
            "INSERT INTO memos (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            params![name, value],
        ),
        None => connection.execute("DELETE FROM memos WHERE name = ?1", [name]),
    };
    kept.map(drop).map_err(of_sqlite)
}

fn insert_events(
    connection: &Connection,
    tenant: i64,
    session: i64,
    rows: &BatchRows,
) -> Result<EventPosition, StoreError> {
    if rows.events.is_empty() {
        let last: i64 = connection
            .prepare_cached("SELECT value FROM numbers WHERE name = 'commit'")
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
            .map_err(of_sqlite)?;
        return Ok(EventPosition { commit: last as u64, index: u32::MAX });
    }
    let commit = next_number(connection, "commit")?;
    let mut insert = connection
        .prepare_cached(
            "INSERT INTO events (tenant, session, number, place, time_ms, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )
        .map_err(of_sqlite)?;
    let mut index = 0;
    for event in &rows.events {
        index += 1;
        insert.execute(params![tenant, session, commit, index, rows.time_ms, event]).map_err(of_sqlite)?;
    }
    Ok(EventPosition { commit: commit as u64, index })
}

/// Forgets a session, and what was said in no other.
pub(super) fn remove(connection: &Connection, tenant: i64, session: SessionId) -> Result<(), StoreError> {
    search::forget(connection, tenant, session)?;
    let key = params![tenant, number(session)];
    // A hash in a row is its kind and the hash itself.
    let statements = [
        "UPDATE bodies SET uses = uses - used.times FROM (
             SELECT substr(said, 2) AS hash, count(*) AS times FROM entries
             WHERE tenant = ?1 AND session = ?2 AND substr(said, 1, 1) = x'ff' GROUP BY 1) AS used
         WHERE bodies.tenant = ?1 AND bodies.hash = used.hash",
        "DELETE FROM bodies WHERE tenant = ?1 AND uses <= 0 AND hash IN (
             SELECT substr(said, 2) FROM entries WHERE tenant = ?1 AND session = ?2 AND substr(said, 1, 1) = x'ff')",
        "DELETE FROM live WHERE tenant = ?1 AND session = ?2",
        "DELETE FROM files WHERE tenant = ?1 AND session = ?2",
        "DELETE FROM inputs WHERE tenant = ?1 AND session = ?2",
        "DELETE FROM chains WHERE tenant = ?1 AND session = ?2",
        "DELETE FROM events WHERE tenant = ?1 AND session = ?2",
        "DELETE FROM entries WHERE tenant = ?1 AND session = ?2",
    ];
    for statement in statements {
        connection.execute(statement, key).map_err(of_sqlite)?;
    }
    connection
        .execute("DELETE FROM memos WHERE substr(name, 1, length(?1)) = ?1", [session.memo_name("")])
        .map_err(of_sqlite)?;
    match connection
        .execute("DELETE FROM sessions WHERE tenant = ?1 AND session = ?2", key)
        .map_err(of_sqlite)?
    {
        0 => Err(StoreError::NoSession(session)),
        _ => Ok(()),
    }
}
