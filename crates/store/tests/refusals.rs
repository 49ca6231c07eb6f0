//! Writes that are refused in the middle of a compaction, at every place where one can be: the log has no gap, no compaction is
//! half there, what was acknowledged is there, and the next look makes the compaction once.

mod history;
mod watched;

use epitome_core::{Entry, EntryId, Mark};
use epitome_engine::store::{
    EventPosition, FaultKind, SessionId, StoreError, StoreFault, StoredEvent, TenantId,
};
use epitome_engine::{Engine, Event, HashedMessages};
use epitome_store::{SessionStore, StoreAddress};
use epitome_testbed::{TestPostgres, TestStore};
use history::{checkout, hold_history, hold_settled, said};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use watched::{StoreCall, Watch, WatchedStore};

/// So many messages are appended at once: together they need a compaction.
const AT_ONCE: usize = 40;

/// Refuses the `nth` call.
struct RefusingWatch {
    nth: usize,
    calls: AtomicUsize,
}

impl Watch for RefusingWatch {
    fn begins(&self, _: StoreCall) -> Result<(), StoreError> {
        match self.calls.fetch_add(1, Ordering::Relaxed) + 1 {
            call if call == self.nth => {
                let what = format!("call {call} is refused, as the test wants it");
                Err(StoreFault { kind: FaultKind::Full, what }.into())
            }
            _ => Ok(()),
        }
    }
}

/// A session in a store.
struct Scene {
    store: Arc<dyn SessionStore>,
    session: SessionId,
}

impl Scene {
    /// One that was compacted a few times, and should be again.
    async fn new(store: &Arc<dyn SessionStore>) -> Self {
        let engine = Engine::new(store.clone());
        let session = engine.create(TenantId::LOCAL).await.expect("it is made");
        let scene = Self { store: store.clone(), session };
        for round in 0..5 {
            scene.say(&engine, round * AT_ONCE..(round + 1) * AT_ONCE).await.expect("it is stored");
            if round < 4 {
                engine.prepare(&checkout(session)).await.expect("it is prepared");
            }
        }
        assert!(engine.look(&checkout(session)).await.expect("it is there").check().is_due());
        engine.close(session).await;
        scene
    }

    async fn say(&self, engine: &Engine, numbers: std::ops::Range<usize>) -> Option<Vec<EntryId>> {
        let leaf = engine.look(&checkout(self.session)).await.ok()?.leaf();
        let messages = numbers.map(|number| (said(number), None)).collect();
        let arrival = HashedMessages { messages, ..HashedMessages::default() };
        engine.append(self.session, leaf, arrival).await.ok()
    }

    async fn len(&self) -> usize {
        self.store.open_whole(self.session).await.expect("it is there").log.len()
    }

    /// Compactions among the entries from one on, and among the events that tell of them.
    async fn compactions(&self, from: usize) -> [Vec<EntryId>; 2] {
        let whole = self.store.open_whole(self.session).await.expect("it is there");
        let made = whole.log.iter().filter(|(id, entry)| {
            id.index() >= from && matches!(entry, Entry::Mark(Mark::Compaction { .. }))
        });
        let events = self.store.events(EventPosition::default()).await.expect("they are kept");
        let told = |stored: &StoredEvent| match &stored.event {
            Event::Completed { entry, .. } if stored.session == self.session => Some(*entry),
            _ => None,
        };
        let told = events.iter().filter_map(told).filter(|entry| entry.index() >= from);
        [made.map(|(id, _)| id).collect(), told.collect()]
    }

    /// Says something and compacts; whether both were answered well, after what must hold whatever came of it was held.
    async fn act(&self, engine: &Engine) -> (bool, usize) {
        let before = self.len().await;
        let said = self.say(engine, 5 * AT_ONCE..5 * AT_ONCE + 1).await;
        let acknowledged = before + usize::from(said.is_some());
        match engine.prepare(&checkout(self.session)).await {
            Ok(prepared) => (said.is_some(), prepared.session.log().len().max(acknowledged)),
            Err(_) => (false, acknowledged),
        }
    }

    /// What holds after a refusal, and that the next look makes good what was not made.
    async fn hold(&self, before: usize, acknowledged: usize, what: &str) {
        assert_eq!(self.store.check().await.expect("it answers"), [], "{what}: nothing is half there");
        hold_history(&*self.store, self.session, acknowledged).await;
        let [made, told] = self.compactions(before).await;
        assert_eq!(made, told, "{what}: a compaction and its event are there together");
        assert!(made.len() <= 1, "{what}: {made:?}");
        let engine = Engine::new(self.store.clone());
        hold_settled(&engine, self.session).await;
        engine.close(self.session).await;
        let [made, told] = self.compactions(before).await;
        assert_eq!((made.len(), told.len()), (1, 1), "{what}: it is made once");
    }
}

async fn open(place: &TestStore) -> Arc<dyn SessionStore> {
    place.address().parse::<StoreAddress>().expect("an address").open().await.expect("it is made")
}

#[tokio::test]
async fn a_compaction_with_any_one_call_refused_is_made_once() {
    for place in TestStore::of_each_kind() {
        let store = open(&place).await;
        let mut refused = 0;
        for nth in 1.. {
            let scene = Scene::new(&store).await;
            let watch = Arc::new(RefusingWatch { nth, calls: AtomicUsize::new(0) });
            let engine = Engine::new(Arc::new(WatchedStore::new(store.clone(), watch.clone())));
            let before = scene.len().await;
            let (is_well, acknowledged) = scene.act(&engine).await;
            engine.close(scene.session).await;
            scene.hold(before, acknowledged, &format!("{}, call {nth}", place.address())).await;
            if watch.calls.load(Ordering::Relaxed) < nth {
                assert!(is_well, "nothing was refused");
                break;
            }
            refused += 1;
        }
        assert!(refused >= 5, "{}: only {refused} calls", place.address());
    }
}

/// Tables whose rows a compaction writes.
const TABLES: [&str; 6] = ["sessions", "entries", "bodies", "chains", "events", "live"];

/// Has the database refuse the `nth` row that is written from now on, and all behind it.
fn refuse_rows(place: &TestStore, nth: usize) {
    let mut sql = match place.is_file() {
        true => format!("CREATE TABLE test_writes (lacking); INSERT INTO test_writes VALUES ({nth});"),
        false => format!(
            "SET search_path = epitome; CREATE SEQUENCE test_writes;
             CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 IF nextval('epitome.test_writes') >= {nth} THEN
                     RAISE EXCEPTION 'as the test wants it' USING ERRCODE = '53100';
                 END IF;
                 RETURN NEW; END $$;"
        ),
    };
    for table in TABLES {
        sql += &match place.is_file() {
            true => ["INSERT", "UPDATE"].map(|act| {
                format!(
                    "CREATE TRIGGER refuse_{table}_{act} BEFORE {act} ON {table} BEGIN
                         UPDATE test_writes SET lacking = lacking - 1;
                         SELECT RAISE(ABORT, 'as the test wants it') FROM test_writes WHERE lacking <= 0; END;"
                )
            }).concat(),
            false => format!(
                "CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION refuse();"
            ),
        };
    }
    run(place, &sql);
}

fn allow_rows(place: &TestStore) {
    let sql = match place.is_file() {
        true => {
            let drop = |table: &str| {
                format!("DROP TRIGGER refuse_{table}_INSERT; DROP TRIGGER refuse_{table}_UPDATE;")
            };
            TABLES.map(drop).concat() + "DROP TABLE test_writes;"
        }
        false => "DROP FUNCTION epitome.refuse CASCADE; DROP SEQUENCE epitome.test_writes".into(),
    };
    run(place, &sql);
}

fn run(place: &TestStore, sql: &str) {
    match place.address().strip_prefix("sqlite:") {
        Some(file) => {
            let database = rusqlite::Connection::open(file).expect("it is a database");
            database.busy_timeout(std::time::Duration::from_secs(5)).expect("it waits");
            database.execute_batch(sql).expect("it is run");
        }
        None => {
            TestPostgres::shared().run(place.address(), sql);
        }
    }
}

#[tokio::test]
async fn a_compaction_for_which_the_disk_is_full_at_any_row_is_made_once() {
    for place in TestStore::of_each_kind() {
        let store = open(&place).await;
        let mut refused = 0;
        for nth in 1.. {
            let scene = Scene::new(&store).await;
            let (engine, before) = (Engine::new(store.clone()), scene.len().await);
            engine.look(&checkout(scene.session)).await.expect("it is opened");
            refuse_rows(&place, nth);
            let (is_well, acknowledged) = scene.act(&engine).await;
            allow_rows(&place);
            engine.close(scene.session).await;
            scene.hold(before, acknowledged, &format!("{}, row {nth}", place.address())).await;
            // What is live may still have been refused: nobody is told of that.
            refused += usize::from(!is_well);
            if is_well && nth > refused + 2 {
                break;
            }
        }
        assert!(refused >= 4, "{}: only {refused} rows", place.address());
    }
}
