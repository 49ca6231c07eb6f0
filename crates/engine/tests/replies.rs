//! Replies that are taken up before whoever sends the history has sent them back: known by what they say then, by this engine or the
//! next one over the same store.

use epitome_core::{Author, Block, Call, Entry, EntryId, Mark, Message, Policy, Role, Tokens};
use epitome_engine::store::{ChainHash, MemoryStore, SessionId, Store, TenantId};
use epitome_engine::{Assembly, Checkout, Driver, Engine, HashedMessages, SessionOptions, WindowFacts};
use epitome_tokens::{Catalog, Usage};
use futures_util::FutureExt as _;
use std::future::Future;
use std::sync::Arc;

fn now<T>(work: impl Future<Output = T>) -> T {
    work.now_or_never().expect("nobody is asked who takes time")
}

const USAGE: Usage = Usage { prompt: 40, output: 9, cache_read: 0, cache_write: 0, reasoning: 0 };

/// A session that ends in a question, over a store.
struct Desk {
    store: Arc<dyn Store>,
    engine: Engine,
    session: SessionId,
    asked: EntryId,
}

impl Desk {
    fn new() -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let engine = Engine::new(store.clone());
        let session = now(engine.create(TenantId::LOCAL)).expect("a session");
        let mut desk = Self { store, engine, session, asked: EntryId(0) };
        desk.asked = desk.append(None, Message::text(Role::User, Author::Person, "read the file"), 1);
        desk
    }

    /// The same with an engine that knows nothing but the store.
    fn restarted(self) -> Self {
        now(self.engine.close(self.session));
        Self { engine: Engine::new(self.store.clone()), ..self }
    }

    fn append(&self, parent: Option<EntryId>, message: Message, hash: u8) -> EntryId {
        let messages = vec![(message, Some(ChainHash([hash; 32])))];
        let arrival = HashedMessages { messages, ..HashedMessages::default() };
        let ids = now(self.engine.append(self.session, parent, arrival)).expect("it can be appended");
        ids[0]
    }

    fn checkout(&self) -> Checkout {
        let stated = WindowFacts { stated: Some(Tokens(8_000)), ..WindowFacts::default() };
        let model = Catalog::built_in().find("gpt-5");
        let assembly = Assembly::new(Policy::default().into(), model, stated).expect("it is stated");
        let (options, driver) = (SessionOptions::default(), Driver::default());
        Checkout { session: self.session, leaf: Some(self.asked), assembly, options, driver, idle: None }
    }

    fn take(&self, reply: Message) -> Option<EntryId> {
        // Taken up by an engine that has the session in memory.
        now(self.engine.look(&self.checkout())).expect("it is there");
        now(self.engine.take_reply(&self.checkout(), (reply, None), Some(USAGE))).expect("it is taken up")
    }

    /// Where what the provider said of calls is marked.
    fn usages(&self) -> Vec<Option<EntryId>> {
        let log = now(self.store.open_whole(self.session)).expect("it is stored").log;
        let all = (0..log.len() as u32).map(EntryId);
        all.filter(|id| matches!(log.get(*id), Some(Entry::Mark(Mark::Usage(_)))))
            .map(|id| log.parent(id))
            .collect()
    }
}

fn call(input: &str) -> Message {
    let call = Call { id: "c1".into(), name: "read".into(), input: input.into(), freeform: false };
    Message { role: Role::Assistant, author: Author::Model, blocks: vec![Block::Call(call)] }
}

#[test]
fn a_reply_that_comes_back_is_the_one_that_was_taken_up() {
    for is_restarted in [false, true] {
        let desk = Desk::new();
        let taken = desk.take(call(r#"{"path": "a.rs"}"#)).expect("it is new");
        assert_eq!(desk.take(call(r#"{"path":"a.rs"}"#)), None, "it is not taken up twice");
        let desk = if is_restarted { desk.restarted() } else { desk };
        assert_eq!(desk.append(Some(desk.asked), call(r#"{"path":"a.rs"}"#), 2), taken);
        let chain = [ChainHash([1; 32]), ChainHash([2; 32])];
        let found = now(desk.engine.find(TenantId::LOCAL, &chain)).expect("the store answers");
        assert_eq!(
            found.map(|place| (place.entry, place.depth)),
            Some((taken, 2)),
            "by its hash from now on"
        );
        assert_eq!(desk.usages(), [Some(taken)]);
    }
}

#[test]
fn a_reply_in_other_words_stands_beside_the_one_that_was_taken_up() {
    let desk = Desk::new();
    let taken = desk.take(call("{}")).expect("it is new");
    let said = desk.append(Some(desk.asked), Message::text(Role::Assistant, Author::Model, "as you wish"), 2);
    assert!(said > taken);
    let path = now(desk.engine.look(&Checkout { leaf: Some(said), ..desk.checkout() })).expect("it is there");
    assert_eq!(path.history(), [desk.asked, said], "what the client says is what counts");
}

#[test]
fn what_others_have_by_now_is_left_to_them() {
    let desk = Desk::new();
    now(desk.engine.close(desk.session));
    let taken = now(desk.engine.take_reply(&desk.checkout(), (call("{}"), None), Some(USAGE)));
    assert_eq!(taken.expect("nothing is wrong"), None);
}
