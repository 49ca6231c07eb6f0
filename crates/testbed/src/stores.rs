//! What every store must hold: a suite to be run over each of them. Stores that hold one transcript make no sessions,
//! so the log of a session and the making of sessions are apart.

mod shared;

pub use shared::{hold_interleaving, hold_replicas, hold_succession};

use epitome_core::{Author, Block, Call, Entry, EntryId, Item, Mark, Message, Role};
use epitome_engine::store::{
    ChainHash, CommitBatch, EventPosition, Lease, Memo, SearchQuery, SessionAbout, SessionId, Store,
    StoreError, TenantId,
};
use epitome_engine::{AppendedEntry, Event};
use std::sync::Arc;

fn said(number: usize) -> Message {
    let (role, author) = if number.is_multiple_of(2) {
        (Role::User, Author::Person)
    } else {
        (Role::Assistant, Author::Model)
    };
    Message::text(role, author, format!("said for the suite, {number}"))
}

/// A batch that says `count` messages below what a session of `len` entries has got to.
fn saying(len: usize, leaf: Option<EntryId>, count: usize) -> CommitBatch {
    let (mut batch, mut parent) = (CommitBatch::default(), leaf);
    for number in 0..count {
        let (id, message) = (EntryId((len + number) as u32), said(number));
        batch.entries.push(AppendedEntry { id, parent, entry: Entry::Message(Item::of(&message)) });
        batch.messages.push((id, Arc::new(message)));
        (parent, batch.leaf) = (Some(id), Some(id));
    }
    batch
}

async fn lease(store: &dyn Store, session: SessionId) -> Lease {
    store.lease(session).await.expect("it answers").expect("nobody holds it")
}

/// Holds a store to what it must do with the log of `session`, whatever stands in it. The lease is given back.
///
/// # Panics
/// Where it does not.
pub async fn hold_log(store: &dyn Store, session: SessionId) {
    let lease = lease(store, session).await;
    let before = store.open(session).await.expect("it is there");
    let len = before.log.len();
    store.commit(lease, len, saying(len, before.leaf, 2)).await.expect("it is committed");
    let late = store.commit(lease, len, saying(len, before.leaf, 2)).await.expect_err("others have appended");
    assert!(
        matches!(late, StoreError::Conflict { expected, found, .. } if (expected, found) == (len, len + 2)),
        "{late}"
    );
    hold_whole(store, lease, len + 2).await;
    let ids = [EntryId((len + 1) as u32), EntryId(len as u32)];
    let originals = store.originals(session, &ids).await.expect("they are kept");
    assert_eq!(originals.iter().map(|one| one.said()).collect::<Vec<_>>(), [said(1).said(), said(0).said()]);
    assert!(store.originals(session, &[EntryId(u32::MAX)]).await.is_err(), "nobody said that");
    hold_events(store, lease, len + 2).await;
    store.release(lease).await;
}

/// A batch is committed whole or not at all.
async fn hold_whole(store: &dyn Store, lease: Lease, len: usize) {
    let leaf = Some(EntryId((len - 1) as u32));
    let mut parentless = saying(len, leaf, 2);
    parentless.entries[1].parent = Some(EntryId(u32::MAX));
    assert!(store.commit(lease, len, parentless).await.is_err(), "nobody said what it answers");
    hold_nothing_new(store, lease, len).await;
    let astray = saying(len, Some(EntryId(u32::MAX)), 1);
    assert!(store.commit(lease, len, astray).await.is_err(), "one that comes alone is looked at too");
    hold_nothing_new(store, lease, len).await;
    let mut unsound = saying(len, leaf, 1);
    let undo = Entry::Mark(Mark::Undo { of: EntryId((len - 1) as u32) });
    unsound.entries.push(AppendedEntry { id: EntryId((len + 1) as u32), parent: leaf, entry: undo });
    assert!(store.commit(lease, len, unsound).await.is_err(), "a message is no compaction to undo");
    hold_nothing_new(store, lease, len).await;
}

/// Nothing of a batch that was refused is there.
async fn hold_nothing_new(store: &dyn Store, lease: Lease, len: usize) {
    let opened = store.open(lease.session).await.expect("it is there");
    assert_eq!((opened.log.len(), opened.leaf), (len, Some(EntryId((len - 1) as u32))));
}

/// Events come back in order, with their time, from any position on.
async fn hold_events(store: &dyn Store, lease: Lease, len: usize) {
    let events = ["first", "second"].map(|why| Event::Stopped { why: why.into() }).to_vec();
    let batch = CommitBatch { events: events.clone(), time_ms: Some(7), ..CommitBatch::default() };
    let last = store.commit(lease, len, batch).await.expect("it is committed");
    let stored = store.events(EventPosition::default()).await.expect("they are kept");
    let ours: Vec<_> = stored.iter().rev().take(2).rev().collect();
    assert_eq!(ours.iter().map(|one| one.event.clone()).collect::<Vec<_>>(), events);
    assert!(ours.iter().all(|one| (one.session, one.time_ms) == (lease.session, Some(7))));
    assert!(ours[0].position < ours[1].position && ours[1].position == last);
    assert_eq!(store.events(ours[0].position).await.expect("they are kept").len(), 1);
    assert_eq!(store.events(last).await.expect("it answers"), []);
}

/// Holds a store that makes sessions to what it must do with them.
///
/// # Panics
/// Where it does not.
pub async fn hold_sessions(store: &dyn Store) {
    let tenant = TenantId([1; 32]);
    let session = store.create(tenant).await.expect("a session");
    hold_log(store, session).await;
    let held = lease(store, session).await;
    assert_eq!(store.lease(session).await.expect("it answers"), None, "one at a time");
    assert!(store.hold(held).await.expect("it answers"), "and it is ours");
    let opened = store.open(session).await.expect("it is there");
    let hash = |number| ChainHash([number; 32]);
    let hashes = vec![(hash(0), EntryId(0)), (hash(1), EntryId(1))];
    let batch = CommitBatch { hashes, ..CommitBatch::default() };
    store.commit(held, opened.log.len(), batch).await.expect("it is committed");
    let chain = [hash(0), hash(1), hash(2)];
    let found = store.find(tenant, &chain).await.expect("it answers").expect("two are known");
    assert_eq!((found.session, found.entry, found.depth), (session, EntryId(1), 2), "the deepest");
    assert_eq!(store.find(TenantId([2; 32]), &chain).await.expect("it answers"), None, "tenants are apart");
    hold_beside(store, held, opened.log.len()).await;
    hold_search(store, held, opened.log.len(), opened.leaf).await;
    store.release(held).await;
    assert!(!store.hold(held).await.expect("it answers"), "it was given back");
    let late = store.commit(held, opened.log.len(), CommitBatch::default()).await;
    assert!(matches!(late, Err(StoreError::Fenced(_))), "the lease was given back");
    store.keep_memo(session.memo_name("head"), Some(b"1".to_vec())).await.expect("it is kept");
    store.keep_memo("of nobody".into(), Some(b"2".to_vec())).await.expect("it is kept");
    store.remove(session).await.expect("it is removed");
    let left = store.memos("of ").await.expect("it answers");
    assert_eq!(left, [Memo { name: "of nobody".into(), value: b"2".to_vec() }], "its own memos go with it");
    assert!(
        store.open(session).await.is_err() && store.find(tenant, &chain).await.expect("it answers").is_none()
    );
}

/// Holds a store that makes sessions to a batch as large as a long transcript's.
///
/// # Panics
/// Where it does not.
pub async fn hold_volume(store: &dyn Store) {
    let session = store.create(TenantId([3; 32])).await.expect("a session");
    let held = lease(store, session).await;
    let mut batch = saying(0, None, 2_000);
    for (number, (_, message)) in batch.messages.iter_mut().enumerate() {
        *message = Arc::new(long_said(number));
    }
    batch.hashes = batch.entries.iter().map(|one| (numbered_hash(one.id.0), one.id)).collect();
    store.commit(held, 0, batch).await.expect("it is committed");
    let opened = store.open(session).await.expect("it is there");
    assert_eq!((opened.log.len(), opened.leaf), (2_000, Some(EntryId(1_999))));
    let ids: Vec<EntryId> = (0..2_000).rev().map(EntryId).collect();
    let originals = store.originals(session, &ids).await.expect("they are kept");
    let said: Vec<Message> = (0..2_000).rev().map(long_said).collect();
    assert!(
        originals.iter().map(|one| &**one).eq(&said),
        "every one comes back, in the order it is asked for"
    );
    let chain: Vec<ChainHash> = (0..3_000).map(numbered_hash).collect();
    let found = store.find(TenantId([3; 32]), &chain).await.expect("it answers").expect("most are known");
    assert_eq!((found.session, found.entry, found.depth), (session, EntryId(1_999), 2_000), "the deepest");
    store.remove(session).await.expect("it is removed");
}

/// A message too long to stand in the row of its entry.
fn long_said(number: usize) -> Message {
    let Message { role, author, .. } = said(number);
    Message::text(role, author, format!("{number} {}", "is said at some length; ".repeat(100)))
}

fn numbered_hash(number: u32) -> ChainHash {
    let mut hash = [9; 32];
    hash[..4].copy_from_slice(&number.to_le_bytes());
    ChainHash(hash)
}

/// Holds a store to keeping once what is said often, and no longer than anybody says it; `bodies` counts what it keeps.
///
/// # Panics
/// Where it does not.
pub async fn hold_bodies(store: &dyn Store, bodies: impl AsyncFn() -> u64) {
    let before = bodies().await;
    let tenants = [4, 4, 5].map(|number| TenantId([number; 32]));
    let mut sessions = Vec::new();
    for tenant in tenants {
        let session = store.create(tenant).await.expect("a session");
        let held = lease(store, session).await;
        let mut batch = saying(0, None, 3);
        for ((_, message), number) in batch.messages.iter_mut().zip([0, 1, 0]) {
            *message = Arc::new(long_said(number));
        }
        store.commit(held, 0, batch).await.expect("it is committed");
        sessions.push(session);
    }
    assert_eq!(bodies().await - before, 4, "two for each tenant, however often they were said");
    hold_begun(store, tenants[0]).await;
    assert_eq!(bodies().await - before, 4, "nor by whom");
    let [first, second, other] = sessions[..] else { unreachable!("three were made") };
    store.remove(first).await.expect("it is removed");
    assert_eq!(bodies().await - before, 4, "another session says them");
    let ids = [EntryId(0), EntryId(1), EntryId(2)];
    let kept = store.originals(second, &ids).await.expect("they are kept");
    assert!(kept.iter().map(|one| &**one).eq(&[long_said(0), long_said(1), long_said(0)]));
    store.remove(second).await.expect("it is removed");
    assert_eq!(bodies().await - before, 2, "nobody of the tenant says them any more");
    store.remove(other).await.expect("it is removed");
    assert_eq!(bodies().await, before);
}

/// A session that is begun is held from the start; what is said in it message by message comes back.
async fn hold_begun(store: &dyn Store, tenant: TenantId) {
    let held = store.begin(tenant).await.expect("a session");
    assert_eq!(store.lease(held.session).await.expect("it answers"), None, "it is held");
    assert!(store.hold(held).await.expect("it answers"), "and it is ours");
    let texts = [long_said(0), said(1), long_said(0)].map(Arc::new);
    for (at, text) in texts.iter().enumerate() {
        let leaf = at.checked_sub(1).map(|before| EntryId(before as u32));
        let mut batch = saying(at, leaf, 1);
        batch.messages[0].1 = text.clone();
        store.commit(held, at, batch).await.expect("it is committed");
    }
    let ids = [0, 1, 2].map(EntryId);
    assert_eq!(store.originals(held.session, &ids).await.expect("they are kept"), texts);
    let mark = AppendedEntry { id: EntryId(3), parent: Some(EntryId(2)), entry: Entry::Mark(Mark::Reset) };
    let batch = CommitBatch { entries: vec![mark], ..CommitBatch::default() };
    store.commit(held, 3, batch).await.expect("it is committed");
    let below = store.commit(held, 4, saying(4, Some(EntryId(3)), 1)).await;
    assert!(below.is_err(), "a mark lies on no path");
    let opened = store.open(held.session).await.expect("it is there");
    assert_eq!((opened.log.len(), opened.leaf), (4, Some(EntryId(2))));
    store.release(held).await;
    let again = lease(store, held.session).await;
    assert!(again.fence > held.fence, "{again:?} is later than {held:?}");
    store.remove(held.session).await.expect("it is removed");
}

/// Holds a store to messages whose text it is not given, or is given later; `bodies` counts what it keeps apart.
///
/// # Panics
/// Where it does not.
pub async fn hold_left_out(store: &dyn Store, bodies: impl AsyncFn() -> u64) {
    let session = store.create(TenantId([6; 32])).await.expect("a session");
    let held = lease(store, session).await;
    let ids: Vec<EntryId> = (0..4).map(EntryId).collect();
    let texts = [said(0), long_said(1), long_said(1), said(3)].map(Arc::new);
    let mut batch = CommitBatch { time_ms: Some(9), times: vec![(EntryId(3), 5)], ..saying(0, None, 4) };
    batch.messages = vec![(EntryId(3), texts[3].clone())];
    store.commit(held, 0, batch).await.expect("it is committed");
    let found = store.originals(session, &ids).await.map_err(|error| error.to_string());
    let told = format!(
        "{session} keeps no text of m0000 and 2 more: `store.keep` leaves it to the client, whose next request says it again"
    );
    assert_eq!(found, Err(told));
    assert_eq!(store.originals(session, &ids[3..]).await.expect("it is kept"), texts[3..]);
    let asked =
        |words: &str| SearchQuery { words: words.into(), session: Some(session), ..SearchQuery::default() };
    let hits = store.search(&asked("said")).await.expect("it can be searched");
    let found: Vec<_> = hits.iter().map(|hit| (hit.entry, hit.time_ms)).collect();
    assert_eq!(found, [(EntryId(3), Some(5))], "what is not kept is not found, and times are their own");
    let before = bodies().await;
    let late = |ids: &[EntryId]| CommitBatch {
        messages: ids.iter().map(|id| (*id, texts[id.index()].clone())).collect(),
        ..CommitBatch::default()
    };
    store.commit(held, 4, late(&ids[..2])).await.expect("it is committed");
    // Again, with what is kept already: it stays, and counts once.
    store.commit(held, 4, late(&ids)).await.expect("it is committed");
    assert_eq!(store.originals(session, &ids).await.expect("they are kept"), texts);
    assert_eq!(bodies().await - before, 1, "what two of them say is kept once");
    let hits = store.search(&asked("said")).await.expect("it can be searched");
    let mut found: Vec<EntryId> = hits.iter().map(|hit| hit.entry).collect();
    found.sort_unstable();
    assert_eq!(found, ids, "each is found once");
    store.release(held).await;
    store.remove(session).await.expect("it is removed");
    assert_eq!(bodies().await, before, "nothing of it is left");
}

/// What is kept beside the log: what is known of the session, inputs that wait, memos, and what can be looked for.
async fn hold_beside(store: &dyn Store, lease: Lease, len: usize) {
    let session = lease.session;
    let mut about = SessionAbout::default();
    (about.title, about.model) = ("a suite".into(), "gpt-5".into());
    let batch = CommitBatch { about: Some(about.clone()), ..CommitBatch::default() };
    store.commit(lease, len, batch).await.expect("it is committed");
    store.commit(lease, len, CommitBatch::default()).await.expect("a batch that says nothing of it");
    assert_eq!(store.open(session).await.expect("it is there").about, about);

    let inputs = [said(8), said(9)].map(Arc::new);
    for (at, input) in inputs.iter().enumerate() {
        assert_eq!(store.enqueue(session, input.clone()).await.expect("it waits"), at as u64 + 1);
    }
    let waiting = store.queued(session).await.expect("it answers");
    assert_eq!(waiting.iter().map(|one| one.message.clone()).collect::<Vec<_>>(), inputs);
    let batch = CommitBatch { delivered: vec![1], ..CommitBatch::default() };
    store.commit(lease, len, batch).await.expect("it is committed");
    assert_eq!(store.queued(session).await.expect("it answers"), waiting[1..], "once");

    store.keep_memo("window a".into(), Some(b"1".to_vec())).await.expect("it is kept");
    store.keep_memo("window b".into(), Some(b"2".to_vec())).await.expect("it is kept");
    store.keep_memo("window a".into(), Some(b"3".to_vec())).await.expect("it is kept");
    store.keep_memo("other".into(), Some(b"4".to_vec())).await.expect("it is kept");
    let memos = store.memos("window ").await.expect("they are kept");
    let memo = |name: &str, value: &[u8]| Memo { name: name.into(), value: value.into() };
    assert_eq!(memos, [memo("window a", b"3"), memo("window b", b"2")]);
    store.keep_memo("window a".into(), None).await.expect("it is forgotten");
    assert_eq!(store.memos("window ").await.expect("they are kept").len(), 1);
}

/// A reply that calls a tool.
fn calling(tool: &str, input: &str) -> Message {
    let call = Call { id: "c1".into(), name: tool.into(), input: input.into(), freeform: false };
    Message { role: Role::Assistant, author: Author::Model, blocks: vec![Block::Call(call)] }
}

/// What was said is found by its words, by identifiers, in any script, by tool and file, and only where it was asked for.
async fn hold_search(store: &dyn Store, lease: Lease, len: usize, leaf: Option<EntryId>) {
    let messages = [
        Message::text(Role::User, Author::Person, "why does parse_header fail on an empty Line?"),
        calling("read_file", r#"{"path":"src/walk.rs"}"#),
        Message::text(Role::User, Author::Person, "上下文窗口已满"),
    ];
    let (mut batch, mut parent) = (CommitBatch { time_ms: Some(50), ..CommitBatch::default() }, leaf);
    for (at, message) in messages.into_iter().enumerate() {
        let id = EntryId((len + at) as u32);
        batch.entries.push(AppendedEntry { id, parent, entry: Entry::Message(Item::of(&message)) });
        batch.messages.push((id, Arc::new(message)));
        (parent, batch.leaf) = (Some(id), Some(id));
    }
    store.commit(lease, len, batch).await.expect("it is committed");
    let asked = |words: &str| SearchQuery { words: words.into(), ..SearchQuery::default() };
    let place = |at: usize| vec![(lease.session, EntryId((len + at) as u32))];
    let in_session = |query| SearchQuery { session: Some(lease.session), ..query };
    let wanted = [
        (asked("empty parse_header"), place(0)),
        (asked("header LINE"), place(0)),
        (asked("pars"), place(0)),
        (asked("parse_hea"), place(0)),
        (in_session(asked("窗口")), place(2)),
        (SearchQuery { tool: Some("read_file".into()), ..asked("") }, place(1)),
        (SearchQuery { file: Some("walk.rs".into()), ..asked("") }, place(1)),
        (asked("nobody_said_this"), Vec::new()),
        (SearchQuery { tenant: Some(TenantId([9; 32])), ..asked("header") }, Vec::new()),
        (SearchQuery { session: Some(SessionId(u64::MAX >> 2)), ..asked("header") }, Vec::new()),
        (SearchQuery { until_ms: Some(50), ..asked("header") }, Vec::new()),
        (SearchQuery { since_ms: Some(50), ..asked("header") }, place(0)),
    ];
    for (query, expected) in wanted {
        let hits = store.search(&query).await.expect("it can be searched");
        let found: Vec<_> = hits.iter().map(|hit| (hit.session, hit.entry)).collect();
        assert_eq!(found, expected, "{query:?}");
    }
    let hits = store.search(&asked("header")).await.expect("it can be searched");
    assert!(hits[0].snippet.contains("parse_header fail"), "{:?}", hits[0].snippet);
    assert_eq!((hits[0].role, hits[0].time_ms), (Role::User, Some(50)));
    let many = SearchQuery { limit: Some(1), ..asked("suite") };
    assert_eq!(store.search(&many).await.expect("it can be searched").len(), 1);
}
