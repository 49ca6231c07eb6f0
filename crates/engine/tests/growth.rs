//! What a request costs as its conversation grows: as much as what is new in it, however much was said before. Counted is what the
//! engine's acts allocate; to go along a path is to make a list of it.

use allocation_counter::measure;
use epitome_core::{Author, EntryId, Message, Policy, Role, Tokens};
use epitome_engine::store::{ChainHash, MemoryStore, SessionId, TenantId};
use epitome_engine::{
    Assembly, Checkout, Driver, Engine, HashedMessages, LookPoint, SessionOptions, TurnEnd, WindowFacts,
};
use epitome_tokens::{Catalog, Usage};
use futures_util::FutureExt as _;
use std::future::Future;
use std::sync::Arc;

fn now<T>(work: impl Future<Output = T>) -> T {
    work.now_or_never().expect("nobody is asked who takes time")
}

/// A conversation that goes on through the acts that a proxy takes for each of its requests.
struct Conversation {
    engine: Engine,
    session: SessionId,
    checkout: Checkout,
    said: u64,
}

impl Conversation {
    fn new() -> Self {
        let engine = Engine::new(Arc::new(MemoryStore::default())).with_deferral();
        let session = now(engine.create(TenantId::LOCAL)).expect("a session");
        let stated = WindowFacts { stated: Some(Tokens(100_000_000)), ..WindowFacts::default() };
        let model = Catalog::built_in().find("claude-haiku-4-5");
        let assembly = Assembly::new(Policy::default().into(), model, stated).expect("it is stated");
        let (options, driver) = (SessionOptions::default(), Driver::default());
        let checkout = Checkout { session, leaf: None, assembly, options, driver, idle: None };
        let mut conversation = Self { engine, session, checkout, said: 0 };
        conversation.say(Role::User);
        now(conversation.engine.prepare(&conversation.checkout)).expect("there is room");
        conversation
    }

    fn say(&mut self, role: Role) -> EntryId {
        self.said += 1;
        let author = if role == Role::User { Author::Person } else { Author::Model };
        let message = Message::text(role, author, format!("{}: {}", self.said, "a line of it ".repeat(20)));
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&self.said.to_le_bytes());
        let messages = vec![(message, Some(ChainHash(hash)))];
        let arrival = HashedMessages { messages, is_repeated: true, ..HashedMessages::default() };
        let ids =
            now(self.engine.append(self.session, self.checkout.leaf, arrival)).expect("it can be appended");
        self.checkout.leaf = ids.last().copied();
        ids[0]
    }

    /// One turn: the reply comes back with what its provider said of the call, and a person says something.
    fn go_on(&mut self) {
        self.say(Role::Assistant);
        let usage = Usage { prompt: self.said * 70, output: 70, ..Usage::default() };
        now(self.engine.reply(&self.checkout, usage)).expect("it is taken up");
        assert!(now(self.engine.glance(&self.checkout)).expect("it is there").has_turn_ended());
        now(self.engine.end_turn(&self.checkout, TurnEnd::Good)).expect("nothing is due");
        now(self.engine.prepare_at(&self.checkout, LookPoint::Input(Tokens(70)))).expect("nothing is due");
        self.say(Role::User);
        let prepared = now(self.engine.prepare_if_calm(&self.checkout)).expect("it can be looked at");
        let path = prepared.expect("nothing is due").session;
        assert_eq!(path.context().slots().len() as u64, self.said);
        drop(path);
        now(self.engine.flush(self.session)).expect("it is stored");
    }

    /// What ten turns allocate, in bytes.
    fn ten_turns(&mut self) -> u64 {
        measure(|| (0..10).for_each(|_| self.go_on())).bytes_total
    }
}

#[test]
fn a_turn_costs_what_is_new_in_it() {
    let mut conversation = Conversation::new();
    (0..90).for_each(|_| conversation.go_on());
    // Lists that grow double now and then: ten turns in which none does are among five times ten.
    let early = (0..5).map(|_| conversation.ten_turns()).min();
    (0..810).for_each(|_| conversation.go_on());
    let late = (0..5).map(|_| conversation.ten_turns()).min();
    let (early, late) = early.zip(late).expect("both were counted");
    assert!(
        late < early * 3 / 2,
        "ten turns allocate {early} bytes around the hundredth and {late} around the thousandth"
    );
}
