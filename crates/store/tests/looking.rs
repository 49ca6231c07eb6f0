//! A file that may not be written is looked at all the same, and whatever would write says so.

use epitome_core::{Author, Entry, EntryId, Item, Message, Role};
use epitome_engine::AppendedEntry;
use epitome_engine::store::{CommitBatch, FaultKind, SearchQuery, Store as _, StoreError, TenantId};
use epitome_store::{SessionFilter, SessionStore as _, SqliteStore};
use std::sync::Arc;

#[tokio::test]
async fn a_store_that_may_not_be_written_is_read_and_searched() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("epitome.db");
    let message = Message::text(Role::User, Author::Person, "where is the parser?");
    let session = {
        let store = SqliteStore::open(&path).expect("it is made");
        let session = store.create(TenantId::LOCAL).await.expect("a session");
        let lease = store.lease(session).await.expect("it answers").expect("it is free");
        let entry = AppendedEntry { id: EntryId(0), parent: None, entry: Entry::Message(Item::of(&message)) };
        let batch = CommitBatch {
            entries: vec![entry],
            messages: vec![(EntryId(0), Arc::new(message.clone()))],
            leaf: Some(EntryId(0)),
            ..CommitBatch::default()
        };
        store.commit(lease, 0, batch).await.expect("it is committed");
        let query = SearchQuery { words: "parser".into(), ..SearchQuery::default() };
        assert_eq!(store.search(&query).await.expect("it can be searched").len(), 1);
        session
    };
    let before = std::fs::read(&path).expect("it is there");
    let store = SqliteStore::look(&path).expect("it can be read");
    let listed = store.list(&SessionFilter::default()).await.expect("it answers");
    assert_eq!(listed.iter().map(|one| (one.session, one.is_held)).collect::<Vec<_>>(), [(session, false)]);
    assert_eq!(*store.originals(session, &[EntryId(0)]).await.expect("it is kept")[0], message);
    let query = SearchQuery { words: "parser".into(), ..SearchQuery::default() };
    assert_eq!(store.search(&query).await.expect("it can be searched").len(), 1);
    assert_eq!(store.check().await.expect("it answers"), []);
    let refused = store.create(TenantId::LOCAL).await.expect_err("nothing is written");
    assert!(
        matches!(refused, StoreError::Fault(ref fault) if fault.kind == FaultKind::ReadOnly),
        "{refused}"
    );
    store.close().await.expect("it is closed");
    drop(store);
    assert!(std::fs::read(&path).expect("it is there") == before, "and nothing was");
}
