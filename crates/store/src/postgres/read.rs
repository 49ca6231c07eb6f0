//! What is read: a session's entries without what was said, originals, the place a request goes on from, events.

use super::database::Client;
use super::failure::Failure;
use super::number;
use super::sql::{hot, wide};
use crate::packed::unpack;
use crate::row::{self, EntryKind, SaidPlace};
use epitome_core::{Entry, EntryId, Log, Message};
use epitome_engine::store::{
    ChainHash, EventPosition, Memo, MessageLocation, QueuedInput, SessionId, StoreError, StoredEvent,
    StoredSession,
};
use futures_util::future::{try_join, try_join4};
use std::collections::HashMap;
use std::sync::Arc;
use tokio_postgres::Row;

/// So much of a request's end is looked at first: a conversation that goes on has said something new there and nothing else.
const FIND_LAST: usize = 16;

/// A session as it was at one moment: its entries, without what was said. One trip to the database.
pub(super) async fn session(
    client: &Client,
    tenant: i64,
    session: SessionId,
) -> Result<StoredSession, Failure> {
    let (about, log) = try_join(client.prepare_cached(hot::SESSION), client.prepare_cached(hot::LOG)).await?;
    let named = number(session);
    let (_, found, rows, _) = try_join4(
        client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
        client.query_opt(&about, &[&tenant, &named]),
        client.query(&log, &[&tenant, &named]),
        client.batch_execute("COMMIT"),
    )
    .await?;
    let found = found.ok_or(StoreError::NoSession(session))?;
    let leaf = found.try_get::<_, Option<i64>>(0)?.map(entry_id);
    let about = row::parsed(found.try_get(1)?)?;
    let log = Arc::new(log_of(session, &rows)?);
    Ok(StoredSession { log, leaf, live_leaf: None, sizes: Vec::new(), about, originals: None })
}

fn log_of(session: SessionId, rows: &[Row]) -> Result<Log, Failure> {
    let mut log = Log::default();
    for row in rows {
        let (id, parent): (i64, Option<i64>) = (row.try_get(0)?, row.try_get(1)?);
        if id as usize != log.len() {
            let (missing, found) = (EntryId(log.len() as u32), entry_id(id));
            return Err(Failure::damaged(format!("{session} has no entry {missing}, but {found}")));
        }
        let kind = EntryKind::stored(row.try_get::<_, i16>(2)?.into())?;
        let parent = parent.map(entry_id);
        let appended = match row::read(kind, row.try_get(3)?)? {
            Entry::Mark(mark) => log.mark(parent, mark),
            entry @ (Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. }) => {
                log.append(parent, entry)
            }
        };
        appended.map_err(StoreError::from)?;
    }
    Ok(log)
}

/// What was said, in the order it is asked for.
pub(super) async fn originals(
    client: &Client,
    tenant: i64,
    session: SessionId,
    ids: &[EntryId],
) -> Result<Vec<Arc<Message>>, Failure> {
    let sql = client.prepare_cached(hot::ORIGINALS).await?;
    let asked: Vec<i64> = ids.iter().map(|id| i64::from(id.0)).collect();
    let rows = client.query(&sql, &[&tenant, &number(session), &asked]).await?;
    let mut found: HashMap<EntryId, Arc<Message>> = HashMap::with_capacity(rows.len());
    for row in &rows {
        let id = entry_id(row.try_get(0)?);
        if let Some(message) = original(row)? {
            found.insert(id, Arc::new(message));
        }
    }
    let one = |id: &EntryId| found.get(id).cloned().ok_or(StoreError::NoMessage { session, id: *id });
    Ok(ids.iter().map(one).collect::<Result<_, _>>()?)
}

/// What was said, by a row of which the second column is `said` and the third what lies apart; none where the entry says nothing, or what it said is gone.
pub(super) fn original(row: &Row) -> Result<Option<Message>, Failure> {
    let (column, apart): (Option<&[u8]>, Option<&[u8]>) = (row.try_get(1)?, row.try_get(2)?);
    let Some(column) = column else { return Ok(None) };
    let packed = match row::place(column)? {
        SaidPlace::InRow(packed) => Some(packed),
        SaidPlace::Apart(_) => apart,
    };
    Ok(packed.map(row::message).transpose()?)
}

/// The deepest known message of a request.
pub(super) async fn find(
    client: &Client,
    tenant: i64,
    chain: &[ChainHash],
) -> Result<Option<MessageLocation>, Failure> {
    let (first, last) = chain.split_at(chain.len().saturating_sub(FIND_LAST));
    match find_in(client, tenant, last).await? {
        Some(found) => Ok(Some(MessageLocation { depth: first.len() + found.depth, ..found })),
        None if first.is_empty() => Ok(None),
        None => find_in(client, tenant, first).await,
    }
}

async fn find_in(
    client: &Client,
    tenant: i64,
    chain: &[ChainHash],
) -> Result<Option<MessageLocation>, Failure> {
    let sql = client.prepare_cached(hot::FIND).await?;
    let hashes: Vec<&[u8]> = chain.iter().map(|hash| hash.0.as_slice()).collect();
    let Some(row) = client.query_opt(&sql, &[&tenant, &hashes]).await? else { return Ok(None) };
    Ok(Some(MessageLocation {
        session: session_id(row.try_get(1)?),
        entry: entry_id(row.try_get(2)?),
        depth: row.try_get::<_, i64>(0)? as usize,
    }))
}

/// The fence of a session; none where there is no such session.
pub(super) async fn fence(client: &Client, tenant: i64, session: SessionId) -> Result<Option<u64>, Failure> {
    let sql = client.prepare_cached(hot::FENCE).await?;
    let row = client.query_opt(&sql, &[&tenant, &number(session)]).await?;
    Ok(row.map(|row| row.try_get::<_, i64>(0)).transpose()?.map(|fence| fence as u64))
}

/// Events behind a position, oldest first, and the first number of which none is shown yet.
pub(super) async fn events(
    client: &Client,
    since: EventPosition,
    offset: i64,
) -> Result<(Vec<StoredEvent>, i64), Failure> {
    let sql = client.prepare_cached(wide::EVENTS).await?;
    let commit = i64::try_from(since.commit).unwrap_or(i64::MAX);
    let rows = client.query(&sql, &[&commit, &i64::from(since.index), &offset]).await?;
    let horizon = rows.first().map_or(Ok(0), |row| row.try_get(5))?;
    let events: Result<Vec<Option<StoredEvent>>, Failure> = rows.iter().map(event).collect();
    Ok((events?.into_iter().flatten().collect(), horizon))
}

/// The event in a row; none where the row is there for the horizon alone.
fn event(row: &Row) -> Result<Option<StoredEvent>, Failure> {
    let Some(commit) = row.try_get::<_, Option<i64>>(0)? else { return Ok(None) };
    let body: &[u8] = row.try_get(4)?;
    let event = row::parsed(&unpack(body).map_err(StoreError::Fault)?)?;
    Ok(Some(StoredEvent {
        position: EventPosition { commit: commit as u64, index: row.try_get::<_, i64>(1)? as u32 },
        session: session_id(row.try_get(2)?),
        time_ms: row.try_get::<_, Option<i64>>(3)?.map(|time| time as u64),
        event,
    }))
}

/// Inputs that wait to be delivered, oldest first.
pub(super) async fn queued(
    client: &Client,
    tenant: i64,
    session: SessionId,
) -> Result<Vec<QueuedInput>, Failure> {
    let sql = client.prepare_cached(hot::QUEUED).await?;
    let rows = client.query(&sql, &[&tenant, &number(session)]).await?;
    let input = |row: &Row| -> Result<QueuedInput, Failure> {
        let message = Arc::new(row::message(row.try_get(1)?)?);
        Ok(QueuedInput { number: row.try_get::<_, i64>(0)? as u64, message })
    };
    rows.iter().map(input).collect()
}

/// Values under names that begin so.
pub(super) async fn memos(client: &Client, prefix: &str) -> Result<Vec<Memo>, Failure> {
    let sql = client.prepare_cached(wide::MEMOS).await?;
    let rows = client.query(&sql, &[&prefix]).await?;
    let memo = |row: &Row| Ok(Memo { name: row.try_get(0)?, value: row.try_get(1)? });
    rows.iter().map(memo).collect()
}

pub(super) fn entry_id(stored: i64) -> EntryId {
    EntryId(u32::try_from(stored).unwrap_or(u32::MAX))
}

pub(super) fn session_id(stored: i64) -> SessionId {
    SessionId(stored as u64)
}
