//! The file as people look at it: lists, entries with their times, the file a session came from, figures, and what is wrong.

use super::holder::now_ms;
use super::{SqliteStore, number, read, ready, schema};
use crate::fault::of_sqlite;
use crate::packed::unpack;
use crate::row::{self, EntryKind};
use crate::session_store::{
    ListedSession, SessionFilter, SessionStore, StoreFigures, StoreProblem, StoredEntry,
};
use epitome_core::EntryId;
use epitome_engine::BoxFuture;
use epitome_engine::store::{SessionId, StoreError};
use rusqlite::{Connection, Row, params};

impl SessionStore for SqliteStore {
    fn place(&self) -> String {
        format!("sqlite:{}", self.readers.path.display())
    }

    fn chain_key(&self) -> [u8; 32] {
        self.secret.chain_key()
    }

    fn list<'a>(
        &'a self,
        filter: &'a SessionFilter,
    ) -> BoxFuture<'a, Result<Vec<ListedSession>, StoreError>> {
        ready(self.readers.read(|connection| {
            let tenant = match filter.tenant {
                None => None,
                Some(tenant) => match self.tenants.find(connection, tenant)? {
                    Some(number) => Some(number),
                    None => return Ok(Vec::new()),
                },
            };
            list(connection, tenant, filter)
        }))
    }

    fn entries(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<StoredEntry>, StoreError>> {
        ready(
            self.readers
                .read(|connection| entries(connection, self.tenant_of(connection, session)?, session)),
        )
    }

    fn file(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>> {
        ready(self.readers.read(|connection| file(connection, self.tenant_of(connection, session)?, session)))
    }

    fn unkept(&self, session: Option<SessionId>) -> BoxFuture<'_, Result<u64, StoreError>> {
        ready(self.readers.read(|connection| unkept(connection, session)))
    }

    fn figures(&self) -> BoxFuture<'_, Result<StoreFigures, StoreError>> {
        ready(self.readers.read(figures))
    }

    fn session_bytes(&self, session: SessionId) -> BoxFuture<'_, Result<u64, StoreError>> {
        ready(
            self.readers
                .read(|connection| session_bytes(connection, self.tenant_of(connection, session)?, session)),
        )
    }

    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.leave()
    }

    fn check(&self) -> BoxFuture<'_, Result<Vec<StoreProblem>, StoreError>> {
        ready(self.readers.read(check))
    }
}

fn list(
    connection: &Connection,
    tenant: Option<i64>,
    filter: &SessionFilter,
) -> Result<Vec<ListedSession>, StoreError> {
    let mut statement = connection
        .prepare_cached(
            "SELECT session, entries, leaf, created_ms, changed_ms, about,
                 (SELECT count(*) FROM entries WHERE entries.tenant = sessions.tenant
                     AND entries.session = sessions.session AND kind IN (2, 3)),
                 EXISTS (SELECT 1 FROM holders WHERE holders.holder = sessions.holder AND until_ms > ?4)
             FROM sessions
             WHERE (?1 IS NULL OR tenant = ?1) AND (?2 IS NULL OR session = ?2)
             ORDER BY changed_ms DESC, session DESC LIMIT ?3",
        )
        .map_err(of_sqlite)?;
    let limit = filter.limit.map_or(-1, |limit| limit as i64);
    let mut rows =
        statement.query(params![tenant, filter.session.map(number), limit, now_ms()]).map_err(of_sqlite)?;
    let mut listed = Vec::new();
    while let Some(row) = rows.next().map_err(of_sqlite)? {
        listed.push(listed_session(row)?);
    }
    Ok(listed)
}

fn listed_session(row: &Row<'_>) -> Result<ListedSession, StoreError> {
    let about: Vec<u8> = row.get(5).map_err(of_sqlite)?;
    let about = row::parsed(&about)?;
    let listed = |row: &Row<'_>| -> rusqlite::Result<ListedSession> {
        Ok(ListedSession {
            session: SessionId(row.get::<_, i64>(0)? as u64),
            entries: row.get::<_, i64>(1)? as usize,
            leaf: row.get::<_, Option<u32>>(2)?.map(EntryId),
            created_ms: row.get::<_, i64>(3)? as u64,
            changed_ms: row.get::<_, i64>(4)? as u64,
            passes: row.get::<_, i64>(6)? as usize,
            is_held: row.get(7)?,
            about,
        })
    };
    listed(row).map_err(of_sqlite)
}

fn entries(connection: &Connection, tenant: i64, session: SessionId) -> Result<Vec<StoredEntry>, StoreError> {
    let mut statement = connection
        .prepare_cached(
            "SELECT entry, parent, time_ms, kind, body FROM entries
             WHERE tenant = ?1 AND session = ?2 ORDER BY entry",
        )
        .map_err(of_sqlite)?;
    let mut rows = statement.query(params![tenant, number(session)]).map_err(of_sqlite)?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next().map_err(of_sqlite)? {
        entries.push(entry(row)?);
    }
    Ok(entries)
}

fn entry(row: &Row<'_>) -> Result<StoredEntry, StoreError> {
    let (kind, body): (i64, Vec<u8>) = (row.get(3).map_err(of_sqlite)?, row.get(4).map_err(of_sqlite)?);
    let entry = row::read(EntryKind::stored(kind)?, &body)?;
    let stored = |row: &Row<'_>| -> rusqlite::Result<StoredEntry> {
        Ok(StoredEntry {
            id: EntryId(row.get(0)?),
            parent: row.get::<_, Option<u32>>(1)?.map(EntryId),
            time_ms: row.get::<_, Option<i64>>(2)?.map(|time| time as u64),
            entry,
        })
    };
    stored(row).map_err(of_sqlite)
}

fn file(connection: &Connection, tenant: i64, session: SessionId) -> Result<Option<Vec<u8>>, StoreError> {
    let mut statement = connection
        .prepare_cached("SELECT body FROM files WHERE tenant = ?1 AND session = ?2 ORDER BY chunk")
        .map_err(of_sqlite)?;
    let rows = statement
        .query_map(params![tenant, number(session)], |row| row.get::<_, Vec<u8>>(0))
        .map_err(of_sqlite)?;
    let mut file = None;
    for chunk in rows {
        file.get_or_insert_with(Vec::new).extend(unpack(&chunk.map_err(of_sqlite)?)?);
    }
    Ok(file)
}

fn session_bytes(connection: &Connection, tenant: i64, session: SessionId) -> Result<u64, StoreError> {
    let bytes: i64 = connection
        .query_row(
            "SELECT (SELECT coalesce(sum(length(body) + coalesce(length(said), 0)), 0) FROM entries
                     WHERE tenant = ?1 AND session = ?2)
                  + (SELECT coalesce(sum(length(body)), 0) FROM files WHERE tenant = ?1 AND session = ?2)
                  + (SELECT coalesce(sum(length(body)), 0) FROM bodies WHERE tenant = ?1 AND hash IN (
                         SELECT substr(said, 2) FROM entries
                         WHERE tenant = ?1 AND session = ?2 AND substr(said, 1, 1) = x'ff'))",
            params![tenant, number(session)],
            |row| row.get(0),
        )
        .map_err(of_sqlite)?;
    Ok(bytes as u64)
}

/// The index of such entries is read, and nothing else.
fn unkept(connection: &Connection, session: Option<SessionId>) -> Result<u64, StoreError> {
    connection
        .query_row(
            "SELECT count(*) FROM entries INDEXED BY entries_unkept
             WHERE kind = 0 AND said IS NULL AND (?1 IS NULL OR session = ?1)",
            [session.map(number)],
            |row| row.get::<_, i64>(0),
        )
        .map(|count| count as u64)
        .map_err(of_sqlite)
}

fn figures(connection: &Connection) -> Result<StoreFigures, StoreError> {
    let one = |sql: &str| -> Result<u64, StoreError> {
        connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(|found| found as u64).map_err(of_sqlite)
    };
    Ok(StoreFigures {
        version: schema::version(connection)? as u64,
        sessions: one("SELECT count(*) FROM sessions")?,
        entries: one("SELECT coalesce(sum(entries), 0) FROM sessions")?,
        bodies: one("SELECT count(*) FROM bodies")?,
        body_bytes: one("SELECT coalesce(sum(length(body)), 0) FROM bodies")?,
        unkept: unkept(connection, None)?,
        bytes: one("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")?,
    })
}

/// What is wrong: pages, entries that are missing, sessions that cannot be read, originals that are gone.
fn check(connection: &Connection) -> Result<Vec<StoreProblem>, StoreError> {
    let mut problems = Vec::new();
    let mut pages = connection.prepare("PRAGMA integrity_check(20)").map_err(of_sqlite)?;
    let found = pages.query_map([], |row| row.get::<_, String>(0)).map_err(of_sqlite)?;
    for what in found {
        let what = what.map_err(of_sqlite)?;
        if what != "ok" {
            problems.push(StoreProblem::new(
                None,
                what,
                "restore the file from a copy, or export what can be read",
            ));
        }
    }
    let mut all = connection
        .prepare("SELECT tenant, session, entries FROM sessions ORDER BY session")
        .map_err(of_sqlite)?;
    let rows = all
        .query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)))
        .map_err(of_sqlite)?;
    for row in rows {
        let (tenant, session, entries) = row.map_err(of_sqlite)?;
        problems.extend(problem_of(connection, tenant, SessionId(session as u64), entries as usize)?);
    }
    Ok(problems)
}

fn problem_of(
    connection: &Connection,
    tenant: i64,
    session: SessionId,
    entries: usize,
) -> Result<Option<StoreProblem>, StoreError> {
    let remedy = "export it: what can be read is; then remove it";
    let problem = |what: String| Some(StoreProblem::new(Some(session), what, remedy));
    let opened = match read::whole_session(connection, tenant, session) {
        Ok(opened) => opened,
        Err(error) => return Ok(problem(error.to_string())),
    };
    if opened.log.len() != entries {
        return Ok(problem(format!("it says it has {entries} entries, and has {}", opened.log.len())));
    }
    let messages: Vec<EntryId> =
        (0..entries).map(|at| EntryId(at as u32)).filter(|&id| opened.log.item(id).is_some()).collect();
    match read::originals(connection, tenant, session, &messages) {
        // What was left to the client is not missed.
        Ok(_) | Err(StoreError::NotKept { .. }) => {}
        Err(error) => return Ok(problem(error.to_string())),
    }
    let is_borne_out = match read::live_session(connection, tenant, session) {
        Ok(Some(live)) => live.agrees_with(&opened.log),
        // It is not used.
        Ok(None) | Err(_) => true,
    };
    Ok((!is_borne_out).then(|| StoreProblem::of_live_part(session)))
}
