//! Our own form is a session whole: paths, marks, labels, times, where it is; read again it has the same ids and gives the same bytes.

use crate::desk::{Desk, PI, corpus, talk};
use epitome_core::{Author, EntryId, Message, Policy, Role, Tokens};
use epitome_engine::store::{SessionId, TenantId};
use epitome_engine::{Assembly, Checkout, Driver, Engine, HashedMessages, SessionOptions, WindowFacts};
use epitome_store::StoreAddress;
use epitome_tokens::Catalog;
use serde_json::{Value, json};

/// Does something to a stored session that the program has no command for.
fn with_engine<T>(desk: &Desk, act: impl AsyncFnOnce(&Engine, Checkout) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it can be made");
    runtime.block_on(async {
        let address: StoreAddress = desk.address().parse().expect("an address");
        let store = address.open().await.expect("it is a store");
        let stated = WindowFacts { stated: Some(Tokens(64_000)), ..WindowFacts::default() };
        let assembly = Assembly::new(Policy::default().into(), Catalog::built_in().find("gpt-5"), stated);
        let engine = Engine::new(store.clone());
        let checkout = Checkout {
            session: SessionId(1),
            leaf: None,
            assembly: assembly.expect("the window is stated"),
            options: SessionOptions::default(),
            driver: Driver::default(),
            idle: None,
        };
        let done = act(&engine, checkout).await;
        engine.close(SessionId(1)).await;
        store.close().await.expect("it is closed");
        done
    })
}

/// When people spoke to the engine: 2026-02-02 02:40:00.
const SAID_MS: u64 = 1_770_000_000_000;

fn said(text: &str) -> HashedMessages {
    let messages = vec![(Message::text(Role::User, Author::Person, text), None)];
    HashedMessages { messages, time_ms: Some(SAID_MS), ..HashedMessages::default() }
}

/// The rows of a session, times included.
fn entries(desk: &Desk, session: &str) -> Value {
    let listing = desk.json(&["history", session, "--all", "--json"]);
    json!([listing["leaf"], listing["entries"]])
}

/// Exports a session in our own form, imports that, and finds it the same.
fn round_trip(desk: &Desk) {
    desk.printed(&["export", "s0001", "--to", "native", "-o", "first.epitome"]);
    assert_eq!(desk.json(&["import", "first.epitome", "--json"])["session"], "s0002");
    assert_eq!(entries(desk, "s0002"), entries(desk, "s0001"));
    assert!(desk.context("s0002") == desk.context("s0001"), "the model sees something else");
    desk.printed(&["export", "s0002", "--to", "native", "-o", "second.epitome"]);
    assert!(desk.bytes("second.epitome") == desk.bytes("first.epitome"), "the bytes are others");
}

#[test]
fn a_session_that_was_worked_on_comes_back_with_the_same_ids_and_bytes() {
    for desk in Desk::of_each_kind() {
        desk.import("session.jsonl", corpus(PI));
        desk.json(&["compact", "--session", "s0001", "--window", "64000", "--json"]);
        desk.json(&["undo", "--session", "s0001", "--json"]);
        desk.json(&["flag", "s0001", "m0234", "bad", "--notes", "lost the plan", "--json"]);
        with_engine(&desk, async |engine, checkout| {
            engine.label(&checkout, "before the fork").await.expect("it has a path");
            let fork = engine.append(SessionId(1), Some(EntryId(100)), said("another way")).await;
            let fork = fork.expect("the message is there");
            engine.append(SessionId(1), Some(fork[0]), said("and on")).await.expect("it goes on");
            engine.append(SessionId(1), None, said("from the beginning")).await.expect("a second root");
        });
        desk.json(&["rollback", "s0001", "m0233", "--json"]);
        desk.json(&["redo", "--session", "s0001", "--json"]);
        round_trip(&desk);
        // What is done to the copy comes behind, and the rest stays.
        desk.json(&["undo", "--session", "s0002", "--json"]);
        desk.printed(&["export", "s0002", "--to", "native", "-o", "third.epitome"]);
        assert!(desk.bytes("third.epitome").starts_with(&desk.bytes("first.epitome")), "it only grows");
        // The file it all began with is still inside.
        let original = desk.bytes("first.epitome").windows(1_000).any(|run| run == &corpus(PI)[..1_000]);
        assert!(original, "the original is inside");
    }
}

#[test]
fn a_session_that_began_in_the_store_is_written_too() {
    for desk in Desk::of_each_kind() {
        desk.import("talk.json", talk(2));
        let session = with_engine(&desk, async |engine, _| {
            let session = engine.create(TenantId::LOCAL).await.expect("there is room");
            let root = engine.append(session, None, said("name a colour")).await.expect("it is the first");
            engine.append(session, Some(root[0]), said("and another")).await.expect("it goes on");
            engine.close(session).await;
            session.to_string()
        });
        desk.printed(&["export", &session, "-o", "born.epitome"]);
        let copy =
            desk.json(&["import", "born.epitome", "--json"])["session"].as_str().expect("one").to_owned();
        assert_eq!(entries(&desk, &copy), entries(&desk, &session));
        let told: Vec<Value> = entries(&desk, &copy)[1]
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| json!([row["text"], row["time_ms"]]))
            .collect();
        assert_eq!(told, [json!(["name a colour", SAID_MS]), json!(["and another", SAID_MS])]);
    }
}
