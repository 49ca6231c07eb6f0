//! Sessions of which only what is live is read: whatever is done next, it comes to what it comes to with the whole in memory.

use epitome_core::{Author, EntryId, Message, Policy, Role, Tokens, Trigger};
use epitome_engine::store::{MemoryStore, SessionId, StoredRecord, TenantId};
use epitome_engine::{
    Assembly, Checkout, CompactOptions, Driver, Engine, EngineError, HashedMessages, Session, SessionOptions,
    WindowFacts,
};
use epitome_store::{SessionStore, StoreAddress};
use epitome_testbed::TestStore;
use epitome_tokens::{Catalog, Usage};
use std::sync::Arc;

const WINDOW: u64 = 8_000;
const LARGE_WINDOW: u64 = 400_000;
const ACTS: u64 = 160;

/// The same acts on a session in memory, and on one that is closed after each and opened again.
struct Twins {
    memory: Engine,
    stored: Engine,
    store: Arc<dyn SessionStore>,
    session: SessionId,
    seed: u64,
}

fn said(number: u64) -> Message {
    let (role, author) = if number.is_multiple_of(2) {
        (Role::User, Author::Person)
    } else {
        (Role::Assistant, Author::Model)
    };
    Message::text(
        role,
        author,
        format!("part {number}: {}", "never touch config.toml. ".repeat(1 + number as usize % 30)),
    )
}

fn checkout(session: SessionId, leaf: Option<EntryId>, window: u64) -> Checkout {
    let facts = WindowFacts { stated: Some(Tokens(window)), ..WindowFacts::default() };
    let model = Catalog::built_in().find("gpt-5");
    Checkout {
        session,
        leaf,
        assembly: Assembly::new(Policy::default().into(), model, facts).expect("a window"),
        options: SessionOptions::default(),
        driver: Driver::default(),
        idle: None,
    }
}

/// Everything that can be seen of a path.
fn seen(session: &Session) -> (Vec<Message>, String, Option<EntryId>, usize) {
    let shown = session.shown().expect("all is at hand").into_iter().map(|one| Message::clone(&one.message));
    (shown.collect(), format!("{:?}", session.check()), session.leaf(), session.log().len())
}

impl Twins {
    async fn new(place: &TestStore, seed: u64) -> Self {
        let memory = Engine::new(Arc::new(MemoryStore::default()));
        let address: StoreAddress = place.address().parse().expect("an address");
        let store = address.open().await.expect("it is made");
        let stored = Engine::new(store.clone());
        let session = memory.create(TenantId::LOCAL).await.expect("it is made");
        assert_eq!(stored.create(TenantId::LOCAL).await.expect("it is made"), session);
        Self { memory, stored, store, session, seed: seed * 7_919 + 1 }
    }

    fn chance(&mut self, of: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) % of
    }

    /// Does the same to both; both must say the same of it.
    async fn act<T: std::fmt::Debug>(
        &self,
        act: impl AsyncFn(&Engine) -> Result<T, EngineError>,
        what: &str,
    ) {
        let (memory, stored) = (act(&self.memory).await, act(&self.stored).await);
        assert_eq!(memory.is_ok(), stored.is_ok(), "{what}: {memory:?} and {stored:?}");
        self.stored.close(self.session).await;
    }

    async fn step(&mut self, number: u64) {
        let session = self.session;
        let path = self.memory.look(&checkout(session, None, WINDOW)).await.expect("it is there");
        let (leaf, history) = (path.leaf(), path.history().to_vec());
        let old = history.get(self.chance(history.len() as u64 + 1) as usize).copied();
        let compactions = path.compactions().to_vec();
        let pass = compactions.get(self.chance(compactions.len() as u64 + 1) as usize).copied();
        let here = checkout(session, None, WINDOW);
        let saying = |parent, count| {
            let messages = (0..count).map(|at| (said(number * 8 + at), None)).collect::<Vec<_>>();
            async move |engine: &Engine| {
                let messages = messages.clone();
                let arrival = HashedMessages { messages, ..HashedMessages::default() };
                engine.append(session, parent, arrival).await
            }
        };
        match self.chance(24) {
            0 => {
                self.act(async |engine| engine.rollback(session, old.unwrap_or(EntryId(0))).await, "rollback")
                    .await
            }
            1 => self.act(saying(old, 2), "a fork").await,
            2 => {
                self.act(
                    async |engine| engine.undo(&here, pass.unwrap_or(EntryId(0))).await.map(drop),
                    "undo",
                )
                .await
            }
            3 => {
                self.act(
                    async |engine| engine.redo(&here, pass.unwrap_or(EntryId(0))).await.map(drop),
                    "redo",
                )
                .await
            }
            4 => {
                self.act(async |engine| engine.pin(&here, old.unwrap_or(EntryId(0))).await.map(drop), "pin")
                    .await
            }
            5 => {
                let by_hand = async |engine: &Engine| {
                    engine.compact(&here, Trigger::Manual, CompactOptions::default()).await.map(drop)
                };
                self.act(by_hand, "by hand").await;
            }
            6 => self.act(async |engine| engine.label(&here, "a place").await.map(drop), "label").await,
            7 => {
                let usage = Usage { prompt: 3_000 + number, output: 100, ..Usage::default() };
                self.act(async |engine| engine.reply(&here, usage).await.map(drop), "usage").await;
            }
            _ => self.act(saying(leaf, 8), "saying").await,
        }
        self.act(async |engine| engine.prepare(&here).await.map(drop), "preparing").await;
        self.hold(number).await;
    }

    /// Both show the same, in this window and in one with room for everything.
    async fn hold(&self, number: u64) {
        for window in [WINDOW, LARGE_WINDOW] {
            let checkout = checkout(self.session, None, window);
            let memory = self.memory.look(&checkout).await.expect("it is there");
            let stored = self.stored.look(&checkout).await.expect("it is there");
            assert_eq!(seen(&stored), seen(&memory), "after act {number}, in a window of {window}");
            self.stored.close(self.session).await;
        }
    }
}

#[tokio::test]
async fn a_session_closed_after_each_act_is_what_one_in_memory_is() {
    for place in TestStore::of_each_kind() {
        let mut live = 0;
        for seed in 0..3 {
            let empty = place.another();
            let mut twins = Twins::new(&empty, seed).await;
            for number in 0..ACTS {
                twins.step(number).await;
                let stored = twins.store.open(twins.session).await.expect("it is there");
                live += usize::from(!stored.log.is_whole());
            }
            assert_eq!(twins.store.check().await.expect("it answers"), [], "what is kept is what there is");
        }
        assert!(live > 100, "{}: only {live} times the live part alone was read", place.address());
    }
}

#[tokio::test]
async fn what_is_at_hand_does_not_grow_with_what_was_superseded() {
    for place in TestStore::of_each_kind() {
        let at_hand = at_hand_by_turn(&place, 200).await;
        let late = at_hand[100..].iter().max().expect("some");
        assert!(*late <= 2 * at_hand[20..60].iter().max().expect("some"), "{at_hand:?}");
    }
}

/// How many entries are read to open a session that is compacted again and again.
async fn at_hand_by_turn(place: &TestStore, turns: u64) -> Vec<usize> {
    let twins = Twins::new(place, 9).await;
    let (engine, here) = (&twins.stored, checkout(twins.session, None, WINDOW));
    let mut at_hand = Vec::new();
    for number in 0..turns {
        let leaf = engine.look(&here).await.expect("it is there").leaf();
        let messages = (0..8).map(|at| (said(number * 8 + at), None)).collect();
        let arrival = HashedMessages { messages, ..HashedMessages::default() };
        engine.append(twins.session, leaf, arrival).await.expect("it is stored");
        engine.prepare(&here).await.expect("it is prepared");
        let stored = engine.store().open(twins.session).await.expect("it is there");
        at_hand.push(stored.log.iter().count());
    }
    at_hand
}

#[tokio::test]
async fn records_are_all_there_however_little_is_at_hand() {
    for place in TestStore::of_each_kind() {
        at_hand_by_turn(&place, 40).await;
        let store = place.address().parse::<StoreAddress>().expect("an address").open().await;
        let store = store.expect("it opens");
        let session = SessionId(1);
        let whole = store.open_whole(session).await.expect("it is there");
        let all: Vec<StoredRecord> =
            whole.log.iter().filter_map(|(id, entry)| StoredRecord::of(id, entry)).collect();
        assert!(all.len() > 3 && all.iter().all(|one| one.record.change().is_some()), "{}", all.len());
        assert_eq!(store.records(session).await.expect("they are kept"), all, "{}", place.address());
    }
}
