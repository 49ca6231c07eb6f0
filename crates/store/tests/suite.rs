//! The suite that every store is held to, over SQLite.

use epitome_store::SqliteStore;
use epitome_testbed::stores::hold_sessions;

#[tokio::test]
async fn a_file_holds_what_every_store_must() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = SqliteStore::open(&folder.path().join("epitome.db")).expect("it is made");
    hold_sessions(&store).await;
}
