//! The suite that every store is held to, over SQLite and over PostgreSQL.

use epitome_store::{PostgresStore, SqliteStore};
use epitome_testbed::TestPostgres;
use epitome_testbed::stores::hold_sessions;

#[tokio::test]
async fn a_file_holds_what_every_store_must() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = SqliteStore::open(&folder.path().join("epitome.db")).expect("it is made");
    hold_sessions(&store).await;
}

#[tokio::test]
async fn a_database_holds_what_every_store_must() {
    let address = TestPostgres::shared().database().parse().expect("an address");
    let store = PostgresStore::open(&address).await.expect("its tables are made");
    hold_sessions(&store).await;
}
