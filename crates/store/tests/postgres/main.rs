//! What a database on a network does beside what every store must: lines are cut, transactions end late, disks fill, versions
//! differ, replicas meet.

mod encryption;
mod line;
mod search;

use epitome_core::{Author, Entry, EntryId, Item, Message, Role};
use epitome_engine::store::{
    ChainHash, CommitBatch, Durability, EventPosition, FaultKind, Lease, SessionId, Store, StoreError,
    StoredEvent, TenantId,
};
use epitome_engine::{AppendedEntry, Event};
use epitome_store::{PostgresOptions, PostgresStore, SessionStore as _};
use epitome_testbed::TestPostgres;
use line::{Cut, Line};
use std::sync::Arc;
use std::time::{Duration, Instant};

async fn open(address: &str) -> PostgresStore {
    PostgresStore::open(&address.parse().expect("an address")).await.expect("it opens")
}

async fn begin(store: &PostgresStore) -> Lease {
    let session = store.create(TenantId([1; 32])).await.expect("a session");
    store.lease(session).await.expect("it answers").expect("nobody holds it")
}

/// A batch with one message and one event.
fn saying(at: u32, text: &str) -> CommitBatch {
    let message = Message::text(Role::User, Author::Person, text);
    let parent = at.checked_sub(1).map(EntryId);
    let entry = AppendedEntry { id: EntryId(at), parent, entry: Entry::Message(Item::of(&message)) };
    CommitBatch {
        entries: vec![entry],
        messages: vec![(EntryId(at), Arc::new(message))],
        leaf: Some(EntryId(at)),
        events: vec![Event::Stopped { why: text.into() }],
        ..CommitBatch::default()
    }
}

/// What was said in a session, and what was told of it.
async fn kept(store: &PostgresStore, session: SessionId) -> (Vec<String>, Vec<String>) {
    let len = store.open(session).await.expect("it is there").log.len() as u32;
    let ids: Vec<EntryId> = (0..len).map(EntryId).collect();
    let said = store.originals(session, &ids).await.expect("they are kept");
    let events = store.events(EventPosition::default()).await.expect("they are kept");
    let of_session = events.into_iter().filter(|one| one.session == session);
    (said.iter().map(|one| one.said()).collect(), of_session.map(why).collect())
}

fn why(stored: StoredEvent) -> String {
    match stored.event {
        Event::Stopped { why } => why,
        other => panic!("nobody told {other:?}"),
    }
}

fn strings(all: &[&str]) -> Vec<String> {
    all.iter().map(|&one| one.to_owned()).collect()
}

#[tokio::test]
async fn a_commit_that_ends_late_is_not_skipped() {
    // Of its own: whatever is under way anywhere in a cluster holds events back.
    let postgres = TestPostgres::start(&[]);
    let address = postgres.database();
    let store = open(&address).await;
    let lease = begin(&store).await;
    let first = store.commit(lease, 0, saying(0, "first")).await.expect("it is committed");
    let (late, connection) =
        tokio_postgres::connect(&address, tokio_postgres::NoTls).await.expect("it connects");
    tokio::spawn(connection);
    // As a commit of another replica that began earlier and is slow to end.
    let other = begin(&store).await.session;
    let insert = format!(
        "BEGIN; INSERT INTO epitome.events SELECT tenant, {}, pg_current_xact_id()::text::bigint, 1, NULL, body FROM epitome.events",
        other.0
    );
    late.batch_execute(&insert).await.expect("it is told");
    let last = store.commit(lease, 1, saying(1, "second")).await.expect("it is committed");
    assert_eq!(store.events(first).await.expect("it answers"), [], "the slow one may come before it");
    late.batch_execute("COMMIT").await.expect("it ends");
    let heard = store.events(first).await.expect("they are kept");
    let shown: Vec<_> = heard.into_iter().map(|one| (one.session, one.position == last, why(one))).collect();
    assert_eq!(shown, [(other, false, "first".to_owned()), (lease.session, true, "second".to_owned())]);
}

#[tokio::test]
async fn a_commit_whose_line_is_cut_is_made_once() {
    let (line, address) = Line::to(&TestPostgres::shared().database()).await;
    let store = open(&address).await;
    let lease = begin(&store).await;
    store.commit(lease, 0, saying(0, "begun")).await.expect("it is committed");
    for (at, (word, cut)) in [
        ("BEGIN", Cut::BeforeServer),
        ("BEGIN", Cut::BeforeClient),
        ("COMMIT", Cut::BeforeServer),
        ("COMMIT", Cut::BeforeClient),
    ]
    .into_iter()
    .enumerate()
    {
        line.cut(word, cut);
        let len = at + 1;
        let committed = store.commit(lease, len, saying(len as u32, word)).await.expect("it is committed");
        assert!(line.was_cut(), "the line was cut at {word}");
        let events = store.events(EventPosition::default()).await.expect("they are kept");
        assert_eq!(events.last().map(|one| one.position), Some(committed), "its position is told");
    }
    let all = strings(&["begun", "BEGIN", "BEGIN", "COMMIT", "COMMIT"]);
    assert_eq!(kept(&store, lease.session).await, (all.clone(), all));
    // Without entries nothing but the commit's own number can tell.
    line.cut("COMMIT", Cut::BeforeClient);
    let events = vec![Event::Stopped { why: "no entry".into() }];
    store.commit(lease, 5, CommitBatch { events, ..CommitBatch::default() }).await.expect("it is committed");
    assert!(line.was_cut());
    let (_, told) = kept(&store, lease.session).await;
    assert_eq!(told, strings(&["begun", "BEGIN", "BEGIN", "COMMIT", "COMMIT", "no entry"]));
    // One that is a statement alone, with no transaction around it.
    for (len, cut) in [(5, Cut::BeforeServer), (6, Cut::BeforeClient)] {
        let alone = CommitBatch { events: Vec::new(), ..saying(len, &format!("alone {len}")) };
        line.cut(&format!("alone {len}"), cut);
        store.commit(lease, len as usize, alone).await.expect("it is committed");
        assert!(line.was_cut());
    }
    assert_eq!(kept(&store, lease.session).await.0[5..], strings(&["alone 5", "alone 6"]));
}

#[tokio::test]
async fn a_batch_that_is_refused_writes_none_of_its_parts() {
    let store = open(&TestPostgres::shared().database()).await;
    let lease = begin(&store).await;
    store.commit(lease, 0, saying(0, "begun")).await.expect("it is committed");
    store
        .enqueue(lease.session, Arc::new(Message::text(Role::User, Author::Person, "later")))
        .await
        .expect("it waits");
    let long = "said at some length; ".repeat(200);
    let whole = |at| CommitBatch {
        hashes: vec![(ChainHash([1; 32]), EntryId(at))],
        file: Some(b"a file".as_slice().into()),
        delivered: vec![1],
        ..saying(at, &long)
    };
    let late = store.commit(lease, 5, whole(5)).await;
    assert!(matches!(late, Err(StoreError::Conflict { expected: 5, found: 1, .. })), "{late:?}");
    let stale = store.commit(Lease { fence: lease.fence + 1, ..lease }, 1, whole(1)).await;
    assert!(matches!(stale, Err(StoreError::Fenced(_))), "{stale:?}");
    let figures = store.figures().await.expect("it answers");
    assert_eq!((figures.entries, figures.bodies), (1, 0));
    assert_eq!(store.queued(lease.session).await.expect("it answers").len(), 1);
    assert_eq!(store.file(lease.session).await.expect("it answers"), None);
    let tenant = TenantId([1; 32]);
    assert_eq!(store.find(tenant, &[ChainHash([1; 32])]).await.expect("it answers"), None);
    store.commit(lease, 1, whole(1)).await.expect("it is committed");
    assert_eq!(store.queued(lease.session).await.expect("it answers"), []);
    assert_eq!(store.file(lease.session).await.expect("it answers"), Some(b"a file".to_vec()));
    assert_eq!(kept(&store, lease.session).await, (strings(&["begun", &long]), strings(&["begun", &long])));
}

#[tokio::test]
async fn what_will_be_said_again_does_not_wait_for_the_disk_and_events_do() {
    let postgres = TestPostgres::start(&[]);
    let address = postgres.database();
    let store = open(&address).await;
    let lease = begin(&store).await;
    store.commit(lease, 0, saying(0, "begun")).await.expect("it is committed");
    // Whoever waits for the disk waits for a standby as well, which is not there.
    postgres.run(&address, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    postgres.run(&address, "SELECT pg_reload_conf()");
    let shown = "SELECT setting FROM pg_settings WHERE name = 'synchronous_standby_names'";
    while postgres.run(&address, shown) != "nobody" {}
    let quick =
        |at| CommitBatch { durability: Durability::System, events: Vec::new(), ..saying(at, "quick") };
    store.commit(lease, 1, quick(1)).await.expect("it is committed");
    store.commit(lease, 2, quick(2)).await.expect("it is committed");
    let told = CommitBatch { events: saying(3, "told").events, ..quick(3) };
    let mut waits = store.commit(lease, 3, told);
    let second = Duration::from_secs(1);
    assert!(tokio::time::timeout(second, &mut waits).await.is_err(), "an event is on disk before it counts");
    postgres.run(&address, "ALTER SYSTEM RESET synchronous_standby_names");
    postgres.run(&address, "SELECT pg_reload_conf()");
    waits.await.expect("it is committed");
    assert_eq!(kept(&store, lease.session).await.0, strings(&["begun", "quick", "quick", "quick"]));
}

#[tokio::test]
async fn tables_of_the_first_version_are_brought_forward_with_what_they_hold() {
    let (postgres, address) = (TestPostgres::shared(), TestPostgres::shared().database());
    let store = open(&address).await;
    let lease = begin(&store).await;
    store.commit(lease, 0, saying(0, "before")).await.expect("it is committed");
    let key = store.chain_key();
    store.close().await.expect("it is closed");
    postgres.run(
        &address,
        "DROP TABLE epitome.live; ALTER TABLE epitome.sessions DROP COLUMN attempt; DROP INDEX epitome.entries_unkept; DELETE FROM epitome.versions WHERE version > 1",
    );
    let store = open(&address).await;
    assert_eq!((store.chain_key(), store.figures().await.expect("it answers").version), (key, 3));
    let lease = store.lease(lease.session).await.expect("it answers").expect("nobody holds it");
    store.commit(lease, 1, saying(1, "after")).await.expect("it is committed");
    assert_eq!(kept(&store, lease.session).await.0, strings(&["before", "after"]));
    assert_eq!(store.check().await.expect("it answers"), []);
}

#[tokio::test]
async fn a_lease_whose_answer_is_lost_is_had_all_the_same() {
    let (line, address) = Line::to(&TestPostgres::shared().database()).await;
    let store = open(&address).await;
    let session = store.create(TenantId([1; 32])).await.expect("a session");
    let warm = store.lease(session).await.expect("it answers").expect("nobody holds it");
    store.release(warm).await;
    // The statement is known by its number now, and its parameters are not words: whatever is said next is cut.
    line.cut("", Cut::BeforeClient);
    let lease = store.lease(session).await.expect("it answers").expect("nobody else holds it");
    assert!(line.was_cut());
    assert_eq!(store.lease(session).await.expect("it answers"), None, "one at a time");
    store.commit(lease, 0, saying(0, "held")).await.expect("it is committed");
}

#[tokio::test]
async fn one_who_does_not_wait_for_a_lease_does_not_keep_it() {
    let store = open(&TestPostgres::shared().database()).await;
    let session = store.create(TenantId([1; 32])).await.expect("a session");
    drop(store.lease(session));
    let begun = Instant::now();
    while store.lease(session).await.expect("it answers").is_none() {
        assert!(begun.elapsed().as_secs() < 10, "nobody gives it back");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_renewal_that_arrives_after_a_store_was_closed_holds_nothing() {
    let direct = TestPostgres::shared().database();
    let (line, address) = Line::to(&direct).await;
    let mut options = PostgresOptions::default();
    options.lease_time = Duration::from_secs(3);
    let store = PostgresStore::open_with(&address.parse().expect("an address"), options).await;
    let store = store.expect("it opens");
    let lease = begin(&store).await;
    // A renewal is known by the process that it names.
    line.cut(&format!(" {}", std::process::id()), Cut::Delayed);
    let begun = Instant::now();
    while !line.was_cut() {
        assert!(begun.elapsed() < options.lease_time, "nobody renews it");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    store.close().await.expect("it is closed");
    line.deliver().await;
    let taken = open(&direct).await.lease(lease.session).await.expect("it answers");
    assert!(taken.is_some(), "who has left holds nothing");
}

#[tokio::test]
async fn a_later_version_is_refused_and_nothing_is_changed() {
    let (postgres, address) = (TestPostgres::shared(), TestPostgres::shared().database());
    drop(open(&address).await);
    postgres.run(&address, "INSERT INTO epitome.versions (version) VALUES (99)");
    let refused = PostgresStore::open(&address.parse().expect("an address")).await.expect_err("it is later");
    assert_eq!(
        refused.to_string(),
        "the store is of version 99, and this program knows 3; use the version of epitome that wrote it, or a later one"
    );
    assert!(matches!(refused, StoreError::Fault(fault) if fault.kind == FaultKind::Newer));
}

#[tokio::test]
async fn replicas_that_start_at_once_make_the_tables_once() {
    let address = TestPostgres::shared().database();
    let opening = (0..6).map(|_| open(&address));
    let stores = futures_util::future::join_all(opening).await;
    let keys: Vec<_> = stores.iter().map(|store| store.chain_key()).collect();
    assert_eq!(keys, vec![keys[0]; 6], "one secret for all of them");
}

#[tokio::test]
async fn what_fails_is_told_by_its_kind_and_nothing_is_half_written() {
    let (postgres, address) = (TestPostgres::shared(), TestPostgres::shared().database());
    let store = open(&address.replace("postgres@", "postgres:hunter2@")).await;
    let lease = begin(&store).await;
    store.commit(lease, 0, saying(0, "begun")).await.expect("it is committed");
    for (code, kind) in [
        ("53100", FaultKind::Full),
        ("25006", FaultKind::ReadOnly),
        ("57014", FaultKind::Busy),
        ("40P01", FaultKind::Busy),
        ("53300", FaultKind::Busy),
        ("57P01", FaultKind::Gone),
        ("XX001", FaultKind::Damaged),
        ("P0001", FaultKind::Other),
    ] {
        postgres.run(
            &address,
            &format!(
                "CREATE OR REPLACE FUNCTION epitome.fail() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN RAISE EXCEPTION 'as the test wants it' USING ERRCODE = '{code}'; END $$;
             CREATE OR REPLACE TRIGGER fail BEFORE INSERT ON epitome.events EXECUTE FUNCTION epitome.fail()"
            ),
        );
        let failed = store.commit(lease, 1, saying(1, "lost")).await.expect_err("the trigger says so");
        let StoreError::Fault(fault) = failed else { panic!("{failed}") };
        assert_eq!(fault.kind, kind, "{code}");
        let place = store.place();
        assert_eq!(fault.what, format!("{place} failed (db error: ERROR: as the test wants it)"));
    }
    postgres.run(&address, "DROP TRIGGER fail ON epitome.events");
    assert_eq!(kept(&store, lease.session).await, (strings(&["begun"]), strings(&["begun"])));
    store.commit(lease, 1, saying(1, "and on")).await.expect("it is committed");
}

#[tokio::test]
async fn a_database_that_is_gone_is_told_and_comes_back() {
    let postgres = TestPostgres::start(&[]);
    let address = postgres.database().replace("postgres@", "postgres:hunter2@");
    let store = open(&address).await;
    let lease = begin(&store).await;
    store.commit(lease, 0, saying(0, "begun")).await.expect("it is committed");
    postgres.stop();
    assert!(store.hold(lease).await.expect("nobody is asked"), "leases last through a restart");
    let failed = store.commit(lease, 1, saying(1, "lost")).await.expect_err("it is not there");
    let StoreError::Fault(fault) = &failed else { panic!("{failed}") };
    assert_eq!(fault.kind, FaultKind::Gone);
    assert!(
        !failed.to_string().contains("hunter2") && failed.to_string().contains(&store.place()),
        "{failed}"
    );
    let closed =
        PostgresStore::open(&address.parse().expect("an address")).await.expect_err("it is not there");
    assert!(!closed.to_string().contains("hunter2"), "{closed}");
    postgres.start_again();
    store.commit(lease, 1, saying(1, "and on")).await.expect("it is committed");
    assert_eq!(kept(&store, lease.session).await.0, strings(&["begun", "and on"]));
}

#[tokio::test]
async fn events_go_on_where_a_database_was_restored_elsewhere() {
    // Of its own: whatever is under way anywhere in a cluster holds events back.
    let postgres = TestPostgres::start(&[]);
    let address = postgres.database();
    let store = open(&address).await;
    let lease = begin(&store).await;
    store.commit(lease, 0, saying(0, "before")).await.expect("it is committed");
    store.release(lease).await;
    store.close().await.expect("it is closed");
    // Another cluster has counted more transactions than this one.
    postgres.run(&address, "UPDATE epitome.events SET number = number + 1000000000");
    let store = open(&address).await;
    let before = store.events(EventPosition::default()).await.expect("they are kept");
    assert_eq!(before.len(), 1, "what was told elsewhere is seen");
    let lease = store.lease(lease.session).await.expect("it answers").expect("nobody holds it");
    store.commit(lease, 1, saying(1, "after")).await.expect("it is committed");
    let after = store.events(before[0].position).await.expect("they are kept");
    assert_eq!(after.into_iter().map(why).collect::<Vec<_>>(), ["after"]);
}
