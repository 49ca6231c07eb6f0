//! What is read: a session's entries without what was said, originals, the place a request goes on from, events.

use super::database::Client;
use super::failure::PostgresFailure;
use super::number;
use super::sql::{hot, wide};
use crate::live::{self, LiveLog};
use crate::packed::unpack;
use crate::row::{self, EntryKind, SaidPlace};
use epitome_core::{Entry, EntryId, Log, Message};
use epitome_engine::store::{
    ChainHash, EventPosition, Memo, MessageLocation, QueuedInput, SessionAbout, SessionId, StoreError,
    StoredEvent, StoredRecord, StoredSession,
};
use futures_util::future::{try_join, try_join3, try_join4};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tokio_postgres::Row;

/// So much of a request's end is looked at first: a conversation that goes on has said something new there and nothing else.
const FIND_LAST: usize = 16;

/// What a session's tables hold of it at one moment: its row, what is kept of its live part, its entries.
type SessionRows = (Row, Option<Row>, Vec<Row>);

/// A session as it was at one moment: its entries, without what was said; those that are live alone, where it is known which they
/// are. One trip to the database, or two where what is known of that cannot be used.
pub(super) async fn session(
    client: &Client,
    tenant: i64,
    session: SessionId,
) -> Result<StoredSession, PostgresFailure> {
    let (about, kept, entries) = rows(client, tenant, session, [hot::LIVE, hot::LOG_BEHIND_LIVE]).await?;
    let Some(kept) = kept else { return stored(session, &about, None, &entries) };
    match live_log(session, &kept, &entries) {
        Ok(LiveLog { log, leaf, sizes: (method, sizes) }) => {
            let sizes = vec![(method, Arc::new(sizes))];
            let (live_leaf, log) = (Some(leaf), Arc::new(log));
            let (leaf, about) = leaf_and_about(&about)?;
            Ok(StoredSession { log, leaf, live_leaf, sizes, about, originals: None })
        }
        // What cannot be used is only a short cut.
        Err(_) => whole_session(client, tenant, session).await,
    }
}

/// A session with every entry at hand.
pub(super) async fn whole_session(
    client: &Client,
    tenant: i64,
    session: SessionId,
) -> Result<StoredSession, PostgresFailure> {
    let (about, kept, entries) = rows(client, tenant, session, [hot::SIZES, hot::LOG]).await?;
    let sizes: Option<&[u8]> = kept.as_ref().map(|kept| kept.try_get(0)).transpose()?.flatten();
    stored(session, &about, sizes, &entries)
}

/// A session with every entry at hand, and what is kept as its live part, where that could be used.
pub(super) async fn whole_and_live(
    client: &Client,
    tenant: i64,
    session: SessionId,
) -> Result<(StoredSession, Option<LiveLog>), PostgresFailure> {
    let (about, kept, entries) = rows(client, tenant, session, [hot::LIVE, hot::LOG]).await?;
    let live = kept.and_then(|kept| {
        let behind = entries.get(kept.try_get::<_, i64>(0).ok()? as usize..)?;
        live_log(session, &kept, behind).ok()
    });
    Ok((stored(session, &about, None, &entries)?, live))
}

/// The rows of a session, in one trip; `kept` reads what is kept of its live part, `log` entries.
async fn rows(
    client: &Client,
    tenant: i64,
    session: SessionId,
    [kept, log]: [&str; 2],
) -> Result<SessionRows, PostgresFailure> {
    let about = client.prepare_cached(hot::SESSION);
    let (about, kept, log) =
        try_join3(about, client.prepare_cached(kept), client.prepare_cached(log)).await?;
    let named = number(session);
    let (_, found, kept, (rows, ())) = try_join4(
        client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
        client.query_opt(&about, &[&tenant, &named]),
        client.query_opt(&kept, &[&tenant, &named]),
        try_join(client.query(&log, &[&tenant, &named]), client.batch_execute("COMMIT")),
    )
    .await?;
    Ok((found.ok_or(StoreError::NoSession(session))?, kept, rows))
}

fn stored(
    session: SessionId,
    about: &Row,
    sizes: Option<&[u8]>,
    entries: &[Row],
) -> Result<StoredSession, PostgresFailure> {
    let mut log = Log::default();
    each_entry(session, 0, entries, |parent, entry| Ok(log.append(parent, entry).map(drop)?))?;
    let sizes = sizes.and_then(|body| live::all_sizes(body).ok());
    let sizes = sizes.into_iter().map(|(method, table)| (method, Arc::new(table))).collect();
    let (leaf, about) = leaf_and_about(about)?;
    Ok(StoredSession { log: Arc::new(log), leaf, live_leaf: None, sizes, about, originals: None })
}

fn leaf_and_about(row: &Row) -> Result<(Option<EntryId>, SessionAbout), PostgresFailure> {
    Ok((row.try_get::<_, Option<i64>>(0)?.map(entry_id), row::parsed(row.try_get(1)?)?))
}

/// What is live of a session, with the entries behind it.
fn live_log(session: SessionId, kept: &Row, behind: &[Row]) -> Result<LiveLog, PostgresFailure> {
    let entries: i64 = kept.try_get(0)?;
    let mut live = LiveLog::read(entries as usize, kept.try_get(1)?)?;
    each_entry(session, entries, behind, |parent, entry| live.append(parent, entry))?;
    Ok(live)
}

/// Takes entries of a session from one on, in order, without a gap.
fn each_entry(
    session: SessionId,
    from: i64,
    rows: &[Row],
    mut take: impl FnMut(Option<EntryId>, Entry) -> Result<(), StoreError>,
) -> Result<(), PostgresFailure> {
    for (next, row) in (from..).zip(rows) {
        let (id, parent): (i64, Option<i64>) = (row.try_get(0)?, row.try_get(1)?);
        if id != next {
            let (missing, found) = (entry_id(next), entry_id(id));
            return Err(PostgresFailure::damaged(format!("{session} has no entry {missing}, but {found}")));
        }
        let kind = EntryKind::stored(row.try_get::<_, i16>(2)?.into())?;
        take(parent.map(entry_id), row::read(kind, row.try_get(3)?)?)?;
    }
    Ok(())
}

/// The compactions and edits of a session with their records.
pub(super) async fn records(
    client: &Client,
    tenant: i64,
    session: SessionId,
) -> Result<Vec<StoredRecord>, PostgresFailure> {
    let sql = client.prepare_cached(wide::RECORDS).await?;
    let rows = client.query(&sql, &[&tenant, &number(session)]).await?;
    let record = |row: &Row| -> Result<Option<StoredRecord>, PostgresFailure> {
        let entry = row::read(EntryKind::Pass, row.try_get(1)?)?;
        Ok(StoredRecord::of(entry_id(row.try_get(0)?), &entry))
    };
    rows.iter().filter_map(|row| record(row).transpose()).collect()
}

/// What was said, in the order it is asked for.
pub(super) async fn originals(
    client: &Client,
    tenant: i64,
    session: SessionId,
    ids: &[EntryId],
) -> Result<Vec<Arc<Message>>, PostgresFailure> {
    let sql = client.prepare_cached(hot::ORIGINALS).await?;
    let asked: Vec<i64> = ids.iter().map(|id| i64::from(id.0)).collect();
    let rows = client.query(&sql, &[&tenant, &number(session), &asked]).await?;
    let mut found: HashMap<EntryId, Arc<Message>> = HashMap::with_capacity(rows.len());
    let mut left_out = HashSet::new();
    for row in &rows {
        let id = entry_id(row.try_get(0)?);
        if let Some(message) = original(row)? {
            found.insert(id, Arc::new(message));
        } else if is_left_out(row)? {
            left_out.insert(id);
        }
    }
    if !left_out.is_empty() {
        let ids = ids.iter().copied().filter(|id| left_out.contains(id)).collect();
        return Err(StoreError::NotKept { session, ids }.into());
    }
    let one = |id: &EntryId| found.get(id).cloned().ok_or(StoreError::NoMessage { session, id: *id });
    Ok(ids.iter().map(one).collect::<Result<_, _>>()?)
}

/// Whether what a message says was left to whoever said it.
fn is_left_out(row: &Row) -> Result<bool, PostgresFailure> {
    let (column, kind): (Option<&[u8]>, i16) = (row.try_get(1)?, row.try_get(3)?);
    Ok(column.is_none() && EntryKind::stored(kind.into())? == EntryKind::Message)
}

/// What was said, by a row of which the second column is `said` and the third what lies apart; none where the entry says nothing, or what it said is gone.
pub(super) fn original(row: &Row) -> Result<Option<Message>, PostgresFailure> {
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
) -> Result<Option<MessageLocation>, PostgresFailure> {
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
) -> Result<Option<MessageLocation>, PostgresFailure> {
    let sql = client.prepare_cached(hot::FIND).await?;
    let hashes: Vec<&[u8]> = chain.iter().map(|hash| hash.0.as_slice()).collect();
    let Some(row) = client.query_opt(&sql, &[&tenant, &hashes]).await? else { return Ok(None) };
    Ok(Some(MessageLocation {
        session: session_id(row.try_get(1)?),
        entry: entry_id(row.try_get(2)?),
        depth: row.try_get::<_, i64>(0)? as usize,
    }))
}

/// Where each hash leads, in one trip.
pub(super) async fn trace(
    client: &Client,
    tenant: i64,
    chain: &[ChainHash],
) -> Result<Vec<Option<MessageLocation>>, PostgresFailure> {
    let sql = client.prepare_cached(hot::TRACE).await?;
    let hashes: Vec<&[u8]> = chain.iter().map(|hash| hash.0.as_slice()).collect();
    let mut traced = vec![None; chain.len()];
    for row in client.query(&sql, &[&tenant, &hashes]).await? {
        let place = row.try_get::<_, i64>(0)? as usize;
        let (session, entry) = (session_id(row.try_get(1)?), entry_id(row.try_get(2)?));
        if let Some(one) = traced.get_mut(place.saturating_sub(1)) {
            *one = Some(MessageLocation { session, entry, depth: 1 });
        }
    }
    Ok(traced)
}

/// The fence of a session; none where there is no such session.
pub(super) async fn fence(
    client: &Client,
    tenant: i64,
    session: SessionId,
) -> Result<Option<u64>, PostgresFailure> {
    let sql = client.prepare_cached(hot::FENCE).await?;
    let row = client.query_opt(&sql, &[&tenant, &number(session)]).await?;
    Ok(row.map(|row| row.try_get::<_, i64>(0)).transpose()?.map(|fence| fence as u64))
}

/// Events behind a position, oldest first, and the first number of which none is shown yet.
pub(super) async fn events(
    client: &Client,
    since: EventPosition,
    offset: i64,
) -> Result<(Vec<StoredEvent>, i64), PostgresFailure> {
    let sql = client.prepare_cached(wide::EVENTS).await?;
    let commit = i64::try_from(since.commit).unwrap_or(i64::MAX);
    let rows = client.query(&sql, &[&commit, &i64::from(since.index), &offset]).await?;
    let horizon = rows.first().map_or(Ok(0), |row| row.try_get(5))?;
    let events: Result<Vec<Option<StoredEvent>>, PostgresFailure> = rows.iter().map(event).collect();
    Ok((events?.into_iter().flatten().collect(), horizon))
}

/// The event in a row; none where the row is there for the horizon alone.
fn event(row: &Row) -> Result<Option<StoredEvent>, PostgresFailure> {
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
) -> Result<Vec<QueuedInput>, PostgresFailure> {
    let sql = client.prepare_cached(hot::QUEUED).await?;
    let rows = client.query(&sql, &[&tenant, &number(session)]).await?;
    let input = |row: &Row| -> Result<QueuedInput, PostgresFailure> {
        let message = Arc::new(row::message(row.try_get(1)?)?);
        Ok(QueuedInput { number: row.try_get::<_, i64>(0)? as u64, message })
    };
    rows.iter().map(input).collect()
}

/// Values under names that begin so.
pub(super) async fn memos(client: &Client, prefix: &str) -> Result<Vec<Memo>, PostgresFailure> {
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
