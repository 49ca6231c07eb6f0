//! Sessions go from thread to thread: what an embedder holds may be shared, and what it awaits may be sent.

use epitome_core::{Policy, Tokens};
use epitome_engine::store::{MemoryStore, Store, StoreError};
use epitome_engine::{
    Assembly, Background, Checkout, Driver, Engine, EngineError, Event, Ports, Session, Spawn, Step, TurnEnd,
    WindowFacts,
};
use epitome_tokens::Catalog;
use std::sync::Arc;

fn assert_shared<T: Send + Sync>() {}

fn assert_sent<T: Send>(_: T) {}

#[test]
fn what_an_embedder_holds_may_be_shared() {
    assert_shared::<Session>();
    assert_shared::<Assembly>();
    assert_shared::<Driver>();
    assert_shared::<Ports>();
    assert_shared::<Engine>();
    assert_shared::<Checkout>();
    assert_shared::<Step>();
    assert_shared::<Event>();
    assert_shared::<EngineError>();
    assert_shared::<StoreError>();
    assert_shared::<Arc<dyn Store>>();
    assert_shared::<Arc<dyn Spawn>>();
}

#[test]
fn what_it_awaits_may_be_sent() {
    let stated = WindowFacts { stated: Some(Tokens(8_000)), ..WindowFacts::default() };
    let model = Catalog::built_in().find("gpt-5");
    let assembly = Assembly::new(Policy::default().into(), model, stated).expect("its window is stated");
    let (mut session, driver, mut background) =
        (Session::empty(assembly), Driver::default(), Background::default());
    assert_sent(driver.prepare(&mut session));
    assert_sent(driver.recover(&mut session, None));
    assert_sent(driver.end_turn(&mut session, TurnEnd::Good));
    assert_sent(background.recover(&driver, &mut session, None));
    let engine = Engine::new(Arc::new(MemoryStore::default()));
    assert_sent(engine.create(epitome_engine::store::TenantId::LOCAL));
}
