//! Stored sessions through the engine: paths, restarts, what happens at once, and what a store must hold.

use epitome_core::{Author, EntryId, Message, Outcome, Policy, Record, Role, Tokens, Trigger};
use epitome_engine::store::{EventPosition, MemoryStore, SessionId, Store, TenantId};
use epitome_engine::{
    Assembly, BoxFuture, BranchExit, Checkout, CompactOptions, Driver, Engine, Event, HashedMessages, Hook,
    NavigationOutcome, Session, SessionOptions, Spawn, WindowFacts,
};
use epitome_tokens::{Catalog, Usage};
use futures_util::FutureExt as _;
use futures_util::future::join;
use std::future::Future;
use std::sync::Arc;

fn now<T>(work: impl Future<Output = T>) -> T {
    work.now_or_never().expect("nobody is asked who takes time")
}

fn checkout(session: SessionId, leaf: Option<EntryId>, window: u64) -> Checkout {
    let stated = WindowFacts { stated: Some(Tokens(window)), ..WindowFacts::default() };
    let model = Catalog::built_in().find("gpt-5");
    let mut assembly = Assembly::new(Policy::default().into(), model, stated).expect("it is stated");
    assembly.set_request(Tokens::ZERO, Some(Tokens(500)));
    Checkout {
        session,
        leaf,
        assembly,
        options: SessionOptions::default(),
        driver: Driver::default(),
        idle: None,
    }
}

fn said(number: usize) -> Message {
    let (role, author) = if number.is_multiple_of(2) {
        (Role::User, Author::Person)
    } else {
        (Role::Assistant, Author::Model)
    };
    Message::text(role, author, format!("message {number} about src/part_{number}.rs, ").repeat(20))
}

/// Messages `from` up to `to` below `parent`; the last of them.
fn append(
    engine: &Engine,
    session: SessionId,
    parent: Option<EntryId>,
    numbers: std::ops::Range<usize>,
) -> EntryId {
    let messages = numbers.map(|number| (said(number), None)).collect();
    let ids = now(engine.append(session, parent, HashedMessages { messages, ..HashedMessages::default() }))
        .expect("it can be appended");
    *ids.last().expect("something was said")
}

fn texts(session: &Session) -> Vec<String> {
    session.shown().expect("all is at hand").iter().map(|shown| shown.message.said()).collect()
}

#[test]
fn a_restart_comes_to_the_same_bytes() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let engine = Engine::new(store.clone());
    let session = now(engine.create(TenantId::LOCAL)).expect("a session");
    let leaf = append(&engine, session, None, 0..80);
    let checkout = checkout(session, Some(leaf), 8_000);
    let before = now(engine.prepare(&checkout)).expect("it is prepared");
    let record = before.step.record.as_ref().expect("it was due");
    assert!(matches!(record.outcome, Outcome::Compacted(_)), "{:?}", record.outcome);
    now(engine.close(session));
    let after = now(Engine::new(store).prepare(&checkout)).expect("it is prepared");
    assert_eq!((texts(&after.session), after.step.record.is_none()), (texts(&before.session), true));
}

#[test]
fn paths_that_share_a_prefix_share_its_compaction_and_nothing_else() {
    let engine = Engine::new(Arc::new(MemoryStore::default()));
    let session = now(engine.create(TenantId::LOCAL)).expect("a session");
    let trunk = append(&engine, session, None, 0..80);
    let [left, right] =
        [1_001, 2_001].map(|number| append(&engine, session, Some(trunk), number - 1..number));
    let both = join(
        async { engine.prepare(&checkout(session, Some(left), 8_000)).await.expect("it is prepared") },
        async { engine.prepare(&checkout(session, Some(right), 8_000)).await.expect("it is prepared") },
    );
    let (one, other) = now(both);
    let outcome = |prepared: &epitome_engine::PreparedSession| {
        prepared.step.record.as_ref().map(|record| record.outcome.clone())
    };
    assert!(matches!(outcome(&one), Some(Outcome::Compacted(_))));
    assert!(matches!(outcome(&other), Some(Outcome::Applied { .. })));
    let (one, other) = (texts(&one.session), texts(&other.session));
    assert_eq!(one[..one.len() - 1], other[..other.len() - 1]);
    assert_ne!(one.last(), other.last());
    let wide = now(engine.prepare(&checkout(session, Some(right), 200_000))).expect("it is prepared");
    assert_eq!(wide.session.context().slots().len(), 81, "a larger window keeps its whole history");
}

#[test]
fn whoever_looks_at_a_path_takes_nothing_of_it_away() {
    let engine = Engine::new(Arc::new(MemoryStore::default()));
    let session = now(engine.create(TenantId::LOCAL)).expect("a session");
    // Above the warning's point, below the trigger's.
    let leaf = append(&engine, session, None, 0..28);
    let opening_at = |leaf| checkout(session, Some(leaf), 8_000);
    let warnings = |leaf| {
        let prepared = now(engine.prepare(&opening_at(leaf))).expect("it is prepared");
        prepared.step.events.iter().filter(|event| matches!(event, Event::Approaching { .. })).count()
    };
    assert_eq!(warnings(leaf), 1);
    now(engine.look(&opening_at(leaf))).expect("it is there");
    let next = append(&engine, session, Some(leaf), 28..29);
    assert_eq!(warnings(next), 0, "it was warned once");
}

#[test]
fn a_light_look_does_what_is_quick_and_leaves_the_rest_undone() {
    let engine = Engine::new(Arc::new(MemoryStore::default()));
    let session = now(engine.create(TenantId::LOCAL)).expect("a session");
    let lightly = |leaf| {
        let prepared = now(engine.prepare_if_calm(&checkout(session, Some(leaf), 8_000)));
        prepared.expect("it can be looked at")
    };
    let fully = |leaf| now(engine.prepare(&checkout(session, Some(leaf), 8_000))).expect("it is prepared");
    let calm = append(&engine, session, None, 0..10);
    assert_eq!(lightly(calm).expect("nothing is due").step.events, []);
    // Above the warning's point, below the trigger's: what is told must be on the disk.
    let near = append(&engine, session, Some(calm), 10..28);
    assert!(lightly(near).is_none(), "a warning is due");
    let warned = fully(near).step.events;
    assert!(matches!(warned[..], [Event::Approaching { .. }]), "{warned:?}");
    assert_eq!(lightly(near).expect("it was warned").step.events, []);
    let full = append(&engine, session, Some(near), 28..80);
    assert!(lightly(full).is_none(), "a compaction is due");
    let prepared = fully(full);
    let outcome = prepared.step.record.as_ref().map(|record| &record.outcome);
    assert!(matches!(outcome, Some(Outcome::Compacted(_))), "{outcome:?}");
    assert!(lightly(full).is_some(), "there is room");
}

#[test]
fn an_act_that_fails_takes_nothing_of_its_path_away() {
    let engine = Engine::new(Arc::new(MemoryStore::default()));
    let session = now(engine.create(TenantId::LOCAL)).expect("a session");
    // Above the warning's point, below the trigger's.
    let leaf = append(&engine, session, None, 0..28);
    let opening = checkout(session, Some(leaf), 8_000);
    let warnings = || {
        let prepared = now(engine.prepare(&opening)).expect("it is prepared");
        prepared.step.events.iter().filter(|event| matches!(event, Event::Approaching { .. })).count()
    };
    assert_eq!(warnings(), 1);
    now(engine.undo(&opening, leaf)).expect_err("a message is no compaction to undo");
    assert_eq!(warnings(), 0, "it was warned once");
    let nowhere = EntryId(1_000);
    now(engine.navigate(&opening, nowhere, BranchExit::Silent)).expect_err("nobody said that");
    assert_eq!(warnings(), 0, "it was warned once");
}

/// A hook that fails when it is told of a compaction.
struct Forgetful;

impl Hook for Forgetful {
    fn name(&self) -> &str {
        "forgetful"
    }

    fn after<'a>(&'a self, _: &'a Record) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(std::future::ready(Err("no room for notes".into())))
    }
}

#[test]
fn a_record_is_stored_with_what_hooks_did_after_the_compaction() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let engine = Engine::new(store.clone());
    let session = now(engine.create(TenantId::LOCAL)).expect("a session");
    let leaf = append(&engine, session, None, 0..80);
    let mut checkout = checkout(session, Some(leaf), 8_000);
    checkout.driver.ports_mut().add_hook(Arc::new(Forgetful)).expect("it is the only one");
    let prepared = now(engine.prepare(&checkout)).expect("it is prepared");
    let told = prepared.step.record.expect("it was due");
    let log = now(store.open(session)).expect("it is there").log;
    let stored = (0..log.len()).find_map(|at| log.mark_of(EntryId(at as u32))?.record().cloned());
    assert_eq!(stored, Some(told.clone()));
    assert_eq!(told.hooks.last().map(|run| &*run.told), Some("failed after it: no room for notes"));
}

/// Work that is done when somebody asks whether it is.
struct Lazy;

impl Spawn for Lazy {
    fn spawn(&self, work: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        work
    }
}

#[test]
fn what_was_made_beforehand_is_swapped_in_though_usage_was_told_meanwhile() {
    let engine = Engine::new(Arc::new(MemoryStore::default())).with_spawn(Arc::new(Lazy));
    let session = now(engine.create(TenantId::LOCAL)).expect("a session");
    let mut settings = Policy::default().settings().clone();
    (settings.speculate.enabled, settings.speculate.lead_min) = (true, Tokens(2_000));
    let policy = Arc::new(Policy::try_from(settings).expect("the settings are sound"));
    let opening_at = |leaf| {
        let mut checkout = checkout(session, Some(leaf), 8_000);
        checkout.assembly.set_policy(policy.clone()).expect("the window is stated");
        checkout
    };
    let leaf = append(&engine, session, None, 0..27);
    now(engine.prepare(&opening_at(leaf))).expect("it is prepared");
    let reply = append(&engine, session, Some(leaf), 27..28);
    let usage = Usage { prompt: 5_000, output: 200, ..Usage::default() };
    now(engine.reply(&opening_at(reply), usage)).expect("it is taken up");
    let full = append(&engine, session, Some(reply), 28..35);
    let prepared = now(engine.prepare(&opening_at(full))).expect("it is prepared");
    let fates = prepared.step.events.iter().filter_map(|event| match event {
        Event::Speculated { fate } => Some(fate.as_str()),
        _ => None,
    });
    assert_eq!(fates.collect::<Vec<_>>(), ["swapped in"]);
}

#[test]
fn an_undo_binds_its_own_path_and_a_redo_takes_it_back() {
    let engine = Engine::new(Arc::new(MemoryStore::default()));
    let session = now(engine.create(TenantId::LOCAL)).expect("a session");
    let trunk = append(&engine, session, None, 0..40);
    let opening_at = |leaf| checkout(session, Some(leaf), 64_000);
    let compacted = now(engine.compact(&opening_at(trunk), Trigger::Manual, CompactOptions::default()));
    let compacted = compacted.expect("it is compacted");
    let of = compacted.step.appended[0].id;
    let [left, right] =
        [1_001, 2_001].map(|number| append(&engine, session, Some(trunk), number - 1..number));
    let count = |leaf| now(engine.look(&opening_at(leaf))).expect("it is there").context().slots().len();
    let small = count(left);
    assert!(small < 41);
    now(engine.undo(&opening_at(left), of)).expect("it is undone");
    assert_eq!((count(left), count(right)), (41, small));
    now(engine.redo(&opening_at(left), of)).expect("it is redone");
    assert_eq!((count(left), count(right)), (small, small));
}

#[test]
fn a_branch_that_is_left_is_summarised_where_the_session_goes_and_a_rollback_says_nothing() {
    let engine = Engine::new(Arc::new(MemoryStore::default()));
    let session = now(engine.create(TenantId::LOCAL)).expect("a session");
    let trunk = append(&engine, session, None, 0..4);
    let leaf = append(&engine, session, Some(trunk), 4..10);
    let checkout = |leaf| checkout(session, Some(leaf), 64_000);
    let farewell = BranchExit::Summary { focus: None };
    let moved = now(engine.navigate(&checkout(leaf), trunk, farewell)).expect("it is moved");
    let NavigationOutcome::There { summary: Some(told) } = moved else { panic!("{moved:?}") };
    let there = now(engine.look(&checkout(told))).expect("it is there");
    assert_eq!(there.context().slots().len(), 5);
    assert!(texts(&there)[4].contains("src/part_9.rs"), "{}", texts(&there)[4]);
    now(engine.rollback(session, leaf)).expect("it is moved");
    let mut at_leaf = checkout(leaf);
    at_leaf.leaf = None;
    assert_eq!(now(engine.look(&at_leaf)).expect("it is there").context().slots().len(), 10);
}

#[test]
fn what_was_said_can_be_recalled_and_what_happened_is_told_in_order() {
    let engine = Engine::new(Arc::new(MemoryStore::default()));
    let session = now(engine.create(TenantId::LOCAL)).expect("a session");
    let leaf = append(&engine, session, None, 0..80);
    now(engine.prepare(&checkout(session, Some(leaf), 8_000))).expect("it is prepared");
    assert_eq!(*now(engine.recall(session, EntryId(3))).expect("it is kept"), said(3));
    let events = now(engine.events(EventPosition::default())).expect("they are kept");
    let names: Vec<String> = events.iter().map(|one| name_of(&one.event)).collect();
    assert_eq!(names, ["compaction.approaching", "compaction.triggered", "compaction.completed"]);
    assert_eq!(now(engine.events(events[0].position)).expect("they are kept").len(), 2);
}

fn name_of(event: &epitome_engine::Event) -> String {
    let json = serde_json::to_value(event).expect("an event is JSON");
    json["event"].as_str().expect("a name").to_owned()
}

#[test]
fn a_path_that_goes_on_with_its_own_model_reaches_its_threshold_and_no_smaller_window() {
    let engine = Engine::new(Arc::new(MemoryStore::default()));
    let session = now(engine.create(TenantId::LOCAL)).expect("a session");
    let known = append(&engine, session, None, 0..3);
    let quiet = now(engine.prepare(&checkout(session, Some(known), 8_000))).expect("it is prepared");
    assert!(quiet.step.record.is_none(), "there is room");
    // A person goes on, and no model has said anything since.
    let asked = (2..60)
        .step_by(2)
        .fold(known, |leaf, number| append(&engine, session, Some(leaf), number..number + 1));
    let full = now(engine.prepare(&checkout(session, Some(asked), 8_000))).expect("it is prepared");
    assert_eq!(full.step.record.map(|record| record.trigger), Some(Trigger::Threshold));
}
