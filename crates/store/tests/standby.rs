//! A store that fails for a while: sessions go on in memory, and what they committed is stored when it answers again.

mod watched;

use epitome_core::{Author, EntryId, Message, Role};
use epitome_engine::store::{
    ChainHash, FaultKind, Lease, SearchQuery, SessionId, Store as _, StoreError, StoreFault, TenantId,
};
use epitome_engine::{Engine, HashedMessages};
use epitome_store::{SessionStore, StandbyNotice, StandbyStore, StoreAddress};
use epitome_testbed::TestStore;
use epitome_testbed::stores::hold_sessions;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use watched::{StoreCall, Watch, WatchedStore};

const TENANT: TenantId = TenantId([1; 32]);
/// Longer than a store that failed is left alone.
const RETRY: Duration = Duration::from_millis(2_100);

/// Refuses every call while it is told to.
#[derive(Default)]
struct FailingWatch(Mutex<Option<FaultKind>>);

impl Watch for FailingWatch {
    fn begins(&self, _: StoreCall) -> Result<(), StoreError> {
        match *self.0.lock().expect("nobody failed") {
            None => Ok(()),
            Some(kind) => Err(StoreFault { kind, what: "the test wants it so".into() }.into()),
        }
    }
}

struct Scene {
    /// Answers whoever asks it by itself.
    inner: Arc<dyn SessionStore>,
    watch: Arc<FailingWatch>,
    store: Arc<StandbyStore>,
    engine: Engine,
    told: Arc<Mutex<Vec<StandbyNotice>>>,
}

impl Scene {
    async fn new(place: &TestStore) -> Self {
        let address: StoreAddress = place.address().parse().expect("an address");
        let (inner, told) = (address.open().await.expect("it is made"), Arc::<Mutex<Vec<_>>>::default());
        let watch = Arc::new(FailingWatch::default());
        let heard = told.clone();
        let tell = move |notice: &StandbyNotice| heard.lock().expect("nobody failed").push(notice.clone());
        let failing = Arc::new(WatchedStore::new(inner.clone(), watch.clone()));
        let store = Arc::new(StandbyStore::new(failing, Arc::new(tell)));
        Self { inner, watch, engine: Engine::new(store.clone()), store, told }
    }

    fn fail_with(&self, kind: Option<FaultKind>) {
        *self.watch.0.lock().expect("nobody failed") = kind;
    }

    /// How many entries of a session are stored.
    async fn stored(&self, session: SessionId) -> usize {
        self.inner.open(session).await.expect("it is there").log.len()
    }

    /// Gives a session to another, whose first lease it was.
    async fn take_away(&self, session: SessionId) {
        self.inner.release(Lease { session, fence: 1 }).await;
        self.inner.lease(session).await.expect("it answers").expect("it is free");
    }
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
    for place in TestStore::of_each_kind() {
        let store = place.address().parse::<StoreAddress>().expect("an address").open().await;
        let store = StandbyStore::new(store.expect("it is made"), Arc::new(|notice| panic!("{notice}")));
        hold_sessions(&store).await;
    }
}

#[tokio::test]
async fn what_is_said_while_the_store_fails_is_in_it_once_it_answers() {
    for place in TestStore::of_each_kind() {
        let scene = Scene::new(&place).await;
        let engine = &scene.engine;
        let session = engine.create(TENANT).await.expect("it answers");
        let ids = engine.append(session, None, saying(0..2)).await.expect("it is stored");
        scene.fail_with(Some(FaultKind::Full));
        let more = engine.append(session, Some(ids[1]), saying(2..4)).await.expect("it waits");
        let chain: Vec<ChainHash> = (0..5).map(hash).collect();
        let found = engine.find(TENANT, &chain).await.expect("it is known here").expect("it is known here");
        assert_eq!((found.session, found.entry, found.depth), (session, more[1], 4));
        let said = engine.recall(session, more[0]).await.expect("it is in memory");
        assert_eq!(said.said(), "said 2");
        engine.append(session, Some(more[1]), saying(4..5)).await.expect("it waits behind");
        assert_eq!(scene.stored(session).await, 2, "nothing reached it");

        scene.fail_with(None);
        tokio::time::sleep(RETRY).await;
        engine.append(session, Some(EntryId(4)), saying(5..6)).await.expect("it is stored, with what waited");
        assert_eq!(scene.stored(session).await, 6);
        let told = scene.told.lock().expect("nobody failed").clone();
        assert!(
            matches!(&told[..], [StandbyNotice::Fails(fault), StandbyNotice::Answers { stored: 2 }] if fault.kind == FaultKind::Full),
            "{told:?}"
        );
    }
}

#[tokio::test]
async fn a_conversation_begun_while_the_store_fails_is_taken_up_in_it_later() {
    for place in TestStore::of_each_kind() {
        let scene = Scene::new(&place).await;
        let engine = &scene.engine;
        scene.fail_with(Some(FaultKind::Gone));
        let session = engine.create(TENANT).await.expect("it is begun in memory");
        engine.append(session, None, saying(0..3)).await.expect("it is kept in memory");
        let chain: Vec<ChainHash> = (0..3).map(hash).collect();
        let found = engine.find(TENANT, &chain).await.expect("it answers").expect("it is known");
        assert_eq!((found.session, found.depth), (session, 3));
        scene.fail_with(None);
        tokio::time::sleep(RETRY).await;
        assert_eq!(
            engine.find(TENANT, &chain).await.expect("it answers"),
            None,
            "the store knows nothing of it"
        );
        let stored = engine.create(TENANT).await.expect("it answers");
        assert!(stored.0 < 1 << 62);
        engine.append(stored, None, saying(0..3)).await.expect("it is stored");
        assert_eq!(scene.stored(stored).await, 3);
    }
}

#[tokio::test]
async fn what_waits_for_a_session_that_others_took_is_lost_and_said() {
    for place in TestStore::of_each_kind() {
        let scene = Scene::new(&place).await;
        let engine = &scene.engine;
        let session = engine.create(TENANT).await.expect("it answers");
        let ids = engine.append(session, None, saying(0..1)).await.expect("it is stored");
        scene.fail_with(Some(FaultKind::Gone));
        engine.append(session, Some(ids[0]), saying(1..2)).await.expect("it waits");
        scene.fail_with(None);
        scene.take_away(session).await;
        tokio::time::sleep(RETRY).await;
        let late = engine.append(session, Some(EntryId(1)), saying(2..3)).await;
        assert!(late.is_err() || scene.stored(session).await == 1);
        let told = scene.told.lock().expect("nobody failed").clone();
        assert!(told.iter().any(|notice| matches!(notice, StandbyNotice::Lost { .. })), "{told:?}");
    }
}

#[tokio::test]
async fn what_ends_unstored_is_told_and_what_can_be_stored_then_is_stored() {
    for place in TestStore::of_each_kind() {
        let scene = Scene::new(&place).await;
        let engine = &scene.engine;
        let last = || scene.told.lock().expect("nobody failed").last().cloned();
        let session = engine.create(TENANT).await.expect("it answers");
        let ids = engine.append(session, None, saying(0..1)).await.expect("it is stored");
        scene.store.close().await;
        assert_eq!(last(), None, "nothing waits");
        scene.fail_with(Some(FaultKind::Full));
        engine.append(session, Some(ids[0]), saying(1..2)).await.expect("it waits");
        let begun = engine.create(TENANT).await.expect("it is begun in memory");
        engine.append(begun, None, saying(5..6)).await.expect("it is kept in memory");
        scene.store.close().await;
        assert_eq!(
            last().expect("it was told").to_string(),
            "the store still fails: of 1 conversation it lacks the newest part, of 1 everything"
        );
        scene.fail_with(None);
        scene.store.close().await;
        assert_eq!(scene.stored(session).await, 2);
        assert_eq!(last(), Some(StandbyNotice::Answers { stored: 1 }));
    }
}

#[tokio::test]
async fn what_is_read_may_wait_in_part_and_what_cannot_be_read_is_named() {
    for place in TestStore::of_each_kind() {
        let scene = Scene::new(&place).await;
        let engine = &scene.engine;
        let session = engine.create(TENANT).await.expect("it answers");
        let ids = engine.append(session, None, saying(0..2)).await.expect("it is stored");
        scene.fail_with(Some(FaultKind::Gone));
        let more = engine.append(session, Some(ids[1]), saying(2..3)).await.expect("it waits");
        let all = [more[0], ids[0], ids[1]];
        let lost = scene.store.originals(session, &all).await;
        assert!(
            matches!(&lost, Err(StoreError::OutOfReach { session: of, ids: unread }) if *of == session && *unread == ids),
            "{lost:?}"
        );
        assert_eq!(scene.store.queued(session).await.expect("nobody knows of any"), []);
        // It can be read, as a full one can, though it is not tried again yet.
        scene.fail_with(None);
        let read = scene.store.originals(session, &all).await.expect("it is here and there");
        let said: Vec<String> = read.iter().map(|message| message.said()).collect();
        assert_eq!(said, ["said 2", "said 0", "said 1"]);
    }
}

#[tokio::test]
async fn a_session_that_is_let_go_while_the_store_fails_is_given_back_when_what_waits_is_stored() {
    for place in TestStore::of_each_kind() {
        let scene = Scene::new(&place).await;
        let engine = &scene.engine;
        let session = engine.create(TENANT).await.expect("it answers");
        let ids = engine.append(session, None, saying(0..1)).await.expect("it is stored");
        scene.fail_with(Some(FaultKind::Gone));
        engine.append(session, Some(ids[0]), saying(1..2)).await.expect("it waits");
        engine.close(session).await;
        let chain: Vec<ChainHash> = (0..2).map(hash).collect();
        assert_eq!(engine.find(TENANT, &chain).await.expect("it answers"), None, "nobody here has it");
        scene.fail_with(None);
        let early = engine.about(session).await.map_err(|error| error.to_string());
        assert_eq!(
            early,
            Err(format!(
                "what was said in {session} is not stored yet; try again when whoever holds it is done"
            ))
        );
        tokio::time::sleep(RETRY).await;
        let found = engine.find(TENANT, &chain).await.expect("it answers").expect("it is stored");
        assert_eq!((found.session, found.depth, scene.stored(session).await), (session, 2, 2));
        let told = scene.told.lock().expect("nobody failed").clone();
        assert!(
            matches!(told[..], [StandbyNotice::Fails(_), StandbyNotice::Answers { stored: 1 }]),
            "{told:?}"
        );
        assert!(scene.inner.lease(session).await.expect("it answers").is_some(), "it was given back");
    }
}

#[tokio::test]
async fn damage_is_no_outage() {
    for place in TestStore::of_each_kind() {
        let scene = Scene::new(&place).await;
        let engine = &scene.engine;
        scene.fail_with(Some(FaultKind::Damaged));
        let failed = engine.search(&SearchQuery { words: "x".into(), ..SearchQuery::default() }).await;
        assert!(failed.is_err());
        let made = engine.create(TENANT).await.map_err(|error| error.to_string());
        assert!(made.is_err(), "{made:?}");
    }
}
