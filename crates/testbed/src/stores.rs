//! What every store must hold: a suite to be run over each of them. Stores that hold one transcript make no sessions,
//! so the log of a session and the making of sessions are apart.

use crate::now;
use epitome_core::{Author, Entry, EntryId, Item, Mark, Message, Role};
use epitome_engine::store::{
    ChainHash, CommitBatch, EventPosition, Lease, SessionId, Store, StoreError, TenantId,
};
use epitome_engine::{AppendedEntry, Event};
use std::sync::Arc;

fn said(number: usize) -> Message {
    let (role, author) = if number.is_multiple_of(2) {
        (Role::User, Author::Person)
    } else {
        (Role::Assistant, Author::Model)
    };
    Message::text(role, author, format!("said for the suite, {number}"))
}

/// A batch that says `count` messages below what a session of `len` entries has got to.
fn saying(len: usize, leaf: Option<EntryId>, count: usize) -> CommitBatch {
    let (mut batch, mut parent) = (CommitBatch::default(), leaf);
    for number in 0..count {
        let (id, message) = (EntryId((len + number) as u32), said(number));
        batch.entries.push(AppendedEntry { id, parent, entry: Entry::Message(Item::of(&message)) });
        batch.messages.push((id, Arc::new(message)));
        (parent, batch.leaf) = (Some(id), Some(id));
    }
    batch
}

fn lease(store: &dyn Store, session: SessionId) -> Lease {
    now(store.lease(session)).expect("it answers").expect("nobody holds it")
}

/// Holds a store to what it must do with the log of `session`, whatever stands in it. The lease is given back.
///
/// # Panics
/// Where it does not.
pub fn hold_log(store: &dyn Store, session: SessionId) {
    let lease = lease(store, session);
    let before = now(store.open(session)).expect("it is there");
    let len = before.log.len();
    now(store.commit(lease, len, saying(len, before.leaf, 2))).expect("it is committed");
    let late = now(store.commit(lease, len, saying(len, before.leaf, 2))).expect_err("others have appended");
    assert!(
        matches!(late, StoreError::Conflict { expected, found, .. } if (expected, found) == (len, len + 2)),
        "{late}"
    );
    hold_whole(store, lease, len + 2);
    let ids = [EntryId((len + 1) as u32), EntryId(len as u32)];
    let originals = now(store.originals(session, &ids)).expect("they are kept");
    assert_eq!(originals.iter().map(|one| one.said()).collect::<Vec<_>>(), [said(1).said(), said(0).said()]);
    assert!(now(store.originals(session, &[EntryId(u32::MAX)])).is_err(), "nobody said that");
    hold_events(store, lease, len + 2);
    now(store.release(lease));
}

/// A batch is committed whole or not at all.
fn hold_whole(store: &dyn Store, lease: Lease, len: usize) {
    let leaf = Some(EntryId((len - 1) as u32));
    let mut parentless = saying(len, leaf, 2);
    parentless.entries[1].parent = Some(EntryId(u32::MAX));
    assert!(now(store.commit(lease, len, parentless)).is_err(), "nobody said what it answers");
    hold_nothing_new(store, lease, len);
    let mut unsound = saying(len, leaf, 1);
    let undo = Entry::Mark(Mark::Undo { of: EntryId((len - 1) as u32) });
    unsound.entries.push(AppendedEntry { id: EntryId((len + 1) as u32), parent: leaf, entry: undo });
    assert!(now(store.commit(lease, len, unsound)).is_err(), "a message is no compaction to undo");
    hold_nothing_new(store, lease, len);
}

/// Nothing of a batch that was refused is there.
fn hold_nothing_new(store: &dyn Store, lease: Lease, len: usize) {
    let opened = now(store.open(lease.session)).expect("it is there");
    assert_eq!((opened.log.len(), opened.leaf), (len, Some(EntryId((len - 1) as u32))));
}

/// Events come back in order, with their time, from any position on.
fn hold_events(store: &dyn Store, lease: Lease, len: usize) {
    let events = ["first", "second"].map(|why| Event::Stopped { why: why.into() }).to_vec();
    let batch = CommitBatch { events: events.clone(), time_ms: Some(7), ..CommitBatch::default() };
    let last = now(store.commit(lease, len, batch)).expect("it is committed");
    let stored = now(store.events(EventPosition::default())).expect("they are kept");
    let ours: Vec<_> = stored.iter().rev().take(2).rev().collect();
    assert_eq!(ours.iter().map(|one| one.event.clone()).collect::<Vec<_>>(), events);
    assert!(ours.iter().all(|one| (one.session, one.time_ms) == (lease.session, Some(7))));
    assert!(ours[0].position < ours[1].position && ours[1].position == last);
    assert_eq!(now(store.events(ours[0].position)).expect("they are kept").len(), 1);
    assert_eq!(now(store.events(last)).expect("it answers"), []);
}

/// Holds a store that makes sessions to what it must do with them.
///
/// # Panics
/// Where it does not.
pub fn hold_sessions(store: &dyn Store) {
    let tenant = TenantId([1; 32]);
    let session = now(store.create(tenant)).expect("a session");
    hold_log(store, session);
    let held = lease(store, session);
    assert_eq!(now(store.lease(session)).expect("it answers"), None, "one at a time");
    let opened = now(store.open(session)).expect("it is there");
    let hash = |number| ChainHash([number; 32]);
    let hashes = vec![(hash(0), EntryId(0)), (hash(1), EntryId(1))];
    let batch = CommitBatch { hashes, ..CommitBatch::default() };
    now(store.commit(held, opened.log.len(), batch)).expect("it is committed");
    let chain = [hash(0), hash(1), hash(2)];
    let found = now(store.find(tenant, &chain)).expect("it answers").expect("two are known");
    assert_eq!((found.session, found.entry, found.depth), (session, EntryId(1), 2), "the deepest");
    assert_eq!(now(store.find(TenantId([2; 32]), &chain)).expect("it answers"), None, "tenants are apart");
    now(store.release(held));
    let late = now(store.commit(held, opened.log.len(), CommitBatch::default()));
    assert!(matches!(late, Err(StoreError::Fenced(_))), "the lease was given back");
    now(store.remove(session)).expect("it is removed");
    assert!(
        now(store.open(session)).is_err() && now(store.find(tenant, &chain)).expect("it answers").is_none()
    );
}
