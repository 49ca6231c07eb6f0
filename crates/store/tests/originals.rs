//! What an open session reads and holds, counted where the engine meets its store: what is in view, and no more between compactions.

use epitome_core::{Author, EntryId, Message, Policy, Role, Tokens};
use epitome_engine::store::{
    ChainHash, CommitBatch, EventPosition, Lease, Memo, MessageLocation, SessionId, Store, StoreError,
    StoredEvent, StoredSession, TenantId,
};
use epitome_engine::{
    Assembly, BoxFuture, Checkout, Driver, Engine, HashedMessages, LivePart, PreparedSession, SessionOptions,
    WindowFacts,
};
use epitome_store::SqliteStore;
use epitome_tokens::Catalog;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, Weak};

const WINDOW: u64 = 16_000;

/// A store that notes what is read and written through it, and which of that somebody still holds.
struct NotingStore {
    inner: SqliteStore,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    /// Originals read, in order.
    read: Vec<EntryId>,
    /// How many batches were committed.
    commits: usize,
    /// Everything that went either way.
    seen: Vec<(EntryId, Weak<Message>)>,
}

impl NotingStore {
    fn open(folder: &std::path::Path) -> Arc<Self> {
        let inner = SqliteStore::open(&folder.join("epitome.db")).expect("it is made");
        Arc::new(Self { inner, notes: Mutex::default() })
    }

    /// What was read since this was last asked.
    fn read(&self) -> HashSet<EntryId> {
        std::mem::take(&mut self.notes.lock().expect("nobody failed").read).into_iter().collect()
    }

    fn commits(&self) -> usize {
        self.notes.lock().expect("nobody failed").commits
    }

    /// Messages that somebody has in memory.
    fn held(&self) -> HashSet<EntryId> {
        let notes = self.notes.lock().expect("nobody failed");
        notes.seen.iter().filter(|(_, message)| message.strong_count() > 0).map(|(id, _)| *id).collect()
    }
}

impl Store for NotingStore {
    fn create(&self, tenant: TenantId) -> BoxFuture<'_, Result<SessionId, StoreError>> {
        self.inner.create(tenant)
    }
    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<StoredSession, StoreError>> {
        self.inner.open(session)
    }
    fn open_whole(&self, session: SessionId) -> BoxFuture<'_, Result<StoredSession, StoreError>> {
        self.inner.open_whole(session)
    }
    fn keep_live(&self, lease: Lease, live: LivePart) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.keep_live(lease, live)
    }
    fn originals<'a>(
        &'a self,
        session: SessionId,
        ids: &'a [EntryId],
    ) -> BoxFuture<'a, Result<Vec<Arc<Message>>, StoreError>> {
        Box::pin(async move {
            let found = self.inner.originals(session, ids).await?;
            let mut notes = self.notes.lock().expect("nobody failed");
            notes.read.extend(ids);
            notes.seen.extend(ids.iter().copied().zip(found.iter().map(Arc::downgrade)));
            Ok(found)
        })
    }
    fn find<'a>(
        &'a self,
        tenant: TenantId,
        chain: &'a [ChainHash],
    ) -> BoxFuture<'a, Result<Option<MessageLocation>, StoreError>> {
        self.inner.find(tenant, chain)
    }
    fn commit(
        &self,
        lease: Lease,
        expected: usize,
        batch: CommitBatch,
    ) -> BoxFuture<'_, Result<EventPosition, StoreError>> {
        let mut notes = self.notes.lock().expect("nobody failed");
        notes.commits += 1;
        notes.seen.extend(batch.messages.iter().map(|(id, message)| (*id, Arc::downgrade(message))));
        drop(notes);
        self.inner.commit(lease, expected, batch)
    }
    fn lease(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        self.inner.lease(session)
    }
    fn hold(&self, lease: Lease) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.inner.hold(lease)
    }
    fn release(&self, lease: Lease) -> BoxFuture<'_, ()> {
        self.inner.release(lease)
    }
    fn events(&self, since: EventPosition) -> BoxFuture<'_, Result<Vec<StoredEvent>, StoreError>> {
        self.inner.events(since)
    }
    fn remove(&self, session: SessionId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.remove(session)
    }
    fn memos<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<Memo>, StoreError>> {
        self.inner.memos(prefix)
    }
    fn keep_memo(&self, name: String, value: Option<Vec<u8>>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.keep_memo(name, value)
    }
}

fn said(turn: usize, role: Role) -> Message {
    let author = if role == Role::User { Author::Person } else { Author::Model };
    Message::text(role, author, format!("part {turn}: {}", "never touch config.toml. ".repeat(20)))
}

fn checkout(session: SessionId) -> Checkout {
    let facts = WindowFacts { stated: Some(Tokens(WINDOW)), ..WindowFacts::default() };
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

/// One turn: something is said, the path is prepared, and the model answers.
async fn turn(engine: &Engine, session: SessionId, number: usize) -> PreparedSession {
    let leaf = engine.look(&checkout(session)).await.expect("it is there").leaf();
    let asked =
        HashedMessages { messages: vec![(said(number, Role::User), None)], ..HashedMessages::default() };
    let asked = engine.append(session, leaf, asked).await.expect("it is taken");
    let prepared = engine.prepare(&checkout(session)).await.expect("it is made to fit");
    let answer = vec![(said(number, Role::Assistant), None)];
    let answer = HashedMessages { messages: answer, ..HashedMessages::default() };
    engine.append(session, asked.last().copied(), answer).await.expect("it is taken");
    prepared
}

/// Turns until so many compactions were made; how many turns.
async fn compact(engine: &Engine, session: SessionId, from: usize, compactions: usize) -> usize {
    let (mut made, mut number) = (0, from);
    while made < compactions {
        let prepared = turn(engine, session, number).await;
        made += usize::from(prepared.step.record.is_some_and(|record| record.outcome.is_rebuilt()));
        number += 1;
        assert!(number < 2_000, "nothing is compacted");
    }
    number
}

async fn in_view(engine: &Engine, session: SessionId) -> HashSet<EntryId> {
    let path = engine.look(&checkout(session)).await.expect("it is there");
    path.context().message_slots().map(|(id, ..)| id).collect()
}

#[tokio::test]
async fn an_open_session_holds_what_is_in_view_however_much_was_superseded() {
    let folder = tempfile::tempdir().expect("there is room");
    let store = NotingStore::open(folder.path());
    let engine = Engine::new(store.clone());
    let session = engine.create(TenantId::LOCAL).await.expect("it is made");
    let turns = compact(&engine, session, 0, 6).await;
    let (held, seen) = (store.held(), in_view(&engine, session).await);
    assert!(turns * 2 > 4 * seen.len(), "{} of {} messages are in view", seen.len(), turns * 2);
    let superseded: Vec<&EntryId> = held.difference(&seen).collect();
    assert_eq!(superseded, Vec::<&EntryId>::new(), "of {} messages", turns * 2);
}

#[tokio::test]
async fn opening_a_session_reads_what_is_in_view_and_only_a_compaction_reads_more() {
    let folder = tempfile::tempdir().expect("there is room");
    let store = NotingStore::open(folder.path());
    let engine = Engine::new(store.clone());
    let session = engine.create(TenantId::LOCAL).await.expect("it is made");
    let turns = compact(&engine, session, 0, 6).await;
    engine.close(session).await;
    store.read();
    let record = turn(&engine, session, turns).await.step.record;
    assert_eq!(record, None, "nothing is due");
    let seen = in_view(&engine, session).await;
    let beyond: Vec<EntryId> = store.read().difference(&seen).copied().collect();
    assert_eq!(beyond, Vec::<EntryId>::new(), "what is out of view is not read");
    turn(&engine, session, turns + 1).await;
    assert_eq!(store.read(), HashSet::new(), "what is in view is read once");
    compact(&engine, session, turns + 2, 1).await;
    assert!(store.read().len() > seen.len(), "a compaction reads what people said, however far back");
    let (held, seen) = (store.held(), in_view(&engine, session).await);
    assert_eq!(held.difference(&seen).collect::<Vec<_>>(), Vec::<&EntryId>::new(), "beside {seen:?}");
}

/// Messages that their client will send again, each found under a hash of its own.
fn repeated(number: u8, role: Role) -> HashedMessages {
    let hash = ChainHash([number; 32]);
    HashedMessages {
        messages: vec![(said(number.into(), role), Some(hash))],
        is_repeated: true,
        ..HashedMessages::default()
    }
}

#[tokio::test]
async fn what_will_be_said_again_is_stored_in_one_commit_and_found_before_it_is() {
    let folder = tempfile::tempdir().expect("there is room");
    let store = NotingStore::open(folder.path());
    let engine = Engine::new(store.clone()).with_deferral();
    let session = engine.create(TenantId::LOCAL).await.expect("it is made");
    let mut leaf = None;
    for (number, role) in [(0, Role::User), (1, Role::Assistant), (2, Role::User)] {
        leaf = engine.append(session, leaf, repeated(number, role)).await.expect("it is taken").pop();
    }
    let chain: Vec<ChainHash> = (0..4).map(|number| ChainHash([number; 32])).collect();
    let there = Some(MessageLocation { session, entry: EntryId(2), depth: 3 });
    assert_eq!(store.commits(), 0, "nobody has waited for the store");
    assert_eq!(engine.find(TenantId::LOCAL, &chain).await.expect("it is looked up"), there);
    let others = engine.find(TenantId([7; 32]), &chain).await.expect("it is looked up");
    assert_eq!(others, None, "what is another's is not found before it is stored either");
    engine.flush(session).await.expect("it is stored");
    assert_eq!(store.commits(), 1);
    assert_eq!(store.find(TenantId::LOCAL, &chain).await.expect("it is looked up"), there);
    engine.append(session, leaf, repeated(3, Role::Assistant)).await.expect("it is taken");
    let deeper = Some(MessageLocation { session, entry: EntryId(3), depth: 4 });
    assert_eq!(engine.find(TenantId::LOCAL, &chain).await.expect("it is looked up"), deeper);
    engine.close(session).await;
    assert_eq!(store.find(TenantId::LOCAL, &chain).await.expect("it is looked up"), deeper);
}

#[tokio::test]
async fn what_was_put_off_is_stored_with_what_must_be_on_disk() {
    let folder = tempfile::tempdir().expect("there is room");
    let store = NotingStore::open(folder.path());
    let engine = Engine::new(store.clone()).with_deferral();
    let session = engine.create(TenantId::LOCAL).await.expect("it is made");
    let leaf = engine.append(session, None, repeated(0, Role::User)).await.expect("it is taken").pop();
    engine.label(&Checkout { leaf, ..checkout(session) }, "the beginning").await.expect("it is named");
    assert_eq!(store.commits(), 1);
    let opened = store.inner.open_whole(session).await.expect("it is there");
    assert_eq!((opened.log.len(), opened.leaf), (2, leaf));
}

#[tokio::test]
async fn a_session_that_another_wants_is_given_up_when_nobody_works_on_it() {
    let folder = tempfile::tempdir().expect("there is room");
    let engines = [(); 2].map(|()| Engine::new(NotingStore::open(folder.path())));
    let session = engines[0].create(TenantId::LOCAL).await.expect("it is made");
    turn(&engines[0], session, 0).await;
    let refused = engines[1].look(&checkout(session)).await.expect_err("it is held");
    assert_eq!(refused.to_string(), format!("another process works on {session}; try again when it is done"));
    engines[1].give_up_wanted().await.expect("it looks");
    engines[0].give_up_wanted().await.expect("it looks");
    let path = engines[1].look(&checkout(session)).await.expect("it is free");
    assert_eq!(path.history().len(), 2);
    engines[1].give_up_wanted().await.expect("it looks");
    turn(&engines[1], session, 1).await;
    assert!(engines[0].look(&checkout(session)).await.is_err(), "nobody wants what they have got");
}
