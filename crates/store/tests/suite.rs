//! The suite that every store is held to, over SQLite and over PostgreSQL: one body for each of its parts.

use epitome_core::EntryId;
use epitome_engine::store::{ChainHash, CommitBatch, MessageLocation, SessionId, TenantId};
use epitome_store::{SessionFilter, SessionStore, StoreAddress};
use epitome_testbed::TestStore;
use epitome_testbed::stores::{
    hold_bodies, hold_interleaving, hold_left_out, hold_replicas, hold_sessions, hold_succession, hold_volume,
};
use std::sync::Arc;

async fn open(place: &TestStore) -> Arc<dyn SessionStore> {
    let address: StoreAddress = place.address().parse().expect("an address");
    address.open().await.expect("it is made")
}

#[tokio::test]
async fn sessions_are_kept_whole_and_found_again() {
    for place in TestStore::of_each_kind() {
        hold_sessions(&*open(&place).await).await;
    }
}

#[tokio::test]
async fn a_long_transcript_is_one_batch() {
    for place in TestStore::of_each_kind() {
        hold_volume(&*open(&place).await).await;
    }
}

#[tokio::test]
async fn what_is_said_often_is_kept_once() {
    for place in TestStore::of_each_kind() {
        let store = open(&place).await;
        hold_bodies(&*store, async || store.figures().await.expect("it can be counted").bodies).await;
    }
}

#[tokio::test]
async fn what_is_left_to_the_client_is_told_and_can_be_kept_later() {
    for place in TestStore::of_each_kind() {
        let store = open(&place).await;
        hold_left_out(&*store, async || store.figures().await.expect("it can be counted").bodies).await;
        assert_eq!(store.check().await.expect("it answers"), [], "{}", place.address());
    }
}

#[tokio::test]
async fn replicas_write_one_at_a_time() {
    for place in TestStore::of_each_kind() {
        hold_replicas(&*open(&place).await, &*open(&place).await).await;
    }
}

#[tokio::test]
async fn a_listener_hears_each_event_once() {
    for place in TestStore::of_each_kind() {
        hold_interleaving(&*open(&place).await, &*open(&place).await).await;
    }
}

#[tokio::test]
async fn a_replica_takes_over_from_one_that_is_gone() {
    for place in TestStore::of_each_kind() {
        hold_succession(open(&place).await, &*open(&place).await).await;
    }
}

#[tokio::test]
async fn a_store_that_is_closed_holds_nothing_any_more() {
    for place in TestStore::of_each_kind() {
        let (first, second) = (open(&place).await, open(&place).await);
        let session = first.create(TenantId::LOCAL).await.expect("a session");
        first.lease(session).await.expect("it answers").expect("it is free");
        assert_eq!(second.lease(session).await.expect("it answers"), None, "{}", place.address());
        first.close().await.expect("it is closed");
        let listed = second.list(&SessionFilter::default()).await.expect("it answers");
        assert_eq!(listed.iter().map(|one| one.is_held).collect::<Vec<_>>(), [false], "{}", place.address());
        second.lease(session).await.expect("it answers").expect("nobody holds it");
        first.close().await.expect("once more is as well");
    }
}

#[tokio::test]
async fn each_hash_of_a_request_leads_where_it_was_said() {
    for place in TestStore::of_each_kind() {
        let store = open(&place).await;
        let tenant = TenantId([7; 32]);
        let hash = |number| ChainHash([number; 32]);
        let chain = [hash(1), hash(2), hash(3), hash(1)];
        assert_eq!(store.trace(tenant, &chain).await.expect("it answers"), [None; 4], "nobody said a thing");
        let session = store.create(tenant).await.expect("a session");
        let lease = store.lease(session).await.expect("it answers").expect("it is free");
        let hashes = vec![(hash(1), EntryId(0)), (hash(3), EntryId(2))];
        let batch = CommitBatch { hashes, ..CommitBatch::default() };
        store.commit(lease, 0, batch).await.expect("it is committed");
        let leads = |entry| Some(MessageLocation { session, entry: EntryId(entry), depth: 1 });
        let traced = store.trace(tenant, &chain).await.expect("it answers");
        assert_eq!(traced, [leads(0), None, leads(2), leads(0)], "{}", place.address());
    }
}

#[tokio::test]
async fn a_session_is_as_large_as_what_it_keeps() {
    for place in TestStore::of_each_kind() {
        let store = open(&place).await;
        let session = store.create(TenantId::LOCAL).await.expect("a session");
        let lease = store.lease(session).await.expect("it answers").expect("it is free");
        assert_eq!(store.session_bytes(session).await.expect("it answers"), 0);
        // Too short to be made smaller: a byte more says so.
        let batch = CommitBatch { file: Some(vec![7; 200].into()), ..CommitBatch::default() };
        store.commit(lease, 0, batch).await.expect("it is committed");
        assert_eq!(store.session_bytes(session).await.expect("it answers"), 201, "{}", place.address());
        let nobody = store.session_bytes(SessionId(99)).await.map_err(|error| error.to_string());
        assert_eq!(nobody, Err("there is no session s0099".into()), "{}", place.address());
    }
}
