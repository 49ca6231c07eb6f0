//! What is read: a session's entries without what was said, originals, the place a request goes on from, events.

use super::number;
use crate::fault::{damaged, of_sqlite};
use crate::live::{self, LiveLog};
use crate::packed::unpack;
use crate::row::{self, EntryKind, SaidPlace};
use epitome_core::{Entry, EntryId, Log, Message};
use epitome_engine::store::{
    ChainHash, EventPosition, Memo, MessageLocation, QueuedInput, SessionAbout, SessionId, StoreError,
    StoredEvent, StoredRecord, StoredSession,
};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::sync::Arc;

/// A session: its entries, without what was said; those that are live alone, where it is known which they are.
pub(super) fn session(
    connection: &Connection,
    tenant: i64,
    session: SessionId,
) -> Result<StoredSession, StoreError> {
    match live_session(connection, tenant, session) {
        Ok(Some(live)) => {
            let (leaf, about) = leaf_and_about(connection, tenant, session)?;
            let (method, sizes) = live.sizes;
            let sizes = vec![(method, Arc::new(sizes))];
            let (log, live_leaf) = (Arc::new(live.log), Some(live.leaf));
            Ok(StoredSession { log, leaf, live_leaf, sizes, about, originals: None })
        }
        // What cannot be used is only a short cut.
        Ok(None) | Err(_) => whole_session(connection, tenant, session),
    }
}

/// A session with every entry at hand.
pub(super) fn whole_session(
    connection: &Connection,
    tenant: i64,
    session: SessionId,
) -> Result<StoredSession, StoreError> {
    let (leaf, about) = leaf_and_about(connection, tenant, session)?;
    let log = Arc::new(log(connection, tenant, session)?);
    let sizes: Option<Vec<u8>> = connection
        .prepare_cached("SELECT sizes FROM live WHERE tenant = ?1 AND session = ?2")
        .and_then(|mut statement| {
            statement.query_row(params![tenant, number(session)], |row| row.get(0)).optional()
        })
        .map_err(of_sqlite)?
        .flatten();
    let sizes = sizes.and_then(|body| live::all_sizes(&body).ok());
    let sizes = sizes.into_iter().map(|(method, table)| (method, Arc::new(table))).collect();
    Ok(StoredSession { log, leaf, live_leaf: None, sizes, about, originals: None })
}

fn leaf_and_about(
    connection: &Connection,
    tenant: i64,
    session: SessionId,
) -> Result<(Option<EntryId>, SessionAbout), StoreError> {
    let found: Option<(Option<u32>, Vec<u8>)> = connection
        .prepare_cached("SELECT leaf, about FROM sessions WHERE tenant = ?1 AND session = ?2")
        .and_then(|mut statement| {
            statement
                .query_row(params![tenant, number(session)], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()
        })
        .map_err(of_sqlite)?;
    let (leaf, about) = found.ok_or(StoreError::NoSession(session))?;
    Ok((leaf.map(EntryId), row::parsed(&about)?))
}

/// What is live of a session, with what was appended since that was kept; none where nothing was.
pub(super) fn live_session(
    connection: &Connection,
    tenant: i64,
    session: SessionId,
) -> Result<Option<LiveLog>, StoreError> {
    let kept: Option<(i64, Vec<u8>)> = connection
        .prepare_cached("SELECT entries, body FROM live WHERE tenant = ?1 AND session = ?2")
        .and_then(|mut statement| {
            statement
                .query_row(params![tenant, number(session)], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()
        })
        .map_err(of_sqlite)?;
    let Some((entries, body)) = kept else { return Ok(None) };
    let mut live = LiveLog::read(entries as usize, &body)?;
    each_entry(connection, tenant, session, entries, |parent, entry| live.append(parent, entry))?;
    Ok(Some(live))
}

fn log(connection: &Connection, tenant: i64, session: SessionId) -> Result<Log, StoreError> {
    let mut log = Log::default();
    each_entry(connection, tenant, session, 0, |parent, entry| Ok(log.append(parent, entry).map(drop)?))?;
    Ok(log)
}

/// Takes the entries of a session from one on, in order, without a gap.
fn each_entry(
    connection: &Connection,
    tenant: i64,
    session: SessionId,
    from: i64,
    mut take: impl FnMut(Option<EntryId>, Entry) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut statement = connection
        .prepare_cached(
            "SELECT entry, parent, kind, body FROM entries
             WHERE tenant = ?1 AND session = ?2 AND entry >= ?3 ORDER BY entry",
        )
        .map_err(of_sqlite)?;
    let mut rows = statement.query(params![tenant, number(session), from]).map_err(of_sqlite)?;
    let mut next = from as u32;
    while let Some(row) = rows.next().map_err(of_sqlite)? {
        let (id, parent): (u32, Option<u32>) =
            (row.get(0).map_err(of_sqlite)?, row.get(1).map_err(of_sqlite)?);
        if id != next {
            return Err(damaged(format!("{session} has no entry {}, but {}", EntryId(next), EntryId(id))));
        }
        let kind = EntryKind::stored(row.get(2).map_err(of_sqlite)?)?;
        let body = row.get_ref(3).and_then(|body| Ok(body.as_blob()?)).map_err(of_sqlite)?;
        take(parent.map(EntryId), row::read(kind, body)?)?;
        next += 1;
    }
    Ok(())
}

/// What was said, in the order it is asked for.
pub(super) fn originals(
    connection: &Connection,
    tenant: i64,
    session: SessionId,
    ids: &[EntryId],
) -> Result<Vec<Arc<Message>>, StoreError> {
    let mut said = connection
        .prepare_cached("SELECT kind, said FROM entries WHERE tenant = ?1 AND session = ?2 AND entry = ?3")
        .map_err(of_sqlite)?;
    let mut apart = connection
        .prepare_cached("SELECT body FROM bodies WHERE tenant = ?1 AND hash = ?2")
        .map_err(of_sqlite)?;
    let mut left_out = Vec::new();
    let mut one = |id: EntryId| -> Result<Option<Arc<Message>>, StoreError> {
        let column: Option<(i64, Option<Vec<u8>>)> = said
            .query_row(params![tenant, number(session), id.0], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
            .map_err(of_sqlite)?;
        let column = match column {
            Some((_, Some(column))) => column,
            Some((kind, None)) if EntryKind::stored(kind)? == EntryKind::Message => {
                left_out.push(id);
                return Ok(None);
            }
            Some((_, None)) | None => return Err(StoreError::NoMessage { session, id }),
        };
        let message = match row::place(&column)? {
            SaidPlace::InRow(packed) => row::message(packed)?,
            SaidPlace::Apart(hash) => {
                let body: Option<Vec<u8>> =
                    apart.query_row(params![tenant, hash], |row| row.get(0)).optional().map_err(of_sqlite)?;
                row::message(&body.ok_or(StoreError::NoMessage { session, id })?)?
            }
        };
        Ok(Some(Arc::new(message)))
    };
    let found: Vec<Arc<Message>> =
        ids.iter().filter_map(|&id| one(id).transpose()).collect::<Result<_, _>>()?;
    if left_out.is_empty() { Ok(found) } else { Err(StoreError::NotKept { session, ids: left_out }) }
}

/// A conversation that goes on has said something new in so many elements at its end, most often.
const NEW_ELEMENTS: usize = 3;

/// The deepest known message of a request. A conversation that goes on has said something new at its end and nothing else, so
/// the end is looked at first.
pub(super) fn find(
    connection: &Connection,
    tenant: i64,
    chain: &[ChainHash],
) -> Result<Option<MessageLocation>, StoreError> {
    let mut known = connection
        .prepare_cached("SELECT session, entry FROM chains WHERE tenant = ?1 AND hash = ?2")
        .map_err(of_sqlite)?;
    let mut moment = None;
    for (at, hash) in chain.iter().enumerate().rev() {
        // Each look by itself asks the system for the file's lock; a transaction takes as long as a few of them.
        if moment.is_none() && at + NEW_ELEMENTS < chain.len() {
            moment = Some(connection.unchecked_transaction().map_err(of_sqlite)?);
        }
        let found = known
            .query_row(params![tenant, hash.0], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, u32>(1)?)))
            .optional()
            .map_err(of_sqlite)?;
        if let Some((session, entry)) = found {
            let (session, entry) = (SessionId(session as u64), EntryId(entry));
            return Ok(Some(MessageLocation { session, entry, depth: at + 1 }));
        }
    }
    Ok(None)
}

/// The fence of whoever took a session last.
pub(super) fn fence(
    connection: &Connection,
    tenant: i64,
    session: SessionId,
) -> Result<Option<u64>, StoreError> {
    let fence: Option<i64> = connection
        .prepare_cached("SELECT fence FROM sessions WHERE tenant = ?1 AND session = ?2")
        .and_then(|mut statement| {
            statement.query_row(params![tenant, number(session)], |row| row.get(0)).optional()
        })
        .map_err(of_sqlite)?;
    Ok(fence.map(|fence| fence as u64))
}

/// Events behind a position, oldest first.
pub(super) fn events(connection: &Connection, since: EventPosition) -> Result<Vec<StoredEvent>, StoreError> {
    let mut statement = connection
        .prepare_cached(
            "SELECT number, place, session, time_ms, body FROM events
             WHERE (number, place) > (?1, ?2) ORDER BY number, place",
        )
        .map_err(of_sqlite)?;
    let commit = i64::try_from(since.commit).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![commit, since.index]).map_err(of_sqlite)?;
    let mut events = Vec::new();
    while let Some(row) = rows.next().map_err(of_sqlite)? {
        events.push(event(row)?);
    }
    Ok(events)
}

fn event(row: &Row<'_>) -> Result<StoredEvent, StoreError> {
    let body: Vec<u8> = row.get(4).map_err(of_sqlite)?;
    let event = row::parsed(&unpack(&body)?)?;
    let stored = |row: &Row<'_>| -> rusqlite::Result<StoredEvent> {
        Ok(StoredEvent {
            position: EventPosition { commit: row.get::<_, i64>(0)? as u64, index: row.get(1)? },
            session: SessionId(row.get::<_, i64>(2)? as u64),
            time_ms: row.get::<_, Option<i64>>(3)?.map(|time| time as u64),
            event,
        })
    };
    stored(row).map_err(of_sqlite)
}

/// Inputs that wait to be delivered, oldest first.
pub(super) fn queued(
    connection: &Connection,
    tenant: i64,
    session: SessionId,
) -> Result<Vec<QueuedInput>, StoreError> {
    let mut statement = connection
        .prepare_cached("SELECT number, body FROM inputs WHERE tenant = ?1 AND session = ?2 ORDER BY number")
        .map_err(of_sqlite)?;
    let rows = statement
        .query_map(params![tenant, number(session)], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?))
        })
        .map_err(of_sqlite)?;
    let input = |row: rusqlite::Result<(i64, Vec<u8>)>| {
        let (number, body) = row.map_err(of_sqlite)?;
        Ok(QueuedInput { number: number as u64, message: Arc::new(row::message(&body)?) })
    };
    rows.map(input).collect()
}

/// Values under names that begin so.
pub(super) fn memos(connection: &Connection, prefix: &str) -> Result<Vec<Memo>, StoreError> {
    let mut statement = connection
        .prepare_cached("SELECT name, value FROM memos WHERE substr(name, 1, length(?1)) = ?1 ORDER BY name")
        .map_err(of_sqlite)?;
    let rows = statement
        .query_map([prefix], |row| Ok(Memo { name: row.get(0)?, value: row.get(1)? }))
        .map_err(of_sqlite)?;
    rows.collect::<Result<_, _>>().map_err(of_sqlite)
}

/// The compactions and edits of a session with their records.
pub(super) fn records(
    connection: &Connection,
    tenant: i64,
    session: SessionId,
) -> Result<Vec<StoredRecord>, StoreError> {
    let mut statement = connection
        .prepare_cached(
            "SELECT entry, body FROM entries WHERE tenant = ?1 AND session = ?2 AND kind = 3 ORDER BY entry",
        )
        .map_err(of_sqlite)?;
    let rows = statement
        .query_map(params![tenant, number(session)], |row| {
            Ok((row.get::<_, u32>(0)?, row.get::<_, Vec<u8>>(1)?))
        })
        .map_err(of_sqlite)?;
    let mut records = Vec::new();
    for row in rows {
        let (id, body) = row.map_err(of_sqlite)?;
        records.extend(StoredRecord::of(EntryId(id), &row::read(EntryKind::Pass, &body)?));
    }
    Ok(records)
}
