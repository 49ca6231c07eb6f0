//! What stores on one file or database must hold among each other: replicas of one service, or processes on one machine.

use super::{lease, saying};
use epitome_core::EntryId;
use epitome_engine::Event;
use epitome_engine::store::{
    ChainHash, CommitBatch, EventPosition, Store, StoreError, StoredEvent, TenantId,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Holds two stores on the same tables to one writer for each session, who sees all that was written before.
///
/// # Panics
/// Where they do not.
pub async fn hold_replicas(first: &dyn Store, second: &dyn Store) {
    let (tenant, hash) = (TenantId([6; 32]), ChainHash([6; 32]));
    let session = first.create(tenant).await.expect("a session");
    let early = lease(first, session).await;
    assert_eq!(second.lease(session).await.expect("it answers"), None, "another replica works on it");
    let mut batch = saying(0, None, 2);
    batch.hashes = vec![(hash, EntryId(1))];
    first.commit(early, 0, batch).await.expect("it is committed");
    let found = second.find(tenant, &[hash]).await.expect("it answers").expect("the other has stored it");
    assert_eq!((found.session, found.entry, found.depth), (session, EntryId(1), 1));
    assert!(first.hold(early).await.expect("it answers"));
    first.release(early).await;
    let late = lease(second, session).await;
    assert!(late.fence > early.fence, "{late:?} is later than {early:?}");
    assert!(!first.hold(early).await.expect("it answers"), "another has it now");
    let refused =
        first.commit(early, 2, saying(2, Some(EntryId(1)), 1)).await.expect_err("under an old fence");
    assert!(matches!(refused, StoreError::Fenced(of) if of == session), "{refused}");
    let opened = second.open(session).await.expect("it is there");
    assert_eq!((opened.log.len(), opened.leaf), (2, Some(EntryId(1))));
    second.commit(late, 2, saying(2, Some(EntryId(1)), 1)).await.expect("it is committed");
    assert_eq!(
        first.open(session).await.expect("it is there").log.len(),
        3,
        "each sees what the other wrote"
    );
    second.remove(session).await.expect("it is removed");
    let gone = first.open(session).await.expect_err("the other has removed it");
    assert!(matches!(gone, StoreError::NoSession(of) if of == session), "{gone}");
}

/// Holds two stores on the same tables to showing each event once, in one order, to a listener that resumes after each look,
/// while both write.
///
/// # Panics
/// Where they do not.
pub async fn hold_interleaving(first: &dyn Store, second: &dyn Store) {
    const COMMITS: usize = 40;
    let begin = first.commit(
        lease(first, first.create(TenantId([7; 32])).await.expect("a session")).await,
        0,
        CommitBatch::default(),
    );
    let begin = begin.await.expect("it is committed");
    let write = async |store: &dyn Store, who: &str| {
        let session = store.create(TenantId([7; 32])).await.expect("a session");
        let held = lease(store, session).await;
        for number in 0..COMMITS {
            let events = [0, 1].map(|part| Event::Stopped { why: format!("{who} {number}.{part}") }).to_vec();
            store
                .commit(held, 0, CommitBatch { events, ..CommitBatch::default() })
                .await
                .expect("it is committed");
        }
        session
    };
    let listen = async {
        let (mut heard, mut at, begun) = (Vec::<StoredEvent>::new(), begin, Instant::now());
        while heard.len() < COMMITS * 4 {
            assert!(begun.elapsed() < PATIENCE, "{} of {} events came", heard.len(), COMMITS * 4);
            // From the middle of a commit too.
            let new = second.events(at).await.expect("they are kept");
            heard.extend(new.into_iter().take(3));
            at = heard.last().map_or(begin, |last| last.position);
            pause().await;
        }
        heard
    };
    let (ours, theirs, heard) =
        futures_util::future::join3(write(first, "first"), write(second, "second"), listen).await;
    assert!(heard.windows(2).all(|pair| pair[0].position < pair[1].position), "in one order");
    for (session, who) in [(ours, "first"), (theirs, "second")] {
        let of_session = heard.iter().filter(|one| one.session == session);
        let seen: Vec<&Event> = of_session.map(|one| &one.event).collect();
        let told: Vec<Event> = (0..COMMITS)
            .flat_map(|number| [0, 1].map(|part| Event::Stopped { why: format!("{who} {number}.{part}") }))
            .collect();
        assert!(seen.into_iter().eq(&told), "each event of {who} once, in its order");
    }
    let again = first.events(begin).await.expect("they are kept");
    assert_eq!(again, heard, "and the same to whoever begins anew");
    assert_eq!(second.events(EventPosition { commit: u64::MAX, index: 0 }).await.expect("it answers"), []);
}

/// Holds a store to taking over what another held that is gone, and going on from what that one was told is stored.
///
/// # Panics
/// Where it does not.
pub async fn hold_succession(gone: Arc<dyn Store>, next: &dyn Store) {
    let session = gone.create(TenantId([8; 32])).await.expect("a session");
    let held = lease(&*gone, session).await;
    gone.commit(held, 0, saying(0, None, 2)).await.expect("it is committed");
    assert_eq!(next.lease(session).await.expect("it answers"), None, "another works on it");
    drop(gone);
    let begun = Instant::now();
    let taken = loop {
        assert!(begun.elapsed() < PATIENCE, "nobody gives the lease of one that is gone");
        match next.lease(session).await.expect("it answers") {
            Some(taken) => break taken,
            None => pause().await,
        }
    };
    assert!(taken.fence > held.fence);
    let opened = next.open(session).await.expect("it is there");
    assert_eq!((opened.log.len(), opened.leaf), (2, Some(EntryId(1))));
    next.commit(taken, 2, saying(2, Some(EntryId(1)), 1)).await.expect("it is committed");
}

/// Longer than any lease lasts.
const PATIENCE: Duration = Duration::from_secs(30);

/// Lets others go on; databases have clocks of their own, which nobody can turn.
async fn pause() {
    tokio::time::sleep(Duration::from_millis(5)).await;
}
