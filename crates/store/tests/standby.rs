//! A store that fails for a while: sessions go on in memory, and what they committed is stored when it answers again.

mod failing;

use epitome_core::{Author, EntryId, Message, Role};
use epitome_engine::store::{ChainHash, FaultKind, MemoryStore, SearchQuery, Store, StoreError, TenantId};
use epitome_engine::{Engine, HashedMessages};
use epitome_store::{StandbyNotice, StandbyStore};
use epitome_testbed::stores::hold_sessions;
use failing::FailingStore;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const TENANT: TenantId = TenantId([1; 32]);
/// Longer than a store that failed is left alone.
const RETRY: Duration = Duration::from_millis(2_100);

struct Scene {
    inner: Arc<FailingStore>,
    store: Arc<StandbyStore>,
    engine: Engine,
    told: Arc<Mutex<Vec<StandbyNotice>>>,
}

fn scene() -> Scene {
    let (inner, told) = (Arc::new(FailingStore::new()), Arc::<Mutex<Vec<_>>>::default());
    let heard = told.clone();
    let tell = move |notice: &StandbyNotice| heard.lock().expect("nobody failed").push(notice.clone());
    let store = Arc::new(StandbyStore::new(inner.clone(), Arc::new(tell)));
    Scene { inner, engine: Engine::new(store.clone()), store, told }
}

fn hash(number: usize) -> ChainHash {
    ChainHash([number as u8 + 1; 32])
}

fn saying(numbers: std::ops::Range<usize>) -> HashedMessages {
    let message = |number| Message::text(Role::User, Author::Person, format!("said {number}"));
    let messages = numbers.map(|number| (message(number), Some(hash(number)))).collect();
    HashedMessages { messages, ..HashedMessages::default() }
}

#[tokio::test]
async fn with_a_store_that_answers_it_is_that_store() {
    let store = StandbyStore::new(Arc::new(MemoryStore::default()), Arc::new(|notice| panic!("{notice}")));
    hold_sessions(&store).await;
}

#[tokio::test]
async fn what_is_said_while_the_store_fails_is_in_it_once_it_answers() {
    let Scene { inner, engine, told, .. } = scene();
    let session = engine.create(TENANT).await.expect("it answers");
    let ids = engine.append(session, None, saying(0..2)).await.expect("it is stored");
    inner.fail_with(Some(FaultKind::Full));
    let more = engine.append(session, Some(ids[1]), saying(2..4)).await.expect("it waits");
    let chain: Vec<ChainHash> = (0..5).map(hash).collect();
    let found = engine.find(TENANT, &chain).await.expect("it is known here").expect("it is known here");
    assert_eq!((found.session, found.entry, found.depth), (session, more[1], 4));
    let said = engine.recall(session, more[0]).await.expect("it is in memory");
    assert_eq!(said.said(), "said 2");
    engine.append(session, Some(more[1]), saying(4..5)).await.expect("it waits behind");
    assert_eq!(inner.open(session).await.map(|stored| stored.log.len()).ok(), Some(2), "nothing reached it");

    inner.fail_with(None);
    tokio::time::sleep(RETRY).await;
    engine.append(session, Some(EntryId(4)), saying(5..6)).await.expect("it is stored, with what waited");
    assert_eq!(inner.open(session).await.map(|stored| stored.log.len()).ok(), Some(6));
    let told = told.lock().expect("nobody failed").clone();
    assert!(
        matches!(&told[..], [StandbyNotice::Fails(fault), StandbyNotice::Answers { stored: 2 }] if fault.kind == FaultKind::Full),
        "{told:?}"
    );
}

#[tokio::test]
async fn a_conversation_begun_while_the_store_fails_is_taken_up_in_it_later() {
    let Scene { inner, engine, .. } = scene();
    inner.fail_with(Some(FaultKind::Gone));
    let session = engine.create(TENANT).await.expect("it is begun in memory");
    engine.append(session, None, saying(0..3)).await.expect("it is kept in memory");
    let chain: Vec<ChainHash> = (0..3).map(hash).collect();
    let found = engine.find(TENANT, &chain).await.expect("it answers").expect("it is known");
    assert_eq!((found.session, found.depth), (session, 3));
    inner.fail_with(None);
    tokio::time::sleep(RETRY).await;
    assert_eq!(engine.find(TENANT, &chain).await.expect("it answers"), None, "the store knows nothing of it");
    let stored = engine.create(TENANT).await.expect("it answers");
    assert!(stored.0 < 1 << 62);
    engine.append(stored, None, saying(0..3)).await.expect("it is stored");
    assert_eq!(inner.open(stored).await.map(|stored| stored.log.len()).ok(), Some(3));
}

#[tokio::test]
async fn what_waits_for_a_session_that_others_took_is_lost_and_said() {
    let Scene { inner, engine, told, .. } = scene();
    let session = engine.create(TENANT).await.expect("it answers");
    let ids = engine.append(session, None, saying(0..1)).await.expect("it is stored");
    inner.fail_with(Some(FaultKind::Gone));
    engine.append(session, Some(ids[0]), saying(1..2)).await.expect("it waits");
    inner.fail_with(None);
    inner.take_away(session).await;
    tokio::time::sleep(RETRY).await;
    let late = engine.append(session, Some(EntryId(1)), saying(2..3)).await;
    assert!(late.is_err() || inner.open(session).await.is_ok_and(|stored| stored.log.len() == 1));
    let told = told.lock().expect("nobody failed").clone();
    assert!(told.iter().any(|notice| matches!(notice, StandbyNotice::Lost { .. })), "{told:?}");
}

#[tokio::test]
async fn what_ends_unstored_is_told_and_what_can_be_stored_then_is_stored() {
    let Scene { inner, engine, store, told } = scene();
    let session = engine.create(TENANT).await.expect("it answers");
    let ids = engine.append(session, None, saying(0..1)).await.expect("it is stored");
    store.close().await;
    assert_eq!(told.lock().expect("nobody failed").len(), 0, "nothing waits");
    inner.fail_with(Some(FaultKind::Full));
    engine.append(session, Some(ids[0]), saying(1..2)).await.expect("it waits");
    let begun = engine.create(TENANT).await.expect("it is begun in memory");
    engine.append(begun, None, saying(5..6)).await.expect("it is kept in memory");
    store.close().await;
    let last = told.lock().expect("nobody failed").last().cloned().expect("it was told");
    assert_eq!(
        last.to_string(),
        "the store still fails: of 1 conversation it lacks the newest part, of 1 everything"
    );
    inner.fail_with(None);
    store.close().await;
    assert_eq!(inner.open(session).await.map(|stored| stored.log.len()).ok(), Some(2));
    let last = told.lock().expect("nobody failed").last().cloned();
    assert_eq!(last, Some(StandbyNotice::Answers { stored: 1 }));
}

#[tokio::test]
async fn damage_is_no_outage() {
    let Scene { inner, engine, .. } = scene();
    inner.fail_with(Some(FaultKind::Damaged));
    let failed = engine.search(&SearchQuery { words: "x".into(), ..SearchQuery::default() }).await;
    assert!(failed.is_err());
    let made = engine.create(TENANT).await.map_err(|error| error.to_string());
    assert!(made.is_err(), "{made:?}");
    assert!(matches!(inner.create(TENANT).await, Err(StoreError::Fault(_))));
}
