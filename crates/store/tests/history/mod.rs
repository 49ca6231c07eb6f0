//! A history whose messages are known by their place, so that whatever a store gives back can be held against what was said.

use epitome_core::{Author, Entry, EntryId, Mark, Message, Policy, Role, Tokens};
use epitome_engine::store::SessionId;
use epitome_engine::{Assembly, Checkout, Driver, Engine, Session, SessionOptions, WindowFacts};
use epitome_store::SessionStore;
use epitome_tokens::Catalog;
use std::sync::Arc;

pub(crate) const WINDOW: u64 = 6_000;

/// What is said at a place of a path, from 0.
pub(crate) fn said(number: usize) -> Message {
    let (role, author) = if number.is_multiple_of(2) {
        (Role::User, Author::Person)
    } else {
        (Role::Assistant, Author::Model)
    };
    Message::text(role, author, format!("part {number}: {}", "keep src/walk.rs as it is. ".repeat(20)))
}

/// The path that a session has got to; summaries are made beforehand where there is somebody to make them.
pub(crate) fn checkout(session: SessionId) -> Checkout {
    let mut settings = Policy::default().settings().clone();
    settings.speculate.enabled = true;
    let policy = Policy::try_from(settings).expect("the settings are sound");
    let facts = WindowFacts { stated: Some(Tokens(WINDOW)), ..WindowFacts::default() };
    let model = Catalog::built_in().find("gpt-5");
    Checkout {
        session,
        leaf: None,
        assembly: Assembly::new(Arc::new(policy), model, facts).expect("a window"),
        options: SessionOptions::default(),
        driver: Driver::default(),
        idle: None,
    }
}

/// Holds a session to a history without a gap, of at least `count` entries, in which everybody said what they said.
pub(crate) async fn hold_history(store: &dyn SessionStore, session: SessionId, count: usize) {
    let stored = store.open_whole(session).await.expect("it opens");
    assert!(stored.log.len() >= count, "{session}: {} of {count} that were acknowledged", stored.log.len());
    let messages: Vec<EntryId> = stored
        .log
        .iter()
        .filter_map(|(id, entry)| matches!(entry, Entry::Message(_)).then_some(id))
        .collect();
    let originals = store.originals(session, &messages).await.expect("they are there");
    for (&id, original) in messages.iter().zip(originals) {
        assert_eq!(*original, said(stored.log.path(id).len() - 1), "{session} {id}");
    }
}

/// What was compacted stays so: the next look makes no second compaction of it.
pub(crate) async fn hold_settled(engine: &Engine, session: SessionId) {
    let checkout = checkout(session);
    let before = engine.look(&checkout).await.expect("it is there");
    let (is_over, len) = (before.check().is_due(), before.log().len());
    // Of those that were there before, not all need be at hand.
    let made = |path: &Session| {
        let is_compaction = |entry: &Entry| matches!(entry, Entry::Mark(Mark::Compaction { .. }));
        path.log().iter().filter(|(id, entry)| id.index() >= len && is_compaction(entry)).count()
    };
    let prepared = engine.prepare(&checkout).await.expect("it is prepared");
    assert!(
        made(&prepared.session) <= usize::from(is_over),
        "{session} was compacted though nothing was due"
    );
    let again = engine.prepare(&checkout).await.expect("it is prepared");
    assert_eq!(made(&again.session), made(&prepared.session), "{session}: once is enough");
}
