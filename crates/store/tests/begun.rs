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
    // Whoever speaks for the first time is entered.
    let first = store.begin(TenantId::LOCAL).await.expect("a session");
    assert_eq!(listed(&other).await, [(first.session, true)]);

    let second = store.begin(TenantId::LOCAL).await.expect("a session");
    assert_eq!(second.session, SessionId(first.session.0 + 1));
    assert_eq!(listed(&other).await, [(first.session, true)], "nothing is written of it");
    assert_eq!(store.open(second.session).await.expect("it is there").log.len(), 0);
    assert!(store.hold(second).await.expect("it answers"));
    assert!(matches!(other.open(second.session).await, Err(StoreError::NoSession(_))));

    store.commit(second, 0, saying("where is the parser?")).await.expect("it is committed");
    assert_eq!(listed(&other).await, [(first.session, true), (second.session, true)]);
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
    let last = {
        let store = SqliteStore::open(&path).expect("it is made");
        let spoken = store.begin(TenantId::LOCAL).await.expect("a session");
        for _ in 0..20 {
            let silent = store.begin(TenantId::LOCAL).await.expect("a session");
            store.release(silent).await;
            assert!(!store.hold(silent).await.is_ok_and(|is_held| is_held));
        }
        let removed = store.begin(TenantId::LOCAL).await.expect("a session");
        store.remove(removed.session).await.expect("it is there");
        assert!(matches!(store.open(removed.session).await, Err(StoreError::NoSession(_))));
        let last = store.begin(TenantId::LOCAL).await.expect("a session");
        store.commit(last, 0, saying("where is the parser?")).await.expect("it is committed");
        // Seventeen at a time are made known: the first of them is written.
        let written = [spoken.session, SessionId(spoken.session.0 + 17), last.session];
        assert_eq!(listed(&store).await.iter().map(|one| one.0).collect::<Vec<_>>(), written);
        last.session
    };
    let store = SqliteStore::open(&path).expect("it opens");
    let next = store.create(TenantId::LOCAL).await.expect("a session");
    assert_eq!(next, SessionId(last.0 + 1), "numbers that nobody took are given again");
    assert_eq!(store.check().await.expect("it answers"), []);
}
