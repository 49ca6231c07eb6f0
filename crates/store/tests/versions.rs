//! Files of other versions: what the first release wrote is brought forward and read, what a later one wrote is refused as it stands.

mod first_version;
mod history;

use epitome_engine::Engine;
use epitome_engine::store::{SearchQuery, StoreError};
use epitome_store::{SessionStore, StoreAddress};
use epitome_testbed::TestStore;
use first_version::{MESSAGES, version};
use history::{hold_history, hold_settled};
use rusqlite::Connection;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

fn path(place: &TestStore) -> PathBuf {
    place.address().trim_start_matches("sqlite:").into()
}

async fn open(place: &TestStore) -> Result<Arc<dyn SessionStore>, StoreError> {
    place.address().parse::<StoreAddress>().expect("an address").open().await
}

#[tokio::test]
async fn a_file_of_the_first_release_is_brought_forward_and_read() {
    let place = TestStore::sqlite();
    let session = first_version::write(&path(&place)).await;
    assert_eq!(version(&path(&place)), 1);
    let store = open(&place).await.expect("it is brought forward");
    assert_eq!(version(&path(&place)), 2);
    hold_history(&*store, session, MESSAGES + 1).await;
    assert_eq!(store.records(session).await.expect("they are there").len(), 1);
    let engine = Engine::new(store.clone());
    hold_settled(&engine, session).await;
    engine.close(session).await;
    let query = SearchQuery { words: "part 7".into(), ..SearchQuery::default() };
    let found = store.search(&query).await.expect("it can be looked through");
    assert_eq!(found.first().map(|hit| hit.entry.index()), Some(7));
    assert_eq!(store.unkept(None).await.expect("it can be counted"), 0);
    assert_eq!(store.check().await.expect("it answers"), []);
}

/// The files of a store, with what is in them.
fn files(place: &TestStore) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = path(place);
    let listed = fs::read_dir(folder.parent().expect("it lies in a folder")).expect("it is there");
    let mut files: Vec<_> = listed.map(|file| file.expect("it can be read").path()).collect();
    files.sort();
    files.into_iter().map(|path| (path.clone(), fs::read(path).expect("it can be read"))).collect()
}

#[tokio::test]
async fn a_file_of_a_later_version_is_refused_and_stays_as_it_is() {
    // A later version may keep its log otherwise.
    for mode in ["WAL", "DELETE"] {
        let place = TestStore::sqlite();
        drop(open(&place).await.expect("it is made"));
        let tables = Connection::open(path(&place)).expect("it is there");
        tables
            .execute_batch(&format!("PRAGMA user_version = 99; PRAGMA journal_mode = {mode}"))
            .expect("it is");
        drop(tables);
        let before = files(&place);
        let refused = open(&place).await.map(drop).expect_err("it is of a later version");
        let told = "the store is of version 99, and this program knows 2; use the version of epitome that wrote it, or a later one";
        assert_eq!(refused.to_string(), told);
        assert!(files(&place) == before, "{mode}: it was touched");
    }
}
