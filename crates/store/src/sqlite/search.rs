//! Full text by FTS5. Messages are put into the index when somebody looks for something, and while nothing else is written: a
//! commit does not wait for it.

use super::{number, read};
use crate::fault::of_sqlite;
use crate::search::{IndexedTerms, RANKED_MAX, WantedTerms};
use epitome_core::EntryId;
use epitome_engine::store::{SearchHit, SearchQuery, SessionId, StoreError, readable, snippet};
use rusqlite::{Connection, OptionalExtension, ToSql, params};

/// So many entries are indexed in one transaction: others wait to write meanwhile.
pub(super) const ENTRIES_AT_ONCE: usize = 500;

/// Indexes some of what is not yet; whether there is more.
pub(super) fn index_some(connection: &Connection) -> Result<bool, StoreError> {
    let next = connection
        .prepare_cached(
            "SELECT tenant, session, indexed, entries FROM sessions WHERE indexed < entries LIMIT 1",
        )
        .and_then(|mut statement| {
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
            statement.query_row([], row).optional()
        })
        .map_err(of_sqlite)?;
    let Some((tenant, session, from, entries)): Option<(i64, i64, u32, u32)> = next else { return Ok(false) };
    let to = entries.min(from.saturating_add(ENTRIES_AT_ONCE as u32));
    index(connection, tenant, session, from..to)?;
    connection
        .prepare_cached("UPDATE sessions SET indexed = ?3 WHERE tenant = ?1 AND session = ?2")
        .and_then(|mut statement| statement.execute(params![tenant, session, to]))
        .map_err(of_sqlite)?;
    Ok(true)
}

/// Whether there is anything that is not indexed yet.
pub(super) fn has_unindexed(connection: &Connection) -> Result<bool, StoreError> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM sessions WHERE indexed < entries)")
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map_err(of_sqlite)
}

fn index(
    connection: &Connection,
    tenant: i64,
    session: i64,
    range: std::ops::Range<u32>,
) -> Result<(), StoreError> {
    let mut messages = connection
        .prepare_cached(
            "SELECT entry, time_ms FROM entries
             WHERE tenant = ?1 AND session = ?2 AND entry >= ?3 AND entry < ?4 AND said IS NOT NULL",
        )
        .map_err(of_sqlite)?;
    let rows = messages
        .query_map(params![tenant, session, range.start, range.end], |row| Ok((row.get(0)?, row.get(1)?)))
        .map_err(of_sqlite)?;
    let found: Vec<(u32, Option<i64>)> = rows.collect::<Result<_, _>>().map_err(of_sqlite)?;
    let mut place = connection
        .prepare_cached("INSERT INTO indexed (tenant, session, entry, time_ms) VALUES (?1, ?2, ?3, ?4)")
        .map_err(of_sqlite)?;
    let mut terms = connection
        .prepare_cached("INSERT INTO terms (rowid, said, tools, files) VALUES (?1, ?2, ?3, ?4)")
        .map_err(of_sqlite)?;
    for (entry, time_ms) in found {
        let originals = read::originals(connection, tenant, SessionId(session as u64), &[EntryId(entry)])?;
        let Some(message) = originals.first() else { continue };
        place.execute(params![tenant, session, entry, time_ms]).map_err(of_sqlite)?;
        let IndexedTerms { said, tools, files } = IndexedTerms::of(message);
        let row = connection.last_insert_rowid();
        terms.execute(params![row, said.join(" "), tools.join(" "), files.join(" ")]).map_err(of_sqlite)?;
    }
    Ok(())
}

/// Messages that match, the newest of them by their place in the index, ranked. FTS5 finds them in that order, so that it stops when
/// there are enough: the join must not be turned round.
const RANKED: &str = "
    SELECT tenant, session, entry, time_ms, rank FROM (
        SELECT indexed.tenant, indexed.session, indexed.entry, indexed.time_ms, indexed.place, bm25(terms) AS rank
        FROM terms CROSS JOIN indexed ON indexed.place = terms.rowid
        WHERE terms MATCH ?1 AND terms.rowid BETWEEN ?7 AND ?8
            AND (?2 IS NULL OR indexed.tenant = ?2) AND (?3 IS NULL OR indexed.session = ?3)
            AND (?4 IS NULL OR indexed.time_ms >= ?4) AND (?5 IS NULL OR indexed.time_ms < ?5)
        ORDER BY terms.rowid DESC LIMIT ?9)
    ORDER BY rank, place DESC LIMIT ?6";

/// The first and the last place in the index that a query may lead to: those of a session lie together, mostly.
fn places(connection: &Connection, query: &SearchQuery) -> Result<(i64, i64), StoreError> {
    let Some(session) = query.session else { return Ok((i64::MIN, i64::MAX)) };
    connection
        .prepare_cached(
            "SELECT coalesce(min(place), 1), coalesce(max(place), 0) FROM indexed
             WHERE tenant = (SELECT tenant FROM sessions WHERE session = ?1) AND session = ?1",
        )
        .and_then(|mut statement| {
            statement.query_row([number(session)], |row| Ok((row.get(0)?, row.get(1)?)))
        })
        .map_err(of_sqlite)
}

/// Messages that match, the best first, of those that are indexed.
pub(super) fn search(
    connection: &Connection,
    tenant: Option<i64>,
    query: &SearchQuery,
) -> Result<Vec<SearchHit>, StoreError> {
    let Some(wanted) = WantedTerms::of(query) else { return Ok(Vec::new()) };
    let matching = matching(&wanted);
    let time = |time: Option<u64>| time.map(|time| time as i64);
    let (first, last) = places(connection, query)?;
    let mut statement = connection.prepare_cached(RANKED).map_err(of_sqlite)?;
    let values: [&dyn ToSql; 9] = [
        &matching,
        &tenant,
        &query.session.map(number),
        &time(query.since_ms),
        &time(query.until_ms),
        &(query.limit() as i64),
        &first,
        &last,
        &RANKED_MAX,
    ];
    let rows = statement
        .query_map(values, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))
        .map_err(of_sqlite)?;
    let found: Vec<(i64, i64, u32, Option<i64>, f64)> = rows.collect::<Result<_, _>>().map_err(of_sqlite)?;
    let words = wanted.all();
    let hit = |(tenant, session, entry, time_ms, rank): (i64, i64, u32, Option<i64>, f64)| {
        let (session, entry) = (SessionId(session as u64), EntryId(entry));
        let originals = read::originals(connection, tenant, session, &[entry])?;
        let message = originals.first().ok_or(StoreError::NoMessage { session, id: entry })?;
        let mut hit = SearchHit::new(session, entry, message.role, time_ms.map(|time| time as u64));
        // FTS5 has better matches at smaller numbers.
        (hit.snippet, hit.score) = (snippet(&readable(message), &words), -rank);
        Ok(hit)
    };
    found.into_iter().map(hit).collect()
}

/// Everything that is wanted, as FTS5 writes it. Terms are of letters, digits and underscores.
fn matching(wanted: &WantedTerms) -> String {
    let of = |column: &str, terms: &[String]| -> Vec<String> {
        terms.iter().map(|term| format!("{column} : \"{term}\"")).collect()
    };
    let mut all = of("said", &wanted.said);
    if let Some(last) = all.last_mut().filter(|_| wanted.is_open) {
        last.push('*');
    }
    all.extend(of("tools", &wanted.tools));
    all.extend(of("files", &wanted.files));
    all.join(" AND ")
}

/// Takes a session's entries from one on out of the index, to be indexed once more.
pub(super) fn look_anew(
    connection: &Connection,
    tenant: i64,
    session: i64,
    from: EntryId,
) -> Result<(), StoreError> {
    for statement in [
        "DELETE FROM terms WHERE rowid IN (
             SELECT place FROM indexed WHERE tenant = ?1 AND session = ?2 AND entry >= ?3)",
        "DELETE FROM indexed WHERE tenant = ?1 AND session = ?2 AND entry >= ?3",
        "UPDATE sessions SET indexed = min(indexed, ?3) WHERE tenant = ?1 AND session = ?2",
    ] {
        connection
            .prepare_cached(statement)
            .and_then(|mut statement| statement.execute(params![tenant, session, from.0]))
            .map_err(of_sqlite)?;
    }
    Ok(())
}

/// Takes a session out of the index.
pub(super) fn forget(connection: &Connection, tenant: i64, session: SessionId) -> Result<(), StoreError> {
    let key = params![tenant, number(session)];
    for statement in [
        "DELETE FROM terms WHERE rowid IN (SELECT place FROM indexed WHERE tenant = ?1 AND session = ?2)",
        "DELETE FROM indexed WHERE tenant = ?1 AND session = ?2",
    ] {
        connection.execute(statement, key).map_err(of_sqlite)?;
    }
    Ok(())
}
