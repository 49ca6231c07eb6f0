//! A file as the first release left it: the tables of its one migration, a session in them, and nothing that came later.

use crate::history::{checkout, said};
use epitome_core::Trigger;
use epitome_engine::store::{SessionId, TenantId};
use epitome_engine::{CompactOptions, Engine, HashedMessages};
use epitome_store::StoreAddress;
use rusqlite::Connection;
use std::path::Path;

/// What the first release made.
const TABLES: &str = include_str!("../../schema/sqlite/0001.sql");
/// What it filled. What can be looked for is made anew from that, as after a restart.
const FILLED: [&str; 9] =
    ["installation", "numbers", "tenants", "sessions", "entries", "live", "bodies", "chains", "events"];
/// So much is said in the session.
pub(crate) const MESSAGES: usize = 40;

/// Writes such a file; its session, which was compacted once.
pub(crate) async fn write(path: &Path) -> SessionId {
    let source = path.with_extension("source");
    let address: StoreAddress = format!("sqlite:{}", source.display()).parse().expect("an address");
    let store = address.open().await.expect("it is made");
    let engine = Engine::new(store.clone());
    let session = engine.create(TenantId::LOCAL).await.expect("it is made");
    let messages = (0..MESSAGES).map(|number| (said(number), None)).collect();
    let arrival = HashedMessages { messages, ..HashedMessages::default() };
    engine.append(session, None, arrival).await.expect("it is stored");
    let options = CompactOptions::default();
    engine.compact(&checkout(session), Trigger::Manual, options).await.expect("it is compacted");
    engine.close(session).await;
    store.close().await.expect("it is closed");
    drop((engine, store));
    let tables = Connection::open(path).expect("there is room");
    tables.execute_batch(TABLES).expect("they are made");
    tables.execute("ATTACH ?1 AS source", [source.display().to_string()]).expect("it is there");
    for table in FILLED {
        let copy = format!("INSERT OR REPLACE INTO main.{table} SELECT * FROM source.{table}");
        tables.execute(&copy, []).expect("it holds the same");
    }
    let rest =
        "UPDATE sessions SET indexed = 0; DETACH source; PRAGMA user_version = 1; PRAGMA journal_mode = WAL";
    tables.execute_batch(rest).expect("it is as it was left");
    session
}

/// The version of a file's tables.
pub(crate) fn version(path: &Path) -> i64 {
    let tables = Connection::open(path).expect("it is there");
    tables.pragma_query_value(None, "user_version", |row| row.get(0)).expect("it has one")
}
