//! The tables of a database: made where there are none, brought forward where an earlier version made them, refused where a later
//! one did. Whoever comes while another is at it waits, and finds it done.

use super::database::Client;
use super::failure::PostgresFailure;
use crate::hash::Secret;
use epitome_engine::store::{FaultKind, StoreError, StoreFault};

/// What each version changed, oldest first. What stands here was released: later changes are new migrations.
const MIGRATIONS: &[&str] = &[
    include_str!("../../schema/postgres/0001.sql"),
    include_str!("../../schema/postgres/0002.sql"),
    include_str!("../../schema/postgres/0003.sql"),
];
/// The lock under which tables are changed: `epitome` in ASCII.
const LOCK: i64 = 0x65_7069_746f_6d65;
/// A table of versions and a schema of our own: the database may be used by others too.
const BEGINNINGS: &str = "CREATE SCHEMA epitome;
    CREATE TABLE epitome.versions (version BIGINT PRIMARY KEY, made TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp())";

/// What must be known of a database to work with it.
#[derive(Clone, Copy)]
pub(super) struct Installation {
    pub(super) secret: Secret,
    /// What is added to the number of a transaction to give that of a commit.
    pub(super) commit_offset: i64,
}

/// Brings a database's tables to this version.
pub(super) async fn migrate(client: &Client) -> Result<Installation, PostgresFailure> {
    let version = version(client).await?;
    if version < MIGRATIONS.len() {
        in_transaction(client, forward(client)).await?;
    }
    in_transaction(client, installation(client)).await
}

async fn in_transaction<T>(
    client: &Client,
    work: impl Future<Output = Result<T, PostgresFailure>>,
) -> Result<T, PostgresFailure> {
    // Another may be at tables that are large.
    client.batch_execute("BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0").await?;
    client.query_one("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    let done = work.await;
    client.batch_execute(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
    done
}

async fn forward(client: &Client) -> Result<(), PostgresFailure> {
    let version = version(client).await?;
    if version == 0 {
        client.batch_execute(BEGINNINGS).await?;
    }
    for (at, sql) in MIGRATIONS.iter().enumerate().skip(version) {
        client.batch_execute(sql).await?;
        client.execute("INSERT INTO versions (version) VALUES ($1)", &[&(at as i64 + 1)]).await?;
    }
    if version == 0 {
        let secret = Secret::new().map_err(StoreError::Fault)?;
        client
            .execute("INSERT INTO installation (name, value) VALUES ('secret', $1)", &[&secret.0.as_slice()])
            .await?;
    }
    Ok(())
}

/// The version of a database's tables.
pub(super) async fn version(client: &Client) -> Result<usize, PostgresFailure> {
    // Not by `to_regclass`: a connection that has once not found a table goes on not finding it for a while.
    let is_there =
        "SELECT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = 'epitome' AND tablename = 'versions')";
    let found = client.query_one(is_there, &[]).await?;
    if !found.try_get::<_, bool>(0)? {
        return Ok(0);
    }
    let found = client.query_one("SELECT coalesce(max(version), 0) FROM versions", &[]).await?;
    let version: i64 = found.try_get(0)?;
    match usize::try_from(version) {
        Ok(version) if version <= MIGRATIONS.len() => Ok(version),
        Ok(_) | Err(_) => {
            let what =
                format!("the store is of version {version}, and this program knows {}", MIGRATIONS.len());
            Err(StoreError::Fault(StoreFault { kind: FaultKind::Newer, what }).into())
        }
    }
}

/// What must be known; and how far transactions are behind what was committed before the database was restored here.
async fn installation(client: &Client) -> Result<Installation, PostgresFailure> {
    let row = client.query_opt("SELECT value FROM installation WHERE name = 'secret'", &[]).await?;
    let row = row
        .ok_or_else(|| PostgresFailure::damaged("the store has no secret, so nothing in it can be found"))?;
    let secret = Secret::stored(row.try_get(0)?).map_err(StoreError::Fault)?;
    // What this sees was committed by transactions below the snapshot's end, unless they were another cluster's.
    let row = client
        .query_one(
            "UPDATE numbers SET value = greatest(value, coalesce((SELECT max(number) FROM events), 0)
                 + 1 - pg_snapshot_xmax(pg_current_snapshot())::text::bigint)
             WHERE name = 'commit' RETURNING value",
            &[],
        )
        .await?;
    Ok(Installation { secret, commit_offset: row.try_get(0)? })
}
