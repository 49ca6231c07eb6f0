//! The suite that every store is held to, over SQLite and over PostgreSQL: one body for each of its parts.

use epitome_store::{PostgresAddress, PostgresStore, SessionStore, SqliteStore};
use epitome_testbed::TestPostgres;
use epitome_testbed::stores::{
    hold_bodies, hold_interleaving, hold_replicas, hold_sessions, hold_succession, hold_volume,
};
use std::path::PathBuf;

/// What stores can be opened on, several at once.
enum Tables {
    File(PathBuf, #[expect(dead_code, reason = "the folder lasts as long as this")] tempfile::TempDir),
    Database(PostgresAddress),
}

impl Tables {
    fn of_each_kind() -> [Self; 2] {
        let folder = tempfile::tempdir().expect("a folder");
        let address = TestPostgres::shared().database().parse().expect("an address");
        [Self::File(folder.path().join("epitome.db"), folder), Self::Database(address)]
    }

    async fn open(&self) -> Box<dyn SessionStore> {
        match self {
            Self::File(path, _) => Box::new(SqliteStore::open(path).expect("it is made")),
            Self::Database(address) => Box::new(PostgresStore::open(address).await.expect("it is made")),
        }
    }
}

#[tokio::test]
async fn sessions_are_kept_whole_and_found_again() {
    for tables in Tables::of_each_kind() {
        hold_sessions(&*tables.open().await).await;
    }
}

#[tokio::test]
async fn a_long_transcript_is_one_batch() {
    for tables in Tables::of_each_kind() {
        hold_volume(&*tables.open().await).await;
    }
}

#[tokio::test]
async fn what_is_said_often_is_kept_once() {
    for tables in Tables::of_each_kind() {
        let store = tables.open().await;
        hold_bodies(&*store, async || store.figures().await.expect("it can be counted").bodies).await;
    }
}

#[tokio::test]
async fn replicas_write_one_at_a_time() {
    for tables in Tables::of_each_kind() {
        hold_replicas(&*tables.open().await, &*tables.open().await).await;
    }
}

#[tokio::test]
async fn a_listener_hears_each_event_once() {
    for tables in Tables::of_each_kind() {
        hold_interleaving(&*tables.open().await, &*tables.open().await).await;
    }
}

#[tokio::test]
async fn a_replica_takes_over_from_one_that_is_gone() {
    for tables in Tables::of_each_kind() {
        hold_succession(tables.open().await, &*tables.open().await).await;
    }
}
