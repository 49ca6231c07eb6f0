//! A primary that is killed while replicas write: whatever was acknowledged is on its successor, once and in order. Needs a pair of
//! servers: `make test-ha` starts one under Patroni and runs this.

use epitome_core::{Author, Entry, EntryId, Item, Message, Role};
use epitome_engine::store::{
    CommitBatch, EventPosition, FaultKind, SessionId, Store, StoreError, StoreFault, StoredEvent, TenantId,
};
use epitome_engine::{AppendedEntry, Event};
use epitome_store::{PostgresStore, SessionStore as _};
use std::collections::{BTreeMap, HashMap};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const WRITERS: usize = 3;
/// Patroni's time to live, and some.
const FAILOVER_TIME_MAX: Duration = Duration::from_secs(90);

/// What a writer was told is stored, with its place among events, and how long it waited at most.
struct Report {
    session: SessionId,
    acknowledged: Vec<(String, EventPosition)>,
    longest: Duration,
}

fn is_passing(error: &StoreError) -> bool {
    match error {
        StoreError::Fault(StoreFault { kind, .. }) => {
            matches!(kind, FaultKind::Gone | FaultKind::Busy | FaultKind::ReadOnly)
        }
        StoreError::Conflict { .. } | StoreError::Fenced(_) => true,
        _ => false,
    }
}

/// Writes one message after another until it is over. What it was not told of it looks up, and says again if it is not there.
async fn write(address: String, name: String, is_over: Arc<AtomicBool>) -> Report {
    let store = PostgresStore::open(&address.parse().expect("an address")).await.expect("it opens");
    let session = store.create(TenantId([1; 32])).await.expect("a session");
    let mut lease = store.lease(session).await.expect("it answers").expect("nobody holds it");
    let mut report = Report { session, acknowledged: Vec::new(), longest: Duration::ZERO };
    let (mut len, mut number, mut last) = (0_u32, 0, Instant::now());
    while !is_over.load(Ordering::Acquire) {
        let text = format!("{name} {number}");
        number += 1;
        match store.commit(lease, len as usize, saying(len, &text)).await {
            Ok(position) => {
                report.acknowledged.push((text, position));
                report.longest = report.longest.max(last.elapsed());
                (len, last) = (len + 1, Instant::now());
            }
            Err(error) if is_passing(&error) => {
                tokio::time::sleep(Duration::from_millis(200)).await;
                if let Ok(opened) = store.open(session).await {
                    len = opened.log.len() as u32;
                }
                if !store.hold(lease).await.unwrap_or(true)
                    && let Ok(Some(taken)) = store.lease(session).await
                {
                    lease = taken;
                }
            }
            Err(error) => panic!("{error}"),
        }
    }
    store.close().await.expect("it is closed");
    report
}

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

async fn listen(address: String, is_all_said: Arc<AtomicBool>) -> Vec<StoredEvent> {
    let store = PostgresStore::open(&address.parse().expect("an address")).await.expect("it opens");
    let mut heard: Vec<StoredEvent> = Vec::new();
    loop {
        let was_all_said = is_all_said.load(Ordering::Acquire);
        let at = heard.last().map_or(EventPosition::default(), |last| last.position);
        match store.events(at).await {
            Ok(new) if new.is_empty() && was_all_said => return heard,
            Ok(new) => heard.extend(new),
            Err(error) => assert!(is_passing(&error), "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a pair of servers: make test-ha"]
async fn what_was_acknowledged_outlives_the_primary() {
    let address = std::env::var("EPITOME_HA").expect("`make test-ha` gives the address of the pair");
    let kill = std::env::var("EPITOME_HA_KILL").expect("and what kills its primary");
    let is_over = Arc::new(AtomicBool::new(false));
    let begin =
        |number: usize| tokio::spawn(write(address.clone(), format!("writer{number}"), is_over.clone()));
    let writers: Vec<_> = (0..WRITERS).map(begin).collect();
    let is_all_said = Arc::new(AtomicBool::new(false));
    let listener = tokio::spawn(listen(address.clone(), is_all_said.clone()));
    tokio::time::sleep(Duration::from_secs(5)).await;
    let store = PostgresStore::open(&address.parse().expect("an address")).await.expect("it opens");
    let killed = tokio::task::spawn_blocking(move || Command::new(kill).status()).await.expect("it runs");
    assert!(killed.expect("it can be run").success());
    let begun = Instant::now();
    while store.create(TenantId([2; 32])).await.is_err() {
        assert!(begun.elapsed() < FAILOVER_TIME_MAX, "nobody took over");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    println!("another took over after {:.1} s", begun.elapsed().as_secs_f64());
    tokio::time::sleep(Duration::from_secs(5)).await;
    is_over.store(true, Ordering::Release);
    let mut acknowledged = 0;
    for writer in writers {
        let report = writer.await.expect("it ends");
        hold(&store, &report).await;
        acknowledged += report.acknowledged.len();
        println!(
            "{}: {} acknowledged, the longest wait {:.1} s",
            report.session,
            report.acknowledged.len(),
            report.longest.as_secs_f64()
        );
    }
    is_all_said.store(true, Ordering::Release);
    let heard = listener.await.expect("it hears to the end");
    assert!(heard.windows(2).all(|pair| pair[0].position < pair[1].position));
    let all = store.events(EventPosition::default()).await.expect("they are kept");
    assert!(all == heard, "{} events were heard of {}", heard.len(), all.len());
    assert!(all.len() >= acknowledged);
}

/// Every message that was acknowledged is there once, in the order it was said, with its event where it was told to be.
async fn hold(store: &PostgresStore, report: &Report) {
    let opened = store.open(report.session).await.expect("it is there");
    let ids: Vec<EntryId> = (0..opened.log.len() as u32).map(EntryId).collect();
    let originals = store.originals(report.session, &ids).await.expect("they are kept");
    let said: Vec<String> = originals.iter().map(|one| one.said()).collect();
    let places: HashMap<&String, usize> = said.iter().enumerate().map(|(at, text)| (text, at)).collect();
    assert_eq!(places.len(), said.len(), "nothing is there twice");
    let found: Vec<Option<&usize>> = report.acknowledged.iter().map(|(text, _)| places.get(text)).collect();
    assert!(found.iter().all(Option::is_some), "{} lost", found.iter().filter(|one| one.is_none()).count());
    assert!(found.windows(2).all(|pair| pair[0] < pair[1]), "in their order");
    let events = store.events(EventPosition::default()).await.expect("they are kept");
    let told: BTreeMap<EventPosition, Event> =
        events.into_iter().map(|one| (one.position, one.event)).collect();
    for (text, position) in &report.acknowledged {
        assert_eq!(told.get(position), Some(&Event::Stopped { why: text.clone() }));
    }
}
