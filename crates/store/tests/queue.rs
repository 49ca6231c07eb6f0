//! What is said while a session is compacted, by this process or by another: it waits in the store and is said once, in its order.

use epitome_core::{
    Archive, Author, EntryId, Message, Policy, Role, Tokens, Trigger, UpcomingCompaction, Verdict,
};
use epitome_engine::store::{SessionId, Store, TenantId};
use epitome_engine::{
    Assembly, BoxFuture, Checkout, CompactOptions, Driver, Engine, HashedMessages, Hook, InputPlace, Phase,
    SessionOptions, WindowFacts,
};
use epitome_store::{SessionStore, StoreAddress};
use epitome_testbed::TestStore;
use epitome_tokens::Catalog;
use std::sync::{Arc, OnceLock};

/// So many messages are said before anything is compacted.
const SAID: usize = 60;

fn said(number: usize) -> Message {
    let (role, author) = if number.is_multiple_of(2) {
        (Role::User, Author::Person)
    } else {
        (Role::Assistant, Author::Model)
    };
    Message::text(role, author, format!("part {number}: {}", "keep src/walk.rs as it is. ".repeat(20)))
}

fn checkout(session: SessionId) -> Checkout {
    let facts = WindowFacts { stated: Some(Tokens(6_000)), ..WindowFacts::default() };
    let model = Catalog::built_in().find("gpt-5");
    Checkout {
        session,
        leaf: None,
        assembly: Assembly::new(Policy::default().into(), model, facts).expect("a window"),
        options: SessionOptions::default(),
        driver: Driver::default(),
        idle: None,
    }
}

async fn open(place: &TestStore) -> Arc<dyn SessionStore> {
    let address: StoreAddress = place.address().parse().expect("an address");
    address.open().await.expect("it is made")
}

async fn begin(engine: &Engine) -> SessionId {
    let session = engine.create(TenantId::LOCAL).await.expect("a session");
    let messages = (0..SAID).map(|number| (said(number), None)).collect();
    let arrival = HashedMessages { messages, ..HashedMessages::default() };
    engine.append(session, None, arrival).await.expect("it is appended");
    session
}

/// What was said on the path of a session, behind what it began with.
async fn heard(store: &dyn Store, session: SessionId) -> Vec<Message> {
    let stored = store.open_whole(session).await.expect("it opens");
    let path = stored.log.path_of(stored.leaf);
    let ids: Vec<EntryId> = path.into_iter().filter(|id| stored.log.item(*id).is_some()).collect();
    let said = store.originals(session, &ids[SAID..]).await.expect("they are kept");
    said.into_iter().map(|one| Message::clone(&one)).collect()
}

/// Somebody who speaks to the session while it is compacted, by the engine that compacts it and by another.
struct Interjector {
    own: OnceLock<std::sync::Weak<Engine>>,
    other: Engine,
    session: OnceLock<SessionId>,
}

impl Hook for Interjector {
    fn name(&self) -> &str {
        "interjector"
    }

    fn before<'a>(
        &'a self,
        _: &'a UpcomingCompaction,
        _: &'a dyn Archive,
    ) -> BoxFuture<'a, Result<Option<Verdict>, String>> {
        Box::pin(async {
            let own = self.own.get().and_then(std::sync::Weak::upgrade).expect("it is at work");
            let &session = self.session.get().expect("it was said");
            assert_eq!(own.phase(session), Phase::Compacting);
            let first = own.say(session, said(SAID), None).await.expect("it is taken");
            let second = self.other.say(session, said(SAID + 1), None).await.expect("it is taken");
            assert_eq!([first, second], [InputPlace::Queued(1), InputPlace::Queued(2)]);
            Ok(None)
        })
    }
}

#[tokio::test]
async fn what_is_said_while_a_session_is_compacted_is_delivered_once_when_that_has_ended() {
    for place in TestStore::of_each_kind() {
        let (store, other) = (open(&place).await, Engine::new(open(&place).await));
        let engine = Arc::new(Engine::new(store.clone()));
        let session = begin(&engine).await;
        let hook = Interjector { own: OnceLock::new(), other, session: OnceLock::new() };
        hook.own.set(Arc::downgrade(&engine)).expect("it is said once");
        hook.session.set(session).expect("it is said once");
        let mut checkout = checkout(session);
        checkout.driver.ports_mut().add_hook(Arc::new(hook)).expect("it is the only one");
        let done =
            engine.compact(&checkout, Trigger::Manual, CompactOptions::default()).await.expect("it is done");
        assert!(done.step.record.is_some_and(|record| record.outcome.is_rebuilt()), "{}", place.address());
        let expected = [said(SAID), said(SAID + 1)];
        assert_eq!(heard(&*store, session).await, expected, "{}", place.address());
        assert_eq!(
            (store.queued(session).await.expect("it answers").len(), engine.phase(session)),
            (0, Phase::Idle)
        );
        assert_eq!(engine.deliver(session, None).await.expect("it answers"), [], "once");
        let place_now = engine.say(session, said(SAID + 2), None).await.expect("it is taken");
        assert!(matches!(place_now, InputPlace::Appended(_)), "nobody is at work: {place_now:?}");
        assert_eq!(heard(&*store, session).await, [&expected[..], &[said(SAID + 2)]].concat());
    }
}

#[tokio::test]
async fn what_waits_for_a_process_that_has_died_is_delivered_by_whoever_speaks_next() {
    for place in TestStore::of_each_kind() {
        let (held, store) = (open(&place).await, open(&place).await);
        let (holder, next) = (Engine::new(held.clone()), Engine::new(store.clone()));
        let session = begin(&holder).await;
        assert_eq!(next.say(session, said(SAID), None).await.expect("it waits"), InputPlace::Queued(1));
        // Its end, without a word to the session.
        drop(holder);
        held.close().await.expect("it is closed");
        let appended = next.say(session, said(SAID + 1), None).await.expect("it is taken");
        let InputPlace::Appended(id) = appended else { panic!("{appended:?}") };
        assert_eq!(heard(&*store, session).await, [said(SAID), said(SAID + 1)], "{}", place.address());
        let log = store.open_whole(session).await.expect("it opens").log;
        assert_eq!(log.item(id).map(|item| item.role), Some(Role::Assistant));
        assert_eq!(store.queued(session).await.expect("it answers"), []);
    }
}
