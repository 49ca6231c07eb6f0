//! Full text by `tsvector`. Messages are put into the index when somebody looks for something: a commit does not wait for it.
//!
//! What was said, tools and files stand in one vector, told apart by what their terms begin with.

use super::database::Client;
use super::failure::PostgresFailure;
use super::number;
use super::read::{self, entry_id, session_id};
use super::replica::Replica;
use super::sql::wide;
use crate::search::{IndexedTerms, RANKED_MAX, WantedTerms};
use epitome_core::Message;
use epitome_engine::store::{SearchHit, SearchQuery, StoreError, readable, snippet};
use futures_util::future::try_join_all;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use std::collections::BTreeMap;
use tokio_postgres::Row;

/// So many sessions are indexed at once: one is made into terms while others are written. Each takes a connection of the replica's ten.
const SESSIONS_AT_ONCE: usize = 4;
/// So many entries are indexed by one statement: their session is locked as long as it takes.
const ENTRIES_AT_ONCE: i64 = 200;
/// A vector may take a megabyte, with its places; a message with more different terms is indexed in several parts.
const VECTOR_BYTES_MAX: usize = 256 << 10;
/// Places further on than this are not told apart by PostgreSQL.
const PLACE_MAX: usize = 16_383;
/// So many places of one term are kept: each counts less than the one before, and the ninth for next to nothing.
const PLACES_MAX: usize = 8;

/// What terms of tools and of files begin with: no word that was said holds a colon.
const TOOL: &str = "tool:";
const FILE: &str = "file:";

/// Entries of a session that cannot be looked for yet.
struct Pending {
    tenant: i64,
    session: i64,
    from: i64,
    to: i64,
}

impl Replica {
    /// Messages that match, the best first.
    pub(super) async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>, PostgresFailure> {
        let Some(wanted) = WantedTerms::of(query) else { return Ok(Vec::new()) };
        let tenant = match query.tenant {
            None => None,
            Some(tenant) => match self.tenant(tenant).await? {
                Some(number) => Some(number),
                None => return Ok(Vec::new()),
            },
        };
        let pending = self.database.repeat(|client| async move { pending(&client, tenant, query).await });
        let indexing = stream::iter(pending.await?).map(|one| async move { self.index(&one).await });
        indexing.buffer_unordered(SESSIONS_AT_ONCE).try_collect::<()>().await?;
        let wanted = &wanted;
        self.database.repeat(|client| async move { search(&client, tenant, query, wanted).await }).await
    }

    async fn index(&self, pending: &Pending) -> Result<(), PostgresFailure> {
        let mut from = pending.from;
        while from < pending.to {
            let part = &Pending { from, to: pending.to.min(from + ENTRIES_AT_ONCE), ..*pending };
            self.database.repeat(|client| async move { index(&client, part).await }).await?;
            from = part.to;
        }
        Ok(())
    }
}

async fn pending(
    client: &Client,
    tenant: Option<i64>,
    query: &SearchQuery,
) -> Result<Vec<Pending>, PostgresFailure> {
    let sql = client.prepare_cached(wide::PENDING).await?;
    let rows = client.query(&sql, &[&tenant, &query.session.map(number)]).await?;
    let one = |row: &Row| {
        Ok(Pending {
            tenant: row.try_get(0)?,
            session: row.try_get(1)?,
            from: row.try_get(2)?,
            to: row.try_get(3)?,
        })
    };
    rows.iter().map(one).collect()
}

/// Indexes some entries of a session. Where another replica does the same, the first of them has done it. The session is locked
/// before its entries are read: a text that comes later to one of them is looked for anew, and not gone past.
async fn index(client: &Client, pending: &Pending) -> Result<(), PostgresFailure> {
    client.batch_execute("BEGIN").await?;
    client.execute(wide::LOCK_SESSION, &[&pending.tenant, &pending.session]).await?;
    let indexed = index_locked(client, pending).await;
    client.batch_execute(if indexed.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
    indexed
}

async fn index_locked(client: &Client, pending: &Pending) -> Result<(), PostgresFailure> {
    let Pending { tenant, session, from, to } = pending;
    let sql = client.prepare_cached(wide::UNINDEXED).await?;
    let (mut entries, mut times, mut parts) =
        (Vec::<i64>::new(), Vec::<Option<i64>>::new(), Vec::<i64>::new());
    let mut vectors = Vec::<String>::new();
    for row in client.query(&sql, &[tenant, session, from, to]).await? {
        let Some(message) = read::original(&row)? else { continue };
        for (part, vector) in (0..).zip(self::vectors(&message)) {
            entries.push(row.try_get(0)?);
            times.push(row.try_get(3)?);
            parts.push(part);
            vectors.push(vector);
        }
    }
    let sql = client.prepare_cached(wide::INDEX).await?;
    client.execute(&sql, &[tenant, session, from, to, &entries, &parts, &times, &vectors]).await?;
    Ok(())
}

/// The terms of a message as PostgreSQL writes them, in as many parts as they need; none where it has none. Places are there to be counted:
/// a term without any counts as one that stands once, and takes less room, which matters as the vector is stored beside its index.
fn vectors(message: &Message) -> Vec<String> {
    let IndexedTerms { said, tools, files } = IndexedTerms::of(message);
    let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, term) in said.into_iter().enumerate() {
        places.entry(term).or_default().push((at + 1).min(PLACE_MAX));
    }
    for (terms, kind) in [(tools, TOOL), (files, FILE)] {
        places.extend(terms.into_iter().map(|term| (format!("{kind}{term}"), Vec::new())));
    }
    let mut vectors = vec![String::new()];
    for (term, mut places) in places {
        places.truncate(if places.len() == 1 { 0 } else { PLACES_MAX });
        if vectors.last().is_none_or(|last| last.len() > VECTOR_BYTES_MAX) {
            vectors.push(String::new());
        }
        let places: Vec<String> = places.iter().map(usize::to_string).collect();
        let places = if places.is_empty() { String::new() } else { format!(":{}", places.join(",")) };
        vectors.last_mut().into_iter().for_each(|last| *last += &format!("'{term}'{places} "));
    }
    vectors.retain(|vector| !vector.is_empty());
    vectors
}

/// Everything that is wanted, as PostgreSQL writes it. Terms are of letters, digits and underscores.
fn matching(wanted: &WantedTerms) -> String {
    let of = |kind: &str, terms: &[String]| -> Vec<String> {
        terms.iter().map(|term| format!("'{kind}{term}'")).collect()
    };
    let mut all = of("", &wanted.said);
    if let Some(last) = all.last_mut().filter(|_| wanted.is_open) {
        last.push_str(":*");
    }
    all.extend(of(TOOL, &wanted.tools));
    all.extend(of(FILE, &wanted.files));
    all.join(" & ")
}

async fn search(
    client: &Client,
    tenant: Option<i64>,
    query: &SearchQuery,
    wanted: &WantedTerms,
) -> Result<Vec<SearchHit>, PostgresFailure> {
    let sql = client.prepare_cached(wide::SEARCH).await?;
    let matching = matching(wanted);
    let time = |time: Option<u64>| time.map(|time| i64::try_from(time).unwrap_or(i64::MAX));
    let (session, limit) = (query.session.map(number), i64::try_from(query.limit()).unwrap_or(i64::MAX));
    let (since, until) = (time(query.since_ms), time(query.until_ms));
    let rows =
        client.query(&sql, &[&matching, &tenant, &session, &since, &until, &limit, &RANKED_MAX]).await?;
    let words = wanted.all();
    let hits = try_join_all(rows.iter().map(|row| hit(client, row, &words))).await?;
    Ok(hits.into_iter().flatten().collect())
}

/// A hit with what was said around it; none where it was removed meanwhile.
async fn hit(client: &Client, row: &Row, words: &[&str]) -> Result<Option<SearchHit>, PostgresFailure> {
    let (session, entry) = (session_id(row.try_get(1)?), entry_id(row.try_get(2)?));
    let originals = match read::originals(client, row.try_get(0)?, session, &[entry]).await {
        Ok(originals) => originals,
        Err(PostgresFailure::Refusal(StoreError::NoMessage { .. })) => return Ok(None),
        Err(failure) => return Err(failure),
    };
    let time_ms = row.try_get::<_, Option<i64>>(3)?.map(|time| time as u64);
    let hit = |message: &Message| -> Result<SearchHit, PostgresFailure> {
        let mut hit = SearchHit::new(session, entry, message.role, time_ms);
        (hit.snippet, hit.score) = (snippet(&readable(message), words), row.try_get::<_, f32>(4)?.into());
        Ok(hit)
    };
    originals.first().map(|message| hit(message)).transpose()
}
