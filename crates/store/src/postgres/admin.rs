//! The database as people look at it: lists, entries with their times, the file a session came from, figures, and what is wrong.

use super::database::Client;
use super::failure::PostgresFailure;
use super::read::{self, entry_id, session_id};
use super::replica::Replica;
use super::sql::wide;
use super::{PostgresStore, number, schema};
use crate::packed::unpack;
use crate::row::{self, EntryKind};
use crate::session_store::{
    ListedSession, SessionFilter, SessionStore, StoreFigures, StoreProblem, StoredEntry,
};
use epitome_core::EntryId;
use epitome_engine::BoxFuture;
use epitome_engine::store::{SessionId, StoreError};
use tokio_postgres::Row;

impl SessionStore for PostgresStore {
    fn place(&self) -> String {
        self.replica.database.place().to_owned()
    }

    fn chain_key(&self) -> [u8; 32] {
        self.replica.installation.secret.chain_key()
    }

    fn list<'a>(
        &'a self,
        filter: &'a SessionFilter,
    ) -> BoxFuture<'a, Result<Vec<ListedSession>, StoreError>> {
        let (replica, filter) = (self.replica.clone(), filter.clone());
        self.run(async move {
            let tenant = match filter.tenant {
                None => None,
                Some(tenant) => match replica.tenant(tenant).await? {
                    Some(number) => Some(number),
                    None => return Ok(Vec::new()),
                },
            };
            let filter = &filter;
            replica.database.repeat(|client| async move { list(&client, tenant, filter).await }).await
        })
    }

    fn entries(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<StoredEntry>, StoreError>> {
        self.repeat(session, move |client, tenant| async move { entries(&client, tenant, session).await })
    }

    fn file(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>> {
        self.repeat(session, move |client, tenant| async move { file(&client, tenant, session).await })
    }

    fn unkept(&self, session: Option<SessionId>) -> BoxFuture<'_, Result<u64, StoreError>> {
        let replica = self.replica.clone();
        self.run(async move {
            replica.database.repeat(|client| async move { unkept(&client, session).await }).await
        })
    }

    fn figures(&self) -> BoxFuture<'_, Result<StoreFigures, StoreError>> {
        let replica = self.replica.clone();
        self.run(async move { replica.database.repeat(|client| async move { figures(&client).await }).await })
    }

    fn session_bytes(&self, session: SessionId) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.repeat(
            session,
            move |client, tenant| async move { session_bytes(&client, tenant, session).await },
        )
    }

    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.leave()
    }

    fn check(&self) -> BoxFuture<'_, Result<Vec<StoreProblem>, StoreError>> {
        let replica = self.replica.clone();
        self.run(async move { check(&replica).await })
    }
}

async fn list(
    client: &Client,
    tenant: Option<i64>,
    filter: &SessionFilter,
) -> Result<Vec<ListedSession>, PostgresFailure> {
    let sql = client.prepare_cached(wide::LIST).await?;
    let limit = filter.limit.map(|limit| limit as i64);
    let rows = client.query(&sql, &[&tenant, &filter.session.map(number), &limit]).await?;
    rows.iter().map(listed_session).collect()
}

fn listed_session(row: &Row) -> Result<ListedSession, PostgresFailure> {
    Ok(ListedSession {
        session: session_id(row.try_get(0)?),
        entries: row.try_get::<_, i64>(1)? as usize,
        leaf: row.try_get::<_, Option<i64>>(2)?.map(entry_id),
        created_ms: row.try_get::<_, i64>(3)? as u64,
        changed_ms: row.try_get::<_, i64>(4)? as u64,
        about: row::parsed(row.try_get(5)?)?,
        passes: row.try_get::<_, i64>(6)? as usize,
        is_held: row.try_get(7)?,
    })
}

async fn entries(
    client: &Client,
    tenant: i64,
    session: SessionId,
) -> Result<Vec<StoredEntry>, PostgresFailure> {
    let sql = client.prepare_cached(wide::ENTRIES).await?;
    let rows = client.query(&sql, &[&tenant, &number(session)]).await?;
    rows.iter().map(entry).collect()
}

fn entry(row: &Row) -> Result<StoredEntry, PostgresFailure> {
    let kind = EntryKind::stored(row.try_get::<_, i16>(3)?.into())?;
    Ok(StoredEntry {
        id: entry_id(row.try_get(0)?),
        parent: row.try_get::<_, Option<i64>>(1)?.map(entry_id),
        time_ms: row.try_get::<_, Option<i64>>(2)?.map(|time| time as u64),
        entry: row::read(kind, row.try_get(4)?)?,
    })
}

async fn file(client: &Client, tenant: i64, session: SessionId) -> Result<Option<Vec<u8>>, PostgresFailure> {
    let sql = client.prepare_cached(wide::FILE).await?;
    let mut file = None;
    for row in client.query(&sql, &[&tenant, &number(session)]).await? {
        let chunk = unpack(row.try_get(0)?).map_err(StoreError::Fault)?;
        file.get_or_insert_with(Vec::new).extend(chunk);
    }
    Ok(file)
}

async fn session_bytes(client: &Client, tenant: i64, session: SessionId) -> Result<u64, PostgresFailure> {
    let sql = client.prepare_cached(wide::SESSION_BYTES).await?;
    Ok(client.query_one(&sql, &[&tenant, &number(session)]).await?.try_get::<_, i64>(0)? as u64)
}

async fn unkept(client: &Client, session: Option<SessionId>) -> Result<u64, PostgresFailure> {
    let sql = client.prepare_cached(wide::UNKEPT).await?;
    Ok(client.query_one(&sql, &[&session.map(number)]).await?.try_get::<_, i64>(0)? as u64)
}

async fn figures(client: &Client) -> Result<StoreFigures, PostgresFailure> {
    let row = client.query_one(wide::FIGURES, &[]).await?;
    let one = |at: usize| -> Result<u64, PostgresFailure> { Ok(row.try_get::<_, i64>(at)? as u64) };
    Ok(StoreFigures {
        version: schema::version(client).await? as u64,
        sessions: one(0)?,
        entries: one(1)?,
        bodies: one(2)?,
        body_bytes: one(3)?,
        bytes: one(4)?,
        unkept: one(5)?,
    })
}

/// What is wrong: entries that are missing, sessions that cannot be read, originals that are gone. Pages are the database's own
/// to look after.
async fn check(replica: &Replica) -> Result<Vec<StoreProblem>, PostgresFailure> {
    let all = replica.database.repeat(|client| async move { each_session(&client).await }).await?;
    let mut problems = Vec::new();
    for (tenant, session, entries) in all {
        let found = replica
            .database
            .repeat(|client| async move { problem_of(&client, tenant, session, entries).await })
            .await?;
        problems.extend(found);
    }
    Ok(problems)
}

async fn each_session(client: &Client) -> Result<Vec<(i64, SessionId, usize)>, PostgresFailure> {
    let one = |row: &Row| -> Result<(i64, SessionId, usize), PostgresFailure> {
        Ok((row.try_get(0)?, session_id(row.try_get(1)?), row.try_get::<_, i64>(2)? as usize))
    };
    client.query(wide::EACH_SESSION, &[]).await?.iter().map(one).collect()
}

async fn problem_of(
    client: &Client,
    tenant: i64,
    session: SessionId,
    entries: usize,
) -> Result<Option<StoreProblem>, PostgresFailure> {
    let remedy = "export it: what can be read is; then remove it";
    let problem = |what: String| Ok(Some(StoreProblem::new(Some(session), what, remedy)));
    let (opened, live) = match read::whole_and_live(client, tenant, session).await {
        Ok(found) => found,
        // Removed meanwhile.
        Err(PostgresFailure::Refusal(StoreError::NoSession(_))) => return Ok(None),
        Err(PostgresFailure::Refusal(error)) => return problem(error.to_string()),
        Err(failure) => return Err(failure),
    };
    // Others may have appended since the sessions were listed.
    if opened.log.len() < entries {
        return problem(format!("it says it has {entries} entries, and has {}", opened.log.len()));
    }
    let ids = (0..opened.log.len()).map(|at| EntryId(at as u32));
    let messages: Vec<EntryId> = ids.filter(|&id| opened.log.item(id).is_some()).collect();
    match read::originals(client, tenant, session, &messages).await {
        // What was left to the client is not missed.
        Ok(_) | Err(PostgresFailure::Refusal(StoreError::NotKept { .. })) => {}
        Err(PostgresFailure::Refusal(error)) => return problem(error.to_string()),
        Err(failure) => return Err(failure),
    }
    let is_borne_out = live.is_none_or(|live| live.agrees_with(&opened.log));
    Ok((!is_borne_out).then(|| StoreProblem::of_live_part(session)))
}
