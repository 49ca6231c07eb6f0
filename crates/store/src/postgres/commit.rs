//! A batch, committed in two trips to the database: the first grows the session and asks what the batch must fit, the second
//! writes the rest and commits. A connection that is lost on the way leaves no doubt: the session's row says whether the commit
//! was made.

use super::database::{Client, Database};
use super::failure::Failure;
use super::number;
use super::sql::hot;
use crate::batch::{BatchRows, EntryRow};
use crate::hash::BodyHash;
use crate::row::EntryKind;
use epitome_core::EntryId;
use epitome_engine::BoxFuture;
use epitome_engine::store::{EventPosition, Lease, StoreError};
use futures_util::future::{try_join, try_join_all, try_join3};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// A batch on its way into a session.
pub(super) struct Commit {
    pub(super) tenant: i64,
    pub(super) lease: Lease,
    pub(super) expected: usize,
    pub(super) rows: Arc<BatchRows>,
    /// What is added to the number of a transaction to give that of a commit.
    pub(super) offset: i64,
}

/// A statement takes so much at once: the server holds it whole, more than once over, and refuses a gigabyte.
const STATEMENT_BYTES_MAX: usize = 16 << 20;

impl Commit {
    /// Commits it. What was lost with a connection is done once more, unless it was done after all.
    pub(super) async fn carry_out(self, database: &Database) -> Result<EventPosition, Failure> {
        let under_way = AtomicI64::new(0);
        let first = self.attempt(database, &under_way).await;
        let failure = match first {
            Err(failure) if failure.is_passing() => failure,
            Ok(_) | Err(_) => return first,
        };
        match under_way.load(Ordering::Acquire) {
            // It was lost before anything could be committed.
            0 => self.attempt(database, &under_way).await,
            number => match self.outcome(database, number).await {
                Ok(true) => Ok(self.position(number)),
                Ok(false) => self.attempt(database, &under_way).await,
                Err(Failure::Refusal(error)) => Err(error.into()),
                // Nobody can tell now; whoever comes next reads what is there.
                Err(_) => Err(failure),
            },
        }
    }

    async fn attempt(&self, database: &Database, under_way: &AtomicI64) -> Result<EventPosition, Failure> {
        under_way.store(0, Ordering::Release);
        database.once(|client| async move { in_two_trips(self, &client, under_way).await }).await
    }

    /// Whether a commit of this number was made; a refusal where the session is another's now.
    async fn outcome(&self, database: &Database, number: i64) -> Result<bool, Failure> {
        let Self { tenant, lease, .. } = *self;
        let found = database.repeat(|client| async move {
            let sql = client.prepare_cached(hot::OUTCOME).await?;
            let row = client.query_opt(&sql, &[&tenant, &super::number(lease.session)]).await?;
            let row = row.ok_or(StoreError::NoSession(lease.session))?;
            Ok((row.try_get::<_, i64>(0)?, row.try_get::<_, i64>(2)?))
        });
        let (fence, last) = found.await?;
        if fence != lease.fence as i64 {
            // A server that took over may have given the number to another's commit.
            return Err(StoreError::Fenced(lease.session).into());
        }
        Ok(last == number)
    }

    fn position(&self, number: i64) -> EventPosition {
        let events = self.rows.events.len() as u32;
        EventPosition { commit: number as u64, index: if events == 0 { u32::MAX } else { events } }
    }

    /// The entries that are in the session already and that the batch leans on.
    fn leaned_on(&self) -> Vec<i64> {
        let named = self.rows.entries.iter().flat_map(|row| [row.parent, row.names]);
        let stored = named.flatten().filter(|id| id.index() < self.expected);
        let mut ids: Vec<i64> = stored.map(|id| i64::from(id.0)).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    fn check(&self, kinds: &HashMap<i64, EntryKind>) -> Result<(), StoreError> {
        self.rows.check(self.expected, |id| Ok(kinds.get(&i64::from(id.0)).copied()))
    }
}

async fn in_two_trips(
    commit: &Commit,
    client: &Client,
    under_way: &AtomicI64,
) -> Result<EventPosition, Failure> {
    let (grown, kinds) = begin(commit, client).await?;
    let Some(number) = grown else {
        let refusal = refusal(commit, client).await?;
        client.batch_execute("ROLLBACK").await?;
        return Err(refusal.into());
    };
    if let Err(refusal) = commit.check(&kinds) {
        client.batch_execute("ROLLBACK").await?;
        return Err(refusal.into());
    }
    let writes = writes(commit, client, number).await?;
    under_way.store(number, Ordering::Release);
    // The commit is sent last and at once: where one of the others fails, the server makes a rollback of it.
    try_join(try_join_all(writes), client.batch_execute("COMMIT")).await?;
    Ok(commit.position(number))
}

/// Begins a transaction and grows the session; the number of the commit, and of what kind the entries are that it leans on.
async fn begin(commit: &Commit, client: &Client) -> Result<(Option<i64>, HashMap<i64, EntryKind>), Failure> {
    let Commit { tenant, lease, expected, rows, offset } = commit;
    let session = number(lease.session);
    let (grow, kinds) = try_join(client.prepare_cached(hot::GROW), client.prepare_cached(hot::KINDS)).await?;
    let (fence, expected, added) = (lease.fence as i64, *expected as i64, rows.entries.len() as i64);
    let leaf = rows.leaf.map(|leaf| i64::from(leaf.0));
    let leaned_on = commit.leaned_on();
    let (_, grown, kinds) = try_join3(
        client.batch_execute("BEGIN"),
        client.query_opt(
            &grow,
            &[tenant, &session, &fence, &expected, &added, &leaf, &rows.time_ms, &rows.about, offset],
        ),
        client.query(&kinds, &[tenant, &session, &leaned_on]),
    )
    .await?;
    let grown = grown.map(|row| row.try_get(0)).transpose()?;
    let kind = |row: tokio_postgres::Row| -> Result<(i64, EntryKind), Failure> {
        Ok((row.try_get(0)?, EntryKind::stored(row.try_get::<_, i16>(1)?.into())?))
    };
    let kinds: Result<_, Failure> = kinds.into_iter().map(kind).collect();
    Ok((grown, kinds?))
}

/// Why a session took no batch.
async fn refusal(commit: &Commit, client: &Client) -> Result<StoreError, Failure> {
    let (session, expected) = (commit.lease.session, commit.expected);
    let sql = client.prepare_cached(hot::OUTCOME).await?;
    let Some(row) = client.query_opt(&sql, &[&commit.tenant, &number(session)]).await? else {
        return Ok(StoreError::NoSession(session));
    };
    let (fence, found): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    Ok(match fence == commit.lease.fence as i64 {
        false => StoreError::Fenced(session),
        true => StoreError::Conflict { session, expected, found: found as usize },
    })
}

type Write<'a> = BoxFuture<'a, Result<u64, tokio_postgres::Error>>;

/// Everything else that a batch writes, ready to be sent.
async fn writes<'a>(commit: &'a Commit, client: &'a Client, number: i64) -> Result<Vec<Write<'a>>, Failure> {
    let rows = &commit.rows;
    let mut writes = Vec::new();
    for slice in slices(&rows.entries, |row| row.body.len() + row.said.as_ref().map_or(0, Vec::len)) {
        writes.push(entries(commit, client, slice).await?);
    }
    // In the order of their hashes: two commits that say the same wait for each other, and not each for the other.
    let bodies: Vec<_> = counted(&rows.bodies).into_iter().collect();
    for slice in slices(&bodies, |(_, (_, body))| body.len()) {
        writes.push(said(commit, client, slice).await?);
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
        writes.push(events(commit, client, number, slice).await?);
    }
    Ok(writes)
}

/// BatchRows in as many parts as they need, each as much as a statement takes.
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
) -> Result<Write<'a>, Failure> {
    let sql = client.prepare_cached(hot::INSERT_ENTRIES).await?;
    let (session, time_ms) = (number(commit.lease.session), commit.rows.time_ms);
    let ids: Vec<i64> = rows.iter().map(|row| i64::from(row.id.0)).collect();
    let parents: Vec<Option<i64>> =
        rows.iter().map(|row| row.parent.map(|EntryId(parent)| i64::from(parent))).collect();
    let kinds: Vec<i16> = rows.iter().map(|row| row.kind as i16).collect();
    let bodies: Vec<&[u8]> = rows.iter().map(|row| row.body.as_slice()).collect();
    let said: Vec<Option<&[u8]>> = rows.iter().map(|row| row.said.as_deref()).collect();
    Ok(Box::pin(async move {
        client
            .execute(&sql, &[&commit.tenant, &session, &time_ms, &ids, &parents, &kinds, &bodies, &said])
            .await
    }))
}

async fn said<'a>(
    commit: &'a Commit,
    client: &'a Client,
    rows: &[(&'a BodyHash, (i64, &'a [u8]))],
) -> Result<Write<'a>, Failure> {
    let sql = client.prepare_cached(hot::INSERT_BODIES).await?;
    let hashes: Vec<&[u8]> = rows.iter().map(|(hash, _)| hash.as_slice()).collect();
    let uses: Vec<i64> = rows.iter().map(|(_, (uses, _))| *uses).collect();
    let bodies: Vec<&[u8]> = rows.iter().map(|(_, (_, body))| *body).collect();
    Ok(Box::pin(async move { client.execute(&sql, &[&commit.tenant, &hashes, &uses, &bodies]).await }))
}

/// A hash leads to where it was said first: what is known is gone past, and not said again.
async fn hashes<'a>(commit: &'a Commit, client: &'a Client) -> Result<Write<'a>, Failure> {
    let sql = client.prepare_cached(hot::INSERT_HASHES).await?;
    let session = number(commit.lease.session);
    let mut sorted: Vec<_> = commit.rows.hashes.iter().collect();
    sorted.sort_by_key(|(hash, _)| hash.0);
    let hashes: Vec<&[u8]> = sorted.iter().map(|(hash, _)| hash.0.as_slice()).collect();
    let entries: Vec<i64> = sorted.iter().map(|(_, entry)| i64::from(entry.0)).collect();
    Ok(Box::pin(async move { client.execute(&sql, &[&commit.tenant, &session, &hashes, &entries]).await }))
}

async fn file<'a>(
    commit: &'a Commit,
    client: &'a Client,
    rows: &[(i64, &'a Vec<u8>)],
) -> Result<Write<'a>, Failure> {
    let sql = client.prepare_cached(hot::INSERT_FILE).await?;
    let session = number(commit.lease.session);
    let chunks: Vec<i64> = rows.iter().map(|(chunk, _)| *chunk).collect();
    let bodies: Vec<&[u8]> = rows.iter().map(|(_, body)| body.as_slice()).collect();
    Ok(Box::pin(async move { client.execute(&sql, &[&commit.tenant, &session, &chunks, &bodies]).await }))
}

async fn delivered<'a>(commit: &'a Commit, client: &'a Client) -> Result<Write<'a>, Failure> {
    let sql = client.prepare_cached(hot::DELIVER).await?;
    let session = number(commit.lease.session);
    Ok(Box::pin(
        async move { client.execute(&sql, &[&commit.tenant, &session, &commit.rows.delivered]).await },
    ))
}

async fn events<'a>(
    commit: &'a Commit,
    client: &'a Client,
    number: i64,
    rows: &[(i64, &'a Vec<u8>)],
) -> Result<Write<'a>, Failure> {
    let sql = client.prepare_cached(hot::INSERT_EVENTS).await?;
    let (session, time_ms) = (super::number(commit.lease.session), commit.rows.time_ms);
    let places: Vec<i64> = rows.iter().map(|(place, _)| *place).collect();
    let bodies: Vec<&[u8]> = rows.iter().map(|(_, body)| body.as_slice()).collect();
    Ok(Box::pin(async move {
        client.execute(&sql, &[&commit.tenant, &session, &number, &time_ms, &places, &bodies]).await
    }))
}
