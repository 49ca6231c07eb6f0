//! A batch, committed in one trip to the database: everything it writes goes out at once, behind the statement that grows the
//! session, and does nothing where that was refused. A connection that is lost on the way leaves no doubt: the session's row says
//! whether the commit was made.

use super::database::{Client, Database};
use super::failure::PostgresFailure;
use super::grow::{EntryColumns, SingleEntry, grow, grow_by_one};
use super::number;
use super::sql::hot;
use crate::batch::{BatchRows, EntryRow, LateText, Support};
use crate::hash::BodyHash;
use crate::row::EntryKind;
use epitome_core::EntryId;
use epitome_engine::BoxFuture;
use epitome_engine::store::{Durability, EventPosition, Lease, StoreError};
use futures_util::future::{try_join, try_join_all, try_join3};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tokio_postgres::{Error, Row};

/// A batch on its way into a session.
pub(super) struct Commit {
    pub(super) tenant: i64,
    pub(super) lease: Lease,
    pub(super) expected: usize,
    pub(super) rows: Arc<BatchRows>,
    pub(super) durability: Durability,
    /// What is added to the number of a transaction to give that of a commit.
    pub(super) offset: i64,
    /// Another for each batch of this replica: the session's row names the last that was committed.
    pub(super) attempt: i64,
}

/// A statement takes so much at once: the server holds it whole, more than once over, and refuses a gigabyte.
const STATEMENT_BYTES_MAX: usize = 16 << 20;

/// So many statements go out in the order they stand in; more are joined in another way, which does not promise it, so that their
/// commit waits until all are answered.
const PIPELINED_MAX: usize = 24;

impl Commit {
    /// Commits it. What was lost with a connection is done once more, unless it was done after all.
    pub(super) async fn carry_out(self, database: &Database) -> Result<EventPosition, PostgresFailure> {
        let supports = self.rows.supports(self.expected)?;
        let failure = match self.attempt(database, &supports).await {
            Err(failure) if failure.is_passing() => failure,
            first => return first,
        };
        match self.outcome(database).await {
            Ok(Some(number)) => Ok(self.position(number)),
            Ok(None) => self.attempt(database, &supports).await,
            Err(PostgresFailure::Refusal(error)) => Err(error.into()),
            // Nobody can tell now; whoever comes next reads what is there.
            Err(_) => Err(failure),
        }
    }

    async fn attempt(
        &self,
        database: &Database,
        supports: &[Support],
    ) -> Result<EventPosition, PostgresFailure> {
        let number = database.once(|client| async move { in_one_trip(self, &client, supports).await });
        Ok(self.position(number.await?))
    }

    /// The number of the commit, where it was made; a refusal where the session is another's now.
    async fn outcome(&self, database: &Database) -> Result<Option<i64>, PostgresFailure> {
        let Self { tenant, lease, .. } = *self;
        let found = database.repeat(|client| async move {
            let sql = client.prepare_cached(hot::OUTCOME).await?;
            let row = client.query_opt(&sql, &[&tenant, &number(lease.session)]).await?;
            Ok(row.ok_or(StoreError::NoSession(lease.session))?)
        });
        let row = found.await?;
        if row.try_get::<_, i64>(0)? != lease.fence as i64 {
            // Attempts are counted by each holder anew.
            return Err(StoreError::Fenced(lease.session).into());
        }
        let is_made = row.try_get::<_, i64>(3)? == self.attempt;
        Ok(is_made.then(|| row.try_get(2)).transpose()?)
    }

    fn position(&self, number: i64) -> EventPosition {
        let events = self.rows.events.len() as u32;
        EventPosition { commit: number as u64, index: if events == 0 { u32::MAX } else { events } }
    }

    /// Whether it counts only when it is on disk. Events do, whatever is asked for: a server that loses a transaction gives its
    /// number to another, and a listener that has heard of the first would not hear of the second.
    fn waits_for_disk(&self) -> bool {
        match self.durability {
            Durability::Disk => true,
            Durability::System => !self.rows.events.is_empty(),
        }
    }
}

/// The beginning of a transaction that counts as committed before it is on disk.
pub(super) const BEGIN_ASYNC: &str = "BEGIN; SET LOCAL synchronous_commit = off";

/// The number of the commit.
async fn in_one_trip(commit: &Commit, client: &Client, supports: &[Support]) -> Result<i64, PostgresFailure> {
    let slices = slices(&commit.rows.entries, |row| row.body.len() + row.said.as_ref().map_or(0, Vec::len));
    let (first, more) = slices.split_first().map_or((&[][..], &[][..]), |(first, more)| (*first, more));
    let single = SingleEntry::of(&commit.rows, supports);
    let is_whole = single.is_some();
    let grow = match single {
        Some(single) => grow_by_one(commit, client, single).await?,
        None => grow(commit, client, supports, first).await?,
    };
    let mut writes = writes(commit, client, more).await?;
    if !is_whole {
        writes.extend(apart(commit, client).await?);
    }
    let grown = if writes.is_empty() && commit.waits_for_disk() {
        // A statement alone is a transaction.
        grow.await?
    } else {
        let beginning = if commit.waits_for_disk() { "BEGIN" } else { BEGIN_ASYNC };
        try_join3(client.batch_execute(beginning), grow, end_behind(client, writes)).await?.1
    };
    match grown {
        Some(row) => Ok(row.try_get(0)?),
        None => Err(refusal(commit, client, supports).await?.into()),
    }
}

/// Sends what is written, and the commit behind it.
async fn end_behind(client: &Client, writes: Vec<Write<'_>>) -> Result<(), Error> {
    if writes.len() > PIPELINED_MAX {
        try_join_all(writes).await?;
        return client.batch_execute("COMMIT").await;
    }
    // The commit is sent last and at once: where one of the others fails, the server makes a rollback of it.
    try_join(try_join_all(writes), client.batch_execute("COMMIT")).await.map(drop)
}

/// Why a session took no batch.
async fn refusal(
    commit: &Commit,
    client: &Client,
    supports: &[Support],
) -> Result<StoreError, PostgresFailure> {
    let (session, expected) = (commit.lease.session, commit.expected);
    let sql = client.prepare_cached(hot::OUTCOME).await?;
    let Some(row) = client.query_opt(&sql, &[&commit.tenant, &number(session)]).await? else {
        return Ok(StoreError::NoSession(session));
    };
    let (fence, found): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    if fence != commit.lease.fence as i64 {
        return Ok(StoreError::Fenced(session));
    }
    let conflict = StoreError::Conflict { session, expected, found: found as usize };
    if found as usize != expected {
        return Ok(conflict);
    }
    let kinds = kinds(commit, client, supports).await?;
    let unsound = supports.iter().find_map(|one| one.check(kinds.get(&one.entry).copied()).err());
    // Others were there, and are not any more.
    Ok(unsound.unwrap_or(conflict))
}

/// Of what kind the entries are that a batch leans on.
async fn kinds(
    commit: &Commit,
    client: &Client,
    supports: &[Support],
) -> Result<HashMap<EntryId, EntryKind>, PostgresFailure> {
    let sql = client.prepare_cached(hot::KINDS).await?;
    let asked: Vec<i64> = supports.iter().map(|support| i64::from(support.entry.0)).collect();
    let rows = client.query(&sql, &[&commit.tenant, &number(commit.lease.session), &asked]).await?;
    let kind = |row: Row| -> Result<(EntryId, EntryKind), PostgresFailure> {
        let kind = EntryKind::stored(row.try_get::<_, i16>(1)?.into())?;
        Ok((super::read::entry_id(row.try_get(0)?), kind))
    };
    rows.into_iter().map(kind).collect()
}

type Write<'a> = BoxFuture<'a, Result<u64, Error>>;

/// What a batch writes behind the first of its entries, without what lies apart, ready to be sent.
async fn writes<'a>(
    commit: &'a Commit,
    client: &'a Client,
    more: &[&'a [EntryRow]],
) -> Result<Vec<Write<'a>>, PostgresFailure> {
    let rows = &commit.rows;
    let mut writes = Vec::new();
    for slice in more {
        writes.push(entries(commit, client, slice).await?);
    }
    for slice in slices(&rows.late, |one| {
        one.said.column.len() + one.said.body.as_ref().map_or(0, |(_, body)| body.len())
    }) {
        writes.push(late(commit, client, slice).await?);
    }
    if let Some(first) = rows.late.first() {
        writes.push(unindexed(commit, client, first.id).await?);
    }
    if !rows.hashes.is_empty() {
        writes.push(hashes(commit, client).await?);
    }
    let chunks: Vec<_> = (0..).zip(&rows.file).collect();
    for slice in slices(&chunks, |(_, body)| body.len()) {
        writes.push(file(commit, client, slice).await?);
    }
    if !rows.delivered.is_empty() {
        writes.push(delivered(commit, client).await?);
    }
    let placed: Vec<_> = (1..).zip(&rows.events).collect();
    for slice in slices(&placed, |(_, body)| body.len()) {
        writes.push(events(commit, client, slice).await?);
    }
    Ok(writes)
}

/// What was said and lies apart, ready to be sent.
async fn apart<'a>(commit: &'a Commit, client: &'a Client) -> Result<Vec<Write<'a>>, PostgresFailure> {
    // In the order of their hashes: two commits that say the same wait for each other, and not each for the other.
    let bodies: Vec<_> = counted(&commit.rows.bodies).into_iter().collect();
    let mut writes = Vec::new();
    for slice in slices(&bodies, |(_, (_, body))| body.len()) {
        writes.push(said(commit, client, slice).await?);
    }
    Ok(writes)
}

/// Rows in as many parts as they need, each as much as a statement takes.
fn slices<T>(mut rows: &[T], size: impl Fn(&T) -> usize) -> Vec<&[T]> {
    let mut slices = Vec::new();
    while !rows.is_empty() {
        let mut bytes = 0;
        let fits = rows.iter().take_while(|row| {
            bytes += size(row);
            bytes <= STATEMENT_BYTES_MAX
        });
        let (slice, rest) = rows.split_at(fits.count().max(1));
        slices.push(slice);
        rows = rest;
    }
    slices
}

/// What was said, once, with how often.
fn counted(bodies: &[(BodyHash, Vec<u8>)]) -> BTreeMap<&BodyHash, (i64, &[u8])> {
    let mut counted = BTreeMap::new();
    for (hash, body) in bodies {
        counted.entry(hash).or_insert((0, body.as_slice())).0 += 1;
    }
    counted
}

async fn entries<'a>(
    commit: &'a Commit,
    client: &'a Client,
    rows: &'a [EntryRow],
) -> Result<Write<'a>, PostgresFailure> {
    let sql = client.prepare_cached(hot::INSERT_ENTRIES).await?;
    let Commit { tenant, offset, .. } = commit;
    let (session, columns) = (number(commit.lease.session), EntryColumns::of(rows));
    Ok(Box::pin(async move {
        let EntryColumns { ids, parents, kinds, bodies, said, times } = &columns;
        client.execute(&sql, &[tenant, &session, offset, ids, parents, kinds, bodies, said, times]).await
    }))
}

async fn said<'a>(
    commit: &'a Commit,
    client: &'a Client,
    rows: &[(&'a BodyHash, (i64, &'a [u8]))],
) -> Result<Write<'a>, PostgresFailure> {
    let sql = client.prepare_cached(hot::INSERT_BODIES).await?;
    let Commit { tenant, offset, .. } = commit;
    let session = number(commit.lease.session);
    let hashes: Vec<&[u8]> = rows.iter().map(|(hash, _)| hash.as_slice()).collect();
    let uses: Vec<i64> = rows.iter().map(|(_, (uses, _))| *uses).collect();
    let bodies: Vec<&[u8]> = rows.iter().map(|(_, (_, body))| *body).collect();
    Ok(Box::pin(
        async move { client.execute(&sql, &[tenant, &session, offset, &hashes, &uses, &bodies]).await },
    ))
}

/// What was said in entries that were stored without. Of two that say the same one brings it.
async fn late<'a>(
    commit: &'a Commit,
    client: &'a Client,
    rows: &'a [LateText],
) -> Result<Write<'a>, PostgresFailure> {
    let sql = client.prepare_cached(hot::INSERT_LATE).await?;
    let Commit { tenant, offset, .. } = commit;
    let session = number(commit.lease.session);
    let ids: Vec<i64> = rows.iter().map(|one| i64::from(one.id.0)).collect();
    let columns: Vec<&[u8]> = rows.iter().map(|one| one.said.column.as_slice()).collect();
    let apart = rows.iter().filter_map(|one| one.said.body.as_ref());
    let apart: BTreeMap<&[u8], &[u8]> =
        apart.map(|(hash, body)| (hash.as_slice(), body.as_slice())).collect();
    let (hashes, bodies): (Vec<&[u8]>, Vec<&[u8]>) = apart.into_iter().unzip();
    Ok(Box::pin(async move {
        client.execute(&sql, &[tenant, &session, offset, &ids, &columns, &hashes, &bodies]).await
    }))
}

/// Has entries from one on looked for anew.
async fn unindexed<'a>(
    commit: &'a Commit,
    client: &'a Client,
    from: EntryId,
) -> Result<Write<'a>, PostgresFailure> {
    let sql = client.prepare_cached(hot::UNINDEX).await?;
    let Commit { tenant, offset, .. } = commit;
    let (session, from) = (number(commit.lease.session), i64::from(from.0));
    Ok(Box::pin(async move { client.execute(&sql, &[tenant, &session, offset, &from]).await }))
}

/// A hash leads to where it was said first: what is known is gone past, and not said again.
async fn hashes<'a>(commit: &'a Commit, client: &'a Client) -> Result<Write<'a>, PostgresFailure> {
    let sql = client.prepare_cached(hot::INSERT_HASHES).await?;
    let session = number(commit.lease.session);
    let mut sorted: Vec<_> = commit.rows.hashes.iter().collect();
    sorted.sort_by_key(|(hash, _)| hash.0);
    let hashes: Vec<&[u8]> = sorted.iter().map(|(hash, _)| hash.0.as_slice()).collect();
    let entries: Vec<i64> = sorted.iter().map(|(_, entry)| i64::from(entry.0)).collect();
    let Commit { tenant, offset, .. } = commit;
    Ok(Box::pin(async move { client.execute(&sql, &[tenant, &session, offset, &hashes, &entries]).await }))
}

async fn file<'a>(
    commit: &'a Commit,
    client: &'a Client,
    rows: &[(i64, &'a Vec<u8>)],
) -> Result<Write<'a>, PostgresFailure> {
    let sql = client.prepare_cached(hot::INSERT_FILE).await?;
    let session = number(commit.lease.session);
    let chunks: Vec<i64> = rows.iter().map(|(chunk, _)| *chunk).collect();
    let bodies: Vec<&[u8]> = rows.iter().map(|(_, body)| body.as_slice()).collect();
    let Commit { tenant, offset, .. } = commit;
    Ok(Box::pin(async move { client.execute(&sql, &[tenant, &session, offset, &chunks, &bodies]).await }))
}

async fn delivered<'a>(commit: &'a Commit, client: &'a Client) -> Result<Write<'a>, PostgresFailure> {
    let sql = client.prepare_cached(hot::DELIVER).await?;
    let session = number(commit.lease.session);
    let Commit { tenant, offset, rows, .. } = commit;
    Ok(Box::pin(async move { client.execute(&sql, &[tenant, &session, offset, &rows.delivered]).await }))
}

async fn events<'a>(
    commit: &'a Commit,
    client: &'a Client,
    rows: &[(i64, &'a Vec<u8>)],
) -> Result<Write<'a>, PostgresFailure> {
    let sql = client.prepare_cached(hot::INSERT_EVENTS).await?;
    let Commit { tenant, offset, .. } = commit;
    let (session, time_ms) = (number(commit.lease.session), commit.rows.time_ms);
    let places: Vec<i64> = rows.iter().map(|(place, _)| *place).collect();
    let bodies: Vec<&[u8]> = rows.iter().map(|(_, body)| body.as_slice()).collect();
    Ok(Box::pin(async move {
        client.execute(&sql, &[tenant, &session, offset, &time_ms, &places, &bodies]).await
    }))
}
