//! Sessions that were begun and in which nothing was said yet: they come into the file with what is said first, and leave nothing where
//! nobody speaks.

use epitome_core::{Author, Entry, EntryId, Item, Message, Role};
use epitome_engine::AppendedEntry;
use epitome_engine::store::{CommitBatch, SessionId, Store as _, StoreError, TenantId};
use epitome_store::{SessionFilter, SessionStore as _, SqliteStore};
use std::sync::Arc;

fn saying(words: &str) -> CommitBatch {
    let message = Message::text(Role::User, Author::Person, words);
    let entry = AppendedEntry { id: EntryId(0), parent: None, entry: Entry::Message(Item::of(&message)) };
    CommitBatch {
        entries: vec![entry],
        messages: vec![(EntryId(0), Arc::new(message))],
        leaf: Some(EntryId(0)),
        ..CommitBatch::default()
    }
}

async fn listed(store: &SqliteStore) -> Vec<(SessionId, bool)> {
    let mut sessions = store.list(&SessionFilter::default()).await.expect("it answers");
    sessions.sort_by_key(|one| one.session);
    sessions.iter().map(|one| (one.session, one.is_held)).collect()
}

#[tokio::test]
async fn a_session_comes_into_the_file_with_what_is_said_first() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("epitome.db");
    let store = SqliteStore::open(&path).expect("it is made");
    let other = SqliteStore::open(&path).expect("it opens");
    let first = store.begin(TenantId::LOCAL).await.expect("a session");
    let second = store.begin(TenantId::LOCAL).await.expect("a session");
    assert_eq!(second.session, SessionId(first.session.0 + 1));
    assert_eq!(listed(&other).await, [], "nothing is written of them");
    assert_eq!(store.open(second.session).await.expect("it is there").log.len(), 0);
    assert!(store.hold(second).await.expect("it answers"));
    assert!(matches!(other.open(second.session).await, Err(StoreError::NoSession(_))));

    store.commit(second, 0, saying("where is the parser?")).await.expect("it is committed");
    assert_eq!(listed(&other).await, [(second.session, true)]);
    assert_eq!(other.lease(second.session).await.expect("it answers"), None, "it is held from the beginning");
    store.release(second).await;
    assert!(!store.hold(second).await.expect("it answers"));
    let taken = other.lease(second.session).await.expect("it answers").expect("it is free");
    let refused = store.commit(second, 1, saying("and the lexer?")).await.expect_err("others have it");
    assert!(matches!(refused, StoreError::Fenced(_)), "{refused}");
    other.release(taken).await;
}

#[tokio::test]
async fn of_a_session_in_which_nobody_speaks_nothing_is_left() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("epitome.db");
    let store = SqliteStore::open(&path).expect("it is made");
    for _ in 0..40 {
        let silent = store.begin(TenantId::LOCAL).await.expect("a session");
        store.release(silent).await;
        assert!(!store.hold(silent).await.expect("it answers"), "it was given back");
    }
    let removed = store.begin(TenantId::LOCAL).await.expect("a session");
    store.remove(removed.session).await.expect("it is there");
    assert!(matches!(store.open(removed.session).await, Err(StoreError::NoSession(_))));
    let late = store.commit(removed, 0, saying("where is the parser?")).await;
    assert!(matches!(late, Err(StoreError::NoSession(_))), "what is removed does not come back");
    assert_eq!(listed(&store).await, []);
}

#[tokio::test]
async fn what_waits_for_a_session_that_was_given_back_is_stored_all_the_same() {
    let folder = tempfile::tempdir().expect("there is room");
    let store = SqliteStore::open(&folder.path().join("epitome.db")).expect("it is made");
    let lease = store.begin(TenantId::LOCAL).await.expect("a session");
    let refused = store.commit(lease, 3, saying("behind three others")).await;
    assert!(matches!(refused, Err(StoreError::Conflict { .. })), "nothing was said in it");
    store.release(lease).await;
    // As one that waited in front of a full disk.
    store.commit(lease, 0, saying("where is the parser?")).await.expect("it is committed");
    // Another process may have it, too.
    let other = SqliteStore::open(&folder.path().join("epitome.db")).expect("it opens");
    let again = other.lease(lease.session).await.expect("it answers").expect("nobody has it any more");
    assert!(again.fence > lease.fence);
    assert_eq!(store.open(lease.session).await.expect("it is there").log.len(), 1);
}

#[tokio::test]
async fn numbers_that_no_session_has_are_given_again_and_none_twice() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("epitome.db");
    let begin = async |store: &SqliteStore| {
        let lease = store.begin(TenantId::LOCAL).await.expect("a session");
        store.commit(lease, 0, saying("where is the parser?")).await.expect("it is committed");
        lease.session.0
    };
    let first = SqliteStore::open(&path).expect("it is made");
    let second = SqliteStore::open(&path).expect("it opens");
    let mut given = vec![begin(&first).await, begin(&second).await, begin(&first).await];
    // Whoever took the last numbers gives them back; behind the others somebody has some still.
    drop(second);
    given.push(begin(&first).await);
    drop(first);
    let third = SqliteStore::open(&path).expect("it opens");
    given.push(begin(&third).await);
    assert_eq!(given, [1, 17, 2, 3, 18]);
    drop(third);
    let fourth = SqliteStore::open(&path).expect("it opens");
    given.extend([begin(&fourth).await, fourth.create(TenantId::LOCAL).await.expect("a session").0]);
    assert_eq!(given[5..], [19, 35]);
    // A client that is new to the store goes on with the numbers that are there.
    let other = fourth.begin(TenantId([7; 32])).await.expect("a session");
    assert_eq!(other.session.0, 20);
    assert_eq!(fourth.check().await.expect("it answers"), []);
}
